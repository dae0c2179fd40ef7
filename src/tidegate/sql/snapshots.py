"""Statements about the snapshot table: the rows of one snapshot, and its comparison with staged hashes by a join.

A stage has the columns `staged_name(0)` (the hash of the key) and `staged_name(1)` (the hash of the row). No column of
the snapshot table has such a name, so conditions need no prefixes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import Count, First, IsOneOf, Literal, Name, Sql, sql

STAGED_KEY, STAGED_HASH = Name.of(staged_name(0)), Name.of(staged_name(1))
KEY, HASH = Name.of("key_hash"), Name.of("row_hash")


@dataclass(frozen=True)
class SnapshotRows:
    """The rows of one snapshot in the snapshot table. The types are those that the columns have there."""

    table: TableName
    customer_filter: str
    batch_id: str
    filter_type: str
    batch_type: str

    @property
    def condition(self) -> Sql:
        return sql(
            "{filter} AND batch_id = {batch}",
            filter=IsOneOf(Name.of("customer_filter"), (Literal(self.customer_filter, self.filter_type),)),
            batch=Literal(self.batch_id, self.batch_type),
        )


def create_index(index: str, table: TableName, columns: tuple[str, ...]) -> Sql:
    return sql(
        "CREATE INDEX {index} ON {table} ({columns})",
        index=Name.of(index),
        table=Name.of(table),
        columns=[Name.of(column) for column in columns],
    )


def count_rows(rows: SnapshotRows) -> Sql:
    return sql("SELECT {count} FROM {table} WHERE {rows}", count=Count(), table=_table(rows), rows=rows.condition)


def count_matches(rows: SnapshotRows, stage: TableName) -> Sql:
    """Return a query for the number of keys that both have, and of those the number with the same row hash."""
    return sql(
        "SELECT {both}, {same} FROM {table} JOIN {stage} ON {key} = {staged_key} WHERE {rows}",
        both=Count(),
        same=Count(sql("{hash} = {staged_hash}", hash=HASH, staged_hash=STAGED_HASH)),
        table=_table(rows),
        stage=Name.of(stage),
        key=KEY,
        staged_key=STAGED_KEY,
        rows=rows.condition,
    )


def is_new(rows: SnapshotRows) -> Sql:
    """Return the condition of the rows of a stage whose key the snapshot does not have."""
    return sql(
        "NOT EXISTS (SELECT 1 FROM {table} WHERE {rows} AND {key} = {staged_key})",
        table=_table(rows),
        rows=rows.condition,
        key=KEY,
        staged_key=STAGED_KEY,
    )


def is_changed(rows: SnapshotRows) -> Sql:
    """Return the condition of the rows of a stage whose key the snapshot has with another row hash."""
    return sql(
        "EXISTS (SELECT 1 FROM {table} WHERE {rows} AND {key} = {staged_key} AND {hash} <> {staged_hash})",
        table=_table(rows),
        rows=rows.condition,
        key=KEY,
        staged_key=STAGED_KEY,
        hash=HASH,
        staged_hash=STAGED_HASH,
    )


def is_deleted(rows: SnapshotRows, stage: TableName) -> Sql:
    """Return the condition of the rows of a snapshot whose key the stage does not have."""
    return sql(
        "{rows} AND NOT EXISTS (SELECT 1 FROM {stage} WHERE {staged_key} = {key})",
        rows=rows.condition,
        stage=Name.of(stage),
        staged_key=STAGED_KEY,
        key=KEY,
    )


def refer_to_archive(rows: SnapshotRows, archive_id: int | None) -> Sql:
    """Return the UPDATE that writes the archive id into the rows of a snapshot."""
    return sql(
        "UPDATE {table} SET parquet_archive_id = {archive} WHERE {rows}",
        table=_table(rows),
        archive=Literal(archive_id),
        rows=rows.condition,
    )


def delete_snapshot(rows: SnapshotRows) -> Sql:
    return sql("DELETE FROM {table} WHERE {rows}", table=_table(rows), rows=rows.condition)


def snapshots_in(table: TableName) -> Sql:
    """Return a query for filter, batch, date, archive and rows of every snapshot in the table: it reads all rows."""
    return sql(
        "SELECT customer_filter, batch_id, snapshot_date, parquet_archive_id, {count} FROM {table}"
        " GROUP BY customer_filter, batch_id, snapshot_date, parquet_archive_id",
        count=Count(),
        table=Name.of(table),
    )


# The register: one row per snapshot.


def register_find(register: TableName, table: str, customer_filter: str | None = None, batch_id: str = "") -> Sql:
    """Return a query for snapshots of a table, the newest first."""
    found = sql("snapshot_table = {table}", table=Literal(table))
    if customer_filter is not None:
        found = sql("{found} AND customer_filter = {filter}", found=found, filter=Literal(customer_filter))
    if batch_id:
        found = sql("{found} AND batch_id = {batch}", found=found, batch=Literal(batch_id))
    return sql(
        "SELECT customer_filter, batch_id, snapshot_date, row_total, content_hash, columns, archive_id, state"
        " FROM {register} WHERE {found} ORDER BY snapshot_date DESC",
        register=Name.of(register),
        found=found,
    )


def register_newest(register: TableName, table: str, customer_filter: str) -> Sql:
    """Return a query for the newest snapshot of a filter."""
    return sql("{first}", first=First(register_find(register, table, customer_filter), 1))


def register_insert(register: TableName, values: list[Literal]) -> Sql:
    return sql(
        "INSERT INTO {register} (snapshot_table, customer_filter, batch_id, snapshot_date, row_total, content_hash,"
        " columns, archive_id, state) VALUES ({values})",
        register=Name.of(register),
        values=values,
    )


def register_archive(register: TableName, key: tuple[str, str, str], archive_id: int | None, state: str) -> Sql:
    """Return the UPDATE that writes down which archive a snapshot has."""
    return sql(
        "UPDATE {register} SET archive_id = {archive}, state = {state} WHERE {key}",
        register=Name.of(register),
        archive=Literal(archive_id),
        state=Literal(state),
        key=_register_key(key),
    )


def register_delete(register: TableName, key: tuple[str, str, str]) -> Sql:
    return sql("DELETE FROM {register} WHERE {key}", register=Name.of(register), key=_register_key(key))


def migration_version(versions: TableName, component: str) -> Sql:
    return sql(
        "SELECT version FROM {versions} WHERE component = {component} ORDER BY version DESC",
        versions=Name.of(versions),
        component=Literal(component),
    )


def migration_record(versions: TableName, component: str, version: int, at: str) -> Sql:
    return sql(
        "INSERT INTO {versions} (component, version, at) VALUES ({values})",
        versions=Name.of(versions),
        values=[Literal(component), Literal(version), Literal(at)],
    )


def _register_key(key: tuple[str, str, str]) -> Sql:
    table, customer_filter, batch_id = key
    return sql(
        "snapshot_table = {table} AND customer_filter = {filter} AND batch_id = {batch}",
        table=Literal(table),
        filter=Literal(customer_filter),
        batch=Literal(batch_id),
    )


def _table(rows: SnapshotRows) -> Name:
    return Name.of(rows.table)

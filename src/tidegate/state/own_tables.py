"""Eight tables beside the ledger that people and their tools read: watermarks, metrics, gaps, late rows and others.

They are described here once, in words of no database, and every database declares its own columns for them. They stand
where the ledger stands: in the schema `tidegate`, or under names that begin so. A number of the schema's version stands
in the table `schema_versions`. `create` adds tables and columns that an older version did not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.errors import Unsupported
from tidegate.interfaces.database import Database
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.sql.text import Literal, Name, Sql, sql

VERSION = 2
PART = "own tables"


@dataclass(frozen=True)
class OwnTable:
    """One table: what it holds, its key, and its columns with their logical types."""

    about: str
    key: tuple[str, ...]
    types: Mapping[str, Type]
    nullable: frozenset[str] = frozenset()

    @property
    def columns(self) -> list[Column]:
        return [
            Column(name, str(holds), holds.storage_type, nullable=name in self.nullable, logical_type=holds)
            for name, holds in self.types.items()
        ]


_PIPELINE, _SOURCE, _COLUMN = Type("string", 100), Type("string", 200), Type("string", 128)
_ID, _WORD, _TIME, _VALUE = Type("string", 64), Type("string", 30), Type("string", 40), Type("string", 400)
_WHO, _LONG, _COUNT = Type("string", 200), Type("string"), Type("int64")
_WHERE = {"pipeline_id": _PIPELINE, "source_id": _SOURCE}


def _table(about: str, key: str, types: Mapping[str, Type], nullable: str = "") -> OwnTable:
    return OwnTable(about, tuple(key.split()), types, frozenset(nullable.split()))


TABLES: dict[str, OwnTable] = {
    "watermarks": _table(
        "How far each source was loaded, for each of its columns",
        "pipeline_id source_id watermark_column",
        {
            **_WHERE,
            "watermark_column": _COLUMN,
            "watermark_value": _VALUE,
            "value_type": _WORD,
            "strategy": _WORD,
            "load_id": _ID,
            "updated_at": _TIME,
            "updated_by": _WHO,
            "reason": _LONG,
        },
        "watermark_value load_id reason",
    ),
    "incremental_metrics": _table(
        "One row per load: what came, what was written, and how long that took",
        "load_id",
        {
            "load_id": _ID,
            **_WHERE,
            "target_table": Type("string", 300),
            "strategy": _WORD,
            "load_type": _WORD,
            "watermark_column": _COLUMN,
            "watermark_before": _VALUE,
            "watermark_after": _VALUE,
            "records_extracted": _COUNT,
            "records_written": _COUNT,
            "records_inserted": _COUNT,
            "records_updated": _COUNT,
            "records_deleted": _COUNT,
            "records_unchanged": _COUNT,
            "duplicates_removed": _COUNT,
            "late_records": _COUNT,
            "milliseconds": _COUNT,
            "status": _WORD,
            "finished_at": _TIME,
        },
        "watermark_column watermark_before watermark_after"
        " records_inserted records_updated records_deleted records_unchanged",
    ),
    "cdc_events": _table(
        "Events of change data capture, in the order of their position",
        "event_id",
        {
            "event_id": _ID,
            "table_name": Type("string", 300),
            "operation": _WORD,
            "log_position": Type("string", 200),
            "event_key": _LONG,
            "before_image": _LONG,
            "after_image": _LONG,
            "captured_at": _TIME,
        },
        "event_key before_image after_image",
    ),
    "data_gaps": _table(
        "Values, days and windows that are missing in a stream",
        "gap_id",
        {
            "gap_id": _ID,
            **_WHERE,
            "watermark_column": _COLUMN,
            "gap_type": _WORD,
            "first_missing": _VALUE,
            "last_missing": _VALUE,
            "missing_count": _COUNT,
            "status": _WORD,
            "reason": _LONG,
            "found_at": _TIME,
        },
        "missing_count reason",
    ),
    "scd_history": _table(
        "Versions of slowly changing dimensions, as they were when a load wrote them",
        "history_id",
        {
            "history_id": _ID,
            "target_table": Type("string", 300),
            "business_key": _LONG,
            "effective_from": _VALUE,
            "version": _LONG,
            "load_id": _ID,
            "recorded_at": _TIME,
        },
    ),
    "late_arriving_data": _table(
        "Rows that came after the watermark had passed them",
        "record_id",
        {
            "record_id": _ID,
            **_WHERE,
            "watermark_column": _COLUMN,
            "watermark_value": _VALUE,
            "record": _LONG,
            "reason": _LONG,
            "found_at": _TIME,
            "record_key": _LONG,
            "record_hash": _ID,
        },
        "watermark_value record_key record_hash",
    ),
    "incremental_config": _table(
        "Settings of sources, as JSON",
        "pipeline_id source_id",
        {**_WHERE, "settings": _LONG, "updated_at": _TIME, "updated_by": _WHO},
    ),
    "duplicate_records": _table(
        "Rows that were removed because their key came again, with the rule that chose the others",
        "record_id",
        {
            "record_id": _ID,
            **_WHERE,
            "key_columns": Type("string", 400),
            "rule": Type("string", 200),
            "record": _LONG,
            "found_at": _TIME,
        },
    ),
}
_VERSIONS = _table(
    "The version of each part of Tidegate's own schema",
    "part",
    {"part": _COLUMN, "version": Type("int32"), "at": _TIME},
)
ALL = {"schema_versions": _VERSIONS, **TABLES}


def declared(database: Database, table: str) -> list[Column]:
    """Return the columns of one of these tables as the database declares them."""
    return [database.declare(column) for column in ALL[table].columns]


def ddl(database: Database, *, qualified: bool = True) -> list[str]:
    """Return the statements that create all of these tables in an empty schema, as text.

    Where a schema is a database of its own, names can go without it (`qualified`): then the statements fit any one."""
    statements = []
    for table in ALL:
        name = database.own_table(table)
        if not qualified and database.capabilities.schemas_are_databases:
            name = TableName("", name.name)
        made = database.create_table(name, declared(database, table), ALL[table].key, "")
        statements += [text for text in map(database.render, made) if text not in statements]
    return statements


def exist(session: Session) -> bool:
    """Return whether all of these tables are there."""
    names = [session.database.own_table(table) for table in ALL]
    return set(names) <= session.existing_tables(names)


def create(session: Session) -> list[str]:
    """Create what is missing, tables and columns, and return the names of what was added.

    Raises Unsupported for tables of a newer version. Two calls at once are settled by a lock."""
    added: list[str] = []
    database = session.database
    with session.transaction():
        session.lock_in_transaction("tidegate own tables")
        there = session.table_schemas([database.own_table(table) for table in ALL])
        if database.own_table("schema_versions") in there:
            _require_known(session)
        for table, described in ALL.items():
            name, columns = database.own_table(table), declared(database, table)
            schema = there.get(name)
            if schema is None:
                statements = database.create_table(name, columns, described.key, "")
                added.append(table)
            else:
                missing = [column for column in columns if schema.column(column.name) is None]
                statements = [database.add_column(name, column) for column in missing]
                added += [f"{table}.{column.name}" for column in missing]
            for statement in statements:
                session.execute(statement)
        _write_version(session)
    return added


def _version(session: Session) -> int:
    rows = session.query(
        sql(
            "SELECT version FROM {versions} WHERE part = {part}",
            versions=own(session, "schema_versions"),
            part=Literal(PART),
        )
    )
    return int(str(rows[0][0])) if rows else 0


def _require_known(session: Session) -> None:
    found = _version(session)
    if found > VERSION:
        raise Unsupported(
            f"Tidegate's own tables in this database are of version {found}; this Tidegate knows {VERSION}.",
            "Nothing was changed.",
            "Use the newer version of Tidegate that created them.",
        )


def _write_version(session: Session) -> None:
    if _version(session) == VERSION:
        return
    versions = own(session, "schema_versions")
    session.execute(sql("DELETE FROM {versions} WHERE part = {part}", versions=versions, part=Literal(PART)))
    session.execute(insert(session, "schema_versions", {"part": PART, "version": VERSION, "at": session.now()}))


def own(session: Session, table: str) -> Name:
    """Return the name of one of these tables in the database of this session."""
    return Name.of(session.database.own_table(table))


def insert(session: Session, table: str, values: Mapping[str, str | int | None]) -> Sql:
    """Return the INSERT of one row."""
    return sql(
        "INSERT INTO {table} ({columns}) VALUES ({values})",
        table=own(session, table),
        columns=[Name.of(name) for name in values],
        values=[Literal(value) for value in values.values()],
    )

"""What a stage does to a table: rows change or leave by their keys. Columns of a stage are known by their number."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import Joined, Keys, Locked, Name, Same, Sql, names, sql


def update_staged(
    table: TableName, stage: TableName, keys: Sequence[Column], columns: Sequence[Column], *, identity: bool = True
) -> Sql:
    """The stage holds the keys first, then what the columns shall be; without `identity` those that count by themselves
    keep their numbers."""
    assigned = tuple(
        (Name.of(column.name), Name.of(staged_name(len(keys) + number)))
        for number, column in enumerate(columns)
        if identity or not column.identity
    )
    assert assigned, "an update of nothing would read as a deletion"
    return sql("{update}", update=Joined(Name.of(table), Name.of(stage), _on(keys), assigned))


def delete_staged(table: TableName, stage: TableName, keys: Sequence[Column]) -> Sql:
    return sql("{delete}", delete=Joined(Name.of(table), Name.of(stage), _on(keys)))


def keep_in_stage(table: TableName, stage: TableName, columns: Sequence[Column], rows: Sql | None) -> Sql:
    """Copy these columns of some rows into a stage, and lock the rows until the transaction ends."""
    return sql(
        "INSERT INTO {stage} ({staged}) SELECT {columns} FROM {locked}",
        stage=Name.of(stage),
        staged=names(staged_name(number) for number in range(len(columns))),
        columns=names(column.name for column in columns),
        locked=Locked(Name.of(table), rows),
    )


def have_values(columns: Sequence[Column], rows: Sql | None) -> Sql:
    """A condition for those of the rows that have a value in any of these columns."""
    held = sql("{column} IS NOT NULL", column=Name.of(columns[0].name))
    for column in columns[1:]:
        held = sql("{held} OR {column} IS NOT NULL", held=held, column=Name.of(column.name))
    return held if rows is None else sql("({rows}) AND ({held})", rows=rows, held=held)


def with_partner(stage: TableName, keys: Sequence[Column]) -> Sql:
    """A condition for rows whose key is in the stage."""
    on = [
        sql("{same}", same=Same(Name(("s", staged_name(number))), Name.of(key.name), key.type))
        for number, key in enumerate(keys)
    ]
    alike = on[0]
    for more in on[1:]:
        alike = sql("{alike} AND {more}", alike=alike, more=more)
    own = tuple((Name.of(staged_name(number)), key.type) for number, key in enumerate(keys))
    return sql("EXISTS (SELECT 1 FROM {keys} AS s WHERE {alike})", keys=Keys(Name.of(stage), own), alike=alike)


def _on(keys: Sequence[Column]) -> tuple[Same, ...]:
    return tuple(
        Same(Name(("t", key.name)), Name(("s", staged_name(number))), key.type) for number, key in enumerate(keys)
    )

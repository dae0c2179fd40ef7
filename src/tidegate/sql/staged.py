"""Statements that update, delete and save rows of a table by the keys in a staging table.

Columns of a stage are named by their number (`model.names.staged_name`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import KeyIsStaged, LockedRows, Name, SameValue, Sql, StagedKeys, StageJoin, names, sql


def update_from_stage(
    table: TableName, stage: TableName, keys: Sequence[Column], columns: Sequence[Column], *, identity: bool = True
) -> Sql:
    """Return an UPDATE of the rows whose key is in the stage. The stage has the keys first, then the new values.

    Without `identity`, identity columns keep their values (`Capabilities.updates_identity`)."""
    assigned = tuple(
        (Name.of(column.name), Name.of(staged_name(len(keys) + number)))
        for number, column in enumerate(columns)
        if identity or not column.identity
    )
    assert assigned, "without columns to set, `StageJoin` is a DELETE"
    return sql("{update}", update=StageJoin(Name.of(table), Name.of(stage), _on(keys), assigned))


def delete_by_stage(table: TableName, stage: TableName, keys: Sequence[Column]) -> Sql:
    return sql("{delete}", delete=StageJoin(Name.of(table), Name.of(stage), _on(keys)))


def copy_into_stage(table: TableName, stage: TableName, columns: Sequence[Column], rows: Sql | None) -> Sql:
    """Return an INSERT that copies these columns of the rows into a stage, and locks the rows until the commit."""
    return sql(
        "INSERT INTO {stage} ({staged}) SELECT {columns} FROM {locked}",
        stage=Name.of(stage),
        staged=names(staged_name(number) for number in range(len(columns))),
        columns=names(column.name for column in columns),
        locked=LockedRows(Name.of(table), rows),
    )


def has_any_value(columns: Sequence[Column], rows: Sql | None) -> Sql:
    """Return the condition that any of these columns is not null, among the rows that meet `rows`."""
    not_null = sql("{column} IS NOT NULL", column=Name.of(columns[0].name))
    for column in columns[1:]:
        not_null = sql("{not_null} OR {column} IS NOT NULL", not_null=not_null, column=Name.of(column.name))
    return not_null if rows is None else sql("({rows}) AND ({not_null})", rows=rows, not_null=not_null)


def key_is_staged(stage: TableName, keys: Sequence[Column]) -> Sql:
    """Return the condition that the key of a row is in the stage."""
    staged = tuple((Name.of(staged_name(number)), key.type) for number, key in enumerate(keys))
    on = tuple(
        SameValue(Name(("s", staged_name(number))), Name.of(key.name), key.type) for number, key in enumerate(keys)
    )
    return sql("{staged}", staged=KeyIsStaged(StagedKeys(Name.of(stage), staged), on))


def _on(keys: Sequence[Column]) -> tuple[SameValue, ...]:
    return tuple(
        SameValue(Name(("t", key.name)), Name(("s", staged_name(number))), key.type) for number, key in enumerate(keys)
    )

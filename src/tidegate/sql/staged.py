"""What a stage does to a table: rows change or leave by their keys. Columns of a stage are known by their number."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import Joined, Keys, Name, Same, Sql, sql


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

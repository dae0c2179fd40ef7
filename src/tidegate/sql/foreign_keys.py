"""Queries about foreign keys."""

from __future__ import annotations

from tidegate.model.foreign_keys import ForeignKey
from tidegate.sql.text import Count, Name, Sql, sql


def count_orphans(key: ForeignKey) -> Sql:
    """Return a query for the number of rows that refer to a row that is not there. A null refers to nothing."""
    conditions = [
        sql("p.{theirs} = c.{ours}", theirs=Name.of(theirs), ours=Name.of(ours))
        for ours, theirs in zip(key.columns, key.parent_columns, strict=True)
    ]
    given = [sql("c.{ours} IS NOT NULL", ours=Name.of(ours)) for ours in key.columns]
    return sql(
        "SELECT {count} FROM {table} AS c WHERE {given} AND NOT EXISTS (SELECT 1 FROM {parent} AS p WHERE {same})",
        count=Count(),
        table=Name.of(key.table),
        given=_all(given),
        parent=Name.of(key.parent),
        same=_all(conditions),
    )


def _all(conditions: list[Sql]) -> Sql:
    found = conditions[0]
    for condition in conditions[1:]:
        found = sql("{found} AND {condition}", found=found, condition=condition)
    return found

"""Make a user's query read only what is new: it is parsed, and conditions are added to the right SELECT.

Facts that shape this file
 * A column that is written in several tables of a query is qualified with the name of the table that has it.
 * A value is written as a plain literal. The server takes a text as what the column is; a CAST of sqlglot's would cut
   fractions of a second on MySQL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, DatabaseError
from tidegate.interfaces.session import Session
from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.model.records import Watermark
from tidegate.sql.text import Name, Sql, names, sql

if TYPE_CHECKING:
    from sqlglot import exp

UNTOUCHED = "Nothing was read."
LONGEST_INDEX_NAME = 60
# What sqlglot calls the dialects that have another name there.
_DIALECTS = {"postgresql": "postgres", "sqlserver": "tsql"}


class OptimizedQuery(str):
    """The query, with what was found out about it on the way."""

    __slots__ = ("notices", "recommendations")

    notices: tuple[str, ...]
    recommendations: tuple[str, ...]
    """DDL of indexes that the query would use."""


@dataclass(frozen=True)
class _Source:
    """A table in the FROM of a query, under its alias; its schema where the catalog has it."""

    alias: str
    name: TableName
    schema: TableSchema | None


def optimize_query(
    session: Session, query: str, watermark: Watermark | None, partition_column: str | None = None
) -> OptimizedQuery:
    """Return the query for rows after the watermark, with a condition on the partition column beside it.

    The partition condition starts at the day or value of the watermark. Rows of older partitions are not read."""
    statement = _parsed(query, session.database.kind)
    notices: list[str] = []
    recommended: list[str] = []
    for select in _selects(statement):
        sources = _sources(session, select)
        added, bounds = 0, _bounds(watermark, partition_column)
        for column, value, strict in bounds:
            source = _holder(sources, column)
            if source is None:
                notices.append(f"{column} is in no table of the query, so nothing was added for it")
                continue
            select.where(_condition(source, column, value, strict, qualify=len(sources) > 1), copy=False)
            added += 1
            recommended += [text for text in _index(session, source, column, query) if text not in recommended]
        if bounds and not added:
            raise ConfigError(
                f"No table of the query has a column {' or '.join(column for column, _, _ in bounds)}.",
                UNTOUCHED,
                "Name the column of the watermark in the query's own tables.",
            )
    made = OptimizedQuery(statement.sql(dialect=_dialect(session.database.kind)))
    made.notices, made.recommendations = tuple(notices), tuple(recommended)
    return made


def _dialect(kind: str) -> str:
    return _DIALECTS.get(kind, kind)


def _parsed(query: str, kind: str) -> exp.Query:
    try:
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
    except ImportError:
        raise ConfigError(
            "sqlglot, which reads queries, is not installed.", UNTOUCHED, "Install it with `pip install sqlglot`."
        ) from None
    try:
        statement = sqlglot.parse_one(query, dialect=_dialect(kind))
    except SqlglotError as problem:
        reason = re.sub(r"\x1b\[\d+m", "", str(problem)).splitlines()[0]
        raise ConfigError(f"The query cannot be read: {reason}", UNTOUCHED, "Correct the query.") from None
    if not isinstance(statement, exp.Query):
        raise ConfigError("The statement is no SELECT.", UNTOUCHED, "Pass the query that reads the rows.")
    return statement


def _selects(statement: Any) -> list[Any]:
    """Return the SELECTs that give the rows: one, or each part of a UNION."""
    from sqlglot import exp

    if isinstance(statement, exp.SetOperation):
        return [*_selects(statement.left), *_selects(statement.right)]
    return [statement.unnest()]


def _sources(session: Session, select: Any) -> list[_Source]:
    """Return the tables that a SELECT reads directly, in their order."""
    from sqlglot import exp

    begin = select.args.get("from_") or select.args.get("from")
    joined = [begin, *(select.args.get("joins") or ())] if begin is not None else []
    tables = [part.this for part in joined if isinstance(part.this, exp.Table)]
    wanted = {table: TableName(table.db, table.name).within(session.database.default_schema) for table in tables}
    found = session.table_schemas(sorted(set(wanted.values()))) if wanted else {}
    return [_Source(table.alias_or_name, wanted[table], found.get(wanted[table])) for table in tables]


def _bounds(watermark: Watermark | None, partition_column: str | None) -> list[tuple[str, Any, bool]]:
    """Return columns with the value that rows lie after, or, where the last item is False, at."""
    if watermark is None or watermark.watermark_value is None:
        return []
    value = watermark.watermark_value
    value = value[0] if isinstance(value, tuple) else value
    if partition_column == watermark.watermark_column:
        return [(partition_column, value, True)]
    bounds = [(watermark.watermark_column, value, True)]
    return bounds if partition_column is None else [*bounds, (partition_column, _day(value), False)]


def _day(value: Any) -> Any:
    """Return the day of a timestamp: partitions of days are compared with it."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, str):
        moment = re.match(r"\d{4}-\d\d-\d\d(?=[ T])", value)
        return moment[0] if moment else value
    return value


def _holder(sources: Sequence[_Source], column: str) -> _Source | None:
    """Return the table that has the column; the only table, where the catalog does not know it."""
    for source in sources:
        if source.schema is not None and source.schema.column(column) is not None:
            return source
    return sources[0] if len(sources) == 1 and sources[0].schema is None else None


def _condition(source: _Source, column: str, value: Any, strict: bool, *, qualify: bool) -> Any:
    from sqlglot import exp

    found = None if source.schema is None else source.schema.column(column)
    name = exp.column(
        exp.to_identifier(
            column if found is None else found.name, quoted=found is not None and not found.name.islower()
        ),
        table=source.alias if qualify else None,
    )
    literal = exp.Literal.number(str(value)) if isinstance(value, (int, float, Decimal)) else _text_literal(value)
    return exp.GT(this=name, expression=literal) if strict else exp.GTE(this=name, expression=literal)


def _text_literal(value: Any) -> Any:
    from sqlglot import exp

    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        text = value.isoformat()
    return exp.Literal.string(re.sub(r"^(\d{4}-\d\d-\d\d)T", r"\1 ", text))


def _index(session: Session, source: _Source, column: str, query: str) -> list[str]:
    """Return the DDL of an index on the column, where it has none and the server reads the whole table."""
    if source.schema is None:
        return []
    found = source.schema.column(column)
    if found is None or source.schema.has_index_on(found.name):
        return []
    try:
        scanned = session.scanned_tables(query)
    except DatabaseError:
        scanned = None
    if scanned is not None and source.name.name not in scanned and source.alias not in scanned:
        return []
    return [session.database.render(index_on(source.schema.name, found.name))]


def index_on(table: TableName, column: str) -> Sql:
    """Return the DDL of an index on one column."""
    return sql(
        "CREATE INDEX {index} ON {table} ({columns})",
        index=Name.of(f"ix_{table.name}_{column}"[:LONGEST_INDEX_NAME]),
        table=Name.of(table),
        columns=names([column]),
    )

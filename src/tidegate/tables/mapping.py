"""Map a table of the source as the configuration asks: other names, fewer columns, other types, fewer rows.

Everything behind this module sees the mapped table as if it stood in the source so: a statement reads a query in its
place (`MappedTable`). So plan, extraction, lake, load and verify agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tidegate.errors import ConfigError, Unsupported, ValueProblem
from tidegate.interfaces.database import Database
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import MappedTable, pluralize, row_name
from tidegate.model.plan import Notice
from tidegate.model.types import Type, chosen_type, may_become
from tidegate.settings import ColumnSettings, TableSettings
from tidegate.sql.contents import count_all_and, count_invalid, examples_of_invalid
from tidegate.sql.text import AsText, Name, Part, sql
from tidegate.tables.found import UNTOUCHED, FoundTable, named_column

FEW_ROWS = 100_000
"""Up to so many rows are counted by a condition while planning; `verify` counts those of any table."""

_SHOWN = 3


@dataclass(frozen=True)
class _Mapped:
    """One column: how it is read, and what it is from then on."""

    source: Column
    column: Column
    expression: Part


def mapped(settings: TableSettings, schema: TableSchema, source: Database) -> TableSchema:
    """Return the table with the columns and rows that are copied; the same where nothing is mapped. Raises
    MissingObject, ConfigError or Unsupported, with what to do."""
    if not (settings.where or settings.only_columns or settings.invalid_values or _changes(settings)):
        return schema
    columns = list(_columns(settings, schema, source))
    if not columns:
        raise _refused(settings, "no column of it would be copied", "Choose at least one column.")
    twice = [name for name, count in Counter(each.column.name for each in columns).items() if count > 1]
    if twice:
        raise _refused(settings, f"two columns would be called {', '.join(twice)}", "Choose another `name`.")
    names = {each.source.name: each.column.name for each in columns}
    expressions = [(source.render(sql("{value}", value=each.expression)), each.column.name) for each in columns]
    counter = source.change_counter(schema)
    # A system column needs a right on the whole table: only a change that reads it asks for it.
    if counter is not None and counter.name == settings.changes:
        expressions.append((source.render(sql("{name}", name=Name.of(counter.name))), counter.name))
    return replace(
        schema,
        name=MappedTable(schema.name.schema, schema.name.name, tuple(expressions), settings.where or ""),
        columns=tuple(each.column for each in columns),
        primary_key=_renamed(schema.primary_key, names),
        unique_keys=tuple(key for old in schema.unique_keys if (key := _renamed(old, names))),
        # A search by the first columns of an index still works when a later one is left out.
        indexes=tuple(index for old in schema.indexes if (index := _beginning(old, names))),
    )


def _changes(settings: TableSettings) -> bool:
    """Return whether a column is read in another way. Exact text is a way of transfer, and needs no query."""
    return any(
        not chosen.copied or chosen.name or chosen.invalid_values or chosen.type not in (None, "text")
        for chosen in settings.columns.values()
    )


def _columns(settings: TableSettings, schema: TableSchema, source: Database) -> Iterator[_Mapped]:
    chosen = {named_column(settings, schema, name, "columns").name: own for name, own in settings.columns.items()}
    wanted = {named_column(settings, schema, name, "only_columns").name for name in settings.only_columns or ()}
    for column in schema.columns:
        own = _with_default(chosen.get(column.name, ColumnSettings()), settings, schema, column, source)
        if own.copied and (not wanted or column.name in wanted):
            yield _column(settings, column, own, source)


def _with_default(
    own: ColumnSettings, settings: TableSettings, schema: TableSchema, column: Column, source: Database
) -> ColumnSettings:
    """Return the settings of a column with `invalid_values` of the table. A key keeps its values."""
    in_key = any(column.name in key for key in (schema.primary_key, *schema.unique_keys))
    if settings.invalid_values is None or own.invalid_values or own.type or in_key or source.only_valid(column) is None:
        return own
    return own.model_copy(update={"invalid_values": settings.invalid_values})


def _column(settings: TableSettings, column: Column, own: ColumnSettings, source: Database) -> _Mapped:
    here = replace(column, name=own.name or column.name)
    name = Name.of(column.name)
    if own.invalid_values is not None:
        valid = source.only_valid(column)
        if valid is None:
            text = f"values of {column.name} ({column.type}) are valid in every database"
            raise _refused(settings, text, "Take `invalid_values` out.")
        if own.invalid_values == "text":
            return _Mapped(column, _retyped(here, Type("string"), "text"), AsText(name, column.type))
        if own.invalid_values == "null":
            return _Mapped(column, replace(here, nullable=True), valid)
        return _Mapped(column, replace(here, type_is_chosen=True), name)
    wanted = chosen_type(own.type) if own.type is not None else None
    if wanted is None:
        return _Mapped(column, here, name)
    if not may_become(column.logical_type, wanted):
        raise Unsupported(
            f"{settings.name}: {column.name} is {column.type} in the source and cannot become {own.type} exactly.",
            UNTOUCHED,
            "Take the type out of `columns`, or keep the values as exact `text`.",
        )
    return _Mapped(column, replace(_retyped(here, wanted, column.type), type_is_chosen=True), name)


def _retyped(column: Column, wanted: Type, spelling: str) -> Column:
    """Return the column as one of no database: every target declares it by its logical type."""
    return replace(
        column,
        type=spelling,
        portable_type="",
        logical_type=wanted,
        storage_type=wanted.storage_type,
        database="",
        collation="",
    )


def _refused(settings: TableSettings, what: str, remedy: str) -> ConfigError:
    return ConfigError(f"{settings.name}: {what}.", UNTOUCHED, remedy)


def _renamed(key: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(names[name] for name in key) if set(key) <= names.keys() else ()


def _beginning(index: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
    known = next((place for place, name in enumerate(index) if name not in names), len(index))
    return tuple(names[name] for name in index[:known])


# What a person should know


def notices(settings: TableSettings, source: TableSchema) -> list[Notice]:
    """Return what the plan says of a mapped table; `source` is the table as the catalog has it."""
    left_out = [name for name, own in settings.columns.items() if not own.copied]
    if settings.only_columns:
        chosen = {name.lower() for name in settings.only_columns}
        left_out += [column.name for column in source.columns if column.name.lower() not in chosen]
    found = [Notice(f"not copied: {', '.join(dict.fromkeys(left_out))}")] if left_out else []
    types = [f"{name}: {own.type}" for name, own in settings.columns.items() if own.type not in (None, "text")]
    if types:
        found.append(Notice(f"chosen types, every value is checked: {', '.join(types)}"))
    return found


def counted(table: FoundTable, base: TableSchema, session: Session, *, count_all: bool) -> FoundTable:
    """Return the table with the rows that `where` leaves out, and with notices about invalid values, as far as they may
    be counted now. Raises ValueProblem for invalid values that are refused."""
    settings = table.settings
    found: list[Notice] = []
    may_count = count_all or base.row_estimate <= FEW_ROWS
    if settings.where and may_count:
        [(every, some)] = session.query(count_all_and(base.name, settings.where))
        table = replace(table, left_out=int(str(every)) - int(str(some)))
    chosen = {named_column(settings, base, name, "columns").name: own for name, own in settings.columns.items()}
    for column in base.columns:
        name = column.name
        own = _with_default(chosen.get(name, ColumnSettings()), settings, base, column, session.database)
        valid = session.database.only_valid(column) if own.invalid_values and own.copied else None
        if valid is None:
            continue
        if not may_count:
            found.append(Notice(f"invalid values of {name}: {own.invalid_values}; `verify` counts them"))
            continue
        question = count_invalid(base.name, column, valid, settings.where or "")
        rows = int(str(session.query(question)[0][0]))
        if rows and own.invalid_values == "refuse":
            shown = _invalid_rows(session, base, column, valid, settings)
            raise ValueProblem(
                f"{settings.name}: {pluralize(rows, 'row')} of {base.name} have an invalid {name} ({column.type})"
                f"{shown}.",
                "Nothing was written.",
                f"Correct them, or write `columns: {{{name}: {{invalid_values: null}}}}` (or `text`).",
            )
        if rows:
            becomes = "become null" if own.invalid_values == "null" else "are kept as text"
            found.append(Notice(f"{pluralize(rows, 'invalid value')} of {name} {becomes}", severity="warning"))
    return replace(table, notices=(*table.notices, *found))


def _invalid_rows(session: Session, base: TableSchema, column: Column, valid: Part, settings: TableSettings) -> str:
    """Return the keys of the first rows with an invalid value, for a message; empty where the table has no key."""
    key = base.primary_key or next(iter(base.unique_keys), ())
    columns = [base.exact_column(name) for name in key]
    if not key or None in columns:
        return ""
    present = [each for each in columns if each is not None]
    asked = examples_of_invalid(present, base.name, column, valid, settings.where or "", _SHOWN)
    return f": {'; '.join(row_name(dict(zip(key, row, strict=True))) for row in session.query(asked))}"

"""SQL templates whose holes do not take strings.

Write a statement as it reads: `sql("SELECT {columns} FROM {table}", columns=..., table=...)`. Each hole takes a `Name`,
a `Literal`, another statement, or a list of those (joined by commas). A plain string raises TypeError. So no name and
no value enters a statement unquoted. The dialect of the database does the quoting.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.errors import ValueProblem
from tidegate.model.names import MappedTable, TableName


@dataclass(frozen=True)
class Name:
    """An identifier of one or more parts: `schema.table`."""

    parts: tuple[str, ...]
    mapped: MappedTable | None = None
    """A table that is read with other columns or fewer rows: a query stands in its place."""

    @classmethod
    def of(cls, name: str | TableName) -> Name:
        if isinstance(name, TableName):
            parts = (name.schema, name.name) if name.schema else (name.name,)
            return cls(parts, name if isinstance(name, MappedTable) else None)
        return cls((name,))


@dataclass(frozen=True)
class Literal:
    """A value. With `type` it is cast to that type, so that a comparison can use an index of the column."""

    value: str | int | None
    type: str = ""


@dataclass(frozen=True)
class AsText:
    """The text form of a value of this type, as the server writes it."""

    value: Name | Sql
    type: str = ""


@dataclass(frozen=True)
class ExactColumn:
    """A column to group by. Each distinct value is its own group, also if the collation says that texts are equal."""

    column: Name
    type: str = ""


@dataclass(frozen=True)
class CursorValue:
    """A column as a value that grows with change. The server's own counters (`xmin`) start anew when they are full."""

    column: Name
    type: str = ""


@dataclass(frozen=True)
class IsOneOf:
    """Whether a column has one of these values, exactly: a collation that ignores case does not count."""

    column: Name
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class SameValue:
    """Whether two columns of one type have the same value, exactly: a collation that ignores case does not count."""

    left: Name
    right: Name
    type: str = ""


@dataclass(frozen=True)
class StageJoin:
    """UPDATE or DELETE of the rows `t` of a table that have a matching row `s` in a stage."""

    table: Name
    stage: Name
    on: tuple[SameValue, ...]
    assigned: tuple[tuple[Name, Name], ...] = ()
    """Pairs of a column of the table and the column of the stage to set it from. Empty for DELETE."""


@dataclass(frozen=True)
class StagedKeys:
    """The distinct keys of a stage, for a FROM in a semi-join."""

    stage: Name
    columns: tuple[tuple[Name, str], ...]
    """Pairs of a column and its type."""


@dataclass(frozen=True)
class KeyIsStaged:
    """Whether the key of a row is in a stage. A comparison has the column of the stage, `s.…`, and that of the row."""

    keys: StagedKeys
    on: tuple[SameValue, ...]


@dataclass(frozen=True)
class LockedRows:
    """Rows of a table, for a FROM, locked against changes by others until the transaction ends."""

    table: Name
    rows: Sql | None = None


@dataclass(frozen=True)
class Checksum:
    """The server's own checksum of these columns, as text, whatever the order of the rows. Collisions are possible."""

    columns: tuple[tuple[Name, str], ...]
    """Pairs of a column and its type."""


@dataclass(frozen=True)
class Count:
    """COUNT(*) as a 64-bit number, optionally of the rows that meet a condition."""

    condition: Sql | None = None


@dataclass(frozen=True)
class First:
    """The first rows of an ordered query."""

    query: Sql
    rows: int


@dataclass(frozen=True)
class Nth:
    """One row of an ordered query: the one after so many others."""

    query: Sql
    before: int


@dataclass(frozen=True)
class Sql:
    """A statement or a part of one. Created by `sql()` and `raw()` only."""

    template: str
    holes: tuple[tuple[str, Hole], ...] = ()


Part: TypeAlias = (
    Name
    | Literal
    | AsText
    | ExactColumn
    | CursorValue
    | IsOneOf
    | SameValue
    | StageJoin
    | StagedKeys
    | KeyIsStaged
    | LockedRows
    | Checksum
    | Count
    | First
    | Nth
    | Sql
)
Hole: TypeAlias = Part | Sequence[Part]


class Dialect:
    """How a database writes names, values and comparisons. The base class is standard SQL; databases override parts."""

    update_joined = "UPDATE {table} AS t SET {assigned} FROM {stage} AS s WHERE {on}"
    assigned = "{column} = s.{value}"
    delete_joined = "DELETE FROM {table} AS t USING {stage} AS s WHERE {on}"
    locked = "{table}{where} FOR UPDATE"
    longest_text: int | None = None
    """The most bytes that a text can have, where there is a bound that our own tables could meet."""
    joins_by_alias = True
    """Whether UPDATE and DELETE take the aliases `t` and `s`. Otherwise they name table and stage in full."""

    def name(self, part: str) -> str:
        return '"' + part.replace('"', '""') + '"'

    def literal(self, literal: Literal) -> str:
        if literal.value is None:
            return "NULL"
        if isinstance(literal.value, int) and not literal.type:
            return str(literal.value)
        quoted = "'" + str(literal.value).replace("'", "''") + "'"
        return self.typed(quoted, literal.type) if literal.type else quoted

    def typed(self, quoted: str, column_type: str) -> str:
        """Return a quoted text as a value of this column's type, so that an index on the column is used."""
        return f"CAST({quoted} AS {column_type})"

    def as_text(self, value: str, column_type: str = "") -> str:
        return f"CAST({value} AS text)"

    def exact(self, column: str, column_type: str = "") -> str:
        return column

    def cursor_value(self, column: str, column_type: str = "") -> str:
        return column

    def encode_key(self, text: str) -> str:
        """Return a text as it is stored in key columns of Tidegate's own tables.

        Two different texts must stay different there, also if the database ignores trailing blanks."""
        return text

    def decode_key(self, key: str) -> str:
        """Return the text that `encode_key` encoded."""
        return key

    def count(self, expression: str) -> str:
        return f"count({expression})"

    def is_one_of(self, column: str, values: Sequence[Literal]) -> str:
        return equals_any(column, [self.literal(value) for value in values])

    def same_value(self, left: str, right: str, column_type: str = "") -> str:
        return f"{left} = {right}"

    def staged_keys(self, stage: str, keys: Sequence[tuple[str, str]]) -> str:
        """Return the FROM item of `StagedKeys`: the stage, or a query of its distinct keys. Each key has its type."""
        return stage

    def key_is_staged(self, keys: str, on: Sequence[tuple[SameValue, str]]) -> str:
        """Return the condition of `KeyIsStaged`. `keys` is the FROM item; each comparison comes with its text."""
        same_key = " AND ".join(text for _, text in on)
        return f"EXISTS (SELECT 1 FROM {keys} AS s WHERE {same_key})"  # noqa: S608

    def checksum(self, columns: Sequence[tuple[str, str]]) -> str:
        """Return the checksum of columns, given with their types. A sum: with XOR, duplicate rows would cancel out."""
        named = ", ".join(column for column, _ in columns)
        return f"CAST(sum(hashtextextended(CAST(ROW({named}) AS text), 0)) AS text)"

    def first(self, query: str, rows: int) -> str:
        return f"{query} LIMIT {rows:d}"

    def nth(self, query: str, before: int) -> str:
        return f"{query} LIMIT 1 OFFSET {before:d}"


def equals_any(value: str, literals: Sequence[str]) -> str:
    """Return `value = a`, or `value IN (a, b)` for several literals."""
    return f"{value} = {literals[0]}" if len(literals) == 1 else f"{value} IN ({', '.join(literals)})"


def sql(template: str, **holes: Hole) -> Sql:
    """Return a statement. Every hole of the template must be given, and nothing else; a string raises TypeError."""
    named = {field for _, field, _, _ in string.Formatter().parse(template) if field is not None}
    if named != holes.keys():
        raise TypeError(f"holes {sorted(named)} were given {sorted(holes)}")
    if any(isinstance(hole, str) for hole in holes.values()):
        raise TypeError("a plain string cannot stand in a statement")
    return Sql(template, tuple(holes.items()))


def raw(text: str) -> Sql:
    """Return text as it is: a type from the catalog, or SQL of a user (`ready_query`). Never a name or a value."""
    return Sql(text.replace("{", "{{").replace("}", "}}"))


def names(columns: Iterable[str]) -> list[Part]:
    return [Name.of(column) for column in columns]


def render(statement: Part, dialect: Dialect) -> str:
    """Return the text that the server gets. Raises ValueProblem for a NUL character."""
    match statement:
        case Name(parts, mapped):
            written = ".".join(_without_nul(part, dialect.name(part)) for part in parts)
            return written if mapped is None else _derived(written, mapped, dialect)
        case Literal(value):
            return _without_nul(str(value), dialect.literal(statement))
        case AsText(value, type_):
            return dialect.as_text(render(value, dialect), type_)
        case ExactColumn(column, type_):
            return dialect.exact(render(column, dialect), type_)
        case CursorValue(column, type_):
            return dialect.cursor_value(render(column, dialect), type_)
        case SameValue(left, right, type_):
            return dialect.same_value(render(left, dialect), render(right, dialect), type_)
        case StageJoin():
            return _joined(statement, dialect)
        case StagedKeys(stage, columns):
            named = [(render(column, dialect), type_) for column, type_ in columns]
            return dialect.staged_keys(render(stage, dialect), named)
        case KeyIsStaged(keys, on):
            comparisons = [(same, render(same, dialect)) for same in on]
            return dialect.key_is_staged(render(keys, dialect), comparisons)
        case LockedRows(table, rows):
            where = "" if rows is None else f" WHERE {render(rows, dialect)}"
            return dialect.locked.format(table=render(table, dialect), where=where)
        case Checksum(columns):
            return dialect.checksum([(render(column, dialect), type_) for column, type_ in columns])
        case Count(condition):
            return dialect.count("*" if condition is None else f"CASE WHEN {render(condition, dialect)} THEN 1 END")
        case IsOneOf(column, values):
            for literal in values:
                render(literal, dialect)  # raises for a NUL, which `is_one_of` would let through
            return dialect.is_one_of(render(column, dialect), values)
        case First(query, rows):
            return dialect.first(render(query, dialect), rows)
        case Nth(query, before):
            return dialect.nth(render(query, dialect), before)
        case Sql(template, holes):
            return template.format(
                **{key: _render_hole(hole, dialect) + _alias(template, key, hole) for key, hole in holes}
            )
    raise TypeError(f"{type(statement).__name__} cannot stand in a statement")


def _joined(joined: StageJoin, dialect: Dialect) -> str:
    table, stage = render(joined.table, dialect), render(joined.stage, dialect)
    conditions = joined.on if dialect.joins_by_alias else [_in_full(joined, same) for same in joined.on]
    on = " AND ".join(render(same, dialect) for same in conditions)
    pairs = [(render(column, dialect), render(value, dialect)) for column, value in joined.assigned]
    assigned = ", ".join(dialect.assigned.format(column=column, value=value, stage=stage) for column, value in pairs)
    template = dialect.update_joined if pairs else dialect.delete_joined
    return template.format(table=table, stage=stage, on=on, assigned=assigned)


def _in_full(joined: StageJoin, same: SameValue) -> SameValue:
    """Return a comparison with the names of table and stage in the places of their aliases."""
    full = {"t": joined.table.parts, "s": joined.stage.parts}
    left, right = (Name((*full[side.parts[0]], *side.parts[1:])) for side in (same.left, same.right))
    return SameValue(left, right, same.type)


def _render_hole(hole: Hole, dialect: Dialect) -> str:
    return ", ".join(render(part, dialect) for part in hole) if isinstance(hole, Sequence) else render(hole, dialect)


_DERIVED = "(SELECT {columns} FROM {table}{where})"


def _derived(table: str, mapped: MappedTable, dialect: Dialect) -> str:
    """Return the query that stands for a mapped table. A condition may end with a comment: the bracket is on a new
    line."""
    columns = ", ".join(f"{expression} AS {dialect.name(name)}" for expression, name in mapped.columns)
    where = f" WHERE (\n{mapped.where}\n)" if mapped.where else ""
    return _DERIVED.format(columns=columns, table=table, where=where)


def _alias(template: str, key: str, hole: Hole) -> str:
    """Return the alias that a query in a FROM needs, where the template does not name one."""
    is_query = isinstance(hole, Name) and hole.mapped is not None
    return " AS tidegate_source" if is_query and f"{{{key}}} AS " not in template else ""


def _without_nul(original: str, rendered: str) -> str:
    if "\0" in original:
        raise ValueProblem(
            "A name or value holds a NUL character.", "No statement was sent.", "Correct the name or value."
        )
    return rendered

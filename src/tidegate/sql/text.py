"""SQL text whose holes cannot be filled with a string.

A statement is written as it reads, `sql("SELECT {columns} FROM {table}", columns=..., table=...)`, and each hole
takes a `Name`, a `Literal`, another statement, or a list of those (joined by commas). A plain string is refused, so
no name and no value ever enters a statement unquoted. The dialect of the database does the quoting.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.errors import ValueProblem
from tidegate.model.names import TableName


@dataclass(frozen=True)
class Name:
    """An identifier, in one or more parts."""

    parts: tuple[str, ...]

    @classmethod
    def of(cls, name: str | TableName) -> Name:
        if isinstance(name, TableName):
            return cls((name.schema, name.name) if name.schema else (name.name,))
        return cls((name,))


@dataclass(frozen=True)
class Literal:
    """A value. With `type` it is written in that type, so that a comparison uses the column's own."""

    value: str | int | None
    type: str = ""


@dataclass(frozen=True)
class AsText:
    """The text of a value, as the server writes it for a column of this type."""

    value: Name | Sql
    type: str = ""


@dataclass(frozen=True)
class Exactly:
    """A column to group by, each value apart, also where its collation calls unlike texts equal."""

    column: Name
    type: str = ""


@dataclass(frozen=True)
class Among:
    """Whether a column's value is one of these: exactly, also where its collation calls unlike texts equal."""

    column: Name
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Same:
    """Whether two columns of one type hold the same value: exactly, also where their collation says more."""

    one: Name
    other: Name
    type: str = ""


@dataclass(frozen=True)
class Joined:
    """The rows `t` of a table that have a partner `s` in a stage, to be updated or deleted."""

    table: Name
    stage: Name
    on: tuple[Same, ...]
    assigned: tuple[tuple[Name, Name], ...] = ()
    """Columns of the table, and the columns of the stage that they get; none to delete the rows."""


@dataclass(frozen=True)
class Keys:
    """The keys in a stage, each once, by which rows of a table are looked for."""

    stage: Name
    columns: tuple[tuple[Name, str], ...]
    """Each with its type."""


@dataclass(frozen=True)
class Locked:
    """Rows of a table, for a FROM: nobody else changes them until the transaction ends."""

    table: Name
    rows: Sql | None = None


@dataclass(frozen=True)
class Checksum:
    """A number, as text, that most changes of these columns change; whatever the order of the rows."""

    columns: tuple[tuple[Name, str], ...]
    """Each with its type."""


@dataclass(frozen=True)
class Count:
    """How many rows there are, however many; those of which something holds, where that is said."""

    holds: Sql | None = None


@dataclass(frozen=True)
class First:
    """The first rows of an ordered query."""

    query: Sql
    rows: int


@dataclass(frozen=True)
class Sql:
    """A statement or a part of one. Only `sql()` and `raw()` make it."""

    template: str
    holes: tuple[tuple[str, Hole], ...] = ()


Part: TypeAlias = (
    Name | Literal | AsText | Exactly | Among | Same | Joined | Keys | Locked | Checksum | Count | First | Sql
)
Hole: TypeAlias = Part | Sequence[Part]


class Dialect:
    """How one database writes names and values: here as the standard has it, a database overrides the rest."""

    update_joined = "UPDATE {table} AS t SET {assigned} FROM {stage} AS s WHERE {on}"
    assigned = "{column} = s.{value}"
    delete_joined = "DELETE FROM {table} AS t USING {stage} AS s WHERE {on}"
    locked = "{table}{where} FOR UPDATE"

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
        """A text as a value of this column's type, so that an index on the column is used."""
        return f"CAST({quoted} AS {column_type})"

    def as_text(self, value: str, column_type: str = "") -> str:
        return f"CAST({value} AS text)"

    def exactly(self, column: str, column_type: str = "") -> str:
        return column

    def key(self, text: str) -> str:
        """As it stands in keys of our own tables: whatever compares there must tell it from every other."""
        return text

    def of_key(self, key: str) -> str:
        """The text that `key` made this of."""
        return key

    def count(self, what: str) -> str:
        return f"count({what})"

    def among(self, column: str, values: Sequence[Literal]) -> str:
        return one_of(column, [self.literal(value) for value in values])

    def same(self, one: str, other: str, column_type: str = "") -> str:
        return f"{one} = {other}"

    def keys_of(self, stage: str, keys: Sequence[tuple[str, str]]) -> str:
        """What stands for the stage where rows are looked for by its keys, which are given with their types."""
        return stage

    def checksum(self, columns: Sequence[tuple[str, str]]) -> str:
        """Of columns and their types. Sums, since what stands there twice would cancel out otherwise."""
        named = ", ".join(column for column, _ in columns)
        return f"CAST(sum(hashtextextended(CAST(ROW({named}) AS text), 0)) AS text)"

    def first(self, query: str, rows: int) -> str:
        return f"{query} LIMIT {rows:d}"


def one_of(value: str, written: Sequence[str]) -> str:
    return f"{value} = {written[0]}" if len(written) == 1 else f"{value} IN ({', '.join(written)})"


def sql(template: str, **holes: Hole) -> Sql:
    """A statement. Every hole of the template must be given, and nothing else."""
    named = {field for _, field, _, _ in string.Formatter().parse(template) if field is not None}
    if named != holes.keys():
        raise TypeError(f"holes {sorted(named)} were given {sorted(holes)}")
    if any(isinstance(hole, str) for hole in holes.values()):
        raise TypeError("a plain string cannot stand in a statement")
    return Sql(template, tuple(holes.items()))


def raw(text: str) -> Sql:
    """Text that a catalog produced (a type) or a user wrote as SQL (`ready_query`); never a name or a value."""
    return Sql(text.replace("{", "{{").replace("}", "}}"))


def names(columns: Iterable[str]) -> list[Part]:
    return [Name.of(column) for column in columns]


def render(statement: Part, dialect: Dialect) -> str:
    """The text that the server gets."""
    match statement:
        case Name(parts):
            return ".".join(_without_nul(part, dialect.name(part)) for part in parts)
        case Literal(value):
            return _without_nul(str(value), dialect.literal(statement))
        case AsText(value, type_):
            return dialect.as_text(render(value, dialect), type_)
        case Exactly(column, type_):
            return dialect.exactly(render(column, dialect), type_)
        case Same(one, other, type_):
            return dialect.same(render(one, dialect), render(other, dialect), type_)
        case Joined():
            return _joined(statement, dialect)
        case Keys(stage, columns):
            named = [(render(column, dialect), type_) for column, type_ in columns]
            return dialect.keys_of(render(stage, dialect), named)
        case Locked(table, rows):
            where = "" if rows is None else f" WHERE {render(rows, dialect)}"
            return dialect.locked.format(table=render(table, dialect), where=where)
        case Checksum(columns):
            return dialect.checksum([(render(column, dialect), type_) for column, type_ in columns])
        case Count(holds):
            return dialect.count("*" if holds is None else f"CASE WHEN {render(holds, dialect)} THEN 1 END")
        case Among(column, values):
            for literal in values:
                render(literal, dialect)  # refuses a NUL, which the dialect's own writing would let through
            return dialect.among(render(column, dialect), values)
        case First(query, rows):
            return dialect.first(render(query, dialect), rows)
        case Sql(template, holes):
            return template.format(**{key: _render_hole(hole, dialect) for key, hole in holes})
    raise TypeError(f"{type(statement).__name__} cannot stand in a statement")


def _joined(joined: Joined, dialect: Dialect) -> str:
    table, stage = render(joined.table, dialect), render(joined.stage, dialect)
    on = " AND ".join(render(same, dialect) for same in joined.on)
    pairs = [(render(column, dialect), render(value, dialect)) for column, value in joined.assigned]
    assigned = ", ".join(dialect.assigned.format(column=column, value=value) for column, value in pairs)
    template = dialect.update_joined if pairs else dialect.delete_joined
    return template.format(table=table, stage=stage, on=on, assigned=assigned)


def _render_hole(hole: Hole, dialect: Dialect) -> str:
    return ", ".join(render(part, dialect) for part in hole) if isinstance(hole, Sequence) else render(hole, dialect)


def _without_nul(original: str, rendered: str) -> str:
    if "\0" in original:
        raise ValueProblem(
            "A name or value holds a NUL character.", "No statement was sent.", "Correct the name or value."
        )
    return rendered

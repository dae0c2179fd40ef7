"""SQL text whose holes cannot be filled with a string.

A statement is written as it reads, `sql("SELECT {columns} FROM {table}", columns=..., table=...)`, and each hole
takes a `Name`, a `Literal`, another statement, or a list of those (joined by commas). A plain string is refused, so
no name and no value ever enters a statement unquoted. The dialect of the database does the quoting.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

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
class Sql:
    """A statement or a part of one. Only `sql()` and `raw()` make it."""

    template: str
    holes: tuple[tuple[str, Hole], ...] = ()


Part: TypeAlias = Name | Literal | Sql
Hole: TypeAlias = Part | Sequence[Part]


class Dialect(Protocol):
    """How one database writes names and values."""

    def name(self, part: str) -> str: ...

    def literal(self, literal: Literal) -> str: ...


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
        case Sql(template, holes):
            return template.format(**{key: _render_hole(hole, dialect) for key, hole in holes})
    raise TypeError(f"{type(statement).__name__} cannot stand in a statement")


def _render_hole(hole: Hole, dialect: Dialect) -> str:
    if isinstance(hole, (Name, Literal, Sql)):
        return render(hole, dialect)
    return ", ".join(render(part, dialect) for part in hole)


def _without_nul(original: str, rendered: str) -> str:
    if "\0" in original:
        raise ValueProblem(
            "A name or value holds a NUL character.", "No statement was sent.", "Correct the name or value."
        )
    return rendered

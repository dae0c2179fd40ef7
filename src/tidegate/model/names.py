"""Names of tables, as users write them and as databases quote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_PART = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')


@dataclass(frozen=True, order=True)
class TableName:
    """The name of a table. An empty schema means the default schema of the database."""

    schema: str
    name: str

    def __str__(self) -> str:
        """Return the text that `parse` reads as the same name. Ledger and lake store tables under this text."""
        return f"{_quoted(self.schema)}.{_quoted(self.name)}" if self.schema else _quoted(self.name)

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Return the name in `orders`, `sales.orders` or, quoted, `"odd.schema"."odd ""table"`. Raises ValueError."""
        parts, position = [], 0
        while position < len(text):
            match = _PART.match(text, position)
            if match is None:
                raise ValueError(f"{text!r} is not a table name")
            parts.append(match[1].replace('""', '"') if match[1] is not None else match[2])
            position = match.end()
            if position < len(text):
                if text[position] != "." or position + 1 == len(text):
                    raise ValueError(f"{text!r} is not a table name")
                position += 1
        if len(parts) not in (1, 2):
            raise ValueError(f"{text!r} is not a table name")
        return cls(parts[0] if len(parts) == 2 else "", parts[-1])

    def within(self, default_schema: str) -> TableName:
        """Return the name with its schema filled in. `dbo` means the default schema of every database."""
        return TableName(default_schema, self.name) if self.schema in ("", "dbo") else self


@dataclass(frozen=True, order=True)
class MappedTable(TableName):
    """A table of the source as the configuration reads it: a statement reads it as a query, all else as its name."""

    columns: tuple[tuple[str, str], ...] = ()
    """Pairs of an expression, in SQL of the source, and the name of the column here."""
    where: str = ""
    """A condition for its rows, in SQL of the source; empty for all rows."""

    @property
    def base(self) -> TableName:
        """Return the name of the table itself."""
        return TableName(self.schema, self.name)


@dataclass(frozen=True, order=True)
class LakeName(TableName):
    """The name of a table in a lake, with the database that it is read from and the schema that it is loaded into."""

    source_db: str = ""
    target_schema: str = ""
    below: str = ""
    """The name inside of `source_db`: with its schema, where that is not the default one."""


def pluralize(count: int, word: str) -> str:
    """Return `1 row`, `1,204 rows`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def staged_name(number: int) -> str:
    """Return the name of a column of a staging table. No user's column has such a name, so it needs no prefix."""
    return f"tidegate_{number}"


def resolve_names(names: Iterable[TableName], existing: Iterable[TableName]) -> dict[TableName, TableName]:
    """Return for each name the existing table: of exactly this name, or the only one that differs in case."""
    exact = set(existing)
    by_case: dict[str, list[TableName]] = {}
    for name in exact:
        by_case.setdefault(str(name).lower(), []).append(name)
    candidates = {name: [name] if name in exact else by_case.get(str(name).lower(), []) for name in names}
    return {name: tables[0] for name, tables in candidates.items() if len(tables) == 1}


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"' if re.search(r'[".]', part) else part


def row_name(key: Mapping[str, object]) -> str:
    """Return the key of a row for people: `id=7`, or `code=A, version=2` where it has several columns."""
    return ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in key.items())


def key_example(key: Mapping[str, object]) -> str:
    """Return the key of a row for a message that names its columns already: `7`, or `code=A, version=2`."""
    if len(key) != 1:
        return row_name(key)
    [value] = key.values()
    return "NULL" if value is None else str(value)

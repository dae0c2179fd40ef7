"""Names of tables, as users write them and as databases quote them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PART = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')


@dataclass(frozen=True, order=True)
class TableName:
    """A table in a schema. An empty schema means the default one of the database that is asked."""

    schema: str
    name: str

    def __str__(self) -> str:
        """What `parse` reads as the same name: the ledger and the lake know a table by it."""
        return f"{_shown(self.schema)}.{_shown(self.name)}" if self.schema else _shown(self.name)

    @classmethod
    def parse(cls, text: str) -> TableName:
        """`orders`, `sales.orders`, or with quoted parts `"odd.schema"."odd ""table"`."""
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
        """The same name with the schema filled in. `dbo` means the default schema everywhere."""
        return TableName(default_schema, self.name) if self.schema in ("", "dbo") else self


def counted(count: int, word: str) -> str:
    """So many of something, for people."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def staged_name(number: int) -> str:
    """A column of a stage: like no column of a user's, so that it may stand beside theirs without a prefix."""
    return f"tidegate_{number}"


def spelled(names: Iterable[TableName], there: Iterable[TableName]) -> dict[TableName, TableName]:
    """For each name the table of exactly this spelling, else the only one that differs in case."""
    exact = set(there)
    by_case: dict[str, list[TableName]] = {}
    for name in exact:
        by_case.setdefault(str(name).lower(), []).append(name)
    found = {name: [name] if name in exact else by_case.get(str(name).lower(), []) for name in names}
    return {name: alike[0] for name, alike in found.items() if len(alike) == 1}


def _shown(part: str) -> str:
    return '"' + part.replace('"', '""') + '"' if re.search(r'[".]', part) else part

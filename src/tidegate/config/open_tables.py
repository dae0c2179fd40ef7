"""Tables that the configuration leaves open: patterns over the source's tables, and tables without a kind.

The catalog of the source completes them when a command starts (`ops/open_tables.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tidegate.config.tables import ConfiguredTable
from tidegate.model.names import TableName

AUTO = "auto"
"""The kind of a table whose settings are decided from the catalog, once, and remembered."""
_TEMPLATE = re.compile(r"\{(schema|table)\}")


def is_pattern(key: str) -> bool:
    """Return whether a key of `tables` names many tables. A quoted name is one table, whatever it contains; brackets
    occur in names, so they are no signs of a pattern."""
    return not key.startswith('"') and any(letter in key for letter in "*?")


def spellings(key: str, default_schema: str) -> tuple[str, ...]:
    """Return how a pattern may spell a table: as its key, and with its schema."""
    try:
        return key, str(TableName.parse(key).within(default_schema))
    except ValueError:
        return (key,)


def matches(pattern: str, texts: Sequence[str]) -> bool:
    plain = pattern.lower().replace("[", "[[]")
    return any(fnmatchcase(text.lower(), plain) for text in texts)


def target_of(key: str, written: object, schema_map: Mapping[str, str], default_schema: str) -> object:
    """Return the target table's name: as it is written, from a template such as `{schema}_{table}`, or that of the key
    with its schema mapped. A text that is no name is returned as it is: the model refuses it."""
    try:
        name = TableName.parse(key)
    except ValueError:
        return written
    schema = name.within(default_schema).schema
    if isinstance(written, str) and _TEMPLATE.search(written):
        filled = [
            _TEMPLATE.sub(lambda hole: schema if hole[1] == "schema" else name.name, part)
            for part in written.split(".")
        ]
        return TableName("".join(filled[:-1]), filled[-1]) if len(filled) <= 2 else written
    if written is None and schema in schema_map:
        return TableName(schema_map[schema], name.name)
    return written


@dataclass(frozen=True)
class Pattern:
    """A pattern of `tables` with the settings of the tables that it selects; without settings it leaves tables out."""

    text: str
    settings: Mapping[str, Any] | None


@dataclass(frozen=True)
class OpenTables:
    """What the catalog has to complete."""

    patterns: tuple[Pattern, ...]
    named: tuple[str, ...]
    """Tables that are configured by name and whose kind is open."""
    written: tuple[str, ...]
    """Every key that names one table, also of tables that are left out, in the order of the file."""
    default_schema: str
    """Of the source."""
    kinds: Callable[[str], list[str]] = field(repr=False)
    """Returns the kinds whose settings include those that are written for a table."""
    source: Callable[[str], object] = field(repr=False)
    """Returns the name of a table's source, where it is written; else None."""
    target: Callable[[str], object] = field(repr=False)
    """Returns the name of a table's target, likewise."""
    build: Callable[[str, Mapping[str, Any]], ConfiguredTable] = field(repr=False)
    """Returns the table with what was decided for it. What is written wins. Raises ConfigError."""

    def selects(self, key: str) -> bool:
        """Return whether the patterns take a table. The last pattern that matches decides."""
        texts = spellings(key, self.default_schema)
        found = [pattern for pattern in self.patterns if matches(pattern.text, texts)]
        return bool(found) and found[-1].settings is not None

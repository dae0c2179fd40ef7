"""Proposal: what `init` writes. What was detected in each table, as a file that loads, with the reasons as comments.

Names are whatever the source holds: quotes, colons, line breaks. They enter the file through `_scalar` and `_comment`
alone, and neither can be left by any character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from tidegate.interfaces import Database, Session
from tidegate.model.names import TableName
from tidegate.ops.detection import Proposal, Setting, detect
from tidegate.ops.detection.current_rows import checked

# What YAML readers, ours or another, do not take for a text.
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
# YAML gives up on longer keys that are not marked as such.
_LONGEST_KEY = 1_000
# As people think of their tables: facts, what they refer to, and what hardly ever changes.
_ORDER = ("partition", "scd2", "static")


def propose(database: Database, session: Session, patterns: Sequence[str] = ()) -> list[Proposal]:
    """Every table that the login may see and that matches a pattern (all, when there is none)."""
    names = [name for name in session.tables() if _matches(name, patterns)]
    shapes = session.shapes(names)
    there = [shapes[name] for name in names if name in shapes]
    found = [checked(detect(shape, database.partition_kind), shape, session) for shape in there]
    return [_nameable(proposal, database.default_schema) for proposal in found]


def _matches(name: TableName, patterns: Sequence[str]) -> bool:
    spelled = (name.name.lower(), str(name).lower())
    return not patterns or any(fnmatchcase(text, pattern.lower()) for text in spelled for pattern in patterns)


def _nameable(proposal: Proposal, default_schema: str) -> Proposal:
    """The same, unless the name would mean another table in the file: `dbo` is the default schema everywhere."""
    key = _key(proposal.table, default_schema)
    if TableName.parse(key).within(default_schema) != proposal.table:
        return replace(proposal, kind="", reasons=("its name would mean another table in this file",), settings=())
    if len(_scalar(key)) > _LONGEST_KEY:
        return replace(proposal, kind="", reasons=("its name is too long for a key of this file",), settings=())
    return proposal


def as_yaml(proposals: Sequence[Proposal], source: str, target: str, lake: str, default_schema: str) -> str:
    """The proposed configuration. `source`, `target` and `lake` keep their `${...}`."""
    lines = [
        _comment("Proposed by `tidegate init` from the catalog. Look at each table, then: tidegate plan"),
        "",
    ]
    lines += [f"{name}: {_scalar(text)}" for name, text in (("source", source), ("target", target), ("lake", lake))]
    lines += ["", "tables:"]
    if not any(proposal.runs for proposal in proposals):
        lines.append("  # No table can run as it stands here. An example of one that does:")
        lines.append("  # daily_transactions: {kind: partition, partition_column: COBID}")
    for kind in _ORDER:
        for proposal in proposals:
            if proposal.kind == kind:
                lines += ["", *_table(proposal, _key(proposal.table, default_schema))]
    lines.append("")
    for proposal in proposals:
        if not proposal.kind:
            reasons = "; ".join(proposal.reasons)
            lines.append("  " + _comment(f"{_key(proposal.table, default_schema)}: not proposed; {reasons}"))
    return "\n".join(lines).rstrip() + "\n"


def _table(proposal: Proposal, key: str) -> list[str]:
    """A block of the file. What lacks something is a comment: a block again, less `# ` in each line."""
    block = [f"{_scalar(key)}:", *("  " + line for line in _inside(proposal))]
    return [f"  {line}" if proposal.runs else f"  # {line}" for line in block]


def _inside(proposal: Proposal) -> Iterable[str]:
    if proposal.lacks:
        yield _comment(f"a comment until somebody fills in {proposal.lacks}")
    for setting in (Setting("kind", proposal.kind, proposal.reasons), *proposal.settings):
        yield from map(_comment, setting.why)
        if setting.value is not None:
            yield f"{setting.name}: {_value(setting.value)}"


def _value(value: str | int | tuple[str, ...]) -> str:
    """`${` in a name is no variable."""
    match value:
        case int():
            return str(value)
        case str():
            return _scalar(value.replace("${", "$${"))
    return "[" + ", ".join(map(_value, value)) + "]"


def _key(name: TableName, default_schema: str) -> str:
    parts = [name.name] if name.schema == default_schema else [name.schema, name.name]
    return ".".join(part if part.isidentifier() else '"' + part.replace('"', '""') + '"' for part in parts)


def _scalar(text: str) -> str:
    """Plain words as they are; else in single quotes; with characters that cannot be seen, escaped in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + _seen(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _comment(text: str) -> str:
    return f"# {_seen(text)}"


def _seen(text: str) -> str:
    """One line: what cannot be seen, line breaks among it, as YAML escapes it."""
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text)

"""Write the proposals of `init` as a configuration file that loads, with the reasons as comments.

Names of the source may contain anything: quotes, colons, line breaks. They enter the file only through `_scalar` and
`_comment`, which escape every such character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from tidegate.interfaces import Database, Session
from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.ops.detection import Proposal, Setting, compare_as_a_whole, possible_by_index
from tidegate.ops.detection.current_rows import check_business_key
from tidegate.ops.detection.null_values import detect_by_rows

# Words that some YAML reader takes for something else than a text.
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
# YAML readers refuse a longer key, unless `?` introduces it.
_LONGEST_KEY = 1_000
# Facts first, then dimensions, then reference data.
_ORDER = ("partition", "scd2", "static", "incremental")


def propose(database: Database, session: Session, patterns: Sequence[str] = ()) -> list[Proposal]:
    """Return a proposal for every table that the login may see and that matches a pattern (all, without patterns)."""
    names = [name for name in session.tables() if is_chosen(name, patterns)]
    proposals = propose_tables(database, session, names)
    return [_require_clear_name(proposals[name], database.default_schema) for name in names if name in proposals]


def propose_tables(database: Database, session: Session, names: Sequence[TableName]) -> dict[TableName, Proposal]:
    """Return a proposal for each of these tables that exists. A table whose rows can be read gets one that can run."""
    found = session.table_schemas(names)
    schemas = {name: found[name] for name in names if name in found}
    proposals = {
        name: check_business_key(detect_by_rows(schema, database.value_kind, session), schema, session)
        for name, schema in schemas.items()
    }
    runnable = {name: _runnable(proposal, schemas[name], database) for name, proposal in proposals.items()}
    return {name: _readable(proposal, schemas[name]) for name, proposal in runnable.items()}


def _readable(proposal: Proposal, schema: TableSchema) -> Proposal:
    """Return the proposal without the columns that this login may not read."""
    hidden = {column.name: False for column in schema.columns if column.unreadable}
    if not hidden or len(hidden) == len(schema.columns):
        return proposal
    why = [f"risk: {column.name} is not copied: {column.unreadable}" for column in schema.columns if column.unreadable]
    return replace(proposal, settings=(*proposal.settings, Setting("columns", hidden, tuple(why))))


def _runnable(proposal: Proposal, schema: TableSchema, database: Database) -> Proposal:
    """Return the proposal; where the user would have to fill something in first, one that compares the whole table."""
    if proposal.can_run or not schema.readable or not schema.columns:
        return proposal
    whole = compare_as_a_whole(schema, database.value_kind)
    if proposal.kind:
        hint = f"it looks like kind `{proposal.kind}`, which needs {proposal.missing}: see below"
        return replace(whole, reasons=(*whole.reasons, hint), instead=proposal)
    reason = "no key with a time of the last change was recognised"
    by_index = proposal.instead or possible_by_index(schema, database.value_kind)
    return replace(whole, reasons=(*whole.reasons, reason), instead=by_index)


def is_chosen(name: TableName, patterns: Sequence[str]) -> bool:
    """Return whether a table matches one of the patterns of `init`, or whether there are none."""
    spelled = (name.name.lower(), str(name).lower())
    return not patterns or any(fnmatchcase(text, pattern.lower()) for text in spelled for pattern in patterns)


def _require_clear_name(proposal: Proposal, default_schema: str) -> Proposal:
    """Return the proposal, or one without a kind where the name would mean another table in the file."""
    # `dbo` in a file means the default schema of any database.
    key = key_of(proposal.table, default_schema)
    if TableName.parse(key).within(default_schema) != proposal.table:
        return replace(proposal, kind="", reasons=("its name would mean another table in this file",), settings=())
    if len(_scalar(key)) > _LONGEST_KEY:
        return replace(proposal, kind="", reasons=("its name is too long for a key of this file",), settings=())
    return proposal


def with_target_names(proposals: Sequence[Proposal], default_schema: str) -> list[Proposal]:
    """Return the proposals with a name in a target that has no schemas, for tables outside of the default one."""
    why = ("the target has no schemas: the name has that of the source",)
    return [
        proposal
        if proposal.table.schema == default_schema or not proposal.kind
        else replace(proposal, settings=(*proposal.settings, _target_name(proposal.table, why)))
        for proposal in proposals
    ]


def _target_name(table: TableName, why: tuple[str, ...]) -> Setting:
    return Setting("target_table", str(TableName("", f"{table.schema}_{table.name}")), why)


def blocks(proposals: Sequence[Proposal], default_schema: str) -> list[str]:
    """Return the lines of `tables`, a block for each proposal with a kind."""
    lines: list[str] = []
    for kind in _ORDER:
        for proposal in proposals:
            if proposal.kind == kind:
                lines += ["", *_table(proposal, key_of(proposal.table, default_schema))]
    return lines


def other_tables(others: Mapping[TableName, str], default_schema: str) -> list[str]:
    """Return comments about what is not proposed: a view can be copied when it is named."""
    return [
        "  "
        + _comment(
            f"{_scalar(key_of(name, default_schema))}: " + ("{kind: static}  " if "view" in why else "") + f"# {why}"
        )
        for name, why in sorted(others.items())
    ]


def as_yaml(
    proposals: Sequence[Proposal],
    source: str,
    target: str,
    lake: str,
    default_schema: str,
    others: Mapping[TableName, str] | None = None,
) -> str:
    """Return the proposed configuration file. `source`, `target` and `lake` keep their `${...}`."""
    lines = [
        _comment("Proposed by `tidegate init` from the catalog. Check each table, then run: tidegate plan"),
        "",
    ]
    lines += [f"{name}: {_scalar(text)}" for name, text in (("source", source), ("target", target), ("lake", lake))]
    lines += ["", "tables:"]
    if not any(proposal.can_run for proposal in proposals):
        lines.append("  # No table here can run yet. An example of one that can:")
        lines.append("  # daily_transactions: {kind: partition, partition_column: COBID}")
    lines += [*blocks(proposals, default_schema), ""]
    for proposal in proposals:
        if not proposal.kind:
            reasons = "; ".join(proposal.reasons)
            lines.append("  " + _comment(f"{key_of(proposal.table, default_schema)}: not proposed; {reasons}"))
    if others:
        lines += ["", "  " + _comment("Not proposed. A view is copied like a table when it is named:")]
        lines += other_tables(others, default_schema)
    return "\n".join(lines).rstrip() + "\n"


def _table(proposal: Proposal, key: str) -> list[str]:
    """Return the block of one table. A table that cannot run yet is a comment: without `# ` it is the block."""
    block = [f"{_scalar(key)}:", *("  " + line for line in _settings(proposal))]
    lines = [f"  {line}" if proposal.can_run else f"  # {line}" for line in block]
    return lines if proposal.instead is None else [*lines, "", *_table(proposal.instead, key)]


def _settings(proposal: Proposal) -> Iterable[str]:
    if proposal.missing:
        yield _comment(f"a comment until you fill in {proposal.missing}")
    for setting in (Setting("kind", proposal.kind, proposal.reasons), *proposal.settings):
        yield from map(_comment, setting.why)
        if setting.value is not None:
            yield f"{setting.name}: {_value(setting.value)}"


def _value(value: str | int | tuple[str, ...] | Mapping[str, bool | str]) -> str:
    """Return a value as YAML. `${` in a name is escaped, because it is not a variable."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_value(name)}: {_value(each)}" for name, each in value.items()) + "}"
        case int():
            return str(value).lower()
        case str():
            return _scalar(value.replace("${", "$${"))
    return "[" + ", ".join(map(_value, value)) + "]"


def key_of(name: TableName, default_schema: str) -> str:
    parts = [name.name] if name.schema == default_schema else [name.schema, name.name]
    return ".".join(part if part.isidentifier() else '"' + part.replace('"', '""') + '"' for part in parts)


def _scalar(text: str) -> str:
    """Return a text as YAML: plain, in single quotes, or with unprintable characters escaped in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + _printable(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _comment(text: str) -> str:
    return f"# {_printable(text)}"


def _printable(text: str) -> str:
    """Return one line, with unprintable characters and line breaks escaped as in YAML."""
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text)

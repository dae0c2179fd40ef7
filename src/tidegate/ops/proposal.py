"""Proposal: what `init` writes. A look at the source's catalog, with a reason for each choice and its risk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tidegate.interfaces import Database, Session
from tidegate.model.columns import Column, Shape
from tidegate.model.names import TableName
from tidegate.model.values import Kind, Value
from tidegate.sql.partitions import distinct_by_index

# Names by which a reporting date or period goes, the most telling first; compared without case and underscores.
_PARTITION_NAMES = (
    "cobid",
    "cobdate",
    "cobdt",
    "reportingdate",
    "reportdate",
    "businessdate",
    "bizdate",
    "asofdate",
    "valuationdate",
    "processdate",
    "processingdate",
    "snapshotdate",
    "partitiondate",
    "tradedate",
    "loaddate",
    "periodid",
    "period",
    "yyyymm",
    "yearmonth",
    "datekey",
    "dateid",
)
_RESTATEMENT_NAMES = (
    "loadid",
    "batchid",
    "runid",
    "lastmodified",
    "lastupdated",
    "modifiedat",
    "updatedat",
    "modifieddate",
    "updateddate",
    "rowversion",
)
MOST_VALUES = 5_000


@dataclass(frozen=True)
class Proposal:
    """One table. Without a partition column it is named in the file, but not copied."""

    table: TableName
    partition_column: str | None
    restatement_column: str | None
    reasons: tuple[str, ...]


def propose(database: Database, session: Session, patterns: Sequence[str] = ()) -> list[Proposal]:
    """Every table that the login may read and that matches a pattern (all, when there is none)."""
    names = [name for name in session.tables() if _matches(name, patterns)]
    shapes = session.shapes(names)
    return [_proposal(session, shapes[name]) for name in names if name in shapes]


def _matches(name: TableName, patterns: Sequence[str]) -> bool:
    spelled = (name.name.lower(), str(name).lower())
    return not patterns or any(fnmatchcase(text, pattern.lower()) for text in spelled for pattern in patterns)


def _proposal(session: Session, shape: Shape) -> Proposal:
    reasons = [
        f"about {shape.row_estimate:,} rows" if shape.row_estimate else "row count not known yet (never analysed)"
    ]
    reasons.append(f"key: {', '.join(shape.primary_key)}" if shape.primary_key else "no primary key")
    column = _partition_column(session, shape)
    if column is None:
        return Proposal(shape.name, None, None, (*reasons, "no partition column was recognised"))
    reasons += _about_values(session, shape, column)
    restatement = _named(shape.columns, _RESTATEMENT_NAMES)
    if restatement is None:
        reasons.append(
            "risk: a restated day is noticed by its row count alone; no load or update column was recognised"
        )
    else:
        reasons.append(f"{restatement.name} tells a restated day even when its row count stays")
    return Proposal(shape.name, column.name, restatement.name if restatement else None, tuple(reasons))


def _partition_column(session: Session, shape: Shape) -> Column | None:
    usable = [
        column
        for column in shape.columns
        if session.partition_kind(column) in (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP, Kind.TEXT)
    ]
    return _named(usable, _PARTITION_NAMES)


def _named(columns: Iterable[Column], names: Sequence[str]) -> Column | None:
    plain = {column.name.lower().replace("_", ""): column for column in columns}
    return next((plain[name] for name in names if name in plain), None)


def _about_values(session: Session, shape: Shape, column: Column) -> list[str]:
    kind = session.partition_kind(column)
    assert kind is not None
    if not shape.indexed(column.name):
        return [f"risk: no index starts with {column.name}, so every plan reads the whole table"]
    found = sorted(Value.of(row[0], kind) for row in session.query(distinct_by_index(shape.name, column, MOST_VALUES)))
    if not found:
        return [f"{column.name} is indexed; the table is empty"]
    many = f"{len(found):,} values" if len(found) < MOST_VALUES else f"more than {MOST_VALUES:,} values"
    reasons = [f"{column.name} is indexed and has {many}, {found[0]} to {found[-1]}"]
    if column.nullable:
        reasons.append(f"risk: {column.name} may be null; such rows are counted and not copied")
    return reasons


def as_yaml(proposals: Sequence[Proposal], source: str, target: str, lake: str, default_schema: str) -> str:
    """The proposed configuration, with its reasons as comments."""
    lines = [
        "# Proposed by `tidegate init`. Look at each table, then: tidegate plan",
        "",
        f"source: {_quoted(source)}",
    ]
    lines += [f"target: {_quoted(target)}", f"lake: {_quoted(lake)}", "", "tables:"]
    chosen = [proposal for proposal in proposals if proposal.partition_column]
    for proposal in chosen:
        lines += _block(proposal, default_schema)
    if not chosen:
        lines.append("  # No table with a partition column was recognised. An example:")
        lines.append("  # daily_transactions: {kind: partition, partition_column: COBID}")
    for proposal in proposals:
        if not proposal.partition_column:
            lines.append(f"  # {_key(proposal.table, default_schema)}: not proposed; {'; '.join(proposal.reasons)}")
    return "\n".join(lines) + "\n"


def _block(proposal: Proposal, default_schema: str) -> list[str]:
    lines = [f"  {_quoted(_key(proposal.table, default_schema))}:"]
    lines += [f"    # {reason}" for reason in proposal.reasons]
    lines += ["    kind: partition", f"    partition_column: {_quoted(proposal.partition_column or '')}"]
    if proposal.restatement_column:
        lines.append(f"    restatement_column: {_quoted(proposal.restatement_column)}")
    return [
        *lines,
        "    initial_load_count: 10   # the first run takes the newest ten values and sets the scope",
    ]


def _key(name: TableName, default_schema: str) -> str:
    parts = [name.name] if name.schema == default_schema else [name.schema, name.name]
    return ".".join('"' + part.replace('"', '""') + '"' if not part.isidentifier() else part for part in parts)


def _quoted(text: str) -> str:
    """YAML leaves plain words alone; everything else goes in single quotes."""
    plain = text.replace("_", "").replace(".", "").isalnum() and not text[0].isdigit()
    return text if plain else "'" + text.replace("'", "''") + "'"

"""Look: ask source, lake and target what they hold of a table. Cheap by rule, and without Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tidegate.changes.partition import settled_values
from tidegate.errors import TidegateError, Unsupported
from tidegate.interfaces import Session
from tidegate.lakes.parquet import Found, ParquetLake
from tidegate.model.columns import Column
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence, SourceValue
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.values import Value
from tidegate.runs.kinds.kind import Witnesses
from tidegate.runs.kinds.partition.table import PartitionedTable
from tidegate.runs.tables import UNTOUCHED
from tidegate.runs.together import both
from tidegate.sql import partitions

MOST_VALUES = 100_000
MOST_COUNTED = 200
MOST_IN_A_STATEMENT = 1000
LONGEST_VALUE = 400


def look(table: PartitionedTable, at: Witnesses, *, count_all: bool = False) -> PartitionEvidence:
    """The evidence of one table. Rows are counted inside the look-back and for what is new, or for all if asked."""
    in_source, sentinels = _distinct(
        table, at.source, table.source.name, table.column, table.source.indexed(table.column.name)
    )
    values = _allowed(table, in_source)
    ledger = at.ledger.entries(table.ledger_name) if at.ledger else {}
    entries = {Value.of(text, table.kind): entry for text, entry in ledger.items()}
    copies = at.scope_copies(table)
    lake, scope_in_footers = _lake(table, at.lake, entries, read_all=copies.known is None)
    held = _held(table, at.target)
    ready = _ready(table, at.source)
    scope = copies.known if copies.known is not None else scope_in_footers
    settled = settled_values(table.settings, values, ready)
    new = _new(table, settled, entries, scope)
    if new:
        at.foresee()
    counted = settled if count_all else _to_count(table, settled, entries, new)
    nullable = table.column.nullable
    source_rows, target_rows = both(
        lambda: _count_source(table, at.source, counted),
        lambda: _count_target(table, at.target, [value for value in counted if value in held]),
    )
    return PartitionEvidence(
        source={**dict.fromkeys(values, SourceValue()), **source_rows},
        lake=lake,
        target={**dict.fromkeys(held), **target_rows},
        ledger=entries,
        scope=scope,
        scope_copies=copies,
        is_ours=bool(entries) or copies.known is not None,
        nulls=_number(at.source.query(partitions.count_nulls(table.source.name, table.column))[0][0])
        if nullable
        else 0,
        excluded=len(in_source) - len(values) + sentinels,
        ready=ready,
        columns_id=table.columns_id,
        storage_types=table.storage_types,
        target_lacks=table.target_lacks,
    )


# Source and target


def _distinct(
    table: PartitionedTable, session: Session, name: TableName, column: Column, indexed: bool
) -> tuple[list[Value], int]:
    """Return the values, and how many were left out because `values: {exclude: ...}` spells them."""
    texts = session.partition_values(name, column, indexed=indexed, limit=MOST_VALUES + 1)
    if len(texts) > MOST_VALUES:
        raise Unsupported(
            f"{table.key}: {column.name} has more than {MOST_VALUES:,} different values in {name}.",
            UNTOUCHED,
            "Partition by a coarser column, such as a business date.",
        )
    # A sentinel that is no value at all, such as 0000-00-00, is left out by its spelling.
    unwanted = {str(text) for text in table.settings.values.exclude}
    values = [_value(table, name, text) for text in texts if text not in unwanted]
    if any(len(value.text) > LONGEST_VALUE for value in values):
        raise Unsupported(
            f"{table.key}: a value of {column.name} is longer than {LONGEST_VALUE} characters.", UNTOUCHED
        )
    return values, len(texts) - len(values)


def _value(table: PartitionedTable, name: TableName, text: object) -> Value:
    try:
        return Value.of(text, table.kind)
    except ValueError as problem:
        raise Unsupported(
            f"{table.key}: {name} has rows whose {table.column.name} cannot be a partition value: {problem}.",
            UNTOUCHED,
            "Correct these rows, or partition by another column.",
        ) from None


def _allowed(table: PartitionedTable, values: Iterable[Value]) -> list[Value]:
    """Sentinels stay out: they would count as the newest value."""
    wanted = table.settings.values
    low = table.value(wanted.from_) if wanted.from_ is not None else None
    high = table.value(wanted.to) if wanted.to is not None else None
    excluded = {table.value(text) for text in wanted.exclude}
    return [
        value
        for value in values
        if value not in excluded and (low is None or value >= low) and (high is None or value <= high)
    ]


def _held(table: PartitionedTable, target: Session) -> list[Value]:
    if table.target is None:
        return []
    indexed = table.target.indexed(table.target_column.name)
    return _distinct(table, target, table.target_name, table.target_column, indexed)[0]


def _ready(table: PartitionedTable, source: Session) -> frozenset[Value] | None:
    query = table.settings.ready_query
    if query is None:
        return None
    bare = re.sub(r"[;\s]+$", "", query)
    return frozenset(table.value(text) for text in source.texts_of_user(bare) if text is not None)


def _new(
    table: PartitionedTable, settled: list[Value], entries: dict[Value, LedgerEntry], scope: Scope | None
) -> list[Value]:
    """What was never loaded, of those in the scope."""
    first = settled[-table.settings.initial_load_count :]
    unknown = first if scope is None else [value for value in settled if scope.holds(value)]
    return [value for value in unknown if value not in entries]


def _to_count(
    table: PartitionedTable, settled: list[Value], entries: dict[Value, LedgerEntry], new: list[Value]
) -> list[Value]:
    """What is new, and the look-back: the rest costs nothing."""
    return sorted({*new[-MOST_COUNTED:], *_look_back(table.settings.look_back, settled, entries)})


def _look_back(count: int, settled: list[Value], entries: dict[Value, LedgerEntry]) -> list[Value]:
    """The newest loaded values. Counted from what was loaded, not from what the source has by now: after mornings
    without a run, a value that was restated in time must not have slid out of sight."""
    loaded = [value for value in settled if value in entries and entries[value].stands]
    return (loaded or settled)[-count:] if count else []


def _count_source(table: PartitionedTable, source: Session, values: list[Value]) -> dict[Value, SourceValue]:
    watched = table.restatement_column
    rows = [
        row
        for some in _some_at_once(values)
        for row in source.query(partitions.counts(table.source.name, table.column, some, watched))
    ]
    return {Value.of(text, table.kind): SourceValue(_number(count), _text(greatest)) for text, count, greatest in rows}


def _count_target(table: PartitionedTable, target: Session, values: list[Value]) -> dict[Value, int]:
    rows = [
        row
        for some in _some_at_once(values)
        for row in target.query(partitions.counts(table.target_name, table.target_column, some, None))
    ]
    return {Value.of(text, table.kind): _number(count) for text, count, _ in rows}


def _some_at_once(values: list[Value]) -> Iterator[list[Value]]:
    """As many as a server takes in one statement without complaint."""
    for begin in range(0, len(values), MOST_IN_A_STATEMENT):
        yield values[begin : begin + MOST_IN_A_STATEMENT]


# The lake


def _lake(
    table: PartitionedTable, lake: ParquetLake, entries: dict[Value, LedgerEntry], *, read_all: bool
) -> tuple[dict[Value, LakeFile], Scope | None]:
    """Files by value, and the scope in the newest footer. A footer is read only when the ledger does not know the file
    by its stamp, or when all are asked for because nothing else tells the scope."""
    files: dict[Value, LakeFile] = {}
    newest_scope: tuple[str, Scope] | None = None
    for found in lake.files(table.lake_table, table.lake_column):
        named = _named(table, found)
        known = entries.get(named) if named is not None else None
        if named is not None and known is not None and known.stamp == found.stamp and not read_all:
            files[named] = _as_known(found, known)
            continue
        text, facts, file = lake.footer(found.path, table.lake_table, table.lake_column)
        value = _value_of_file(table, found, text)
        if value is not None:
            files[value] = file
        if facts.get("scope") and (newest_scope is None or facts["read_at"] > newest_scope[0]):
            newest_scope = (facts["read_at"], Scope.from_json(facts["scope"]))
    return files, newest_scope[1] if newest_scope else None


def _as_known(found: Found, entry: LedgerEntry) -> LakeFile:
    return LakeFile(
        path=str(found.path),
        stamp=found.stamp,
        rows=entry.rows,
        hash=entry.hash,
        text_columns=entry.text_columns,
        newest=entry.newest,
        columns=entry.columns,
        columns_id=entry.columns_id,
        storage_types=entry.storage_types,
    )


def _named(table: PartitionedTable, found: Found) -> Value | None:
    """The value that the file's name tells; None when it tells none."""
    try:
        return None if found.value is None else Value.of(found.value, table.kind)
    except ValueError:
        return None


def _value_of_file(table: PartitionedTable, found: Found, in_footer: str) -> Value | None:
    """None for a broken file whose name does not tell either."""
    named = _named(table, found)
    if not in_footer:
        return named
    value = Value.of(in_footer, table.kind)
    if named is not None and named != value:
        raise TidegateError(
            f"{found.path} holds the value {in_footer}, not the one in its name.",
            "It was neither read nor overwritten.",
            "Move it away: the next run extracts what is missing.",
        )
    return value


def _number(value: object) -> int:
    return int(str(value))


def _text(value: object) -> str | None:
    return None if value is None else str(value)

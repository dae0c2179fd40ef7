"""Inspect a partition table: ask source, lake and target what they hold. Cheap, and without Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from tidegate.changes.partition.plan import newest_values, settled_values
from tidegate.errors import Unsupported
from tidegate.interfaces.change import Sessions
from tidegate.interfaces.lake import Entries
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue, TableState
from tidegate.model.values import NULL_TEXT, Value
from tidegate.sql import partitions
from tidegate.sql.partitions import count_nulls
from tidegate.tables.found import UNTOUCHED

if TYPE_CHECKING:
    from tidegate.changes.partition import PartitionChange

Count = TypeVar("Count")
MOST_VALUES = 100_000
MOST_COUNTED = 200
MOST_IN_A_STATEMENT = 1000
LONGEST_VALUE = 400


def inspect_table(change: PartitionChange, sessions: Sessions, *, count_all: bool = False) -> TableState:
    """Return the state of one table. Rows are counted inside the look-back and for what is new, or for all if asked."""
    table, settings = change.table, change.settings
    in_source, sentinels = _distinct(
        change, sessions.source, table.source.name, change.column, table.source.has_index_on(change.column.name)
    )
    values = _allowed(change, in_source)
    excluded = len(in_source) - len(values) + sentinels
    ledger = sessions.ledger.entries(table.ledger_name) if sessions.ledger else {}
    entries = {Value.of(text, change.kind): entry for text, entry in ledger.items()}
    copies = sessions.scope_copies(change.lake_table, table.ledger_name)
    # Without a copy of the scope every entry is opened: each carries the scope of its time.
    found = sessions.lake.entries(change.lake_table, ledger if copies.known is not None else {})
    nulls = _count_nulls(change, sessions.source) if change.column.nullable else 0
    if change.loads_nulls and (nulls or NULL_TEXT in ledger):
        values = [Value.null(change.kind), *values]
    in_target = _held(change, sessions.target, NULL_TEXT in ledger)
    ready = _ready(change, sessions.source)
    scope = copies.known if copies.known is not None else found.scope
    settled = settled_values(settings, values, ready)
    new = _new(change, settled, entries, scope)
    if new:
        sessions.expect_rows()
    counted = settled if count_all else _to_count(change, settled, entries, new)
    source_rows, target_rows = sessions.both(
        lambda: _count_source(change, sessions.source, counted),
        lambda: _count_target(change, sessions.target, [value for value in counted if value in in_target]),
    )
    return TableState(
        source={**dict.fromkeys(values, SourceValue()), **source_rows},
        lake=_by_value(change, found),
        target={**dict.fromkeys(in_target), **target_rows},
        ledger=entries,
        scope=scope,
        scope_copies=copies,
        is_ours=bool(entries) or copies.known is not None,
        nulls=nulls,
        excluded=excluded,
        ready=ready,
        columns_id=table.columns_id,
        storage_types=table.storage_types,
        target_lacks=table.target_lacks,
    )


def _by_value(change: PartitionChange, found: Entries) -> dict[Value, LakeEntry]:
    """Return the entries of the lake by value. A broken file whose name is no value says nothing."""
    entries = {}
    for text, entry in found.by_window.items():
        try:
            entries[Value.of(text, change.kind)] = entry
        except ValueError:
            if not entry.broken:
                raise
    return entries


# Source and target


def _distinct(
    change: PartitionChange, session: Session, name: TableName, column: Column, indexed: bool
) -> tuple[list[Value], int]:
    """Return the values, and how many were left out because `values: {exclude: ...}` spells them."""
    texts = session.partition_values(name, column, indexed=indexed, limit=MOST_VALUES + 1)
    if NULL_TEXT in texts:
        raise Unsupported(
            f"{change.table.key}: {name} has rows whose {column.name} is the text {NULL_TEXT}, which names rows without"
            " a value.",
            UNTOUCHED,
            "Correct these rows, or partition by another column.",
        )
    if len(texts) > MOST_VALUES:
        raise Unsupported(
            f"{change.table.key}: {column.name} has more than {MOST_VALUES:,} different values in {name}.",
            UNTOUCHED,
            "Partition by a coarser column, such as a business date.",
        )
    # A sentinel that is no value at all, such as 0000-00-00, is left out by its spelling.
    unwanted = {str(text) for text in change.settings.values.exclude}
    values = [_value(change, name, text) for text in texts if text not in unwanted]
    if any(len(value.text) > LONGEST_VALUE for value in values):
        raise Unsupported(
            f"{change.table.key}: a value of {column.name} is longer than {LONGEST_VALUE} characters.", UNTOUCHED
        )
    return values, len(texts) - len(values)


def _value(change: PartitionChange, name: TableName, text: object) -> Value:
    try:
        return Value.of(text, change.kind)
    except ValueError as problem:
        raise Unsupported(
            f"{change.table.key}: {name} has rows whose {change.column.name} cannot be a partition value: {problem}.",
            UNTOUCHED,
            "Correct these rows, or partition by another column.",
        ) from None


def _allowed(change: PartitionChange, values: Iterable[Value]) -> list[Value]:
    """Sentinels stay out: they would count as the newest value."""
    wanted = change.settings.values
    low = change.value(wanted.from_) if wanted.from_ is not None else None
    high = change.value(wanted.to) if wanted.to is not None else None
    excluded = {change.value(text) for text in wanted.exclude}
    return [
        value
        for value in values
        if value not in excluded and (low is None or value >= low) and (high is None or value <= high)
    ]


def _held(change: PartitionChange, target: Session, knows_nulls: bool) -> list[Value]:
    """Return the values of the target. Once rows without a value were loaded, their window is there, if only empty."""
    if change.table.target is None:
        return []
    name, column = change.table.target_name, change.target_column
    values, _ = _distinct(change, target, name, column, change.table.target.has_index_on(column.name))
    if not change.loads_nulls or not (knows_nulls or _number(target.query(count_nulls(name, column))[0][0])):
        return values
    return [Value.null(change.kind), *values]


def _ready(change: PartitionChange, source: Session) -> frozenset[Value] | None:
    query = change.settings.ready_query
    if query is None:
        return None
    bare = re.sub(r"[;\s]+$", "", query)
    return frozenset(change.value(text) for text in source.query_user_sql(bare) if text is not None)


def _new(
    change: PartitionChange, settled: list[Value], entries: dict[Value, LedgerEntry], scope: Scope | None
) -> list[Value]:
    """What was never loaded, of those in the scope."""
    first = newest_values(settled, change.settings.initial_load_count)
    unknown = first if scope is None else [value for value in settled if scope.covers(value)]
    return [value for value in unknown if value not in entries]


def _to_count(
    change: PartitionChange, settled: list[Value], entries: dict[Value, LedgerEntry], new: list[Value]
) -> list[Value]:
    """What is new, and the look-back: the rest costs nothing."""
    return sorted({*new[-MOST_COUNTED:], *_look_back(change.settings.look_back, settled, entries)})


def _look_back(count: int, settled: list[Value], entries: dict[Value, LedgerEntry]) -> list[Value]:
    """The newest loaded values. Counted from what was loaded, not from what the source has by now: after mornings
    without a run, a value that was restated in time must not have slid out of sight."""
    loaded = [value for value in settled if value in entries and entries[value].is_active]
    return newest_values(loaded or settled, count)


def _count_source(change: PartitionChange, source: Session, values: list[Value]) -> dict[Value, SourceValue]:
    watched = change.restatement_column
    rows = [
        row
        for some in _some_at_once(values)
        for row in source.query(partitions.count_by_value(change.table.source.name, change.column, some, watched))
    ]
    found = {_counted(change, text): SourceValue(_number(count), _text(greatest)) for text, count, greatest in rows}
    return {**_no_nulls(values, SourceValue(0)), **found}


def _count_target(change: PartitionChange, target: Session, values: list[Value]) -> dict[Value, int]:
    rows = [
        row
        for some in _some_at_once(values)
        for row in target.query(partitions.count_by_value(change.table.target_name, change.target_column, some, None))
    ]
    return {**_no_nulls(values, 0), **{_counted(change, text): _number(count) for text, count, _ in rows}}


def _no_nulls(values: list[Value], none: Count) -> dict[Value, Count]:
    """Return `none` for rows without a value: their window is there, also when a count by value finds no such row."""
    return {value: none for value in values if value.is_null}


def _counted(change: PartitionChange, text: object) -> Value:
    return Value.null(change.kind) if text is None else Value.of(text, change.kind)


def _some_at_once(values: list[Value]) -> Iterator[list[Value]]:
    """As many as a server takes in one statement without complaint."""
    for begin in range(0, len(values), MOST_IN_A_STATEMENT):
        yield values[begin : begin + MOST_IN_A_STATEMENT]


def _count_nulls(change: PartitionChange, source: Session) -> int:
    return _number(source.query(count_nulls(change.table.source.name, change.column))[0][0])


def _number(value: object) -> int:
    return int(str(value))


def _text(value: object) -> str | None:
    return None if value is None else str(value)

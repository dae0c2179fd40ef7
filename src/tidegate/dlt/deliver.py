"""Deliver: which entries of the lake a destination lacks, load them, and prove them by reading them back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidegate.api import Tidegate
from tidegate.dlt.destination import ENTRIES, Delivered, Destination, translated
from tidegate.dlt.dispositions import WINDOW, Way, way_of
from tidegate.dlt.receipts import held, newest_rows, written
from tidegate.dlt.rows import columns_of, require_distinct_names, schema_of, tables, types_of
from tidegate.errors import ConfigError, TidegateError
from tidegate.model.state import LakeEntry
from tidegate.runs.lake_rows import LakeRows

if TYPE_CHECKING:
    from tidegate.model.receipt import Receipt

Windows = Sequence[tuple[str, LakeEntry]]


@dataclass(frozen=True)
class Delivery:
    """One table: how it is written, and which entries the destination lacks."""

    table: str
    way: Way
    windows: tuple[str, ...]
    rows: int
    problem: str = ""


@dataclass(frozen=True)
class Proof:
    """What the destination holds of a window, beside what the lake has: both receipts as texts."""

    table: str
    window: str
    lake: str
    destination: str
    equal: bool


@dataclass(frozen=True)
class DeliveryReport:
    """What a delivery or a comparison did. `failures` are tables with their problems."""

    destination: str
    seconds: float
    rows: int = 0
    windows: int = 0
    proofs: tuple[Proof, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()

    @property
    def differing(self) -> list[Proof]:
        return [proof for proof in self.proofs if not proof.equal]

    @property
    def exit_code(self) -> int:
        """Return 1 when a table failed, 3 when the destination differs from the lake."""
        return 1 if self.failures else 3 if self.differing else 0


@dataclass(frozen=True)
class _Table:
    """A table on its way: its rows in the lake, how it is written, and the entries that are to be delivered."""

    rows: LakeRows
    way: Way
    windows: Windows

    @property
    def packages(self) -> list[Windows]:
        """Return the windows that one load package holds together."""
        return [[one] for one in self.windows] if self.way.is_ordered else [self.windows] if self.windows else []


def plan(project: Tidegate, *names: str, reload: bool = False) -> list[Delivery]:
    """Return what `deliver` would do. Writes nothing."""
    destination = _destination(project, completes=False)
    with destination.alone():
        return [
            Delivery(key, Way(""), (), 0, str(found))
            if isinstance(found, TidegateError)
            else Delivery(key, found.way, tuple(window for window, _ in found.windows), _count(found.windows))
            for key, found in _planned(project, destination, names, reload)
        ]


def deliver(project: Tidegate, *names: str, reload: bool = False) -> DeliveryReport:
    """Deliver the entries that the destination lacks, and read them back. A failed table does not end the others."""
    destination, started = _destination(project), time.monotonic()
    windows = rows = 0
    proofs: list[Proof] = []
    failures: list[tuple[str, str]] = []
    with destination.alone():
        for key, found in _planned(project, destination, names, reload):
            try:
                if isinstance(found, TidegateError):
                    raise found
                for package in found.packages:
                    _load(destination, found, package)
                    proofs += _proofs(destination, found, package)
                    windows, rows = windows + len(package), rows + _count(package)
            except TidegateError as problem:
                failures.append((key, str(problem)))
    seconds = time.monotonic() - started
    return DeliveryReport(destination.label, seconds, rows, windows, tuple(proofs), tuple(failures))


def verify(project: Tidegate, *names: str) -> DeliveryReport:
    """Read everything that was delivered, and compare it with the lake, row by row through their hashes."""
    destination, started = _destination(project), time.monotonic()
    proofs: list[Proof] = []
    failures: list[tuple[str, str]] = []
    with destination.alone():
        for key, found in _planned(project, destination, names, reload=True):
            try:
                if isinstance(found, TidegateError):
                    raise found
                if found.way.is_ordered:
                    columns = columns_of(found.rows)
                    lake, there = newest_rows(found.rows, columns), held(destination, found.rows, columns)
                    proofs.append(_proof(key, "all rows", lake, there))
                else:
                    proofs += _proofs(destination, found, found.windows)
            except TidegateError as problem:
                failures.append((key, str(problem)))
    return DeliveryReport(destination.label, time.monotonic() - started, proofs=tuple(proofs), failures=tuple(failures))


def _destination(project: Tidegate, *, completes: bool = True) -> Destination:
    settings = project.project.dlt
    if settings is None:
        raise ConfigError(
            "The configuration has no `dlt:`.",
            "Nothing was read or written.",
            "Write `dlt: {destination: duckdb, dataset: sales}`.",
        )
    destination = Destination(settings, project.lake)
    with destination.alone():
        destination.open(completes=completes)
    return destination


def _planned(
    project: Tidegate, destination: Destination, names: Sequence[str], reload: bool
) -> Iterator[tuple[str, _Table | TidegateError]]:
    """Yield every table with what is to be delivered of it, or with its problem."""
    delivered, strategies = destination.delivered(), destination.strategies
    asked = destination.settings.dispositions
    unknown = set(asked) - set(project.keys())
    if unknown:
        raise ConfigError(
            f"`dlt: dispositions` names {', '.join(sorted(unknown))}, which is no table of this project.",
            "Nothing was written.",
        )
    for key in project.keys(*names):
        try:
            rows = project.lake_rows(key)
            way = way_of(key, rows.table.layout, rows.keys, asked.get(key), strategies)
            require_distinct_names(key, {name: destination.spelled(name) for name in columns_of(rows)})
            yield key, _lacking(rows, way, {} if reload else delivered.get(rows.name, {}))
        except TidegateError as problem:
            yield key, problem


def _lacking(rows: LakeRows, way: Way, known: Mapping[str, Delivered]) -> _Table:
    """Return the table with the entries that the destination lacks. A window that became empty has no row that could
    replace its rows: then all rows go, as one replacement."""
    new = [(window, entry) for window, entry in rows.entries if not _is_there(entry, known.get(window))]
    emptied = [window for window, entry in new if not entry.rows and window in known and known[window].rows]
    if emptied and not way.is_ordered:
        way = Way("replace")
    return _Table(rows, way, rows.entries if way.is_whole and new else new)


def _is_there(entry: LakeEntry, known: Delivered | None) -> bool:
    return known is not None and (known.rows, known.hash) == (entry.rows, entry.hash)


def _load(destination: Destination, table: _Table, windows: Windows) -> None:
    """Load entries and their rows of `_tidegate_entries` as one load package."""
    import dlt

    rows, way = table.rows, table.way
    schema = schema_of(columns_of(rows), way.keys)
    hints: dict[str, Any] = {"columns": {WINDOW: {"data_type": "text"}}, **way.hints}
    if destination.settings.table_format is not None:
        hints["table_format"] = destination.settings.table_format
    moved = dlt.resource(lambda: tables(rows, windows, schema), name=rows.name, **hints)
    now = datetime.now(UTC).isoformat()
    told = dlt.resource(
        [_row(rows, window, entry, way, now) for window, entry in windows], name=ENTRIES, write_disposition="append"
    )
    with translated(destination.label):
        destination.pipeline.run([moved, told]).raise_on_failed_jobs()


def _row(rows: LakeRows, window: str, entry: LakeEntry, way: Way, now: str) -> dict[str, Any]:
    return {
        "table_name": rows.name,
        "window_value": window,
        "row_count": entry.rows,
        "hash": entry.hash,
        "read_at": str(entry.read_at),
        "way": str(way),
        "delivered_at": now,
    }


def _proofs(destination: Destination, table: _Table, windows: Windows) -> list[Proof]:
    return [
        _proof(
            table.rows.key,
            window,
            written(table.rows, window, entry, table.way.keys),
            held(destination, table.rows, types_of(entry), window),
        )
        for window, entry in windows
    ]


def _proof(key: str, window: str, lake: Receipt, destination: Receipt) -> Proof:
    return Proof(key, window, lake.as_text(), destination.as_text(), lake.same_as(destination))


def _count(windows: Windows) -> int:
    return sum(entry.rows for _, entry in windows)

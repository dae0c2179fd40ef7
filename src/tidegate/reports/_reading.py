"""Read the facts of a report into typed values. Absent, null or odd values become defaults here, so that the functions
that draw need no checks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

from tidegate.reports._words import moment

Raw = Mapping[str, Any]
PLACES = ("source", "lake", "target")

# In the order of PLACES. None: not counted, or no receipt. 0: counted, and there are none.
Counts = tuple[int | None, int | None, int | None]
Receipts = tuple[str | None, str | None, str | None]

# Values outside of the scope: they are shown, and excluded from every sum and comparison.
OUTSIDE = frozenset({"out of scope", "forgotten", "removed"})


@dataclass(frozen=True)
class Value:
    """One partition value, or the single value of a whole table, in source, lake and target."""

    value: str
    rows: Counts
    receipts: Receipts
    ledger: str | None
    state: str
    generation: int | None
    loaded_at: str
    note: str
    is_whole: bool = False
    """True for the single value of a table that is compared as a whole."""
    contained: bool = False
    """Every row of the source is in the target, which may have more rows because of a setting."""

    @property
    def in_scope(self) -> bool:
        return self.state not in OUTSIDE


@dataclass(frozen=True)
class Batch:
    """One lake file of versions, with its first and last cursor value."""

    batch: str
    state: str
    after: str
    upto: str
    rows: int | None
    generation: int | None
    loaded_at: str


@dataclass(frozen=True)
class Freshness:
    """How far the target of a table is, and what keeps it from being further."""

    loaded_to: str = ""
    source_has: str = ""
    loaded_at: str = ""
    proven_at: str = ""
    late: int = 0
    held_by: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    watermark_set: str = ""


@dataclass(frozen=True)
class Point:
    """The loads of one table in one run."""

    at: str
    rows: int
    seconds: float
    late: int
    duplicates: int
    gaps: int
    watermark: str

    @property
    def rate(self) -> float | None:
        """Return the rows per second."""
        return self.rows / self.seconds if self.seconds > 0 else None

    @property
    def height(self) -> float | None:
        """Return the watermark as a number; None for one that is neither a number nor a time."""
        with suppress(ValueError):
            return float(self.watermark) if isfinite(float(self.watermark)) else None
        with suppress(ValueError):
            found = datetime.fromisoformat(self.watermark)
            return (found.replace(tzinfo=None) - datetime(2000, 1, 1)).total_seconds()
        return None


@dataclass(frozen=True)
class Table:
    name: str
    kind: str
    partition_column: str
    status: str
    scope: str
    rows: Counts
    values: tuple[Value, ...]
    notes: tuple[str, ...]
    watermark: str = ""
    """The cursor value up to which a table of versions is loaded."""
    batches: tuple[Batch, ...] | None = None
    """None for a table without batches."""
    next: tuple[str, ...] = ()
    """The steps of the next run, in words."""
    freshness: Freshness = Freshness()
    over_time: tuple[Point, ...] = ()
    """The loads of a table that is read by a cursor, the oldest first."""


@dataclass(frozen=True)
class Step:
    table: str
    step: str
    value: str
    rows: int | None
    seconds: float | None
    why: str
    outcome: str
    error: str
    bytes: int | None = None
    cpu_seconds: float | None = None
    memory: int | None = None
    """None, and 0, in steps that the driver did, and in reports of earlier versions."""


@dataclass(frozen=True)
class Run:
    run: str
    verb: str
    started_at: str
    seconds: float | None
    outcome: str
    rows_extracted: int | None
    rows_loaded: int | None
    bytes_extracted: int | None
    engine: str
    timings: tuple[tuple[str, float], ...]
    steps: tuple[Step, ...]

    @property
    def rows_moved(self) -> int | None:
        """Return the rows that were loaded, else the rows that were extracted."""
        return self.rows_loaded or self.rows_extracted


@dataclass(frozen=True)
class Finding:
    table: str
    value: str
    check: str
    what: str
    severity: str


@dataclass(frozen=True)
class Alert:
    """One condition that monitoring found."""

    severity: str
    condition: str
    table: str
    text: str
    remedy: str
    since: str


@dataclass(frozen=True)
class FilterSnapshots:
    """The snapshots of one filter."""

    customer_filter: str
    in_table: int | None
    without_archive: int | None
    archives: int | None
    rows: int | None
    bytes: int | None
    ratio: float | None
    oldest: str
    newest: str
    sizes: tuple[int, ...]
    """The size of each archive, the oldest first."""


@dataclass(frozen=True)
class Analysis:
    """What one table lacks, or where it differs."""

    table: str
    what: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    generated_at: str
    version: str
    project: tuple[str, str, str]
    status: str
    text: str
    proof: str
    tables: tuple[Table, ...]
    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]
    snapshots: tuple[FilterSnapshots, ...] = ()
    analysis: tuple[Analysis, ...] | None = None
    """None where nothing was analysed."""
    alerts: tuple[Alert, ...] = ()
    """The most urgent first."""


def read(raw: Raw) -> Facts:
    """Return the facts of one report, with the newest run first."""
    project, verdict = _part(raw, "project"), _part(raw, "verdict")
    runs = sorted(map(_run, _parts(raw, "runs")), key=lambda run: moment(run.started_at), reverse=True)
    return Facts(
        generated_at=_text(raw, "generated_at"),
        version=_text(raw, "version"),
        project=(_text(project, "source"), _text(project, "lake"), _text(project, "target")),
        status=_text(verdict, "status"),
        text=_text(verdict, "text"),
        proof=_text(verdict, "proof"),
        tables=tuple(map(_table, _parts(raw, "tables"))),
        runs=tuple(runs),
        findings=tuple(map(_finding, _parts(raw, "findings"))),
        snapshots=tuple(map(_snapshots, _parts(raw, "snapshots"))),
        analysis=tuple(map(_analysis, _parts(raw, "analysis"))) if "analysis" in raw else None,
        alerts=tuple(map(_alert, _parts(raw, "alerts"))),
    )


def _analysis(raw: Raw) -> Analysis:
    return Analysis(_text(raw, "table"), _text(raw, "what"), tuple(str(value) for value in _list(raw, "values")))


def _alert(raw: Raw) -> Alert:
    return Alert(*(_text(raw, key) for key in ("severity", "condition", "table", "text", "remedy", "since")))


def _snapshots(raw: Raw) -> FilterSnapshots:
    return FilterSnapshots(
        customer_filter=_text(raw, "customer_filter"),
        in_table=_whole(raw, "in_table"),
        without_archive=_whole(raw, "without_archive"),
        archives=_whole(raw, "archives"),
        rows=_whole(raw, "rows"),
        bytes=_whole(raw, "bytes"),
        ratio=_amount(raw, "ratio"),
        oldest=_text(raw, "oldest"),
        newest=_text(raw, "newest"),
        sizes=tuple(size for size in _list(raw, "sizes") if isinstance(size, int)),
    )


def _table(raw: Raw) -> Table:
    values = tuple(map(_value, _parts(raw, "values")))
    rows = _part(raw, "rows")
    return Table(
        name=_text(raw, "name") or "(no name)",
        kind=_text(raw, "kind"),
        partition_column=_text(raw, "partition_column"),
        status=_text(raw, "status"),
        scope=_text(raw, "scope"),
        rows=_counts(rows, "{}") if rows else _sums(values),
        values=values,
        notes=tuple(str(note) for note in _list(raw, "notes")),
        watermark=_text(raw, "watermark"),
        batches=tuple(map(_batch, _parts(raw, "batches"))) if "batches" in raw else None,
        next=tuple(str(step) for step in _list(raw, "next")),
        freshness=_freshness(_part(raw, "freshness")),
        over_time=tuple(map(_point, _parts(raw, "over_time"))),
    )


def _point(raw: Raw) -> Point:
    rows, late, duplicates, gaps = (_whole(raw, key) or 0 for key in ("rows", "late", "duplicates", "gaps"))
    seconds = _amount(raw, "seconds") or 0.0
    return Point(_text(raw, "at"), rows, seconds, late, duplicates, gaps, _text(raw, "watermark"))


def _freshness(raw: Raw) -> Freshness:
    return Freshness(
        loaded_to=_text(raw, "loaded_to"),
        source_has=_text(raw, "source_has"),
        loaded_at=_text(raw, "loaded_at"),
        proven_at=_text(raw, "proven_at"),
        late=_whole(raw, "late") or 0,
        held_by=tuple(str(holder) for holder in _list(raw, "held_by")),
        gaps=tuple(str(gap) for gap in _list(raw, "gaps")),
        watermark_set=_text(raw, "watermark_set"),
    )


def _batch(raw: Raw) -> Batch:
    return Batch(
        batch=_text(raw, "batch"),
        state=_text(raw, "state"),
        after=_text(raw, "after"),
        upto=_text(raw, "upto"),
        rows=_whole(raw, "rows"),
        generation=_whole(raw, "generation"),
        loaded_at=_text(raw, "loaded_at"),
    )


def _value(raw: Raw) -> Value:
    receipts = _part(raw, "receipts")
    return Value(
        value="null" if raw.get("value") is None else str(raw["value"]),
        rows=_counts(raw, "{}_rows"),
        receipts=(_hash(receipts, "source"), _hash(receipts, "lake"), _hash(receipts, "target")),
        ledger=_hash(receipts, "ledger"),
        state=_text(raw, "state"),
        generation=_whole(raw, "generation"),
        loaded_at=_text(raw, "loaded_at"),
        note=_text(raw, "note"),
        is_whole=raw.get("whole") is True,
        contained=raw.get("contained") is True,
    )


def _run(raw: Raw) -> Run:
    timings = _part(raw, "timings")
    phases = [(str(phase), _amount(timings, phase)) for phase in timings]
    return Run(
        run=_text(raw, "run"),
        verb=_text(raw, "verb"),
        started_at=_text(raw, "started_at"),
        seconds=_amount(raw, "seconds"),
        outcome=_text(raw, "outcome"),
        rows_extracted=_whole(raw, "rows_extracted"),
        rows_loaded=_whole(raw, "rows_loaded"),
        bytes_extracted=_whole(raw, "bytes_extracted"),
        engine=_text(raw, "engine"),
        timings=tuple((phase, seconds) for phase, seconds in phases if seconds and seconds > 0),
        steps=tuple(map(_step, _parts(raw, "steps"))),
    )


def _step(raw: Raw) -> Step:
    return Step(
        table=_text(raw, "table"),
        step=_text(raw, "step"),
        value=_text(raw, "value"),
        rows=_whole(raw, "rows"),
        seconds=_amount(raw, "seconds"),
        why=_text(raw, "why"),
        outcome=_text(raw, "outcome"),
        error=_text(raw, "error"),
        bytes=_whole(raw, "bytes"),
        cpu_seconds=_amount(raw, "cpu_seconds"),
        memory=_whole(raw, "memory"),
    )


def _finding(raw: Raw) -> Finding:
    return Finding(*(_text(raw, key) for key in ("table", "value", "check", "what", "severity")))


def _sums(values: tuple[Value, ...]) -> Counts:
    def total(place: int) -> int | None:
        counts = [value.rows[place] for value in values if value.in_scope]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    return total(0), total(1), total(2)


def _counts(raw: Raw, key: str) -> Counts:
    source, lake, target = (_whole(raw, key.format(place)) for place in PLACES)
    return source, lake, target


def _part(raw: Raw, key: str) -> Raw:
    part = raw.get(key)
    return part if isinstance(part, Mapping) else {}


def _list(raw: Raw, key: str) -> list[Any]:
    items = raw.get(key)
    return list(items) if isinstance(items, list | tuple) else []


def _parts(raw: Raw, key: str) -> list[Raw]:
    return [item for item in _list(raw, key) if isinstance(item, Mapping)]


def _text(raw: Raw, key: str) -> str:
    value = raw.get(key)
    return "" if value is None else str(value)


def _hash(raw: Raw, key: str) -> str | None:
    return _text(raw, key) or None


def _amount(raw: Raw, key: str) -> float | None:
    try:
        amount = float(raw[key])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return amount if isfinite(amount) else None


def _whole(raw: Raw, key: str) -> int | None:
    value = raw.get(key)
    if isinstance(value, int):
        return int(value)
    amount = _amount(raw, key)
    return None if amount is None else round(amount)

"""The report of a run: its steps with their outcomes, and the findings of its checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.model.receipt import Receipt

if TYPE_CHECKING:
    from tidegate.model.coverage import Coverage


RULE = "rule"
"""The name of the check in findings about rules of the user."""
PROCESS = "process"
_PROCESS_NAMES = (PROCESS, "this process")  # the second is in reports of earlier versions


def engine_in_words(engine: str | None, verb: str = "run", outcome: str = "done") -> str:
    """Return what moved the rows of a run: `rows moved by Spark (local)`. The arguments are those of its report."""
    action = "compared" if verb == "verify" else "moved"
    if not engine:
        if outcome == "failed":
            return f"no rows {action}"
        return "no Spark" if verb == "verify" else "nothing to move, no Spark"
    if engine not in _PROCESS_NAMES:
        return f"rows {action} by Spark ({engine})"
    if outcome == "nothing to do":
        return "nothing to move, engine: process"
    return f"rows {action} by threads of this process (engine: process)"


@dataclass(frozen=True)
class StepOutcome:
    """One step that was tried. `outcome` is done, skipped or failed."""

    table: str
    step: str
    value: str
    why: str
    outcome: str
    rows: int = 0
    seconds: float = 0.0
    bytes: int = 0
    error: str = ""
    cpu_seconds: float = 0.0
    """Processor time of what moved the rows; the rest of `seconds` is waiting. 0 of steps of the driver."""
    memory: int = 0
    """The most bytes that the process which moved the rows ever had in memory; 0 of steps of the driver."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Of a load: how many rows were inserted, updated, deleted, late and so on, where it tells them apart."""


@dataclass(frozen=True)
class Finding:
    """One difference that a check found. `severity` is error, warning or note."""

    table: str
    check: str
    what: str
    value: str = ""
    severity: str = "error"


@dataclass(frozen=True)
class Comparison:
    """The receipts of one value in source and target, and its hashes in the lake and the ledger."""

    table: str
    value: str
    source: Receipt | None
    target: Receipt | None
    lake_hash: str = ""
    ledger_hash: str = ""
    derived: bool = False
    """The target's rows are transformed: the source equals the raw entry, the target equals the curated one."""
    contained: bool = False
    """Every row of the source is in the target, which may have more rows because of a setting."""

    @property
    def equal(self) -> bool:
        return self.contained or self.derived or (self.source is not None and self.source == self.target)


@dataclass(frozen=True)
class RunReport:
    """What one call of run, verify, repair, ... did."""

    run: str
    verb: str
    started_at: str
    seconds: float
    outcome: str
    steps: tuple[StepOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    coverage: dict[str, Coverage] = field(default_factory=dict)
    """How much of the source the scope of each table covers, by table. Only `verify` fills it."""
    failures: tuple[tuple[str, str], ...] = ()
    engine: str | None = None
    """What moved the rows: `this process`, `local`, a Spark master or address; None when no rows moved."""
    timings: dict[str, float] = field(default_factory=dict)
    at_once: dict[str, int] = field(default_factory=dict)
    """How many windows each phase could move at the same time."""
    configuration: dict[str, str] = field(default_factory=dict)
    """The tables that the run took, each with a fingerprint of its settings: it is another one when they change."""
    exit_code: int = 0

    @property
    def rows_extracted(self) -> int:
        return sum(step.rows for step in self.steps if step.step == "extract" and step.outcome == "done")

    @property
    def rows_loaded(self) -> int:
        return sum(step.rows for step in self.steps if step.step == "load" and step.outcome == "done")

    @property
    def bytes_extracted(self) -> int:
        return sum(step.bytes for step in self.steps if step.step == "extract")

    def to_dict(self) -> dict[str, Any]:
        """Return the report with its totals, as the ledger and `--json` have it."""
        totals = {name: getattr(self, name) for name in ("rows_extracted", "rows_loaded", "bytes_extracted")}
        return {**asdict(self), **totals}

    def __repr__(self) -> str:
        moved = f"{self.rows_extracted:,} rows extracted, {self.rows_loaded:,} loaded"
        return f"<{self.verb} {self.run}: {self.outcome}, {moved}, {self.seconds:.1f} s>"

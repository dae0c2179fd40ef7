"""What a run did: the plan with its outcomes, and what checks found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.model.receipt import Receipt

if TYPE_CHECKING:
    from tidegate.model.coverage import Coverage


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


@dataclass(frozen=True)
class Finding:
    """One difference that a check saw. `severity` is error, warning or note."""

    table: str
    check: str
    what: str
    value: str = ""
    severity: str = "error"


@dataclass(frozen=True)
class Comparison:
    """The receipts of one value on both sides, and what the lake and the ledger say of it."""

    table: str
    value: str
    source: Receipt | None
    target: Receipt | None
    lake_hash: str = ""
    ledger_hash: str = ""
    contained: bool = False
    """Every row of the source is in the target, which may hold more by rule."""

    @property
    def equal(self) -> bool:
        return self.contained or (self.source is not None and self.source == self.target)


@dataclass(frozen=True)
class RunReport:
    """What one call of run, verify, repair, ... did. `engine` is None when no Spark was started."""

    run: str
    verb: str
    started_at: str
    seconds: float
    outcome: str
    steps: tuple[StepOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    coverage: dict[str, Coverage] = field(default_factory=dict)
    """Of a verification: how much of the source the scope of each table covers."""
    failures: tuple[tuple[str, str], ...] = ()
    engine: str | None = None
    timings: dict[str, float] = field(default_factory=dict)
    exit_code: int = 0

    @property
    def rows_landed(self) -> int:
        return sum(step.rows for step in self.steps if step.step == "land" and step.outcome == "done")

    @property
    def rows_loaded(self) -> int:
        return sum(step.rows for step in self.steps if step.step == "load" and step.outcome == "done")

    @property
    def bytes_landed(self) -> int:
        return sum(step.bytes for step in self.steps if step.step == "land")

    def to_dict(self) -> dict[str, Any]:
        totals = {name: getattr(self, name) for name in ("rows_landed", "rows_loaded", "bytes_landed")}
        return {**asdict(self), **totals}

    def __repr__(self) -> str:
        moved = f"{self.rows_landed:,} rows landed, {self.rows_loaded:,} loaded"
        return f"<{self.verb} {self.run}: {self.outcome}, {moved}, {self.seconds:.1f} s>"

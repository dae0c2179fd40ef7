"""How a window is divided among tasks, and how what they wrote becomes one entry again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.errors import DatabaseError, TidegateError
from tidegate.interfaces.change import Extraction
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.splits import Divisible
from tidegate.model.plan import Extract
from tidegate.runs.extract_split import Extracted, joined
from tidegate.spark.executor import SplitOutcome
from tidegate.tables.planned import PlannedTable

MOST_PARTS = 1_000


@dataclass
class Window:
    """One window on its way into the lake: the requests of its tasks, and what those have written so far."""

    planned: PlannedTable
    step: Extract
    extraction: Extraction
    requests: list[ReadRequest]
    mark: str = ""
    """What the server said of the table's last change before several tasks read it on snapshots of their own."""
    done: dict[int, Extracted] = field(default_factory=dict)
    error: TidegateError | None = None
    seconds: float = 0.0
    """What all tasks took together."""
    cpu_seconds: float = 0.0
    memory: int = 0
    running: int = 0
    """How many tasks have not ended yet."""
    is_checked: bool = False
    """The load was asked about the rows of all parts."""

    @property
    def is_divided(self) -> bool:
        return len(self.requests) > 1

    @property
    def missing(self) -> list[int]:
        """Return the numbers of the parts that are to be read, from 1."""
        return [part for part in range(1, len(self.requests) + 1) if part not in self.done]

    def take(self, part: int, outcome: SplitOutcome) -> None:
        """Remember how a task ended: that of a part, or as number 0 the one that asked about all of them."""
        self.running -= 1
        self.seconds += outcome.seconds
        self.cpu_seconds += outcome.cpu_seconds
        self.memory = max(self.memory, outcome.memory)
        if outcome.error is not None:
            self.error = self.error or outcome.error
        elif part:
            self.done[part] = outcome.result
        else:
            self.is_checked = True

    def elapsed(self, at_once: int) -> float:
        """Return about how long the window took, of which so many parts were read at a time."""
        return round(self.seconds / min(len(self.requests), at_once), 3)

    def read_again_as_text(self) -> bool:
        """Forget the parts that were read with other columns as text than the rest. Return whether there are any.

        A part can meet a value that no other has (NaN). The hashes of all rows must be taken alike."""
        text: dict[str, None] = {}
        for extracted in self.done.values():
            text.update(dict.fromkeys(extracted.facts.text_columns))
        unlike = [part for part, extracted in self.done.items() if extracted.text_columns != text.keys()]
        for part in unlike:
            del self.done[part]
        self.requests = [request.with_text(tuple(text)) for request in self.requests]
        return bool(unlike)

    def read_again_as_a_whole(self) -> None:
        """Forget all parts: one task reads the window on one snapshot."""
        self.requests, self.mark, self.done = [self.extraction.request], "", {}

    def extracted(self) -> Extracted:
        """Return what all tasks wrote, as one."""
        parts = [self.done[part] for part in sorted(self.done)]
        return parts[0] if len(parts) == 1 else joined(parts, self.extraction.token)


def divided(window: Window, database: Database) -> Window:
    """Return the window with a request for each task: one for a small window, or where nothing divides its rows."""
    divisible, parts = _divisible(window)
    if divisible is None:
        return window
    try:
        with database.connect("extract", read_only=True) as session:
            session.export_snapshot()  # so that no writer is waited for, where snapshots can be had
            mark = "" if database.capabilities.exported_snapshots else session.change_mark(divisible)
            if not mark and not database.capabilities.exported_snapshots:
                return window  # somebody writes to it: one snapshot shows all of it as of one moment
            requests = session.split(divisible, parts)
    except DatabaseError:
        return window  # one task reads it: what is really wrong shows there
    return replace(window, requests=requests, mark=mark if len(requests) > 1 else "")


def mark_of(window: Window, database: Database) -> str:
    """Return what the server says of the table's last change now."""
    divisible, _ = _divisible(window)
    assert divisible is not None
    with database.connect("extract", read_only=True) as session:
        session.export_snapshot()
        return session.change_mark(divisible)


def _divisible(window: Window) -> tuple[Divisible | None, int]:
    """Return the window as the source's session divides it, and into how many parts; None for one part."""
    extraction, found = window.extraction, window.planned.table.found
    rows = window.step.rows
    if rows is None:  # nobody counted it: an average value, or the whole table that a first run reads
        windows = len(window.planned.state.source) if extraction.fixed else 1
        rows = found.source.row_estimate // max(windows, 1)
    parts = min(rows // found.settings.split_rows, MOST_PARTS)
    if parts < 2 or extraction.from_target:
        return None, 1
    return Divisible(extraction.request, found.source, rows, extraction.fixed, extraction.ranged), parts

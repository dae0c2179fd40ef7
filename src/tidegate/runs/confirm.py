"""Confirm what was loaded to the change feeds: the source may remove its log up to there. Never before it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.errors import TidegateError
from tidegate.interfaces.feed import Feed, TableFeed
from tidegate.interfaces.session import Session
from tidegate.model.feeds import Position
from tidegate.model.names import TableName
from tidegate.model.report import Finding
from tidegate.model.state import LedgerEntry
from tidegate.model.tokens import FeedWindow
from tidegate.runs.run import Run
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import PlannedTable

IDLE_BYTES = 16 * 2**20
"""How far a feed may be ahead of a table without changes before its position is moved on."""


def confirm(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Confirm the feeds of these tables. What cannot be confirmed now is confirmed by the next run."""
    feeds: dict[str, Feed] = {}
    ledger = Ledger(control)
    for table in planned:
        found = table.table.change.table_feed(table.state)
        if found is not None and table.key not in run.failed:
            feeds[found.feed.id] = found.feed
            _move_on(ledger, control, table, found)
    if not feeds:
        return
    run.boundary("before confirm")
    for feed in feeds.values():
        positions = _positions(run, ledger, feed)
        try:
            with run.pipeline.source.connect("confirm") as source:
                feed.confirm(source, positions)
        except TidegateError as problem:
            text = f"{feed.id} could not be confirmed, the next run does it: {problem.happened}"
            run.findings.append(Finding("", "feed", text, severity="warning"))
    run.boundary("confirmed")


def _move_on(ledger: Ledger, control: Session, planned: PlannedTable, found: TableFeed) -> None:
    """Remember in the ledger that there was nothing up to the newest position: else the server keeps its log for a
    table that never changes."""
    if planned.plan.does_something or found.state is None:
        return
    now, newest = found.state.now, newest_window(ledger, planned.table.ledger_name)
    if newest is None or not _is_far(newest[1].position, now):
        return
    name, window, entry = newest
    moved = replace(entry, token=replace(window, upto=now.order, detail=now.detail))
    with control.transaction():
        ledger.update_etag(planned.table.ledger_name, name, moved)


def _is_far(was: Position, now: Position) -> bool:
    try:
        return int(now.order, 16) - int(was.order, 16) > IDLE_BYTES
    except ValueError:  # no number
        return now > was


def newest_window(ledger: Ledger, table: str) -> tuple[str, FeedWindow, LedgerEntry] | None:
    """Return the window of a feed that was loaded last."""
    found = [
        (name, entry.token, entry)
        for name, entry in ledger.entries(table).items()
        if entry.kind == "loaded" and isinstance(entry.token, FeedWindow)
    ]
    return max(found, key=lambda each: each[0], default=None)


def _positions(run: Run, ledger: Ledger, feed: Feed) -> dict[TableName, Position]:
    """Return how far each table of the project is loaded that is read from this feed, also those of other runs."""
    source, target = run.pipeline.source.default_schema, run.pipeline.target.default_schema
    positions = {}
    for settings in run.pipeline.project.tables.values():
        if not settings.reads_feed:
            continue
        found = newest_window(ledger, str(settings.target_table.within(target)))
        if found is not None and found[1].feed == feed.id:
            positions[settings.source_table.within(source)] = found[1].position
    return positions

"""What the target tells of runs: whether a new one ended, and which took tables and have not ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.errors import DatabaseError
from tidegate.interfaces.database import Database
from tidegate.interfaces.session import Session
from tidegate.state.ledger import Ledger
from tidegate.state.lock import Holder, holders

_ENDED_RUNS = 50


@dataclass(frozen=True)
class OpenRun:
    """A run that took tables and kept no report: it is under way, or was killed."""

    run: str
    holder: str
    since: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Activity:
    """What the target says at one moment."""

    newest: str = ""
    """The run whose report was kept last; empty when there is none."""
    open_runs: tuple[OpenRun, ...] = ()


class ActivityWatch:
    """Asks the target again and again, in one session that is opened again when it was lost."""

    def __init__(self, target: Database) -> None:
        self._target = target
        self._session: Session | None = None

    def look(self) -> Activity:
        """Return what the target says now. Raises DatabaseError when it cannot be reached."""
        try:
            return self._look(self._opened())
        except DatabaseError:
            self.close()
            raise

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _opened(self) -> Session:
        if self._session is None or not self._session.is_open:
            self._session = self._target.connect("ui", read_only=True)
        return self._session

    def _look(self, session: Session) -> Activity:
        ledger = Ledger(session)
        if not ledger.exists():
            return Activity()
        ended = ledger.newest_runs(_ENDED_RUNS)
        return Activity(ended[0] if ended else "", open_runs(holders(session), ended))


def open_runs(held: Sequence[Holder], ended: Sequence[str]) -> tuple[OpenRun, ...]:
    """Return the runs that took tables and are not among those that ended. A table remembers its newest run only, and
    a run that is older than all known reports is left out: it ended long ago, and its report was swept."""
    by_run: dict[str, list[Holder]] = {}
    for holder in held:
        if holder.run not in ended and (not ended or holder.run > min(ended)):
            by_run.setdefault(holder.run, []).append(holder)
    return tuple(
        OpenRun(run, taken[0].holder, min(holder.since for holder in taken), tuple(sorted(h.table for h in taken)))
        for run, taken in sorted(by_run.items())
    )

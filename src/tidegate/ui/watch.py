"""Watch a project for the live page: look at everything now and then, and at what is under way all the time.

A look at everything is what `tidegate status` does: catalogs, index seeks, counts inside of the look-back. It happens
when a run has ended, and every `refresh` seconds while somebody has the page open. Without readers nothing is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from tidegate.api import Tidegate
from tidegate.errors import TidegateError
from tidegate.reports.live import Look, Shown

PULSE_SECONDS = 1.0
"""How often the runs on this machine are asked how far they are."""
TARGET_SECONDS = 5.0
"""How often the target is asked which runs ended."""


class Watch:
    """Keeps what the page shows. `opened` opens the project anew for each look, so an edited file counts."""

    def __init__(self, opened: Callable[[], Tidegate], refresh: float) -> None:
        self._opened, self._refresh = opened, refresh
        self._changed = threading.Condition()
        self._shown = Shown.of(Look())
        self._readers = 0
        self._is_due = threading.Event()
        self._is_read = threading.Event()
        self._ends = threading.Event()
        self._threads = [
            threading.Thread(target=each, daemon=True, name=f"tidegate ui {each.__name__}")
            for each in (self._look_again, self._feel_the_pulse)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads, and whoever waits for a change."""
        self._ends.set()
        self._is_due.set()
        self._is_read.set()
        with self._changed:
            self._changed.notify_all()

    @property
    def is_closed(self) -> bool:
        return self._ends.is_set()

    @property
    def shown(self) -> Shown:
        return self._shown

    def changed_since(self, shown: Shown | None, seconds: float) -> Shown:
        """Return what is shown as soon as it is something else, or what is shown after these seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._shown is not shown or self.is_closed, seconds)
            return self._shown

    def reader_came(self) -> None:
        """Begin to watch, if nobody read before."""
        self._readers += 1
        self._is_read.set()

    def reader_left(self) -> None:
        self._readers -= 1
        if not self._readers and not self.is_closed:
            self._is_read.clear()

    # Looks at everything

    def _look_again(self) -> None:
        while self._is_read.wait() and not self.is_closed:
            self._is_due.clear()
            self._show(**self._looked())
            self._is_due.wait(self._refresh)

    def _looked(self) -> dict[str, Any]:
        try:
            tidegate = self._opened()
            try:
                return {"raw": tidegate.facts(count_all=False, alerts=True), "problem": ""}
            finally:
                tidegate.close()
        except TidegateError as problem:
            return {"problem": f"The newest look has failed. {problem}"}
        except Exception as problem:  # the page goes on, whatever a driver raises
            return {"problem": f"The newest look has failed with an unexpected {type(problem).__name__}."}

    # What is under way

    def _feel_the_pulse(self) -> None:
        asked, newest = 0.0, None
        tidegate = activity = None
        while self._is_read.wait() and not self.is_closed:
            try:
                if tidegate is None or activity is None:
                    tidegate = self._opened()
                    activity = tidegate.activity()
                under_way = tidegate.under_way()
                news: dict[str, Any] = {"under_way": under_way}
                if time.monotonic() - asked >= TARGET_SECONDS:
                    asked = time.monotonic()
                    seen = activity.look()
                    if newest not in (None, seen.newest):
                        self._is_due.set()
                    newest = seen.newest
                    known = {run["run"] for run in under_way}
                    news["open_runs"] = [asdict(run) for run in seen.open_runs if run.run not in known]
                self._show(**news)
            except TidegateError:
                asked = time.monotonic()  # the look at everything tells why the target cannot be reached
            self._ends.wait(PULSE_SECONDS)
        if activity is not None:
            activity.close()

    def _show(self, **news: Any) -> None:
        with self._changed:
            before = self._shown
            look = replace(before.look, **news)
            if look == before.look:
                return
            shown = Shown.of(look, before)
            if shown.tags != before.tags:
                self._shown = shown
                self._changed.notify_all()

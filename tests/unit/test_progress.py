"""Progress without a terminal: a line per step, and the rows so far now and then."""

from __future__ import annotations

import pytest

from tidegate.cli import progress
from tidegate.cli.progress import PlainProgress


def test_long_phase_says_how_many_rows_moved(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """At most one line in half a minute, with the rows that are expected where they were counted."""
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    shown = PlainProgress(lambda text: text)
    shown.phase("extract", 4, 5_000_000)
    for clock[0], rows in ((110.0, 500_000), (130.0, 1_500_000), (140.0, 2_000_000), (180.0, 4_000_000)):
        shown.moved(rows)
    shown.phase("load", 4, None)
    for clock[0], rows in ((200.0, 0), (230.0, 100)):
        shown.moved(rows)
    assert capsys.readouterr().err.splitlines() == [
        "extract: 1,500,000 of 5,000,000 rows so far, 50,000 rows/s",
        "extract: 4,000,000 of 5,000,000 rows so far, 50,000 rows/s",
        "load: 100 rows so far, 2 rows/s",
    ]

"""What moved the rows of a run, in the same words in the demo, the last line of a command and the HTML page."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.cli.output import _summary
from tidegate.demo.commands import Finished
from tidegate.model.report import RunReport, engine_in_words


@pytest.mark.parametrize(
    ("engine", "verb", "outcome", "words"),
    [
        ("local", "run", "done", "rows moved by Spark (local)"),
        ("local[*]", "repair", "done", "rows moved by Spark (local[*])"),
        ("sc://spark:15002", "run", "failed", "rows moved by Spark (sc://spark:15002)"),
        ("process", "run", "done", "rows moved by threads of this process (engine: process)"),
        ("this process", "run", "done", "rows moved by threads of this process (engine: process)"),
        ("process", "run", "nothing to do", "nothing to move, engine: process"),
        (None, "run", "nothing to do", "nothing to move, no Spark"),
        (None, "run", "failed", "no rows moved"),
        ("local", "verify", "equal", "rows compared by Spark (local)"),
        ("process", "verify", "equal", "rows compared by threads of this process (engine: process)"),
        (None, "verify", "equal", "no Spark"),
    ],
)
def test_engine_in_words(engine: str | None, verb: str, outcome: str, words: str):
    assert engine_in_words(engine, verb, outcome) == words


@pytest.mark.parametrize(
    ("report", "line"),
    [
        ({"engine": "local", "verb": "run", "outcome": "done"}, ", rows moved by Spark (local)"),
        (
            {"engine": "process", "verb": "run", "outcome": "done"},
            ", rows moved by threads of this process (engine: process)",
        ),
        ({"engine": None, "verb": "run", "outcome": "nothing to do"}, ", nothing to move, no Spark"),
        (None, ""),
    ],
)
def test_demo_says_what_moved_the_rows(report: dict[str, Any] | None, line: str):
    assert str(Finished(3.14, report)) == f"3.1 s from start to exit{line}"


@pytest.mark.parametrize(
    ("engine", "verb", "outcome", "line"),
    [
        ("local", "run", "done", "run: done, 0 rows extracted, 0 loaded (2.0 s); rows moved by Spark (local)"),
        (
            "process",
            "run",
            "done",
            "run: done, 0 rows extracted, 0 loaded (2.0 s); rows moved by threads of this process (engine: process)",
        ),
        ("process", "run", "nothing to do", "run: nothing to do (2.0 s, engine: process)"),
        (None, "run", "nothing to do", "run: nothing to do (2.0 s, no Spark)"),
        ("local", "run", "nothing to do", "run: nothing to do (2.0 s, rows moved by Spark (local))"),
        (None, "run", "failed", "run: failed, 0 rows extracted, 0 loaded (2.0 s); no rows moved"),
        (
            "local",
            "verify",
            "equal",
            "verify: the target equals the source within its scope (0 values, 0 rows in the target, 2.0 s);"
            " rows compared by Spark (local)",
        ),
    ],
)
def test_last_line_says_what_moved_the_rows(engine: str | None, verb: str, outcome: str, line: str):
    assert _summary(RunReport("r", verb, "", 2.0, outcome, engine=engine)) == line

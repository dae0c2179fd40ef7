"""Print at the end of a test run which servers were used and what could not be tested, also with xdist workers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

GAPS = pytest.StashKey[Counter[str]]()
RAN = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[GAPS], config.stash[RAN] = Counter(), {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the results of a worker to the process that started it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["gaps"], output["ran"] = dict(session.config.stash[GAPS]), session.config.stash[RAN]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})
    node.config.stash[GAPS].update(output.get("gaps", {}))
    node.config.stash[RAN].update(output.get("ran", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    gaps, ran = config.stash[GAPS], config.stash[RAN]
    if not gaps and not ran:
        return
    terminalreporter.section("conformance")
    for name, version in ran.items():
        terminalreporter.line(f"ran on {name} ({version})")
    for what, times in sorted(gaps.items()):
        terminalreporter.line(f"not tested, {times} {'test' if times == 1 else 'tests'}: {what}")

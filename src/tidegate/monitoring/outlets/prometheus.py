"""Prometheus: a text file for the textfile collector of the node exporter.

A Pushgateway would keep the figures of a job that is gone for ever. A file is replaced as a whole, and the collector
publishes its age as `node_textfile_mtime_seconds`: an alert on it notices a `tidegate monitor` that is not started any
more.
"""

from __future__ import annotations

import os
import secrets
from itertools import groupby
from pathlib import Path

from tidegate.errors import TidegateError
from tidegate.model.health import Metric, Snapshot
from tidegate.monitoring.metrics import MEANINGS

_READABLE = 0o644  # the collector runs as another user


def write(health: Snapshot, path: Path) -> None:
    """Write the metrics beside the file, then rename: a reader never sees half of them."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8") as file:
            file.write(text(health.metrics))
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(_READABLE)
        beside.replace(path)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        raise TidegateError(f"{path} could not be written: {problem.strerror}.") from None


def text(metrics: tuple[Metric, ...]) -> str:
    """Return metrics in the text format of Prometheus, those of one name together."""
    order = {name: number for number, name in enumerate(MEANINGS)}
    lines = []
    for name, group in groupby(sorted(metrics, key=lambda metric: order[metric.name]), lambda metric: metric.name):
        lines += [f"# HELP {name} {_escaped(MEANINGS[name].about)}", f"# TYPE {name} gauge"]
        lines += [f"{name}{_labels(metric)} {_number(metric.value)}" for metric in group]
    return "\n".join([*lines, ""])


def _labels(metric: Metric) -> str:
    quoted = ",".join(f'{name}="{_quoted(value)}"' for name, value in metric.labels.items())
    return f"{{{quoted}}}" if quoted else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))

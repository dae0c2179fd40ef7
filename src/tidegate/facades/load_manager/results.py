"""What the manager gives back: dictionaries whose keys can be read as attributes, and calls of users' own tools."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tidegate.errors import ValueProblem
from tidegate.model.records import LoadMetrics

LOGGER = logging.getLogger("IncrementalLoadManager")


class Metrics(dict[str, Any]):
    """What a load did, as a dictionary: `metrics["records_inserted"]` and `metrics.records_inserted` are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def metrics_of(metrics: LoadMetrics) -> Metrics:
    """Return the metrics with time and throughput in the units that people read."""
    seconds = metrics.milliseconds / 1000
    rate = round(metrics.records_extracted / seconds, 1) if seconds else 0.0
    more = {"processing_time_seconds": seconds, "records_per_second": rate}
    return Metrics(asdict(metrics), **more)


@dataclass(frozen=True)
class Hooks:
    """Tools of the user: a quality engine, an audit logger and a performance monitor. Each is a function, or an object
    with the method that is named here."""

    quality_engine: Any = None
    audit_logger: Any = None
    performance_monitor: Any = None

    def require_quality(self, data: Any, table: str) -> None:
        """Ask the quality engine (`validate`) about rows before they are loaded. False refuses them."""
        answer = _call(self.quality_engine, "validate", data, table)
        if answer is False:
            raise ValueProblem(
                f"{table}: the quality engine refused the rows.", "Nothing was written.", "Correct them and load again."
            )

    def audit(self, event: str, **facts: Any) -> None:
        """Log an operation, and tell the audit logger (`log`)."""
        LOGGER.info("%s: %s", event, ", ".join(f"{name}={value}" for name, value in facts.items()))
        _call(self.audit_logger, "log", event, facts)

    def measure(self, metrics: Metrics) -> None:
        """Tell the performance monitor (`record`) about a load."""
        _call(self.performance_monitor, "record", metrics)


def _call(tool: Any, method: str, *arguments: Any) -> Any:
    if tool is None:
        return None
    function: Callable[..., Any] = getattr(tool, method) if hasattr(tool, method) else tool
    return function(*arguments)

"""OpenTelemetry: the metrics of a snapshot by OTLP over HTTP, once, without an agent of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from tidegate._version import __version__
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.health import Metric, Snapshot
from tidegate.monitoring.metrics import MEANINGS

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation

TIMEOUT = 15


def export(health: Snapshot, address: str) -> None:
    """Send every metric as one observation of a gauge. Raises TidegateError when the receiver does not take them."""
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
        from opentelemetry.sdk.resources import Resource
    except ImportError:
        raise Unsupported(
            "The SDK of OpenTelemetry is not installed.",
            "Nothing was sent.",
            'Run `pip install "tidegate[opentelemetry]"`.',
        ) from None
    # Read once and exported here: a periodic reader would hide whether the receiver took the metrics.
    reader = InMemoryMetricReader()
    resource = Resource.create({"service.name": "tidegate", "tidegate.target": health.project.get("target", "")})
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    try:
        meter = provider.get_meter("tidegate", __version__)
        ordered = sorted(health.metrics, key=lambda metric: metric.name)
        for name, group in groupby(ordered, lambda metric: metric.name):
            meaning = MEANINGS[name]
            shown = name.replace("tidegate_", "tidegate.", 1)
            meter.create_observable_gauge(shown, [_callback(list(group))], unit=meaning.unit, description=meaning.about)
        found = reader.get_metrics_data()
    finally:
        provider.shutdown()
    exporter = OTLPMetricExporter(endpoint=f"{address.rstrip('/')}/v1/metrics", timeout=TIMEOUT)
    try:
        taken = found is None or exporter.export(found) is MetricExportResult.SUCCESS
    except Exception as problem:  # its transport raises whatever the HTTP library raises
        raise TidegateError(f"the receiver could not be reached: {type(problem).__name__}.") from None
    finally:
        exporter.shutdown()
    if not taken:
        raise TidegateError("the receiver did not take the metrics.")


def _callback(metrics: list[Metric]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    from opentelemetry.metrics import Observation

    return lambda options: [Observation(metric.value, dict(metric.labels)) for metric in metrics]

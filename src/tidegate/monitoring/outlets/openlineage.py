"""OpenLineage: events of a run and of each of its tables, with receipts as data quality assertions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tidegate._version import __version__
from tidegate.config.monitoring import OpenLineageSettings
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.report import RunReport
from tidegate.monitoring.lineage import Dataset, TableLineage, id_of

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent
    from openlineage.client.transport import Transport

PRODUCER = f"urn:tidegate:{__version__}"
PARENT = "OPENLINEAGE_PARENT_ID"
"""Names the run that started us: `namespace/name/UUID`, as Airflow and dbt pass it on."""
TIMEOUT = 5.0
_RETRY = {"total": 1, "connect": 1, "read": 1, "backoff_factor": 0.3, "status_forcelist": [502, 503, 504]}


def start(settings: OpenLineageSettings, run: str, verb: str, tables: Iterable[TableLineage]) -> None:
    """Send the event that a run began, and one for each of its tables. Raises TidegateError at the first that nobody
    takes: a receiver that is away must not hold up a run of 200 tables."""
    now = datetime.now(UTC).isoformat()
    _send(settings, [_run(settings, "START", now, run, verb), *_tables(settings, "START", now, run, verb, tables)])


def end(settings: OpenLineageSettings, report: RunReport, tables: Sequence[TableLineage]) -> None:
    """Send how each table of a run ended, then the run itself. Raises TidegateError as `start` does."""
    began = datetime.fromisoformat(report.started_at)
    now = (began + timedelta(seconds=report.seconds)).isoformat()
    state = "FAIL" if report.exit_code == 1 else "COMPLETE"
    events = _tables(settings, "", now, report.run, report.verb, tables)
    _send(settings, [*events, _run(settings, state, now, report.run, report.verb)])


def _run(settings: OpenLineageSettings, state: str, at: str, run: str, verb: str) -> RunEvent:
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import job_type_job, processing_engine_run

    facets: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(__version__, "Tidegate", __version__)
    }
    above = os.environ.get(PARENT, "").rsplit("/", 2)
    if len(above) == 3:
        facets["parent"] = _parent(above[0], above[1], above[2])
    kind = job_type_job.JobTypeJobFacet("BATCH", "TIDEGATE", "RUN")
    job = Job(settings.namespace, f"tidegate.{verb}", {"jobType": kind})
    return RunEvent(eventType=RunState[state], eventTime=at, run=Run(id_of(run), facets), job=job, producer=PRODUCER)


def _tables(
    settings: OpenLineageSettings, state: str, at: str, run: str, verb: str, tables: Iterable[TableLineage]
) -> list[RunEvent]:
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import error_message_run, job_type_job

    events = []
    for table in tables:
        facets: dict[str, Any] = {"parent": _parent(settings.namespace, f"tidegate.{verb}", id_of(run))}
        if table.error:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(table.error, "Python")
        kind = job_type_job.JobTypeJobFacet("BATCH", "TIDEGATE", "TABLE")
        inputs, outputs = datasets(table, verb)
        events.append(
            RunEvent(
                eventType=RunState[state or ("FAIL" if table.error else "COMPLETE")],
                eventTime=at,
                run=Run(id_of(run, table.table), facets),
                job=Job(settings.namespace, f"tidegate.{verb}.{table.table}", {"jobType": kind}),
                producer=PRODUCER,
                inputs=inputs,
                outputs=outputs,
            )
        )
    return events


def datasets(table: TableLineage, verb: str) -> tuple[list[InputDataset], list[OutputDataset]]:
    """Return what a run reads and writes of a table. A verification reads both sides and writes nothing.

    The standard knows assertions of inputs only. So the receipts of a run stand with the source that it read, and those
    of a verification with the target that it examined."""
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import (
        data_quality_assertions_dataset,
        input_statistics_input_dataset,
        output_statistics_output_dataset,
    )

    def read(dataset: Dataset, *, asserted: bool) -> InputDataset:
        facets: dict[str, Any] = {}
        if dataset.rows is not None:
            facets["inputStatistics"] = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                dataset.rows, dataset.bytes
            )
        if asserted and table.assertions:
            facets["dataQualityAssertions"] = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
                [
                    data_quality_assertions_dataset.Assertion(
                        assertion="receipt_equal",
                        success=one.success,
                        severity="error",
                        name=one.window or "whole table",
                        expected=one.expected or None,
                        actual=one.actual or None,
                    )
                    for one in table.assertions
                ]
            )
        return InputDataset(dataset.namespace, dataset.name, facets)

    def written(dataset: Dataset) -> OutputDataset:
        facets: dict[str, Any] = {}
        if dataset.rows is not None:
            facets["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                dataset.rows, dataset.bytes
            )
        return OutputDataset(dataset.namespace, dataset.name, facets)

    if verb == "verify":
        return [read(table.source, asserted=False), read(table.target, asserted=True)], []
    return [read(table.source, asserted=True)], [written(table.lake), written(table.target)]


def _parent(namespace: str, name: str, run: str) -> Any:
    from openlineage.client.facet_v2 import parent_run

    return parent_run.ParentRunFacet(parent_run.Run(run), parent_run.Job(namespace, name))


def _send(settings: OpenLineageSettings, events: Sequence[RunEvent]) -> None:
    from openlineage.client import OpenLineageClient

    client = OpenLineageClient(transport=_transport(settings))
    try:
        for event in events:
            client.emit(event)
    except Exception as problem:  # the transport raises what its HTTP library raises
        answer = getattr(getattr(problem, "response", None), "status_code", None)
        reason = f"it answered {answer}" if answer else type(problem).__name__
        raise TidegateError(f"the receiver did not take an event: {reason}.") from None
    finally:
        client.close(timeout=TIMEOUT)


def _transport(settings: OpenLineageSettings) -> Transport:
    try:
        from openlineage.client.transport.file import FileConfig, FileTransport
        from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport, TokenProvider
    except ImportError:
        raise Unsupported(
            "The client of OpenLineage is not installed.",
            "Nothing was sent.",
            'Run `pip install "tidegate[openlineage]"`.',
        ) from None
    if settings.url.startswith("file:"):
        return FileTransport(FileConfig(log_file_path=settings.url.removeprefix("file:"), append=True))
    token = ApiKeyTokenProvider({"api_key": settings.api_key}) if settings.api_key else TokenProvider({})
    return HttpTransport(HttpConfig(url=settings.url, timeout=TIMEOUT, auth=token, retry=_RETRY))

"""Lineage: what the tables of a run are called in OpenLineage, and what the run says of each. No library is needed.

Names follow the naming conventions of OpenLineage, so that a dataset of ours is the dataset that others know.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from tidegate.interfaces.database import Database
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.report import RunReport, StepOutcome
from tidegate.runs.run import Pipeline

_SCHEMES = {"postgresql": "postgres", "sqlserver": "mssql"}
_OF_OURS = uuid.uuid5(uuid.NAMESPACE_URL, "https://openlineage.io/tidegate")


@dataclass(frozen=True)
class Dataset:
    """A table or a folder, as OpenLineage names it. Rows and bytes are those that a run read or wrote."""

    namespace: str
    name: str
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Assertion:
    """One receipt: whether a window of the target holds the rows of the source."""

    window: str
    success: bool
    expected: str = ""
    actual: str = ""


@dataclass(frozen=True)
class TableLineage:
    """What a run says of one table."""

    table: str
    source: Dataset
    lake: Dataset
    target: Dataset
    assertions: tuple[Assertion, ...] = ()
    error: str = ""


def id_of(run: str, table: str = "") -> str:
    """Return the UUID of a run, or of its part for one table: the same for every event of it."""
    return str(uuid.uuid5(_OF_OURS, f"{run}/{table}"))


def datasets_of(pipeline: Pipeline, tables: Sequence[str]) -> Iterator[TableLineage]:
    """Yield the datasets of tables, before anything is known of a run."""
    for key in tables:
        settings = pipeline.project.tables[key]
        yield TableLineage(
            key,
            _table(pipeline.source, settings.source_table),
            _lake(pipeline.lake.place, settings.lake_table or settings.source_table),
            _table(pipeline.target, settings.target_table),
        )


def lineage_of(pipeline: Pipeline, report: RunReport) -> Iterator[TableLineage]:
    """Yield what a run says of each of its tables: rows, bytes, receipts and errors."""
    failures = dict(report.failures)
    for table in datasets_of(pipeline, list(report.configuration)):
        own = [step for step in report.steps if step.table == table.table]
        read = [step for step in own if step.step == "extract" and step.outcome == "done"]
        loaded = [step for step in own if step.step == "load" and step.outcome == "done"]
        size = sum(step.bytes for step in read)
        yield replace(
            table,
            source=replace(table.source, rows=_rows(read)),
            lake=replace(table.lake, rows=_rows(read), bytes=size if read else None),
            target=replace(table.target, rows=_rows(loaded)),
            assertions=tuple(_assertions(table.table, own, report)),
            error=failures.get(table.table, ""),
        )


def _rows(steps: Sequence[StepOutcome]) -> int | None:
    return sum(step.rows for step in steps) if steps else None


def _assertions(table: str, steps: Sequence[StepOutcome], report: RunReport) -> Iterator[Assertion]:
    """Yield a receipt for each window: of a verification, or of a load, which reads back what it wrote."""
    compared = [comparison for comparison in report.comparisons if comparison.table == table]
    for comparison in compared:
        source, target = (
            "" if receipt is None else receipt.as_text() for receipt in (comparison.source, comparison.target)
        )
        yield Assertion(comparison.value, comparison.equal, source, target)
    seen = {comparison.value for comparison in compared}
    wrong = [found for found in report.findings if found.table == table and found.severity == "error"]
    for finding in wrong:
        if finding.value not in seen:
            yield Assertion(finding.value, False, actual=finding.what)
    for step in steps:
        if step.step == "load":
            yield Assertion(step.value, step.outcome != "failed", actual=step.error)


def _table(database: Database, table: TableName) -> Dataset:
    place: Connection = database.connection
    name = table.within(database.default_schema)
    scheme = _SCHEMES.get(place.kind, place.kind)
    port = f":{place.port}" if place.port else ""
    above = [] if database.capabilities.schemas_are_databases else [place.database]
    parts = [*above, name.schema, name.name]
    return Dataset(f"{scheme}://{place.host}{port}", ".".join(part for part in parts if part))


def _lake(place: str, table: TableName) -> Dataset:
    found = urlsplit(place)
    if found.scheme and found.netloc:
        return Dataset(f"{found.scheme}://{found.netloc}", f"{found.path.strip('/')}/{table}".lstrip("/"))
    return Dataset("file", f"{place.rstrip('/')}/{table}")

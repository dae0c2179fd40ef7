"""Export: all rows that a table of the source has now, as one version of a table in a lake of its own."""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import LakeError
from tidegate.interfaces.change import Extraction
from tidegate.interfaces.check import Snapshot
from tidegate.interfaces.lake import Lake, LakeTable, Layout
from tidegate.model.lake_versions import Exported
from tidegate.model.scope import Scope
from tidegate.model.tokens import ContentToken
from tidegate.model.windows import WHOLE_TABLE
from tidegate.runs.extract_split import Extracted, ExtractSplit
from tidegate.runs.plan import planning
from tidegate.runs.run import Job, Run
from tidegate.spark.executor import SplitOutcome


def export(run: Run, key: str, lake: Lake) -> Exported:
    """Write the rows and return where they are. Raises what stands in the way; then nothing is committed."""
    with planning(replace(run.pipeline, lake=lake)) as planner:
        planned = planner.plan([key])[0].require_table()
    from tidegate.hashing.arrow import arrow_schema

    found = planned.found
    table = LakeTable(found.lake_name, Layout.WHOLE, "static")
    request = found.from_source(None)
    lake.begin(run.id)
    try:
        split = ExtractSplit(
            database=run.pipeline.source,
            extraction=Extraction(request, ContentToken()),
            request=request,
            snapshot=Snapshot(),
            lake=lake.prepared(table, arrow_schema(request.columns)),
            table=table,
            load=planned.load,
            name="export",
            run_id=run.id,
            window=WHOLE_TABLE.text,
            why="exported",
            scope=Scope(WHOLE_TABLE).to_json(),
        )
        extracted = _run(run, key, split)
        entry, _ = lake.commit(table, WHOLE_TABLE.text, extracted.parts, "", extracted.facts)
    finally:
        lake.end(run.id)
    return Exported(lake.location(entry.id), entry.rows, entry.hash)


def _run(run: Run, key: str, split: ExtractSplit) -> Extracted:
    outcomes: list[SplitOutcome] = []
    run.run_jobs("extract", [Job(key, split, None)], lambda job, outcome: outcomes.append(outcome))
    [outcome] = outcomes
    if outcome.error is not None:
        raise outcome.error
    if not isinstance(outcome.result, Extracted):
        raise LakeError(f"{key}: the export returned nothing.", "Nothing was committed.")
    return outcome.result

"""Merge: small files of a table in the lake become few large ones. Entries and their own files stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.interfaces.lake import Lake, LakeTable, Part
from tidegate.interfaces.worker import Worker
from tidegate.runs.run import Job, Run
from tidegate.spark.executor import SplitOutcome


@dataclass(frozen=True)
class MergeSplit:
    """Writes the rows of some files into one."""

    lake: Lake
    table: LakeTable
    run_id: str
    name: str
    files: tuple[str, ...]

    def run(self, worker: Worker) -> Part:
        return self.lake.merge(self.table, self.run_id, self.name, self.files)


def merge_small_files(run: Run, key: str, table: LakeTable, groups: Sequence[tuple[str, ...]]) -> None:
    """Merge each group in a task, and commit all at once. Raises what stands in the way; then nothing changes."""
    lake = run.pipeline.lake
    lake.begin(run.id)
    try:
        splits = [MergeSplit(lake, table, run.id, f"merged-{number}", group) for number, group in enumerate(groups)]
        outcomes: list[tuple[str, SplitOutcome]] = []
        run.run_jobs("merge", [Job(key, split, None) for split in splits], lambda job, one: outcomes.append((key, one)))
        merged = {}
        for _, outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
            merged[outcome.result.id] = groups[outcome.number]
        lake.commit_merged(table, run.id, merged)
    finally:
        lake.end(run.id)

"""Answers of the pipeline class: reports, statuses and findings as dictionaries that survive JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidegate.api import Tidegate
from tidegate.errors import ConfigError
from tidegate.model.report import RunReport
from tidegate.model.status import TableStatus, ValueStatus, VersionsStatus, WholeStatus

RUN_ARGUMENTS = ("initial_load_days", "initial_load_count", "force_partition_switching", "partition_switch_parallel")
"""What a run takes besides its tables."""


def with_run_arguments(tables: Mapping[str, dict[str, Any]], arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tables with the arguments of a run: they hold where a table does not say otherwise."""
    own = {"scd2": "initial_load_days", "partition": "initial_load_count"}
    completed = {}
    for name, settings in tables.items():
        argument = own.get(settings["kind"])
        given = {argument: arguments[argument]} if argument and argument in arguments else {}
        completed[name] = {**given, **settings}
        if "switch" in settings and arguments.get("force_partition_switching"):
            completed[name]["switch"] = "always_stage"
        if "switch" in settings and arguments.get("partition_switch_parallel") is False:
            completed[name]["parallel_load"] = False
    return completed


# Reports


def steps_by_table(report: RunReport) -> dict[str, Any]:
    """Return what was done for each table: rows, windows, seconds."""
    done: dict[str, Any] = {}
    for step in report.steps:
        table = done.setdefault(
            step.table, {"rows_extracted": 0, "rows_loaded": 0, "values": [], "seconds": 0.0, "run": report.run}
        )
        table["seconds"] = round(table["seconds"] + step.seconds, 3)
        if step.outcome == "done" and step.step in ("extract", "load"):
            table[f"rows_{step.step}ed"] += step.rows
        if step.step == "load" and step.value not in table["values"]:
            table["values"].append(step.value)
    return done


def problems_by_table(report: RunReport, tables: Iterable[str]) -> dict[str, list[str]]:
    """Return the errors of each table: those of its checks, and why it could not be checked."""
    problems: dict[str, list[str]] = {name: [] for name in tables}
    for table, problem in report.failures:
        problems.setdefault(table, []).append(problem)
    for finding in report.findings:
        if finding.severity == "error":
            problems.setdefault(finding.table, []).append(f"{finding.check} {finding.value}: {finding.what}".strip())
    return problems


# Validation


class Issues(dict[str, Any]):
    """What was found, by name. False when every value is false: `if issues:` asks whether anything is wrong."""

    def __bool__(self) -> bool:
        return any(value for name, value in self.items() if name != "partitions")


def decimal_issues(project: Tidegate, name: str, report: RunReport) -> list[str]:
    """Return how decimal columns differ. Equal hashes over every row prove that all decimals arrived exactly."""
    source, target = project.schema("source", name), project.schema("target", name)
    if source is None or target is None:
        return [f"{name} does not exist in the {'source' if source is None else 'target'}"]
    decimals = [column for column in source.columns if column.logical_type.family in ("decimal", "number")]
    issues = []
    for column in decimals:
        there = target.column(column.name)
        if there is None:
            issues.append(f"{column.name}: missing in the target")
        elif there.logical_type != column.logical_type:
            issues.append(f"{column.name}: {column.type} in the source, {there.type} in the target")
    return [*issues, *(problems_by_table(report, [name])[name] if decimals else [])]


def static_issues(project: Tidegate, name: str, report: RunReport) -> Issues:
    """Return what is wrong with a static table; every value is false when nothing is."""
    status = project.table(name).status(count_all=True)
    value = status.values[0] if status.values else ValueStatus("", "missing")
    contained = isinstance(value, WholeStatus) and value.contained
    problems = problems_by_table(report, [name])[name]
    return Issues(
        {
            "row_count_mismatch": value.source_rows != value.target_rows and not contained,
            "hash_mismatch": bool(problems),
            "problems": problems,
        }
    )


# Status


def pipeline_status(status: TableStatus) -> dict[str, Any]:
    """Return where a table stands."""
    answer: dict[str, Any] = {
        "type": status.kind,
        "state": status.state,
        "pending": list(status.pending),
        "notes": list(status.notes),
        "consistent": status.state == "in sync",
        "problem": status.problem or None,
    }
    if isinstance(status, VersionsStatus):
        answer |= {"last_processed_timestamp": status.watermark or None, "newest_in_source": status.newest or None}
    elif status.kind == "partition":
        answer |= {"partition_column": status.partition_column, "last_processed_value": status.newest_loaded or None}
    elif status.values:
        [value] = status.values
        answer |= {"last_content_hash": value.lake_hash or None, "loaded_at": value.loaded_at or None}
    return answer


def newest_cursor(status: TableStatus) -> str:
    """Return the greatest cursor value of the source. Raises ConfigError for a table without a cursor."""
    if not isinstance(status, VersionsStatus) or not status.newest:
        raise ConfigError(f"{status.table} has no rows with a cursor.", "Nothing was read or written.")
    return status.newest


# Values and files


def paths_of(files: Mapping[str, Sequence[str]] | Sequence[str] | str) -> list[str]:
    """Return the paths in what an extraction returned, or in a list, or the one path."""
    if isinstance(files, (str, os.PathLike)):
        return [str(files)]
    if isinstance(files, Mapping):
        return [str(path) for paths in files.values() for path in paths]
    return [str(path) for path in files]


def same_file(place: str, paths: Iterable[str]) -> bool:
    return any(os.path.abspath(place) == os.path.abspath(path) for path in paths)

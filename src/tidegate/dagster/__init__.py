"""Dagster: a command that Dagster starts reports its tables as assets, and their receipts as asset checks.

Dagster starts the command by its Pipes protocol; `tell` answers through it. `asset_specs` and `check_specs` are for the
definitions in Dagster's own process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegate.api import Tidegate
from tidegate.errors import Unsupported
from tidegate.model.report import RunReport
from tidegate.monitoring.lineage import Assertion, TableLineage

RECEIPTS = "receipts"
"""The name of the check that each table has. Dagster wants checks to be declared before a run, and the windows of a run
are not known before: so a check has all receipts of its table, one line each."""
_MOST_LINES = 500


def tell(project: Tidegate, report: RunReport) -> int:
    """Report each table that did not fail as materialised, and its receipts as a check. Return the exit code: a table
    that differs is a failed check, and no failed process, which would hide the checks."""
    try:
        from dagster_pipes import open_dagster_pipes
    except ImportError:
        raise Unsupported(
            "dagster-pipes is not installed.", "The run is done.", 'Run `pip install "tidegate[dagster]"`.'
        ) from None
    with open_dagster_pipes() as pipes:
        for table in project.lineage_of(report):
            key = asset_key(table.table)
            if not table.error and report.verb != "verify":
                pipes.report_asset_materialization(asset_key=key, metadata=_facts(table, report))
            pipes.report_asset_check(
                asset_key=key,
                check_name=RECEIPTS,
                passed=not table.error and all(receipt.success for receipt in table.assertions),
                severity="ERROR",
                metadata=_receipts(table),
            )
    return 0 if report.exit_code == 3 else report.exit_code


def asset_key(table: str) -> str:
    """Return the key of a table's asset: `sales.orders` is `sales/orders`."""
    return "/".join(table.split("."))


def _facts(table: TableLineage, report: RunReport) -> dict[str, Any]:
    return {
        "rows": table.target.rows or 0,
        "windows": len({receipt.window for receipt in table.assertions}),
        "outcome": report.outcome,
        "run": report.run,
        "target": f"{table.target.namespace}/{table.target.name}",
    }


def _receipts(table: TableLineage) -> dict[str, Any]:
    """Return the receipts as a text of one line each, those that differ first."""
    receipts: Sequence[Assertion] = sorted(table.assertions, key=lambda receipt: (receipt.success, receipt.window))
    lines = [f"{one.window or 'whole table'}: {'equal' if one.success else 'differs'}" for one in receipts]
    shown = "\n".join(lines[:_MOST_LINES]) or table.error or "nothing moved: earlier receipts stand"
    return {"receipts": len(lines), "differing": sum(not one.success for one in receipts), "windows": shown}


# In Dagster's process


def asset_specs(config: str | Path, *tables: str) -> list[Any]:
    """Return one AssetSpec for each table of a project."""
    from dagster import AssetKey, AssetSpec

    with Tidegate.from_file(config) as project:
        found = [project.lineage(key) for key in project.keys(*tables)]
    return [
        AssetSpec(
            AssetKey(asset_key(table.table).split("/")),
            kinds={"tidegate"},
            metadata={
                "source": f"{table.source.namespace}/{table.source.name}",
                "target": f"{table.target.namespace}/{table.target.name}",
            },
        )
        for table in found
    ]


def check_specs(config: str | Path, *tables: str) -> list[Any]:
    """Return one AssetCheckSpec for each table of a project."""
    from dagster import AssetCheckSpec

    return [
        AssetCheckSpec(RECEIPTS, asset=spec.key, description="Source and target hold the same rows, window by window.")
        for spec in asset_specs(config, *tables)
    ]

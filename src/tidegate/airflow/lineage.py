"""Lineage of a task: what it read and wrote, for Airflow's provider `openlineage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tidegate.monitoring.lineage import Assertion, Dataset, TableLineage

_MOST_ASSERTIONS = 200


def facets_of(table: TableLineage) -> dict[str, Any]:
    """Return the lineage of a table as plain data, which survives XCom. Of many receipts, failed ones come first."""
    receipts = sorted(table.assertions, key=lambda receipt: receipt.success)[:_MOST_ASSERTIONS]
    return {**asdict(table), "assertions": [asdict(receipt) for receipt in receipts]}


def operator_lineage(tables: Sequence[Mapping[str, Any]], verb: str) -> Any:
    """Return what Airflow's listener sends with the task's event."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    from tidegate.monitoring.outlets.openlineage import datasets

    inputs: list[Any] = []
    outputs: list[Any] = []
    for facts in tables:
        read, written = datasets(_table(facts), verb)
        inputs += read
        outputs += written
    return OperatorLineage(inputs=inputs, outputs=outputs)


def _table(facts: Mapping[str, Any]) -> TableLineage:
    places = {side: Dataset(**facts[side]) for side in ("source", "lake", "target")}
    receipts = tuple(Assertion(**receipt) for receipt in facts["assertions"])
    return TableLineage(facts["table"], **places, assertions=receipts, error=facts["error"])

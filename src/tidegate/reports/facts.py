"""What the HTML page shows, gathered from status and history into plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tidegate.model.status import TableStatus, ValueStatus, VersionsStatus, WholeStatus

Facts = dict[str, Any]
_MOVES = ("run", "repair", "backfill", "adopt")


def page_facts(
    places: Mapping[str, str],
    version: str,
    generated_at: str,
    tables: Sequence[TableStatus],
    history: Sequence[Facts],
) -> Facts:
    """`history` is newest first, as the ledger keeps it."""
    proof = _newest_proof(history)
    receipts = {(one["table"], one["value"]): one for one in (proof or {}).get("comparisons", [])}
    shown = [_table(table, receipts, history) for table in tables]
    return {
        "generated_at": generated_at,
        "version": version,
        "project": dict(places),
        "verdict": _verdict(tables, shown, proof),
        "tables": shown,
        "runs": [_run(report) for report in history],
        "findings": list(_newest_findings(history)),
    }


def without_secrets(facts: Any, redact: Callable[[str], str]) -> Any:
    """The same facts after `redact` saw every text in them."""
    match facts:
        case str():
            return redact(facts)
        case Mapping():
            return {key: without_secrets(value, redact) for key, value in facts.items()}
        case list() | tuple():
            return [without_secrets(value, redact) for value in facts]
    return facts


def _newest_proof(history: Sequence[Facts]) -> Facts | None:
    """The newest verification, as long as no later run changed the target."""
    for report in history:
        if report["verb"] == "verify":
            return report
        if report["verb"] in _MOVES and any(step["outcome"] == "done" for step in report["steps"]):
            return None
    return None


def _newest_findings(history: Sequence[Facts]) -> list[Facts]:
    return list(history[0]["findings"]) if history else []


def _table(table: TableStatus, receipts: Mapping[tuple[str, str], Facts], history: Sequence[Facts]) -> Facts:
    notes = _why_loaded(table.table, history)
    values = [
        _value(value, receipts.get((table.table, value.value)), notes.get(value.value, "")) for value in table.values
    ]
    return {
        "name": table.table,
        "kind": table.kind,
        "partition_column": table.partition_column,
        "status": table.state,
        "scope": table.scope,
        "rows": _rows(table, values),
        "values": values,
        **_of_versions(table),
        "notes": [
            *table.notes,
            *([table.problem] if table.problem else []),
            *(f"pending: {step}" for step in table.pending),
        ],
    }


def _why_loaded(table: str, history: Sequence[Facts]) -> dict[str, str]:
    """The reason of the newest load of each value."""
    reasons: dict[str, str] = {}
    for report in reversed(history):
        for step in report["steps"]:
            if step["table"] == table and step["step"] == "load" and step["outcome"] == "done":
                reasons[step["value"]] = step["why"]
    return reasons


def _of_versions(table: TableStatus) -> Facts:
    if not isinstance(table, VersionsStatus):
        return {}
    return {"reaches": table.reaches, "batches": [asdict(batch) for batch in table.batches]}


def _rows(table: TableStatus, values: Sequence[Facts]) -> Facts:
    """How many each side holds. Versions rest in batches, which overlap; in the source they are not always counted."""
    if isinstance(table, VersionsStatus):
        sides = [(value["source_rows"], value["target_rows"]) for value in values] or [(None, 0)]
        return {"source": sides[0][0], "lake": sum(one.rows or 0 for one in table.batches), "target": sides[0][1]}
    in_scope = [value for value in table.values if value.state not in ("out of scope", "removed", "forgotten")]
    return {side: _total(in_scope, side) for side in ("source", "lake", "target")}


def _total(values: Sequence[ValueStatus], side: str) -> int:
    return sum(getattr(value, f"{side}_rows") or 0 for value in values)


def _value(value: ValueStatus, compared: Facts | None, note: str) -> Facts:
    hashes = {side: (compared[side] or {}).get("hash") if compared else None for side in ("source", "target")}
    known = asdict(value)
    shown = {
        **{key: known[key] for key in ("value", "source_rows", "lake_rows", "target_rows", "generation", "loaded_at")},
        "state": "differs" if compared is not None and _differs(compared) else value.state,
        "receipts": {**hashes, "lake": value.lake_hash or None, "ledger": value.ledger_hash or None},
        "note": "; ".join([*value.next, *([note] if note else [])]),
    }
    return _whole(value, compared, shown) if isinstance(value, WholeStatus) else shown


def _differs(compared: Facts) -> bool:
    unlike = compared["source"] is not None and compared["source"] != compared["target"]
    return unlike and not compared.get("contained", False)


def _whole(value: WholeStatus, compared: Facts | None, shown: Facts) -> Facts:
    """Its content is read by planning already; a verification counts what planning does not."""
    receipts = {
        **shown["receipts"],
        "source": value.source_hash or shown["receipts"]["source"],
        "target": value.target_hash or shown["receipts"]["target"],
    }
    rows = shown["source_rows"]
    if rows is None and compared is not None and compared["source"] is not None:
        rows = compared["source"]["rows"]
    contained = value.contained or (compared is not None and compared.get("contained", False))
    return {**shown, "source_rows": rows, "receipts": receipts, "whole": True, "contained": contained}


def _run(report: Facts) -> Facts:
    keys = (
        "run",
        "verb",
        "started_at",
        "seconds",
        "outcome",
        "rows_landed",
        "rows_loaded",
        "bytes_landed",
        "engine",
        "timings",
        "steps",
    )
    failures = [
        {
            "table": table,
            "step": "note",
            "value": "",
            "rows": 0,
            "seconds": 0,
            "why": "",
            "outcome": "failed",
            "error": problem,
        }
        for table, problem in report["failures"]
        if not any(step["error"] == problem for step in report["steps"])
    ]
    shown = {key: report[key] for key in keys}
    return {**shown, "steps": [*failures, *shown["steps"]]}


def _verdict(tables: Sequence[TableStatus], shown: Sequence[Facts], proof: Facts | None) -> Facts:
    counted = _counted(shown)
    failed = [table.table for table in tables if table.state == "failed"]
    pending = [table.table for table in tables if table.state in ("pending", "empty")]
    changed = [table.table for table in tables if table.state == "differs"]
    if failed:
        return _said("unproven", f"{', '.join(failed[:3])} could not be looked at.")
    if proof is not None and proof["outcome"] == "differences":
        errors = [finding for finding in proof["findings"] if finding["severity"] == "error"]
        if all(finding["check"] == "coverage" for finding in errors):
            missing = "rows are missing in the target that no rule leaves out. See the findings."
            return _said("differs", f"{counted}: equal within the declared scope, but {missing}")
        return _said("differs", f"{counted}: the target differs from the source. See the findings.")
    if changed:
        return _said("differs", f"{counted}; {', '.join(changed[:3])} was changed in the target after it was loaded.")
    if pending:
        return _said("pending", f"{counted}; work is pending for {', '.join(pending[:3])}. `tidegate run` does it.")
    if proof is not None and proof["outcome"] == "equal":
        return _said("equal", f"{counted}: the target equals the source within the declared scope.{_outside(proof)}")
    if proof is not None and proof["outcome"] == "incomplete":
        return _said("unproven", f"{counted}: a table has rows in the source and none in the target.")
    when_loaded = "Every value was proven when it was loaded; `tidegate verify` compares with the source as it is now."
    return _said("unproven", f"{counted}. {when_loaded}")


def _outside(proof: Facts) -> str:
    """What the newest verification says of rows and values outside of the scope, as a further sentence."""
    notes = [f"{one['table']}: {one['what']}" for one in proof["findings"] if one["check"] == "coverage"]
    return f" {'; '.join(notes)}." if notes else ""


def _counted(shown: Sequence[Facts]) -> str:
    """Whole tables are counted as tables alone."""
    held = [value for table in shown for value in table["values"] if not value.get("whole")]
    values = sum(value["state"] in ("proven", "adopted", "loaded") for value in held)
    rows = sum(table["rows"]["target"] or 0 for table in shown)
    only_wholes = not held and any(table["values"] for table in shown)
    of_values = [] if only_wholes else [f"{values:,} values"]
    tables = f"{len(shown)} {'table' if len(shown) == 1 else 'tables'}"
    return ", ".join([tables, *of_values, f"{rows:,} rows"])


def _said(status: str, text: str) -> Facts:
    return {"status": status, "text": text, "proof": "hash"}

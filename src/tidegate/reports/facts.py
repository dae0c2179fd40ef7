"""Collect the facts of the HTML page from the status of the tables and the history of the runs, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tidegate.model.analysis import missing_of
from tidegate.model.status import BatchStatus, TableStatus, ValueStatus, VersionsStatus, WholeStatus

Facts = dict[str, Any]
_LATE = ("late", "in quarantine")  # what loads call rows that came late
_MOVED_ON = ("pending", "missing", "differs")
_MOVES = ("run", "repair", "backfill", "adopt")


def page_facts(
    places: Mapping[str, str],
    version: str,
    generated_at: str,
    tables: Sequence[TableStatus],
    history: Sequence[Facts],
    snapshots: Sequence[Facts] = (),
    analysis: Mapping[str, Facts] | None = None,
) -> Facts:
    """Return all facts of the page. `history` has the newest run first, as the ledger returns it."""
    proof = _newest_proof(history)
    compared = (proof or {}).get("comparisons", [])
    receipts = {(comparison["table"], comparison["value"]): comparison for comparison in compared}
    shown = [_table(table, receipts, history) for table in tables]
    return {
        "generated_at": generated_at,
        "version": version,
        "project": dict(places),
        "verdict": _verdict(tables, shown, proof),
        "tables": shown,
        "runs": [_run(report) for report in history],
        "findings": list(_newest_findings(history)),
        **({"snapshots": list(snapshots)} if snapshots else {}),
        **({"analysis": list(_analysis(analysis))} if analysis is not None else {}),
    }


def _analysis(analysis: Mapping[str, Facts]) -> Iterator[Facts]:
    """Yield what each table lacks, and where it differs."""
    for table, found in analysis.items():
        for what, values in missing_of(found).items():
            yield {"table": table, "what": what, "values": values}


def without_secrets(facts: Any, redact: Callable[[str], str]) -> Any:
    """Return the facts with `redact` applied to every text in them."""
    match facts:
        case str():
            return redact(facts)
        case Mapping():
            return {key: without_secrets(value, redact) for key, value in facts.items()}
        case list() | tuple():
            return [without_secrets(value, redact) for value in facts]
    return facts


def _newest_proof(history: Sequence[Facts]) -> Facts | None:
    """Return the report of the newest verification; None when a later run changed the target, or when there is none."""
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
        **_version_facts(table),
        "next": list(table.pending),
        "freshness": _freshness(table, history),
        "over_time": _over_time(table, history),
        "notes": [
            *table.notes,
            *([table.problem] if table.problem else []),
            *(f"pending: {step}" for step in table.pending),
        ],
    }


def _why_loaded(table: str, history: Sequence[Facts]) -> dict[str, str]:
    """Return the reason of the newest load of each value."""
    reasons: dict[str, str] = {}
    for report in reversed(history):
        for step in report["steps"]:
            if step["table"] == table and step["step"] == "load" and step["outcome"] == "done":
                reasons[step["value"]] = step["why"]
    return reasons


def _version_facts(table: TableStatus) -> Facts:
    if not isinstance(table, VersionsStatus):
        return {}
    return {"watermark": table.watermark, "batches": [asdict(batch) for batch in table.batches]}


def _freshness(table: TableStatus, history: Sequence[Facts]) -> Facts:
    """Return how far the target is, how far the source is, what came late, and since when both were proven equal."""
    own = table if isinstance(table, VersionsStatus) else None
    in_source = [value.value for value in table.values if value.source_rows != 0]
    is_whole = any(isinstance(value, WholeStatus) for value in table.values)
    loads = [step for report in history for step in report["steps"] if step["table"] == table.table]
    return {
        "loaded_to": own.watermark if own else "" if is_whole else table.newest_loaded,
        "source_has": own.newest if own else in_source[-1] if in_source and not is_whole else "",
        "loaded_at": max((value.loaded_at for value in table.values), default=""),
        "proven_at": _newest_equal(table.table, history),
        "late": sum(step.get("counts", {}).get(count, 0) for step in loads for count in _LATE),
        "held_by": list(own.held_by) if own else [],
        "gaps": list(own.gaps) if own else [],
        "watermark_set": own.watermark_set if own else "",
    }


def _over_time(table: TableStatus, history: Sequence[Facts]) -> list[Facts]:
    """Return the loads of a table that is read by a cursor, the oldest run first."""
    if not isinstance(table, VersionsStatus):
        return []
    windows = {batch.batch: batch for batch in table.batches}
    points = []
    for report in reversed(history):
        steps = [step for step in report["steps"] if step["table"] == table.table and step["step"] == "load"]
        loads = [step for step in steps if step["outcome"] == "done"]
        if loads:
            points.append(_point(report, loads, windows.get(loads[-1]["value"])))
    return points


def _point(report: Facts, loads: Sequence[Facts], window: BatchStatus | None) -> Facts:
    counts = [step.get("counts", {}) for step in loads]
    return {
        "at": report["started_at"],
        "rows": sum(step["rows"] or 0 for step in loads),
        "seconds": sum(step["seconds"] or 0 for step in loads),
        "late": sum(count.get(name, 0) for count in counts for name in _LATE),
        "duplicates": sum(count.get("duplicates", 0) for count in counts),
        "watermark": window.watermark or window.upto if window else "",
        "gaps": window.gaps if window else 0,
    }


def _newest_equal(table: str, history: Sequence[Facts]) -> str:
    """Return when the newest verification began that found a table equal."""
    for report in history:
        compared = [each for each in report.get("comparisons", []) if each["table"] == table]
        if report["verb"] == "verify" and compared and not any(map(_differs, compared)):
            return str(report["started_at"])
    return ""


def _rows(table: TableStatus, values: Sequence[Facts]) -> Facts:
    """Return the rows in source, lake and target. Versions of the source are not always counted."""
    if isinstance(table, VersionsStatus):
        sides = [(value["source_rows"], value["target_rows"]) for value in values] or [(None, 0)]
        return {"source": sides[0][0], "lake": sum(batch.rows or 0 for batch in table.batches), "target": sides[0][1]}
    in_scope = [value for value in table.values if value.state not in ("out of scope", "removed", "forgotten")]
    return {side: _total(in_scope, side) for side in ("source", "lake", "target")}


def _total(values: Sequence[ValueStatus], side: str) -> int | None:
    """Return the rows of all values; None when one of them was not counted."""
    counts = [getattr(value, f"{side}_rows") for value in values]
    return None if None in counts else sum(counts)


def _value(value: ValueStatus, compared: Facts | None, note: str) -> Facts:
    if value.state in _MOVED_ON and compared is not None and not _differs(compared):
        compared = None  # one side has changed since both were found equal
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
    unequal = compared["source"] is not None and compared["source"] != compared["target"]
    return unequal and not compared.get("contained", False)


def _whole(value: WholeStatus, compared: Facts | None, shown: Facts) -> Facts:
    """Return the facts of a whole table: hashes from planning, and rows of the source from a verification."""
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
        "rows_extracted",
        "rows_loaded",
        "bytes_extracted",
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
        return _headline("unproven", f"{_some(failed)} could not be inspected.")
    if proof is not None and proof["outcome"] == "differences":
        errors = [finding for finding in proof["findings"] if finding["severity"] == "error"]
        if all(finding["check"] == "coverage" for finding in errors):
            missing = "rows are missing in the target that no setting excludes. See the findings."
            return _headline("differs", f"{counted}: equal within the declared scope, but {missing}")
        return _headline("differs", f"{counted}: the target differs from the source. See the findings.")
    if changed:
        return _headline("differs", f"{counted}; {_some(changed)} changed in the target after the load.")
    if pending:
        return _headline("pending", f"{counted}; work is pending for {_some(pending)}. `tidegate run` does it.")
    if proof is not None and proof["outcome"] == "equal":
        return _headline(
            "equal", f"{counted}: the target equals the source within the declared scope.{_outside(proof)}"
        )
    if proof is not None and proof["outcome"] == "incomplete":
        return _headline("unproven", f"{counted}: a table has rows in the source and none in the target.")
    when_loaded = "Every value was proven when it was loaded; `tidegate verify` compares with the source as it is now."
    return _headline("unproven", f"{counted}. {when_loaded}")


def _outside(proof: Facts) -> str:
    """Return what the verification found about rows and values outside of the scope, as a further sentence."""
    findings = [finding for finding in proof["findings"] if finding["check"] == "coverage"]
    notes = [f"{finding['table']}: {finding['what']}" for finding in findings]
    return f" {'; '.join(notes)}." if notes else ""


def _counted(shown: Sequence[Facts]) -> str:
    """Return `3 tables, 16 values, 33,314 rows`. A table that is compared as a whole has no values here."""
    listed = [value for table in shown for value in table["values"] if not value.get("whole")]
    values = sum(value["state"] in ("proven", "adopted", "loaded") for value in listed)
    rows = sum(table["rows"]["target"] or 0 for table in shown)
    only_wholes = not listed and any(table["values"] for table in shown)
    of_values = [] if only_wholes else [f"{values:,} values"]
    tables = f"{len(shown)} {'table' if len(shown) == 1 else 'tables'}"
    return ", ".join([tables, *of_values, f"{rows:,} rows"])


def _some(tables: Sequence[str]) -> str:
    """Return the names of the first tables, and how many more there are."""
    more = f" and {len(tables) - 3:,} more" if len(tables) > 3 else ""
    return ", ".join(tables[:3]) + more


def _headline(status: str, text: str) -> Facts:
    return {"status": status, "text": text, "proof": "hash"}

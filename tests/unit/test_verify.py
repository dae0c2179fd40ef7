"""Verify: what comparisons say, in words and severities, and that it does not depend on the buckets."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from tidegate.buckets.assign import in_buckets
from tidegate.buckets.compare import Compared, DifferingKeys
from tidegate.checks import _version_rows as rows
from tidegate.checks._compare import difference_in_words
from tidegate.checks.content import ContentCheck
from tidegate.checks.versions import CompareVersions
from tidegate.errors import LakeError, NotNative
from tidegate.hashing.rows import hash_rows
from tidegate.history.blocks import as_table, as_versions
from tidegate.history.finding import HistoryFinding, Kind, add_up
from tidegate.history.version_task import VersionTask
from tidegate.history.versions import hash_versions
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding, RunReport
from tidegate.model.state import LedgerEntry
from tidegate.model.values import ValueKind
from tidegate.model.windows import ALL_VERSIONS, WHOLE_TABLE
from tidegate.runs.verify import windows_that_differ
from tidegate.tables.planned import PlannedTable

SOME, OTHER, MORE = Receipt(4, "a" * 32), Receipt(4, "b" * 32), Receipt(5, "c" * 32)


# Words


def test_more_examples_than_shown_are_hinted_at():
    found = HistoryFinding(Kind.MISSING, 4, ("1, 2", "1, 3", "2, 1"))
    assert found.text == "4 versions missing in the target (1, 2; 1, 3; 2, 1; ...)"
    assert HistoryFinding(Kind.DUPLICATE, 1).text == "1 duplicate version in the target"


def test_findings_add_up_in_the_order_of_their_kinds():
    parts = [
        HistoryFinding(Kind.GAP, 1, ("a",), "note"),
        HistoryFinding(Kind.MISSING, 2, ("b", "c")),
        HistoryFinding(Kind.MISSING, 3, ("d", "e", "f")),
    ]
    assert add_up(parts) == [
        HistoryFinding(Kind.MISSING, 5, ("b", "c", "d")),
        HistoryFinding(Kind.GAP, 1, ("a",), "note"),
    ]


@pytest.mark.parametrize(
    ("source", "target", "lake", "ledger", "text"),
    [
        (SOME, MORE, "", "", "4 rows in the source, 5 in the target"),
        (SOME, OTHER, "", "", "equal counts, other content"),
        (SOME, OTHER, OTHER.hash, "", "equal counts, other content; the source changed after it was extracted"),
        (SOME, OTHER, SOME.hash, SOME.hash, "equal counts, other content; the target was changed after it was loaded"),
        (SOME, OTHER, SOME.hash, "", "equal counts, other content; what was extracted is not loaded yet"),
    ],
)
def test_difference_says_which_side_changed(source: Receipt, target: Receipt, lake: str, ledger: str, text: str):
    assert difference_in_words(Comparison("t", "1", source, target, lake, ledger), {}) == text


def test_difference_names_keys():
    keys = {"changed": DifferingKeys(2, ("1", "2")), "only in the target": DifferingKeys(9, ("3", "4"))}
    words = difference_in_words(Comparison("t", "1", SOME, OTHER, "", ""), keys)
    assert words.endswith("; 2 changed (1, 2); 9 only in the target (3, 4, ...)")


# A whole table


def table(*, deletes: bool = True, on_target_change: str = "report", unread: bool = False) -> PlannedTable:
    """Return as much of a planned table as the check asks for. Its last load left `SOME` in the target."""
    entry = LedgerEntry(1, "loaded", SOME.rows, SOME.hash, target_rows=SOME.rows, target_hash=SOME.hash)
    state = SimpleNamespace(ledger={WHOLE_TABLE: entry}, lake={}, unread=unread)
    settings = SimpleNamespace(on_target_change=on_target_change)
    load = SimpleNamespace(needs=SimpleNamespace(deletes=deletes))
    found = SimpleNamespace(found=SimpleNamespace(settings=settings), load=load)
    return cast(PlannedTable, SimpleNamespace(key="t", table=found, state=state))


def judged(planned: PlannedTable, result: Compared) -> tuple[bool, list[str]]:
    comparison, findings = ContentCheck().evaluate(planned, WHOLE_TABLE, result)
    return comparison.equal or comparison.contained, [finding.severity for finding in findings]


def test_equal_content_has_no_findings():
    assert judged(table(), Compared(SOME, SOME)) == (True, [])
    assert judged(table(), Compared(SOME, OTHER)) == (False, ["error"])


def test_more_rows_in_the_target_are_a_note_where_deletes_stay():
    more = Compared(SOME, MORE, keys={"only in the target": DifferingKeys(1, ("9",))})
    assert judged(table(deletes=False), more) == (True, ["note"])
    assert judged(table(), more) == (False, ["error"])
    changed = replace(more, keys={**more.keys, "changed": DifferingKeys(1, ("3",))})
    assert judged(table(deletes=False), changed) == (False, ["error"])


def test_rows_that_testers_keep_are_a_note_when_planning_did_not_read():
    """Of a large table only the comparison tells that the target is not as it was loaded."""
    assert judged(table(on_target_change="keep", unread=True), Compared(SOME, OTHER)) == (True, ["note"])
    # The target is as it was loaded: the source changed.
    assert judged(table(on_target_change="keep", unread=True), Compared(OTHER, SOME)) == (False, ["error"])


# Versions, in any number of buckets

COLUMNS = (
    Column("id", "int", "int32"),
    Column("at", "int", "int32"),
    Column("name", "text", "text"),
    Column("latest", "bool", "bool"),
)
SCHEMA = pa.schema([("id", pa.int32()), ("at", pa.int32()), ("name", pa.string()), ("latest", pa.bool_())])
REQUEST = ReadRequest(TableName("public", "t"), COLUMNS)
TASK = VersionTask(
    table="t",
    request=REQUEST,
    window=ALL_VERSIONS,
    entry=LedgerEntry(1, "loaded", 0, ""),
    keys=("id",),
    cursor="at",
    cursor_kind=ValueKind.INTEGER,
    flag="latest",
)
Version = tuple[int, int, str, bool]


def exchange(buckets: int, **facts: Any) -> CompareVersions:
    none = cast(Any, None)
    return CompareVersions(none, none, "", REQUEST, REQUEST, REQUEST, None, TASK, buckets=buckets, **facts)


def findings(sides: dict[int, list[Version]], extracted: list[Version], buckets: int) -> list[HistoryFinding]:
    """Return what the comparison finds, when all of its readers have read these versions."""
    compared = exchange(buckets, extracted=lambda: iter(()), extracted_names=("id", "at"), reads_log=True)
    channels: dict[int, dict[int, list[pa.RecordBatch]]] = {}

    def send(channel: int, divided: Any) -> None:
        for bucket, block in in_buckets([divided], buckets):
            channels.setdefault(bucket, {}).setdefault(channel, []).append(block)

    for channel, versions in sides.items():
        batch = _batch(versions)
        send(channel, as_table(hash_versions([batch], SCHEMA, TASK.scd2_columns), TASK.scd2_columns))
    named = _batch(extracted).select(["id", "at"])
    send(rows.LOG, next(rows._key_hashes(iter([named]), ("id", "at"), ("id",))))
    notes = [{rows.INSIDE: SOME}, {rows.HELD: SOME}, True]
    return list(compared.combine(notes, [compared.compare(found) for found in channels.values()]).findings)


def _batch(versions: list[Version]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in versions], SCHEMA)


def test_findings_do_not_depend_on_the_buckets():
    """Random histories on both sides: one bucket finds what many find. Examples may be others."""
    dice = random.Random(4711)
    kinds = set()
    for _ in range(25):
        all_versions = [
            (dice.randint(1, 12), dice.randint(1, 6), dice.choice("ab"), dice.random() < 0.3) for _ in range(30)
        ]
        sides = {
            channel: [one for one in all_versions if dice.random() < share]
            for channel, share in ((rows.INSIDE, 0.6), (rows.BEYOND, 0.1), (rows.HELD, 0.6))
        }
        extracted = [one for one in all_versions if dice.random() < 0.3]
        one, many = (findings(sides, extracted, buckets) for buckets in (1, 7))
        assert [(found.kind, found.count, found.severity) for found in one] == [
            (found.kind, found.count, found.severity) for found in many
        ]
        assert all(len(found.examples) == min(3, found.count) for found in many if found.kind is not Kind.DUPLICATE)
        kinds |= {found.kind for found in one}
    assert {Kind.MISSING, Kind.EXTRA, Kind.LOST, Kind.STALE, Kind.SEVERAL_CURRENT, Kind.DUPLICATE} <= kinds


def test_versions_come_back_from_their_blocks():
    versions = hash_versions([_batch([(1, 1, "a", False), (1, 2, "b", True)])], SCHEMA, TASK.scd2_columns)
    table, keys = as_table(versions, TASK.scd2_columns, is_complete=True)
    found = as_versions(table.to_batches(), SCHEMA, TASK.scd2_columns)
    assert found.hashes.equals(versions.hashes) and found.key_values.equals(versions.key_values)
    assert (found.is_current == versions.is_current).all() and found.receipt == versions.receipt
    assert (keys == hash_rows(_batch([(1, 1, "", False), (1, 2, "", False)]).select(["id"]))).all()
    assert as_versions([], SCHEMA, TASK.scd2_columns).rows == 0


def test_log_of_the_lake_is_read_only_when_asked_for():
    """A version that only the target has asks for it; a log of other types cannot tell."""
    first = exchange(3, extracted=lambda: iter(()), extracted_names=("id", "at"))
    assert len(first.readers) == 2
    notes = [{rows.INSIDE: SOME}, {rows.HELD: SOME}]
    assert first.more(first.combine(notes, [])) is None
    asked = replace(first.combine(notes, []), wants_log=True)
    second = first.more(asked)
    assert second is not None and len(second.readers) == 3
    assert second.more(asked) is None
    third = second.more(second.combine([*notes, False], []))
    assert third is not None and third.extracted is None


def test_columns_are_read_as_text_where_arrow_has_no_room():
    first = exchange(3)
    second = first.after(NotNative("name"))
    assert second is not None and second.text_columns == ("name",)
    assert second.after(NotNative("name")) is None
    assert first.after(LakeError("no room")) is None


# The report


def test_repair_gets_the_windows_with_errors():
    found = (
        Finding("a", "receipt", "differs", "20240101"),
        Finding("a", "receipt", "left out", "20240102", "note"),
        Finding("b", "scope", "nothing was loaded yet"),
    )
    report = cast(RunReport, SimpleNamespace(findings=found))
    assert windows_that_differ(report) == {"a": ["20240101"]}

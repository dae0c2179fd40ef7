"""The benchmark compares results correctly and never ranks a wrong result first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.append(str(Path(__file__).parents[2]))  # `bench` stands beside the package

from bench import cases, report, truth
from bench.measure import Failed, Measured, Series, run
from bench.tables import TRADES, TableSchema

ROW = {
    "cob": "20240801",
    "id": "1",
    "account": "ACC00000001",
    "currency": "EUR",
    "amount": "1234.567000000000000001",
    "rate": "0.000001",
    "desk": None,
    "is_open": "f",
    "traded_at": "2024-08-01 00:00:01.000001",
    "note": "",
}


def table(**instead: str | None) -> pa.Table:
    return pa.table({name: pa.array([cell], pa.string()) for name, cell in {**ROW, **instead}.items()})


def test_equal_cells_in_other_spellings_are_equal():
    """Cells with different spellings of one value, such as `f` and `0`, are equal."""
    other = table(is_open="0", rate="0.00000100", traded_at="2024-08-01 00:00:01.000001")
    assert truth.difference(table(), other) == ""


@pytest.mark.parametrize(
    "instead",
    [
        {"amount": "1234.567000000000000000"},
        {"amount": "1234.567"},
        {"note": None},
        {"desk": "0"},
        {"is_open": "t"},
        {"traded_at": "2024-08-01 00:00:01"},
        {"account": "ACC00000001 "},
        {"id": None},
    ],
)
def test_differing_cell_is_found(instead: dict[str, str | None]):
    """One differing cell is reported with its column."""
    (name,) = instead
    assert truth.difference(table(), table(**instead)).startswith(f"1 cells of {name}: ")


def test_missing_row_is_found():
    """A missing row is reported with both counts."""
    assert truth.difference(table(), table().slice(1)) == "0 rows of 1"


@pytest.mark.parametrize(
    ("spelled", "told"),
    [(b"1,a", ""), (b"1,b", "1 cells of note: "), (None, "1 cells of note: ")],
    ids=["spelled alike", "spelled otherwise", "not spelled"],
)
def test_equal_bytes_skip_the_comparison(spelled: bytes | None, told: str):
    """When the raw bytes of both sides are equal, cells are not compared. Otherwise they are."""
    expected = truth.Cells(lambda: pa.table({"note": ["a"]}), b"1,a")
    found = truth.Cells(lambda: pa.table({"note": ["b"]}), spelled)
    assert truth.unlike(expected, found).startswith(told)
    assert bool(truth.unlike(expected, found)) == bool(told)


@pytest.mark.parametrize("amount", [ROW["amount"], "0.000000000000000000"], ids=["some", "zero"])
def test_file_cells_match_the_server_spelling(tmp_path: Path, amount: str):
    """Cells of a Parquet file equal the same cells as the server spells them."""
    import datetime
    from decimal import Decimal

    import pyarrow.parquet as pq

    typed = {
        **{name: pa.array([cell]) for name, cell in ROW.items()},
        "cob": pa.array([20240801], pa.int32()),
        "id": pa.array([1], pa.int64()),
        "amount": pa.array([Decimal(amount)], pa.decimal128(38, 18)),
        "rate": pa.array([Decimal("0.000001")], pa.decimal128(18, 6)),
        "desk": pa.array([None], pa.int32()),
        "is_open": pa.array([False]),
        "traded_at": pa.array([datetime.datetime(2024, 8, 1, 0, 0, 1, 1)], pa.timestamp("us")),
    }
    pq.write_table(pa.table(typed), tmp_path / "rows.parquet")
    assert truth.difference(table(amount=amount), truth.of_files(tmp_path, TRADES)) == ""


def test_window_of_several_parts_is_read(tmp_path: Path):
    """Its parts are in a folder that has the name of a file."""
    window = tmp_path / "trades_cob_20240801.parquet"
    window.mkdir()
    shape = TableSchema("t", TRADES.columns[:2])
    for part in (1, 2):
        pq.write_table(pa.table({"cob": [20240801], "id": [part]}), window / f"part-000{part}.parquet")

    assert truth.rows_of_files(tmp_path) == 2
    assert truth.of_files(tmp_path, shape)["id"].to_pylist() == ["1", "2"]


def test_wrong_result_is_marked_and_never_first():
    """A wrong result is marked as wrong and ranked after slower correct ones."""
    right, wrong = Series("tidegate"), Series("swift", wrong="999 rows of 1,000")
    right.runs.append(Measured(2.0, 1.0, 0, {}))
    wrong.runs.append(Measured(1.0, 1.0, 0, {}))
    case = cases.Start("start", "A start")
    lines = report.as_text(case, [wrong, right]).splitlines()
    assert lines[3].split()[0] == "tidegate"
    assert lines[4].endswith("WRONG: 999 rows of 1,000")
    results = {"cases": [report.as_json(case, [wrong, right])]}
    assert "**wrong**: 999 rows of 1,000" in report.as_markdown(results)
    assert "(wrong)" in report.as_chart(results)


def test_child_processes_are_measured():
    """Memory and output of a process include the processes that it starts."""
    inner = "import time; held = bytearray(80_000_000); time.sleep(0.5)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}]); print('{{\"seconds\": 1}}')"
    measured = run([sys.executable, "-c", outer], timeout=30)
    assert measured.peak > 70_000_000
    assert measured.facts == {"seconds": 1}


def test_failed_or_slow_process_is_reported():
    """A process that fails or exceeds its timeout raises `Failed` with the reason."""
    with pytest.raises(Failed, match="no such thing"):
        run([sys.executable, "-c", "raise SystemExit('no such thing')"], timeout=30)
    with pytest.raises(Failed, match="too long"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.5)


def test_case_names_are_unique():
    """Every benchmark case has a unique name."""
    names = [case.name for case in cases.long()]
    assert len(names) == len(set(names))


def measured(case: str, seconds: float, *, name: str = "tidegate", mib: int = 1, wrong: str = "") -> dict[str, Any]:
    rounds = [{"wall": seconds, "cpu": seconds, "peak": mib, "facts": {}}]
    one = {"name": name, "median": seconds, "spread": 1.0, "failed": "", "wrong": wrong, "rounds": rounds}
    return {"case": case, "title": case, "contenders": [one]}


def test_earlier_results_stay_until_measured_again():
    """New results replace those of the same case, and the other cases stay in order."""
    names = ["start", "extract-1m", "extract-5m"]
    before = [measured("extract-1m", 2), measured("extract-5m", 9)]
    found = report.among(measured("extract-1m", 3), before, names)
    found = report.among(measured("start", 1), found, names)
    assert [(one["case"], one["contenders"][0]["median"]) for one in found] == [
        ("start", 1),
        ("extract-1m", 3),
        ("extract-5m", 9),
    ]


def test_growth_is_reported_for_correct_results():
    """Growth is reported for contenders that were correct in both sizes."""
    some = [measured("extract-1m", 2), measured("extract-5m", 9), measured("load-1m", 1)]
    some += [measured("memory-1m", 1, mib=800), measured("memory-20m", 20, mib=880)]
    assert report.growth(some) == [
        "5 times the rows (extract-1m, extract-5m): tidegate 4.5x",
        "20 times the rows, in memory (memory-1m, memory-20m): tidegate 1.1x",
    ]
    assert report.growth([measured("extract-1m", 2), measured("extract-5m", 9, wrong="rounded")]) == []


def test_growth_uses_existing_cases():
    """Every case that the growth report names exists."""
    names = {case.name for case in cases.long()}
    assert {name for _, _, *both in report._GROWTH for name in both} <= names

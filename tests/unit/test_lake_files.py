"""Where the lake keeps a value: names that people can read, that every file system takes, and that lead back."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.lakes.parquet import FileWriter, ParquetLake
from tidegate.model.names import TableName
from tidegate.model.values import Kind, Value

ROOT = Path("/lake")
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
NAMES = (ANY | st.text("a./%~_ ", min_size=1) | st.just("x" * 63)).filter(lambda name: len(name.encode()) <= 63)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=400) | st.just("v" * 400)


def text(value: str) -> Value:
    return Value.of(value, Kind.TEXT)


@pytest.mark.parametrize(
    ("table", "column", "value", "path"),
    [
        (TableName("", "orders"), "cobid", "20240131", "cobid_20240131/orders_cobid_20240131.parquet"),
        (TableName("sales", "orders"), "cobid", "1", "sales/cobid_1/orders_cobid_1.parquet"),
        (TableName("", "Order Items"), "Cob Id", "a b", "Cob%20Id_a%20b/Order%20Items_Cob%20Id_a%20b.parquet"),
        (TableName("", "t"), "c", "a/b", "c_a%2Fb/t_c_a%2Fb.parquet"),
        (TableName("", "t"), "c", "..", "c_../t_c_...parquet"),
        (TableName("", "t"), "c", "", "c_/t_c_.parquet"),
        (TableName("", "t"), "c", "~", "c_%7E/t_c_%7E.parquet"),
        (TableName("", "t"), "c", "é", "c_%C3%A9/t_c_%C3%A9.parquet"),
        (TableName(".", "t"), "c", "1", "%2E/c_1/t_c_1.parquet"),
        (TableName("..", "t"), "c", "1", "%2E./c_1/t_c_1.parquet"),
        (TableName("%2E", "t"), "c", "1", "%252E/c_1/t_c_1.parquet"),
    ],
)
def test_a_value_has_a_place_that_people_can_read(table: TableName, column: str, value: str, path: str):
    assert ParquetLake(ROOT).path_of(table, column, text(value)) == ROOT / "organized" / path


@example("", "x" * 63, "y" * 63, "v" * 120)
@example("é" * 31, "é" * 20, "é" * 20, "é" * 20)
@given(st.just("") | NAMES, NAMES, NAMES, VALUES)
def test_no_name_leaves_the_lake_or_is_longer_than_file_systems_take(schema: str, table: str, column: str, value: str):
    path = ParquetLake(ROOT).path_of(TableName(schema, table), column, text(value))

    parts = path.relative_to(ROOT / "organized").parts
    assert len(parts) == (3 if schema else 2)
    assert all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in parts)


@given(VALUES, VALUES)
def test_two_values_never_share_a_place(one: str, other: str):
    lake, table = ParquetLake(ROOT), TableName("", "t")
    assert (lake.path_of(table, "c", text(one)) == lake.path_of(table, "c", text(other))) == (one == other)


@settings(max_examples=40, deadline=None)
@given(table=NAMES, column=NAMES, value=VALUES)
def test_a_file_is_found_again_with_the_value_in_its_name(
    tmp_path_factory: pytest.TempPathFactory, table: str, column: str, value: str
):
    """Six characters are never shortened, whatever they are; of a value that was, only the footer can tell."""
    lake, name = ParquetLake(tmp_path_factory.mktemp("lake")), TableName("", table)
    place = lake.path_of(name, column, text(value))
    place.parent.mkdir(parents=True)
    place.write_bytes(b"tide")

    (found,) = lake.files(name, column)

    assert found.path == place
    assert found.value == value or (found.value is None and len(value) > 6)


def test_a_short_value_is_told_by_its_name_alone(tmp_path: Path):
    """Reading a footer for every file would make planning slow."""
    lake, table = ParquetLake(tmp_path), TableName("", "orders")
    for value in ("20240131", "~", "..", "a/b", ""):
        place = lake.path_of(table, "cobid", text(value))
        place.parent.mkdir(parents=True)
        place.write_bytes(b"tide")

    assert {found.value for found in lake.files(table, "cobid")} == {"20240131", "~", "..", "a/b", ""}


def test_files_of_other_tables_are_not_found(tmp_path: Path):
    lake = ParquetLake(tmp_path)
    for table, column in [("orders", "cobid"), ("orders2", "cobid"), ("orders", "day")]:
        place = lake.path_of(TableName("", table), column, text("1"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"tide")

    assert [found.path.name for found in lake.files(TableName("", "orders"), "cobid")] == ["orders_cobid_1.parquet"]


def test_a_lake_that_is_not_there_yet_has_no_files(tmp_path: Path):
    assert ParquetLake(tmp_path / "nowhere").files(TableName("", "orders"), "cobid") == []


# What is in a file


def test_each_column_is_written_the_way_that_suits_it_and_reads_as_it_was(tmp_path: Path):
    count = 1_000
    rows = pa.record_batch(
        {
            "id": pa.array(range(count), pa.int64()),
            "day": pa.array(range(count), pa.date32()),
            "at": pa.array(
                [None if row % 7 == 0 else row * 1_000_001 for row in range(count)], pa.timestamp("us", "UTC")
            ),
            "small": pa.array([-(row % 255) for row in range(count)], pa.int16()),
            "rate": pa.array([Decimal(row) - 500 for row in range(count)], pa.decimal128(18, 6)),
            "cents": pa.array([Decimal(row) for row in range(count)], pa.decimal128(9, 2)),
            "amount": pa.array([Decimal(-row) for row in range(count)], pa.decimal128(19, 2)),
            "currency": pa.array(["EUR", "USD"] * (count // 2)),
            "note": pa.array([f"note {row}" for row in range(count)]),
            "id.of": pa.array(range(count), pa.int64()),
        }
    )
    path = tmp_path / "rows.parquet"
    writer = FileWriter(path, rows.schema)
    writer.write(rows)
    writer.close({})

    group = pq.read_metadata(path).row_group(0)
    ways = {group.column(place).path_in_schema: group.column(place).encodings for place in range(group.num_columns)}
    by_difference = [name for name, used in ways.items() if "DELTA_BINARY_PACKED" in used]
    by_dictionary = [name for name, used in ways.items() if "RLE_DICTIONARY" in used]
    assert (by_difference, by_dictionary) == (
        ["id", "day", "at", "small", "rate", "cents"],
        ["currency"],
    )
    assert pq.read_table(path).to_batches() == [rows]

"""Rows on their way into a stage of SQL Server and out of its driver, which is not needed here."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from tidegate.databases.sqlserver.dialect import quoted
from tidegate.databases.sqlserver.rows import decoded, literals, stage_types, staged
from tidegate.databases.sqlserver.types import declare, declared_type, logical_type, value_kind
from tidegate.errors import ValueProblem
from tidegate.hashing.arrow import arrow_schema
from tidegate.model.columns import Column
from tidegate.model.types import Type, type_fit
from tidegate.model.values import ValueKind


def column(declared: str, read_as: Type | None = None) -> Column:
    held = logical_type(declared)
    return Column(
        "c", declared, (read_as or held).storage_type, logical_type=held, database="sqlserver", read_as=read_as
    )


def brought(declared: str, values: pa.Array, read_as: Type | None = None) -> list[object]:
    batch = pa.record_batch({"c": values})
    (found,) = staged(iter([batch]), [column(declared, read_as)], "t")
    return list(found.column(0).to_pylist())


def read(declared: str, values: pa.Array, read_as: Type | None = None, *, as_text: bool = False) -> list[object]:
    one = column(declared, read_as)
    schema = arrow_schema([one], ["c"] if as_text else [])
    return list(decoded(pa.record_batch({"c": values}), [one], schema).column(0).to_pylist())


# Into a stage


@pytest.mark.parametrize(
    ("declared", "value", "staged_as"),
    [
        ("nvarchar(4)", "ab\U0001f40b", "nvarchar(4)"),
        ("nchar(4)", "ab  ", "nvarchar(4)"),
        ("varchar(4)", "abcd", "nvarchar(4)"),
        ("varchar(4001)", "x" * 4001, "nvarchar(max)"),
        ("nvarchar(max)", "x" * 4001, "nvarchar(max)"),
        ("binary(4)", b"\0\1\2\3", "varbinary(4)"),
        ("varbinary(max)", b"x" * 9000, "varbinary(max)"),
    ],
)
def test_a_stage_has_the_lengths_of_the_target(declared: str, value: str | bytes, staged_as: str):
    values = pa.array([value, None])
    assert brought(declared, values)[0] in (value, str(value).rstrip() if isinstance(value, str) else value)
    assert stage_types([column(declared)], pa.schema([("c", values.type)])) == [staged_as]


@pytest.mark.parametrize(
    ("declared", "value", "length"),
    [
        ("nvarchar(4)", "abc\U0001f40b", "4 characters"),  # beyond U+FFFF a character is two units
        ("varchar(4)", "abcd ", "4 characters"),  # the server would cut the blank without an error
        ("varbinary(4)", b"12345", "4 bytes"),
    ],
)
def test_a_value_that_is_too_long_is_refused_by_name(declared: str, value: str | bytes, length: str):
    with pytest.raises(ValueProblem, match=f"column c cannot store .* longer than {length}"):
        brought(declared, pa.array([value]))


@pytest.mark.parametrize(
    ("declared", "values", "texts"),
    [
        ("date", pa.array([date(1, 1, 1), date(9999, 12, 31)]), ["0001-01-01", "9999-12-31"]),
        ("time(6)", pa.array([time(23, 59, 59, 999999)]), ["23:59:59.999999"]),
        ("datetime2(6)", pa.array([datetime(1, 1, 1, 0, 0, 0, 1)]), ["0001-01-01 00:00:00.000001"]),
        ("datetime", pa.array([datetime(1753, 1, 1, 0, 0, 0, 3000)]), ["1753-01-01 00:00:00.003"]),
        ("smalldatetime", pa.array([datetime(2079, 6, 6, 23, 59)]), ["2079-06-06 23:59:00.000"]),
        ("datetime2(7)", pa.array(["9999-12-31 23:59:59.9999999"]), ["9999-12-31 23:59:59.9999999"]),
        ("datetimeoffset(7)", pa.array(["2024-03-10 23:59:59.5 +05:30"]), ["2024-03-10 23:59:59.5 +05:30"]),
    ],
)
def test_moments_are_staged_as_text(declared: str, values: pa.Array, texts: list[str]):
    assert brought(declared, values) == texts
    assert stage_types([column(declared)], pa.schema([("c", values.type)])) == ["varchar(50)"]


def test_an_instant_is_staged_with_its_offset_however_it_rests():
    moment = pa.array([datetime(2024, 1, 1, 7, tzinfo=UTC)], pa.timestamp("us", "UTC"))

    assert brought("datetimeoffset(6)", moment, Type("instant", 6)) == ["2024-01-01 07:00:00.000000 +00:00"]
    assert brought("datetimeoffset(6)", pa.array(["2024-01-01 07:00:00+00"]), Type("instant", 6)) == [
        "2024-01-01 07:00:00 +00:00"
    ]


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("date", pa.array(["infinity"])),
        ("date", pa.array(["0044-03-15 BC"])),
        ("date", pa.array([3_000_000], pa.int32()).cast(pa.date32())),
        ("date", pa.array(["0000-00-00"])),
        ("date", pa.array(["2024-00-00"])),
        ("date", pa.array(["2024-02-31"])),
        ("datetime2(6)", pa.array(["2023-02-29 00:00:00"])),
        ("time(6)", pa.array(["24:00:00"])),
        ("time(6)", pa.array(["-01:00:00"])),
        ("datetime2(6)", pa.array(["-infinity"])),
        ("datetimeoffset(6)", pa.array(["infinity"])),
        ("decimal(18,2)", pa.array(["NaN"])),
        ("float", pa.array([float("nan")])),
        ("real", pa.array([float("inf")], pa.float32())),
        ("float", pa.array(["Infinity"])),
        ("bit", pa.array([2], pa.int16())),
    ],
)
def test_what_has_no_room_is_refused_by_the_name_of_its_column(declared: str, values: pa.Array):
    with pytest.raises(ValueProblem, match=r"t: column c cannot store a value in the target: "):
        brought(declared, values)


def test_nulls_and_emptiness_are_no_trouble():
    for declared in ("date", "time(6)", "decimal(18,2)", "float", "bit", "nvarchar(max)"):
        assert brought(declared, pa.array([None], pa.string())) == [None]
    assert brought("nvarchar(max)", pa.array(["", None])) == ["", None]
    assert brought("float", pa.array([], pa.float64())) == []


def test_the_types_of_a_stage_follow_what_comes():
    schema = pa.schema(
        [("a", pa.int16()), ("b", pa.decimal128(38, 18)), ("c", pa.string()), ("d", pa.binary()), ("e", pa.bool_())]
    )
    columns = [column(kind) for kind in ("tinyint", "decimal(38,18)", "nvarchar(5)", "image", "bit")]

    assert stage_types(columns, schema) == ["smallint", "decimal(38,18)", "nvarchar(5)", "varbinary(max)", "bit"]


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("it's", "N'it''s'"),
        ("", "N''"),
        ("C:\\new", "N'C:\\new'"),
        ("a\\\nb", "(CONVERT(nvarchar(max), N'a\\') + N'\nb')"),
        ("a\\\r\nb", "(CONVERT(nvarchar(max), N'a\\') + N'\r\nb')"),
        ("\\\n\\\n", "(CONVERT(nvarchar(max), N'\\') + N'\n\\' + N'\n')"),
        ("a\0b", "(CONVERT(nvarchar(max), N'a') + NCHAR(0) + N'b')"),
        ("\0", "(CONVERT(nvarchar(max), NCHAR(0)))"),
    ],
)
def test_a_literal_means_every_character_of_its_text(text: str, literal: str):
    assert quoted(text) == literal


def test_literals_for_a_server_without_bulk_copies():
    batch = pa.record_batch(
        {
            "a": pa.array([1, None], pa.int64()),
            "b": pa.array(["it's 山", None]),
            "c": pa.array([b"\x00\xff", b""]),
            "d": pa.array([Decimal("1E-18"), None], pa.decimal128(38, 18)),
            "e": pa.array([-0.0, 1e300]),
            "f": pa.array([True, None]),
        }
    )

    assert list(literals(batch)) == [
        "(1, N'it''s 山', 0x00ff, 0.000000000000000001, N'-0.0', 1), (NULL, NULL, 0x, NULL, N'1e+300', NULL)"
    ]


def test_a_statement_has_a_thousand_rows_at_most():
    pieces = list(literals(pa.record_batch({"a": pa.array(range(2001))})))

    assert [piece.count("(") for piece in pieces] == [1000, 1000, 1]


# Out of the driver


@pytest.mark.parametrize(
    ("declared", "given", "found"),
    [
        ("tinyint", pa.array([255], pa.uint8()), [255]),
        ("nvarchar(20)", pa.array(["", None, "山"], pa.large_string()), ["", None, "山"]),
        ("varbinary(20)", pa.array([b"\x00"], pa.large_binary()), [b"\x00"]),
        ("time(6)", pa.array([1_000], pa.time64("ns")), [time(0, 0, 0, 1)]),
        ("datetime2(7)", pa.array(["2024-01-01 07:00:00.5000000"]), ["2024-01-01 07:00:00.5"]),
        ("datetime2(7)", pa.array(["2024-01-10 00:00:00.0000000"]), ["2024-01-10 00:00:00"]),
        ("datetimeoffset(7)", pa.array(["2024-01-01 07:00:00.1000000 +05:30"]), ["2024-01-01 07:00:00.1 +05:30"]),
        ("datetimeoffset(0)", pa.array(["2024-01-01 07:00:00 -11:00"]), ["2024-01-01 07:00:00 -11:00"]),
    ],
)
def test_what_the_driver_gives_becomes_what_rests(declared: str, given: pa.Array, found: list[object]):
    assert read(declared, given) == found


def test_bytes_as_text():
    assert read("varbinary(20)", pa.array([b"\x00\xff"], pa.large_binary()), as_text=True) == ["\\x00ff"]


def test_a_filled_text_has_as_many_characters_as_its_size_says():
    """SQL Server fills an nchar(4) up to four units, of which 🙂 takes two."""
    assert read("nchar(4)", pa.array(["🙂  ", "a   "])) == ["🙂   ", "a   "]
    assert brought("nchar(4)", pa.array(["🙂   ", "a   "])) == ["🙂", "a"]


def test_a_filled_text_that_stands_for_one_without_blanks_is_read_without_them():
    assert read("nchar(4)", pa.array(["a   ", " "]), Type("trimmed", 4)) == ["a", ""]


def test_a_text_that_stands_for_a_filled_one_is_filled_up_again():
    read_as = Type("char", 4)

    assert brought("nvarchar(8)", pa.array(["🙂   ", "    "]), read_as) == ["🙂", ""]
    assert read("nvarchar(8)", pa.array(["🙂", ""], pa.large_string()), read_as) == ["🙂   ", "    "]


# Types


@pytest.mark.parametrize(
    ("catalog", "declared"),
    [
        (("nvarchar", 40, 0, 0, "Latin1_General_CI_AS"), "nvarchar(20) COLLATE Latin1_General_CI_AS"),
        (("nvarchar", -1, 0, 0, "X"), "nvarchar(max) COLLATE X"),
        (("varbinary", -1, 0, 0, None), "varbinary(max)"),
        (("decimal", 17, 38, 18, None), "decimal(38,18)"),
        (("datetime2", 8, 27, 7, None), "datetime2(7)"),
        (("int", 4, 10, 0, None), "int"),
        (("sysname", 256, 0, 0, None), "nvarchar(128)"),
    ],
)
def test_a_type_is_spelled_as_ddl_has_it(catalog: tuple[str, int, int, int, str | None], declared: str):
    assert declared_type(*catalog) == declared


@pytest.mark.parametrize(
    ("family", "declared"),
    [
        (Type("string", 20), "nvarchar(40) COLLATE Latin1_General_100_BIN2"),
        (Type("string"), "nvarchar(max) COLLATE Latin1_General_100_BIN2"),
        (Type("decimal", 65, 30), "nvarchar(max) COLLATE Latin1_General_100_BIN2"),
        (Type("decimal", 38, 38), "decimal(38,38)"),
        (Type("uint64"), "decimal(20,0)"),
        (Type("flag"), "smallint"),
        (Type("instant", 6), "datetimeoffset(6)"),
        (Type("clock", 3), "time(3)"),
        (Type("binary"), "varbinary(max)"),
        (Type("padded", 8), "binary(8)"),
        (Type("local", spelling="inet"), "nvarchar(max) COLLATE Latin1_General_100_BIN2"),
    ],
)
def test_values_of_other_databases_get_a_type_that_takes_them(family: Type, declared: str):
    assert declare(Column("c", "x", family.storage_type, logical_type=family)).type == declared


def test_steps_and_offsets_go_one_way_only():
    ticks, minutes = logical_type("datetime"), logical_type("smalldatetime")

    assert (ticks.storage_type, minutes.storage_type, logical_type("datetime2(7)").storage_type) == (
        "timestamp",
        "timestamp",
        "text",
    )
    assert type_fit(Type("timestamp", 6), ticks) == type_fit(Type("timestamp", 6), minutes) == "wider"
    assert type_fit(Type("timestamp", 0), ticks) == "widen"
    assert type_fit(ticks, Type("timestamp", 3)) == type_fit(minutes, ticks) == ""
    assert type_fit(logical_type("datetimeoffset(7)"), Type("instant", 6)) == "wider"
    assert type_fit(Type("instant", 6), logical_type("datetimeoffset(6)")) == ""


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("int", ValueKind.INTEGER),
        ("rowversion", ValueKind.INTEGER),
        ("money", ValueKind.DECIMAL),
        ("datetime", ValueKind.TIMESTAMP),
        ("nchar(5)", ValueKind.TEXT),
        ("bit", None),
        ("uniqueidentifier", None),
        ("datetimeoffset(7)", None),
        ("ntext", None),
    ],
)
def test_a_partition_column_needs_an_order_that_its_text_has(declared: str, kind: ValueKind | None):
    assert value_kind(column(declared)) is kind

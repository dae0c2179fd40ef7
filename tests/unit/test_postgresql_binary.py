"""COPY's binary format, in both directions, without a server: what was encoded is decoded as the same."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal
from itertools import accumulate

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.databases.postgresql import decoding, encoding
from tidegate.databases.postgresql.failures import NotWritable
from tidegate.databases.postgresql.types import logical_type
from tidegate.errors import NotNative, ValueProblem
from tidegate.model.columns import Column

NAMES = {
    "smallint": "int2",
    "integer": "int4",
    "bigint": "int8",
    "boolean": "bool",
    "real": "float4",
    "double precision": "float8",
    "character varying(9)": "varchar",
    "character(4)": "bpchar",
    "timestamp(6) without time zone": "timestamp",
    "timestamp(6) with time zone": "timestamptz",
    "time(6) without time zone": "time",
}


def column(declared: str, name: str = "c") -> Column:
    held = logical_type("numeric" if declared.startswith("numeric") else NAMES.get(declared, declared), declared)
    return Column(name, declared, held.storage_type, logical_type=held)


def messages(batch: pa.RecordBatch, columns: list[Column]) -> Iterator[memoryview]:
    """As a server sends them: one for each row, the header with the first."""
    writers = encoding.writers(columns, batch.schema)
    assert writers is not None
    rows = [
        b"".join(list(encoding.encoded([batch.slice(at, 1)], batch.schema, writers))[1:-1])
        for at in range(batch.num_rows)
    ]
    whole = b"".join(encoding.encoded([batch], batch.schema, writers))
    assert whole == b"".join([encoding.HEADER, *rows, encoding.END]), "rows are the same together and apart"
    first, *others = rows or [b""]
    yield from map(memoryview, [encoding.HEADER + first, *others, encoding.END])


def blocks(messages: Iterable[memoryview], at_once: int = 3) -> Iterator[decoding.Block]:
    """A few messages each, as the session gathers them."""
    waiting = list(messages)
    while waiting:
        some, waiting = waiting[:at_once], waiting[at_once:]
        yield bytearray(b"".join(some)), list(accumulate(map(len, some)))


def there_and_back(batch: pa.RecordBatch, columns: list[Column]) -> pa.Table:
    forms = decoding.forms(columns, batch.schema)
    assert forms is not None
    decoded = decoding.decoded(blocks(messages(batch, columns)), batch.schema, forms)
    return pa.Table.from_batches(decoded, batch.schema)


def of(declared: str, kind: pa.DataType, values: list[object]) -> tuple[pa.RecordBatch, list[Column]]:
    return pa.record_batch({"c": pa.array(values, kind)}), [column(declared)]


EXACT = Context(prec=60)
INT64 = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999))
ANY = {
    "smallint": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "integer": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "bigint": (pa.int64(), INT64),
    "boolean": (pa.bool_(), st.booleans()),
    "real": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double precision": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.string(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
    "bytea": (pa.binary(), st.binary()),
    "date": (pa.date32(), st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))),
    "time(6) without time zone": (pa.time64("us"), st.times()),
    "timestamp(6) without time zone": (pa.timestamp("us"), MOMENTS),
    "timestamp(6) with time zone": (
        pa.timestamp("us", "UTC"),
        MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    ),
}


@pytest.mark.parametrize("declared", ANY)
@settings(deadline=None)
@given(data=st.data())
def test_every_value_comes_back(declared: str, data: st.DataObject):
    kind, values = ANY[declared]
    batch, columns = of(declared, kind, data.draw(st.lists(st.none() | values, max_size=8)))
    assert there_and_back(batch, columns).equals(pa.Table.from_batches([batch]))


@settings(deadline=None)
@given(data=st.data(), precision=st.integers(1, 38), units=st.lists(st.none() | st.integers(), max_size=6))
def test_every_decimal_comes_back(data: st.DataObject, precision: int, units: list[int | None]):
    scale = data.draw(st.integers(0, precision))
    fitting = [None if unit is None else Decimal(unit % 10**precision).scaleb(-scale, EXACT) for unit in units]
    signed = [None if one is None else one.copy_negate() if data.draw(st.booleans()) else one for one in fitting]
    batch, columns = of(f"numeric({precision},{scale})", pa.decimal128(precision, scale), list(signed))
    assert there_and_back(batch, columns).equals(pa.Table.from_batches([batch]))


def as_a_server_sends(unit: int, scale: int) -> bytes:
    """A numeric of so many units of its last place: digits to the base 10,000, without zeros at either end."""
    padding = -scale % 4
    number, exponent = abs(unit) * 10**padding, -(scale + padding) // 4 - 1
    digits: list[int] = []
    while number:
        digits.insert(0, number % 10_000)
        number //= 10_000
        exponent += 1
    while digits and digits[-1] == 0:
        digits.pop()
    head = struct.pack(">hhHh", len(digits), exponent if digits else 0, 0x4000 if unit < 0 else 0, scale)
    return head + struct.pack(f">{len(digits)}h", *digits)


@settings(deadline=None)
@given(data=st.data(), precision=st.integers(1, 38))
def test_decimals_of_unlike_lengths_are_read_side_by_side(data: st.DataObject, precision: int):
    scale = data.draw(st.integers(0, precision))
    # Few digits and many zeros as well: each number has digits of its own at places of its own.
    short = st.builds(lambda few, zeros: few * 10**zeros, st.integers(0, 9999), st.integers(0, precision))
    magnitudes = (short | st.integers(0, 10**38)).map(lambda unit: unit % 10**precision)
    units = data.draw(st.lists(st.none() | st.builds(int.__mul__, magnitudes, st.sampled_from([1, -1])), min_size=1))
    contents = [None if unit is None else as_a_server_sends(unit, scale) for unit in units]
    rows = [b"\0\1" + (b"\xff" * 4 if one is None else struct.pack(">i", len(one)) + one) for one in contents]
    values = [None if unit is None else Decimal(unit).scaleb(-scale, EXACT) for unit in units]
    batch, columns = of(f"numeric({precision},{scale})", pa.decimal128(precision, scale), list(values))
    forms = decoding.forms(columns, batch.schema)
    assert forms is not None
    sent = map(memoryview, [encoding.HEADER + rows[0], *rows[1:], encoding.END])
    decoded = decoding.decoded(blocks(sent, at_once=9), batch.schema, forms)
    assert pa.Table.from_batches(decoded, batch.schema).equals(pa.Table.from_batches([batch]))


def test_rows_of_many_columns_keep_their_places():
    batch = pa.record_batch(
        {
            "a": pa.array([1, None, 3, 4], pa.int32()),
            "b": pa.array(["x", None, "", "émile\n"]),
            "c": pa.array([Decimal("-1.50"), Decimal("99999999.99"), None, Decimal("0.00")], pa.decimal128(10, 2)),
            "d": pa.array([True, False, None, True]),
            "e": pa.array([7, 8, 9, 10], pa.int64()),
        }
    )
    declared = {"a": "integer", "b": "text", "c": "numeric(10,2)", "d": "boolean", "e": "bigint"}
    columns = [column(type_, name) for name, type_ in declared.items()]
    assert there_and_back(batch, columns).equals(pa.Table.from_batches([batch]))
    part = batch.slice(1, 2)
    assert there_and_back(part, columns).equals(pa.Table.from_batches([part])), "a slice shares its neighbours' buffers"


@pytest.mark.parametrize("sent", [[encoding.HEADER + encoding.END], [encoding.HEADER, encoding.END]])
def test_no_rows_are_no_rows(sent: list[bytes]):
    batch, columns = of("integer", pa.int32(), [])
    assert there_and_back(batch, columns).num_rows == 0
    forms = decoding.forms(columns, batch.schema)
    assert forms is not None
    assert list(decoding.decoded(blocks(map(memoryview, sent)), batch.schema, forms)) == []


@pytest.mark.parametrize(
    ("declared", "kind", "content"),
    [
        ("numeric(5,2)", pa.decimal128(5, 2), bytes.fromhex("0000 0000 c000 0000")),  # NaN
        ("numeric(5,2)", pa.decimal128(5, 2), bytes.fromhex("0000 0000 d000 0000")),  # infinity
        ("numeric(5,2)", pa.decimal128(5, 2), bytes.fromhex("0001 0000 0000 0000 03e8")),  # 1000
        ("numeric(5,2)", pa.decimal128(5, 2), bytes.fromhex("0001 ffff 0000 0003 000a")),  # 0.001
        ("numeric(5,2)", pa.decimal128(5, 2), bytes.fromhex("0001 fffe 0000 0005 03e8")),  # 0.00001
        ("date", pa.date32(), bytes.fromhex("7fffffff")),  # infinity
        ("date", pa.date32(), bytes.fromhex("80000000")),
        ("timestamp(6) without time zone", pa.timestamp("us"), bytes.fromhex("7fffffffffffffff")),
        ("time(6) without time zone", pa.time64("us"), (86_400_000_000).to_bytes(8, "big")),  # 24:00
        ("text", pa.string(), b"\xff"),  # of a database without an encoding
    ],
)
def test_what_a_type_has_no_room_for_is_said_by_its_column(declared: str, kind: pa.DataType, content: bytes):
    batch, columns = of(declared, kind, [])
    row = b"\0\1" + len(content).to_bytes(4, "big") + content
    forms = decoding.forms(columns, batch.schema)
    assert forms is not None
    sent = map(memoryview, [encoding.HEADER + row, encoding.END])
    with pytest.raises(NotNative) as met:
        list(decoding.decoded(blocks(sent), batch.schema, forms))
    assert met.value.column == "c"


def test_half_a_row_is_not_understood():
    batch, columns = of("integer", pa.int32(), [1])
    forms = decoding.forms(columns, batch.schema)
    assert forms is not None
    first, end = messages(batch, columns)
    for broken in (first[:-1], memoryview(bytes(first) + b"\0"), first[1:]):
        with pytest.raises(ValueProblem, match="could not be parsed"):
            list(decoding.decoded(blocks([broken, end]), batch.schema, forms))


YEAR_0 = -62_135_596_800 * 10**6 - 1  # a microsecond before the year 1


@pytest.mark.parametrize(
    ("declared", "kind", "value"),
    [
        ("text", pa.string(), "b\0"),
        ("date", pa.date32(), -719_163),
        ("timestamp(6) without time zone", pa.timestamp("us"), YEAR_0),
        ("timestamp(6) with time zone", pa.timestamp("us", "UTC"), YEAR_0),
    ],
)
def test_what_the_server_would_take_for_something_else_is_said_by_its_column(
    declared: str, kind: pa.DataType, value: object
):
    batch, columns = of(declared, kind, [None, value])
    writers = encoding.writers(columns, batch.schema)
    assert writers is not None
    with pytest.raises(NotWritable) as met:
        list(encoding.encoded([batch], batch.schema, writers))
    assert met.value.column == "c"


def test_rows_of_another_type_are_refused():
    batch, columns = of("integer", pa.int32(), [1])
    other, _ = of("integer", pa.int64(), [1])
    writers = encoding.writers(columns, batch.schema)
    assert writers is not None
    with pytest.raises(ValueProblem, match="different types"):
        list(encoding.encoded([batch, other], batch.schema, writers))


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("inet", pa.string()),
        ("money", pa.decimal128(19, 2)),
        ("numeric(5,2)", pa.string()),
        ("integer", pa.bool_()),
        ("smallint", pa.int32()),
        ("jsonb", pa.string()),
        ("sales.code", pa.string()),
    ],
)
def test_what_has_no_known_form_is_written_as_csv(declared: str, kind: pa.DataType):
    batch, columns = of(declared, kind, [])
    assert encoding.writers(columns, batch.schema) is None

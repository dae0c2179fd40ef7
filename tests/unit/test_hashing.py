"""The row hash, compared with a second implementation: one value at a time, written from the docstring of `rows.py`."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate.errors import Unsupported
from tidegate.hashing import rows as hashing
from tidegate.hashing.rows import HASH_VERSION, ReceiptBuilder, hash_rows, receipt_of
from tidegate.model.receipt import Receipt

# The second implementation.

UTC = UTC
WORD = 2**64 - 1
MIXING = (
    (33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33),
    (30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31),
)


def permuted(x: int, lane: int) -> int:
    a, m, b, n, c = MIXING[lane]
    x = (x ^ (x >> a)) * m & WORD
    x = (x ^ (x >> b)) * n & WORD
    return x ^ (x >> c)


def absorbed(state: tuple[int, int], pair: tuple[int, int]) -> tuple[int, int]:
    return permuted(state[0] ^ pair[0], 0), permuted(state[1] ^ pair[1], 1)


def digest(content: bytes) -> tuple[int, int]:
    lane0, lane1 = struct.unpack("<2Q", hashlib.blake2b(content, digest_size=16).digest())
    return lane0, lane1


def tagged(name: str, lane0: int, lane1: int | None = None) -> tuple[int, int]:
    constant = digest(f"tidegate/1/{name}".encode())
    lane1 = lane0 if lane1 is None else lane1
    return (lane0 & WORD) ^ constant[0], (lane1 & WORD) ^ constant[1]


def byte_string(content: bytes, name: str) -> tuple[int, int]:
    if len(content) > 1024:
        return tagged(name, *digest(content))
    state = absorbed(tagged(name, len(content)), (0, 0))
    for start in range(0, len(content), 8):
        word = int.from_bytes(content[start : start + 8], "little")
        state = absorbed(state, (word, word))
    return state


def expected_float(number: float) -> tuple[int, int]:
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return tagged("float", 0x7FF8000000000000 if number != number else bits)


def expected_decimal(number: Decimal) -> tuple[int, int]:
    sign, digits, exponent = number.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return tagged("decimal", *(unscaled * pow(10, int(exponent), m) % m for m in (2**59 - 1, 2**58 - 1)))


def expected_time(at: time) -> tuple[int, int]:
    microseconds = ((at.hour * 60 + at.minute) * 60 + at.second) * 10**6 + at.microsecond
    return tagged("time", microseconds * 1000)


def expected_timestamp(at: datetime) -> tuple[int, int]:
    since = at.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    return tagged("instant" if at.tzinfo else "timestamp", microseconds * 1000)


EXPECTED: dict[type, Callable[[Any], tuple[int, int]]] = {
    type(None): lambda _: tagged("null", 0),
    bool: lambda yes: tagged("bool", int(yes)),
    int: lambda number: tagged("int" if number < 2**63 else "uint", number),
    float: expected_float,
    Decimal: expected_decimal,
    date: lambda day: tagged("date", day.toordinal() - date(1970, 1, 1).toordinal()),
    time: expected_time,
    datetime: expected_timestamp,
    str: lambda text: byte_string(text.encode(), "text"),
    bytes: lambda content: byte_string(content, "binary"),
}


def expected_hash(*row: object) -> int:
    state = tagged("row", len(row))
    for value in row:
        state = absorbed(state, EXPECTED[type(value)](value))
    lane0 = (state[0] + state[1]) & WORD
    lane1 = (state[1] + lane0) & WORD
    return permuted(lane0, 0) << 64 | permuted(lane1, 1)


# Helpers of the tests.


def forall(*values: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return `given` with the same examples each time and no deadline: a busy machine must not fail a test."""
    repeatable = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    return lambda test: repeatable(given(*values)(test))


def hashes(*columns: pa.Array) -> list[int]:
    """Return the hash of every row as one number."""
    lanes = hash_rows(pa.record_batch(list(columns), names=[f"c{i}" for i in range(len(columns))]))
    return [int(upper) << 64 | int(lower) for upper, lower in lanes]


def hash_of(value: object, kind: pa.DataType) -> int:
    """Return the hash of a row with this one value."""
    return hashes(pa.array([value], kind))[0]


EXACT = Context(prec=80)
INT64 = st.integers(-(2**63), 2**63 - 1)
DECIMAL = st.integers(-(10**38) + 1, 10**38 - 1).map(lambda unscaled: Decimal(unscaled).scaleb(-18, EXACT))
MOMENT = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.null(), st.none()),
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), INT64),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.decimal128(38, 18), DECIMAL),
    (pa.decimal256(76, 18), DECIMAL),
    (pa.date32(), st.dates()),
    (pa.time64("us"), st.times()),
    (pa.timestamp("us"), MOMENT),
    (pa.timestamp("us", "UTC"), MOMENT.map(lambda at: at.replace(tzinfo=UTC))),
    (pa.string(), st.text(max_size=40)),
    (pa.large_string(), st.text(max_size=40)),
    (pa.string_view(), st.text(max_size=40)),
    (pa.dictionary(pa.int32(), pa.string()), st.text(max_size=3)),
    (pa.binary(), st.binary(max_size=40)),
    (pa.large_binary(), st.binary(max_size=40)),
    (pa.binary_view(), st.binary(max_size=40)),
    (pa.binary(5), st.binary(min_size=5, max_size=5)),
]


@st.composite
def columns(draw: st.DrawFn, width: int = 3) -> list[pa.Array]:
    """Draw columns of any types and of one length, with nulls."""
    length = draw(st.integers(1, 30))
    arrays = []
    for kind, values in draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=width)):
        cells = draw(st.lists(st.none() | values, min_size=length, max_size=length))
        arrays.append(pa.array(cells, kind))
    return arrays


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    arrays = draw(columns())
    return pa.record_batch(arrays, names=[f"c{i}" for i in range(len(arrays))])


# The hash equals the second implementation.

LOWEST = Decimal("-99999999999999999999.999999999999999999")
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)


@pytest.mark.parametrize(("value", "kind", "expected"), [
    (None, pa.null(), "bd53a02423e23a104e0bddf9330c02ac"),
    (None, pa.string(), "bd53a02423e23a104e0bddf9330c02ac"),
    (0, pa.int32(), "f19e14c50508c01d41be6ddc65f587cb"),
    (-1, pa.int8(), "3cd0a53240901753f4959762f1fc07de"),
    (2**64 - 1, pa.uint64(), "420c02f8b853312af0e0087ef01ce907"),
    (True, pa.bool_(), "332509f8fcca0be001b5e105afc581fa"),
    (1.5, pa.float64(), "a1d7ab9e1733cb08f7af713c11c6a391"),
    (float("nan"), pa.float32(), "1bb1ae2464e7f66fcf5818f25df80098"),
    (-0.0, pa.float64(), "83fb0807063212fbcd733cce2d53a6d9"),
    (Decimal("1.50"), pa.decimal128(18, 6), "6687e5313a68c24dea50d69ca7ce4315"),
    (LOWEST, pa.decimal128(38, 18), "e7477528c5a838fcf4d071de214ddb9c"),
    (date(2024, 2, 29), pa.date32(), "da12dddbbfd26e30a1bb64fc638a7fb8"),
    (time(23, 59, 59, 999_999), pa.time64("us"), "4ce7b9c06608edff41aa4a3416d98691"),
    (datetime(1, 1, 1), pa.timestamp("us"), "55dcd42b05bc37effd125a29e5d13943"),
    (LAST, pa.timestamp("us", "UTC"), "9195e49aeaa8b6b348e0445b9546517d"),
    ("", pa.string(), "ba0b619071b3bfba45d1128605b8d79f"),
    ("a", pa.string(), "c8dce4ddfc7e34d5e74cb47feb8fe921"),
    ("Zürich, 8 Münsterhof", pa.string(), "6056ce41738bec4b9d95f933a87b9d87"),
    ("x" * 1024, pa.string(), "374871f9836cac0fe797d6050538730e"),
    ("x" * 1025, pa.string(), "1a572ab652e4fc4425dbad8506671df0"),
    (b"a", pa.binary(), "81ed63ad1621f7ce39f0762381d7f9a8"),
])  # fmt: skip
def test_version_1_never_changes(value, kind, expected):
    assert HASH_VERSION == 1
    assert f"{hash_of(value, kind):032x}" == expected
    assert f"{expected_hash(value):032x}" == expected


def test_receipt_of_version_1_never_changes():
    paid = pa.array([Decimal("12.50"), Decimal("0.00"), None, None], pa.decimal128(18, 2))
    rows = pa.table({"id": [1, 2, 3, 3], "name": ["Ada", None, "", ""], "paid": paid})
    assert receipt_of([rows]) == Receipt(4, "377bc0c873066736e3da22daec50cb16", 1)


@forall(columns(width=6))
def test_every_row_is_hashed_as_specified(columns):
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    assert hashes(*columns) == [expected_hash(*row) for row in rows]


@pytest.mark.parametrize("length", [*range(34), *range(254, 260), *range(1015, 1034), 5000])
def test_byte_strings_of_every_length(length):
    content = random.Random(length).randbytes(length)
    # Neighbours of other lengths move the value to other offsets within a word, next to foreign bytes.
    for neighbour in (b"", b"\xff", b"\xff" * 3, b"\xff" * 7, b"\xff" * 70):
        column = pa.array([neighbour, content, neighbour, None, content], pa.binary())
        expected = [expected_hash(value) for value in column.to_pylist()]
        assert hashes(column) == expected


def test_short_long_and_null_values_in_one_block():
    sizes = [0, 3000, 5, None, 1024, 1025, 8, None, 2000, 1]
    column = pa.array([None if size is None else "é" * (size // 2) + "z" * (size % 2) for size in sizes])
    assert hashes(column) == [expected_hash(text) for text in column.to_pylist()]


# Equal values have equal hashes, however they are stored.


SIGNED = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
UNSIGNED = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
FLOATS = (pa.float16(), pa.float32(), pa.float64())


@forall(st.integers(-128, 127))
def test_integers_of_any_width_are_equal(number):
    kinds = SIGNED if number < 0 else SIGNED + UNSIGNED
    assert len({hash_of(number, kind) for kind in kinds}) == 1


@forall(st.floats(width=16))
def test_floats_of_any_width_are_equal(number):
    assert len({hashes(pa.array([number], pa.float64()).cast(kind))[0] for kind in FLOATS}) == 1


def test_all_nans_are_equal():
    quiet, signalling = 0x7FC00001, 0xFFA00000
    bits = pa.array([quiet, signalling], pa.uint32())
    floats = pa.Array.from_buffers(pa.float32(), 2, bits.buffers())
    assert set(hashes(floats)) == {hash_of(float("nan"), pa.float64())}


@forall(st.integers(-(10**9) + 1, 10**9 - 1), st.integers(0, 9), st.integers(0, 20))
def test_decimals_of_any_scale_and_width_are_equal(unscaled, scale, zeros):
    number = Decimal(unscaled).scaleb(-scale)
    narrow = [hash_of(number, kind(9, scale)) for kind in (pa.decimal32, pa.decimal64, pa.decimal128)]
    wide = [hash_of(number, kind(38, scale + zeros)) for kind in (pa.decimal128, pa.decimal256)]
    assert len({*narrow, *wide}) == 1


def test_decimal_with_a_negative_scale():
    hundreds = pa.Array.from_buffers(pa.decimal128(5, -2), 1, [None, pa.py_buffer(struct.pack("<qq", 7, 0))])
    assert hashes(hundreds) == [hash_of(Decimal(700), pa.decimal128(5, 0))]


@pytest.mark.parametrize("tz", [None, "UTC", "Asia/Kathmandu"])
@forall(st.integers(-(2**33), 2**33))
def test_timestamps_of_any_unit_and_zone_are_equal(tz, seconds):
    in_seconds = pa.array([seconds], pa.timestamp("s", tz))
    units = [hashes(in_seconds.cast(pa.timestamp(unit, tz)))[0] for unit in ("s", "ms", "us", "ns")]
    assert len({*units, hashes(in_seconds.cast(pa.timestamp("us", tz and "UTC")))[0]}) == 1


def test_times_of_any_unit_are_equal():
    in_seconds = pa.array([86_399], pa.time32("s"))
    units = (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    assert len({hashes(in_seconds.cast(unit))[0] for unit in units}) == 1


def test_dates_of_both_widths_are_equal():
    days = pa.array([date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)])
    assert hashes(days) == hashes(days.cast(pa.date64()))


def test_dictionary_may_have_nulls_and_repeated_values():
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 3]), pa.array(["x", None, "y", "x"]))
    assert hashes(coded) == hashes(pa.array(["x", None, None, "y", "x"]))


# Different values have different hashes.


@pytest.mark.parametrize(("values", "kind"), [
    ([None, "", "\0", "\0\0", " ", "0"], pa.string()),
    ([None, 0, 1, -1, 2**63 - 1, -(2**63)], pa.int64()),
    ([None, 0, 2**63, 2**64 - 1, 2**63 - 1], pa.uint64()),
    ([None, 0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324], pa.float64()),
    ([None, *map(Decimal, ("0.0", "0.1", "-0.1", "1.0", "10.0", "-10.0"))], pa.decimal128(9, 1)),
    ([None, False, True], pa.bool_()),
])  # fmt: skip
def test_different_values_differ(values, kind):
    assert len(set(hashes(pa.array(values, kind)))) == len(values)


def test_the_same_bits_differ_by_their_type():
    kinds = [pa.int64(), pa.date64(), pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")]
    zeros = [pa.array([0]).cast(kind) for kind in kinds]
    others = [pa.array([value]) for value in (False, 0.0, Decimal(0), "", b"", None)]
    assert len({hashes(column)[0] for column in zeros + others}) == 11


def test_unsigned_differs_from_negative_with_the_same_bits():
    assert hash_of(2**64 - 1, pa.uint64()) != hash_of(-1, pa.int64())


def test_values_moved_between_columns_differ():
    assert hashes(pa.array(["a"]), pa.array(["bc"])) != hashes(pa.array(["ab"]), pa.array(["c"]))
    assert hashes(pa.array(["a"]), pa.array([None], pa.string())) != hashes(pa.array(["a"]))


@forall(st.sampled_from(TYPES).flatmap(lambda row: st.tuples(st.just(row[0]), row[1], row[1])))
def test_swapped_columns_differ(case):
    kind, first, second = case
    left, right = pa.array([first], kind), pa.array([second], kind)
    is_same_value = hashes(left) == hashes(right)
    assert (hashes(left, right) == hashes(right, left)) == is_same_value


def test_tags_of_different_names_never_collide():
    """`x` tagged `a` never equals `y` tagged `b`, because the lanes of each constant differ by another amount."""
    words = ["null", "int", "uint", "bool", "float", "date", "time", "timestamp", "instant"]
    names = [*words, "decimal", "text", "binary", "row"]
    assert len({lane0 ^ lane1 for lane0, lane1 in (tagged(name, 0) for name in names)}) == len(names)
    null, decimal = tagged("null", 0), tagged("decimal", 0)
    assert null[0] ^ decimal[0] >= 2**59, "a decimal could have the pair of a null"


# Batches, row order and memory layout do not change a receipt.


@forall(batches(), st.lists(st.integers(0, 30), max_size=4))
def test_receipt_does_not_depend_on_batches(batch, cuts):
    bounds = sorted({0, batch.num_rows, *(min(cut, batch.num_rows) for cut in cuts)})
    parts = [batch.slice(start, end - start) for start, end in pairwise(bounds)]
    whole = receipt_of([batch])
    assert receipt_of(parts) == whole
    assert receipt_of([pa.Table.from_batches(parts)]) == whole
    assert sum((receipt_of([part]) for part in parts), Receipt.EMPTY) == whole


@forall(batches(), st.randoms(use_true_random=False))
def test_receipt_does_not_depend_on_row_order(batch, chance):
    order = chance.sample(range(batch.num_rows), batch.num_rows)
    assert receipt_of(batch.slice(row, 1) for row in order) == receipt_of([batch])


@forall(batches(), st.data())
def test_slice_has_the_hashes_of_its_rows(batch, draw):
    start = draw.draw(st.integers(0, batch.num_rows))
    length = draw.draw(st.integers(0, batch.num_rows - start))
    assert (hash_rows(batch.slice(start, length)) == hash_rows(batch)[start : start + length]).all()


@forall(batches())
def test_repeated_or_missing_row_changes_the_receipt(batch):
    once, twice = receipt_of([batch]), receipt_of([batch, batch])
    assert twice.rows == 2 * once.rows
    assert twice.hash == f"{2 * int(once.hash, 16) % 2**128:032x}" != once.hash
    assert receipt_of([batch.slice(1)]).hash != once.hash


def test_columns_may_have_different_chunks():
    numbers = pa.chunked_array([[1, 2], [], [3]], pa.int64())
    texts = pa.chunked_array([["a"], ["b", "c"]])
    assert receipt_of([pa.table([numbers, texts], ["n", "t"])]) == receipt_of(
        [pa.record_batch([pa.array([1, 2, 3]), pa.array(["a", "b", "c"])], ["n", "t"])]
    )


@pytest.mark.parametrize("rows", [0, 1, 16_383, 16_384, 16_385, 40_000])
def test_receipt_does_not_depend_on_block_boundaries(rows):
    numbers = pa.array(range(rows), pa.int64())
    table = pa.table({"n": numbers, "t": numbers.cast(pa.string())})
    assert hash_rows(table).shape == (rows, 2)
    assert receipt_of([table]) == receipt_of(table.to_batches(max_chunksize=7_000))
    assert receipt_of([table]) == receipt_of(table.to_batches(max_chunksize=999))


def test_bytes_under_null_strings_are_ignored():
    def with_garbage(garbage: bytes) -> pa.Array:
        offsets = np.array([0, 1, 1 + len(garbage), 2 + len(garbage)], np.int32)
        bitmap = pa.py_buffer(bytes([0b101]))
        return pa.Array.from_buffers(
            pa.string(), 3, [bitmap, pa.py_buffer(offsets), pa.py_buffer(b"a" + garbage + b"b")]
        )

    clean = hashes(pa.array(["a", None, "b"]))
    assert [hashes(with_garbage(b"!" * size)) for size in (0, 9, 1025, 100_000)] == [clean] * 4


FIXED = [pa.int32(), pa.float64(), pa.decimal128(9, 2), pa.timestamp("us"), pa.binary(8)]


@pytest.mark.parametrize("kind", FIXED)
def test_bytes_under_null_numbers_are_ignored(kind):
    zeros, ones = (pa.py_buffer(bytes([fill]) * 48) for fill in (0, 255))
    hidden = [pa.Array.from_buffers(kind, 3, [pa.py_buffer(b"\0"), buffer]) for buffer in (zeros, ones)]
    assert hashes(hidden[0]) == hashes(hidden[1]) == hashes(pa.nulls(3))


def test_buffers_may_be_unaligned_and_unpadded():
    odd = pa.py_buffer(b"?" + struct.pack("<3q", 1, -2, 3)).slice(1)
    assert hashes(pa.Array.from_buffers(pa.int64(), 3, [None, odd])) == hashes(pa.array([1, -2, 3]))
    decimals = pa.py_buffer(struct.pack("<qqqq", 5, 0, -6, -1) + b"rest")
    column = pa.Array.from_buffers(pa.decimal128(5, 1), 2, [None, decimals])
    assert hashes(column) == hashes(pa.array([Decimal("0.5"), Decimal("-0.6")]))


def test_no_rows_have_the_empty_receipt():
    no_rows = pa.table({"n": pa.array([], pa.int64()), "t": pa.array([], pa.string()), "x": pa.nulls(0)})
    assert receipt_of([]) == receipt_of([no_rows]) == Receipt.EMPTY
    assert receipt_of(no_rows.to_batches()) == Receipt.EMPTY


def test_rows_without_columns_are_counted():
    assert receipt_of([pa.table({"n": [1, 2, 3]}).select([])]).rows == 3


# `ReceiptBuilder`.


def test_receipt_may_be_read_before_the_last_batch():
    first, second = pa.record_batch({"n": [1, 2]}), pa.record_batch({"n": [3]})
    builder = ReceiptBuilder()
    builder.add(first)
    assert builder.receipt() == builder.receipt() == receipt_of([first])
    builder.add(second)
    assert builder.receipt() == receipt_of([second, first])


def test_types_may_change_between_batches():
    narrow = pa.record_batch([pa.array([1], pa.int8()), pa.array(["a"])], ["n", "t"])
    wide = pa.record_batch([pa.array([1], pa.int64()), pa.array(["a"], pa.large_string())], ["n", "t"])
    assert receipt_of([narrow, wide, narrow]) == receipt_of([wide] * 3)


def test_large_batches_are_not_buffered():
    builder = ReceiptBuilder()
    builder.add(pa.record_batch({"t": ["x" * 2**24]}))
    assert builder._buffered == []


def test_sum_carries_into_the_upper_word():
    rows = np.full((3, 2), 2**64 - 1, np.uint64)
    assert hashing.sum_hashes(rows) % 2**128 == 3 * (2**128 - 1) % 2**128


@pytest.mark.parametrize("kind", [
    pa.list_(pa.int32()), pa.struct([("x", pa.int32())]), pa.map_(pa.string(), pa.int32()),
    pa.duration("s"), pa.uuid(), pa.dictionary(pa.int8(), pa.list_(pa.int32())),
])  # fmt: skip
def test_unsupported_type_is_refused_with_its_column_name(kind):
    rows = pa.schema([("id", pa.int32()), ("tags", kind)]).empty_table()
    for refuse in (hash_rows, ReceiptBuilder().add):
        with pytest.raises(Unsupported) as refusal:
            refuse(rows)
        assert refusal.value.happened == f"Column tags is {kind}, which the row hash does not cover."


# The hash is well mixed.


def test_million_numbers_have_no_collision_in_either_lane():
    lanes = hash_rows(pa.record_batch({"n": pa.array(np.arange(1_000_000))}))
    assert [np.unique(lanes[:, lane]).size for lane in (0, 1)] == [1_000_000, 1_000_000]


def test_similar_texts_have_no_collision_in_either_lane():
    texts = pa.array([f"customer {i // 1000:08d} / order {i % 1000:05d}" for i in range(200_000)])
    lanes = hash_rows(pa.record_batch({"t": texts, "u": texts}))
    assert [np.unique(lanes[:, lane]).size for lane in (0, 1)] == [200_000, 200_000]


def flips(before: pa.RecordBatch, after: pa.RecordBatch) -> np.ndarray:
    """Return how many rows change each of the 128 bits of their hash."""
    changed = hash_rows(before) ^ hash_rows(after)
    bits = np.unpackbits(np.ascontiguousarray(changed).view(np.uint8), axis=1)
    return bits.sum(axis=0, dtype=np.int64)


@pytest.mark.parametrize("bit", [0, 1, 7, 31, 32, 62, 63])
@pytest.mark.parametrize("column", [0, 1])
def test_one_input_bit_flips_each_hash_bit_half_the_time(bit, column):
    numbers = np.random.default_rng(0).integers(0, 2**20, (2, 20_000))
    others = numbers.copy()
    others[column] ^= np.uint64(1 << bit).astype(np.int64)
    before, after = (pa.record_batch(list(rows), names=["a", "b"]) for rows in (numbers, others))
    # 20,000 fair coins stay within 5 standard deviations of 10,000: 354.
    assert np.abs(flips(before, after) - 10_000).max() < 354


def test_sums_of_small_sets_differ():
    """Were the hash linear, {1, 4} and {2, 3} would have one receipt."""
    lanes = hash_rows(pa.record_batch({"n": pa.array(range(500), pa.int64())}))
    lower = lanes[:, 1]
    first, second = np.triu_indices(500)
    assert np.unique(lower[first] + lower[second]).size == first.size


def test_values_swapped_between_rows_change_the_receipt():
    right = pa.table({"id": [1, 2], "paid": [10, 20]})
    wrong = pa.table({"id": [1, 2], "paid": [20, 10]})
    assert receipt_of([right]) != receipt_of([wrong])


# Receipts.


def test_receipts_add_up_modulo_2_128():
    assert Receipt(1, "f" * 32) + Receipt(2, f"{2:032x}") == Receipt(3, f"{1:032x}")
    assert Receipt.EMPTY + Receipt(1, "a" * 32) == Receipt(1, "a" * 32)


@pytest.mark.parametrize(("other", "same"), [
    (Receipt(2, "a" * 32), True),
    (Receipt(3, "a" * 32), False),
    (Receipt(2, "b" * 32), False),
])  # fmt: skip
def test_receipts_are_equal_by_rows_and_hash(other, same):
    assert Receipt(2, "a" * 32).same_as(other) is same


@pytest.mark.parametrize("use", [Receipt.same_as, Receipt.__add__])
def test_receipts_of_two_hash_versions_are_not_compared(use):
    with pytest.raises(Unsupported) as refusal:
        use(Receipt(2, "a" * 32, version=1), Receipt(2, "a" * 32, version=2))
    assert refusal.value.happened == "These receipts were made by versions 1 and 2 of the row hash."


def test_receipt_has_a_short_text():
    assert repr(Receipt(1204, "3f2a" + "0" * 28)) == "1,204 rows 3f2a…"
    assert repr(Receipt(1, "3f2a" + "0" * 28)) == "1 row 3f2a…"

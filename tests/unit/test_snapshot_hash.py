"""The SHA-256 of a row: typed, length-prefixed, null-safe, and the same whatever the frame brings along."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.hashing.sha256 import content_hash, hash_rows, sum_digests


def hashes(**columns: pa.Array | list[object]) -> list[str]:
    return [bytes(digest).hex() for digest in hash_rows(pa.table(columns))]


def test_hash_follows_its_specification():
    """Recomputed by hand, from the text in the module."""
    names = hashlib.sha256((1).to_bytes(8, "little") + b"a" + (1).to_bytes(8, "little") + b"b").digest()
    words = (-7).to_bytes(8, "little", signed=True) + (3).to_bytes(8, "little")
    expected = hashlib.sha256(names + words + bytes([2, 10]) + b"x\xc3\xa9").hexdigest()

    assert hashes(b=["xé"], a=pa.array([-7], pa.int16())) == [expected]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": ["12"], "b": ["3"]}, {"a": ["1"], "b": ["23"]}),
        ({"a": [None], "b": ["x"]}, {"a": [""], "b": ["x"]}),
        ({"a": pa.array([None], pa.string()), "b": ["x"]}, {"a": ["x"], "b": pa.array([None], pa.string())}),
        ({"a": [1]}, {"a": ["1"]}),
        ({"a": [1]}, {"a": [True]}),
        ({"a": [b"x"]}, {"a": ["x"]}),
        ({"a": [0.0]}, {"a": [-0.0]}),
        ({"a": [0]}, {"a": pa.array([None], pa.int64())}),
        ({"a": [float("nan")]}, {"a": pa.array([None], pa.float64())}),
        ({"a": [Decimal("1")]}, {"a": ["1"]}),
        ({"a": [datetime(2024, 1, 1)]}, {"a": [datetime(2024, 1, 1, tzinfo=UTC)]}),
        ({"a": [1]}, {"b": [1]}),
        ({"a": pa.array([2**64 - 1], pa.uint64())}, {"a": [-1]}),
        ({"a": [["x", "y"]]}, {"a": [["xy"]]}),
        ({"a": [["1"]]}, {"a": [[1]]}),
    ],
)
def test_different_rows_have_different_hashes(left, right):
    assert hashes(**left) != hashes(**right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.array([5, None], pa.int8()), pa.array([5, None], pa.int64())),
        (pa.array([5, None], pa.int64()), pa.array([5.0, None], pa.float64())),
        (pa.array([1.5], pa.float32()), pa.array([1.5], pa.float64())),
        (pa.array([Decimal("1.5")]), pa.array([Decimal("1.500")])),
        (pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()),
        (pa.array(["a"]), pa.array(["a"], pa.large_string())),
        (pa.array(["a"]), pa.array(["a"]).cast(pa.string_view())),
        (pa.array([datetime(2024, 1, 1)], pa.timestamp("us")), pa.array([datetime(2024, 1, 1)], pa.timestamp("s"))),
        (pa.array([None], pa.string()), pa.nulls(1)),
        (pa.array([None], pa.decimal128(10, 2)), pa.array([None], pa.date32())),
    ],
)
def test_one_value_has_one_hash_in_every_column_type(left, right):
    assert hashes(a=left) == hashes(a=right)


def test_column_order_does_not_matter():
    assert hashes(a=[1], b=["x"]) == hashes(b=["x"], a=[1])


def test_every_arrow_type_of_parquet_has_a_hash():
    values = {
        "bool": [True],
        "date": [date(2024, 1, 1)],
        "time": [time(1, 2, 3)],
        "duration": [timedelta(seconds=1)],
        "binary": [b"\x00"],
        "fixed": pa.array([b"ab"], pa.binary(2)),
        "decimal": [Decimal("12345678901234567890.123")],
        "wide": pa.array([Decimal(10**60)], pa.decimal256(76, 0)),
        "half": pa.array([1.5], pa.float16()),
        "struct": [{"x": 1, "y": None}],
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        "list": [[1, None]],
        "null": pa.nulls(1),
    }
    found = {name: hashes(a=value)[0] for name, value in values.items()}
    assert len(set(found.values())) == len(values)


CELLS = {
    "n": st.none() | st.integers(-(2**63), 2**63 - 1),
    "f": st.none() | st.floats(allow_nan=False, allow_infinity=True),
    "t": st.none() | st.text(max_size=20),
    "b": st.none() | st.binary(max_size=20),
    "d": st.none() | st.decimals(min_value=-(10**12), max_value=10**12, places=3),
}
TYPES = {"n": pa.int64(), "f": pa.float64(), "t": pa.string(), "b": pa.binary(), "d": pa.decimal128(18, 3)}
ROWS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=30)


def table_of(rows):
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_hashes_are_equal_exactly_where_rows_are(rows):
    found = [bytes(digest) for digest in hash_rows(table_of(rows))]
    keys = [repr(sorted(row.items())) for row in rows]
    for one in range(len(rows)):
        for other in range(one):
            assert (found[one] == found[other]) == (keys[one] == keys[other])


@given(ROWS, st.integers(0, 40), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_slices_and_batches_do_not_matter(rows, start, size):
    table = table_of(rows)
    whole = hash_rows(table).tolist()
    assert hash_rows(table.slice(start)).tolist() == whole[start:]
    batches = table.to_batches(max_chunksize=size)
    assert [digest for batch in batches for digest in hash_rows(batch).tolist()] == whole


def test_content_hash_ignores_the_order_of_rows():
    table = pa.table({"a": [1, 2, 3]})
    turned = table.take(pa.array([2, 0, 1]))
    assert content_hash(sum_digests(hash_rows(table))) == content_hash(sum_digests(hash_rows(turned)))
    assert content_hash(sum_digests(hash_rows(table))) != content_hash(sum_digests(hash_rows(table.slice(1))))

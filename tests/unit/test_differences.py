"""Compare two sides by the hashes of their keys and of their rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from tidegate.hashing.differences import Content, compare_content, first_positions, hash_content
from tidegate.hashing.rows import sum_hashes
from tidegate.model.receipt import Receipt

Row = tuple[tuple[int, int], int]
"""Both words of the hash of its key, and a number for its content."""
A, B, C = (1, 1), (1, 2), (2, 1)  # A and B have the same first word of the hash, A and C the same second word


def content(rows: Sequence[Row]) -> Content:
    key_hashes = np.array([key for key, _ in rows], np.uint64).reshape(-1, 2)
    row_hashes = np.array([(value, value) for _, value in rows], np.uint64).reshape(-1, 2)
    key_values = pa.table({"id": pa.array([f"{key}" for key, _ in rows], pa.string())})
    return Content(key_hashes, row_hashes, key_values, Receipt.of_sum(len(rows), sum_hashes(row_hashes)))


@pytest.mark.parametrize(
    ("new", "old", "inserted", "changed", "removed"),
    [
        ([], [], [], [], []),
        ([(A, 1)], [], [0], [], []),
        ([], [(A, 1)], [], [], [A]),
        ([(A, 1), (B, 2)], [(B, 2), (A, 1)], [], [], []),
        ([(A, 1), (B, 2)], [(B, 3), (A, 1)], [], [1], []),
        ([(B, 1), (C, 2)], [(A, 1), (B, 1)], [1], [], [A]),
        ([(C, 1), (B, 2), (A, 3)], [(C, 9), (A, 9)], [1], [0, 2], []),
    ],
)
def test_rows_that_differ_are_found(
    new: list[Row], old: list[Row], inserted: list[int], changed: list[int], removed: list[tuple[int, int]]
):
    found = compare_content(content(new), content(old))

    assert np.flatnonzero(found.inserted).tolist() == inserted
    assert np.flatnonzero(found.changed).tolist() == changed
    assert found.removed["id"].to_pylist() == [f"{key}" for key in removed]
    assert found.removed_receipt == content([row for row in old if row[0] in removed]).receipt
    assert [len(positions) for positions in found.duplicates] == [0, 0]


@pytest.mark.parametrize(
    ("new", "old", "duplicates"),
    [
        ([(A, 1), (B, 1), (A, 2)], [(A, 1)], ([0], [])),
        ([(A, 1)], [(C, 1), (A, 1), (A, 1)], ([], [1])),
        ([(A, 1), (A, 1), (A, 1)], [(B, 1), (B, 1)], ([0, 1], [0])),
    ],
)
def test_duplicate_keys_are_found(new: list[Row], old: list[Row], duplicates: tuple[list[int], list[int]]):
    found = compare_content(content(new), content(old))
    assert tuple(positions.tolist() for positions in found.duplicates) == duplicates


def test_many_rows_are_compared_as_by_a_dictionary():
    chance = np.random.default_rng(7)
    # Few different first words: many hashes share half of their bits.
    new, old = (
        {(int(a), int(b)): int(c) for a, b, c in chance.integers(0, (30, 900, 3), (4_000, 3))} for _ in range(2)
    )

    found = compare_content(content(list(new.items())), content(list(old.items())))

    assert found.counts == (
        len(new.keys() - old.keys()),
        sum(new[key] != old[key] for key in new.keys() & old.keys()),
        len(old.keys() - new.keys()),
    )
    keys = list(new)
    assert {keys[position] for position in np.flatnonzero(found.inserted)} == new.keys() - old.keys()


@pytest.mark.parametrize("rows", [0, 1, 4_000])
def test_first_positions_of_repeated_hashes(rows: int):
    # Few different first words, as above.
    hashes = np.random.default_rng(7).integers(0, (30, 90), (rows, 2)).astype(np.uint64)

    _, expected = np.unique(hashes, axis=0, return_index=True)

    assert first_positions(hashes).tolist() == sorted(expected.tolist())


def test_side_without_rows_has_its_key_columns():
    empty = hash_content([], pa.schema([("id", pa.int32())]), ["id"])
    assert (empty.rows, empty.receipt, empty.key_values.schema.names) == (0, Receipt.EMPTY, ["id"])

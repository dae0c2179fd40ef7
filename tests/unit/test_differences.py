"""Which rows differ, told by the hashes of their keys and of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from tidegate.model.receipt import Receipt
from tidegate.rows.differences import Content, content_of, difference, first_places
from tidegate.rows.hashing import sum_of

Row = tuple[tuple[int, int], int]
"""Both words of the hash of its key, and what stands for its content."""
A, B, C = (1, 1), (1, 2), (2, 1)  # A and B are alike in the first half of their hash, A and C in the second


def content(rows: Sequence[Row]) -> Content:
    key = np.array([key for key, _ in rows], np.uint64).reshape(-1, 2)
    row = np.array([(says, says) for _, says in rows], np.uint64).reshape(-1, 2)
    keys = pa.table({"id": pa.array([f"{key}" for key, _ in rows], pa.string())})
    return Content(key, row, keys, Receipt.of_sum(len(rows), sum_of(row)))


@pytest.mark.parametrize(
    ("new", "old", "fresh", "changed", "gone"),
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
def test_what_differs(
    new: list[Row], old: list[Row], fresh: list[int], changed: list[int], gone: list[tuple[int, int]]
):
    found = difference(content(new), content(old))

    assert np.flatnonzero(found.fresh).tolist() == fresh
    assert np.flatnonzero(found.changed).tolist() == changed
    assert found.gone["id"].to_pylist() == [f"{key}" for key in gone]
    assert found.besides == content([row for row in old if row[0] in gone]).receipt
    assert [len(places) for places in found.twice] == [0, 0]


@pytest.mark.parametrize(
    ("new", "old", "twice"),
    [
        ([(A, 1), (B, 1), (A, 2)], [(A, 1)], ([0], [])),
        ([(A, 1)], [(C, 1), (A, 1), (A, 1)], ([], [1])),
        ([(A, 1), (A, 1), (A, 1)], [(B, 1), (B, 1)], ([0, 1], [0])),
    ],
)
def test_a_key_that_a_side_has_twice_is_told(new: list[Row], old: list[Row], twice: tuple[list[int], list[int]]):
    found = difference(content(new), content(old))
    assert tuple(places.tolist() for places in found.twice) == twice


def test_many_rows_are_told_apart_as_a_dictionary_would():
    chosen = np.random.default_rng(7)
    # Few first words: half of the hash is the same by chance, again and again.
    new, old = (
        {(int(a), int(b)): int(c) for a, b, c in chosen.integers(0, (30, 900, 3), (4_000, 3))} for _ in range(2)
    )

    found = difference(content(list(new.items())), content(list(old.items())))

    assert found.counts == (
        len(new.keys() - old.keys()),
        sum(new[key] != old[key] for key in new.keys() & old.keys()),
        len(old.keys() - new.keys()),
    )
    keys = list(new)
    assert {keys[place] for place in np.flatnonzero(found.fresh)} == new.keys() - old.keys()


@pytest.mark.parametrize("rows", [0, 1, 4_000])
def test_of_hashes_that_are_there_more_than_once_the_first_counts(rows: int):
    # Few first words, as above.
    hashes = np.random.default_rng(7).integers(0, (30, 90), (rows, 2)).astype(np.uint64)

    _, expected = np.unique(hashes, axis=0, return_index=True)

    assert first_places(hashes).tolist() == sorted(expected.tolist())


def test_a_side_without_rows_has_the_columns_of_its_key():
    empty = content_of([], pa.schema([("id", pa.int32())]), ["id"])
    assert (empty.rows, empty.receipt, empty.keys.schema.names) == (0, Receipt.EMPTY, ["id"])

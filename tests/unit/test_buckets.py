"""Exchanges: rows of both sides meet in buckets, here and on Spark, and tell the same as without buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.buckets.assign import MOST_BUCKETS, ROWS_PER_BUCKET, UNKNOWN_BUCKETS, buckets_for, in_buckets
from tidegate.buckets.compare import EXAMPLES, WAYS, Compared, CompareSplit, keyed_hashes
from tidegate.buckets.exchange import Block, Channels, Exchange
from tidegate.errors import LakeError, NotNative
from tidegate.hashing.rows import hash_rows
from tidegate.interfaces.worker import Worker
from tidegate.spark.executor import Executor, LocalExecutor, SparkExecutor, SplitOutcome

if TYPE_CHECKING:
    pass

Row = tuple[int | None, str]


# How many buckets


@pytest.mark.parametrize(
    ("rows", "buckets"),
    [(None, UNKNOWN_BUCKETS), (0, 1), (ROWS_PER_BUCKET, 1), (ROWS_PER_BUCKET + 1, 2), (20_000_000, 80)],
)
def test_rows_decide_how_many_buckets(rows: int | None, buckets: int):
    assert buckets_for(rows) == buckets
    assert buckets_for(10**12) == MOST_BUCKETS


def test_equal_keys_meet_in_one_bucket_and_no_row_is_lost():
    rows = pa.table({"key": [number % 700 for number in range(10_000)], "number": range(10_000)})
    hashes = hash_rows(rows.select(["key"]))
    parts = [(rows.slice(start, 1000), hashes[start : start + 1000]) for start in range(0, 10_000, 1000)]

    found = list(in_buckets(parts, 7))

    where = {key: {bucket for bucket, block in found if key in set(block["key"].to_pylist())} for key in range(700)}
    assert all(len(buckets) == 1 for buckets in where.values())
    assert sorted(number for _, block in found for number in block["number"].to_pylist()) == list(range(10_000))


# Any exchange, here and on Spark


@dataclass(frozen=True)
class Numbers:
    """Reads some numbers, or fails."""

    numbers: Sequence[int]
    channel: int
    problem: Exception | None = None

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, int]:
        table = pa.table({"number": pa.array(self.numbers, pa.int64())})
        worker.progress.add(len(self.numbers))
        for bucket, block in in_buckets([(table, hash_rows(table))], buckets):
            yield bucket, self.channel, block
        if self.problem is not None:
            raise self.problem
        return sum(self.numbers)


@dataclass(frozen=True)
class CommonNumbers(Exchange):
    """Counts the numbers that all readers have."""

    sides: tuple[Numbers, ...]
    buckets: int = 1
    tries: int = 0
    fails_in: str = ""

    @property
    def readers(self) -> Sequence[Numbers]:
        return self.sides

    def compare(self, rows: Channels) -> int:
        if self.fails_in == "compare":
            raise LakeError("no room")
        sets = [
            {number for block in rows.get(side.channel, ()) for number in block["number"].to_pylist()}
            for side in self.sides
        ]
        return len(set.intersection(*sets))

    def combine(self, notes: Sequence[Any], compared: Sequence[Any]) -> Any:
        return tuple(notes), sum(compared), self.tries

    def after(self, problem: Exception) -> CommonNumbers | None:
        if not isinstance(problem, NotNative):
            return None
        sides = tuple(replace(side, problem=None) for side in self.sides)
        return replace(self, sides=sides, tries=self.tries + 1)

    def more(self, result: Any) -> CommonNumbers | None:
        return replace(self, tries=self.tries + 10) if result[1] == 13 and self.tries < 10 else None


@pytest.fixture(params=["here", pytest.param("spark", marks=pytest.mark.spark)])
def executor(request: pytest.FixtureRequest) -> Executor:
    if request.param == "here":
        return LocalExecutor()
    return SparkExecutor(request.getfixturevalue("spark"), "local")


def outcome_of(executor: Executor, exchange: Exchange) -> SplitOutcome:
    outcomes: list[SplitOutcome] = []
    executor.run([exchange], outcomes.append)
    assert len(outcomes) == 1
    return outcomes[0]


@pytest.mark.parametrize("buckets", [1, 5])
def test_readers_meet_in_every_bucket(executor: Executor, buckets: int):
    exchange = CommonNumbers((Numbers(range(900), 0), Numbers(range(600, 1000), 1)), buckets)

    outcome = outcome_of(executor, exchange)

    assert (outcome.error, outcome.result, outcome.rows) == (None, ((404550, 319800), 300, 0), 1300)


def test_sides_without_rows_have_their_notes(executor: Executor):
    outcome = outcome_of(executor, CommonNumbers((Numbers((), 0), Numbers((), 1)), 5))
    assert (outcome.error, outcome.result) == (None, ((0, 0), 0, 0))


def test_exchange_is_repeated_as_it_asks(executor: Executor):
    """What follows a problem, and what follows a result."""
    sides = (Numbers(range(13), 0, NotNative("amount")), Numbers(range(13), 1))
    assert outcome_of(executor, CommonNumbers(sides, 3)).result == ((78, 78), 13, 11)


@pytest.mark.parametrize("problem", [LakeError("no room"), ValueError("broken")])
def test_problem_of_a_reader_is_the_outcome(executor: Executor, problem: Exception):
    outcome = outcome_of(executor, CommonNumbers((Numbers(range(9), 0), Numbers(range(9), 1, problem)), 3))
    assert outcome.result is None and str(problem) in str(outcome.error)


def test_problem_of_a_comparison_is_the_outcome(executor: Executor):
    outcome = outcome_of(executor, CommonNumbers((Numbers(range(9), 0), Numbers(range(9), 1)), 3, fails_in="compare"))
    assert isinstance(outcome.error, LakeError)


def test_exchange_beside_other_splits(executor: Executor):
    class Plain:
        def run(self, worker: Worker) -> str:
            return "plain"

    outcomes: dict[int, Any] = {}
    sides = (Numbers(range(9), 0), Numbers(range(4), 1))
    executor.run([Plain(), CommonNumbers(sides, 3), Plain()], lambda one: outcomes.update({one.number: one.result}))
    assert outcomes == {0: "plain", 1: ((36, 6), 4, 0), 2: "plain"}


# Keys that differ


def differing_in_buckets(source: Sequence[Row], target: Sequence[Row], buckets: int) -> Compared:
    """Return what a comparison finds in these rows, whose first column is the key."""
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    split = CompareSplit(None, None, "", None, None, keys=("id",), buckets=buckets)
    channels: dict[int, dict[int, list[pa.RecordBatch]]] = {}
    for channel, rows in enumerate((source, target)):
        batch = pa.RecordBatch.from_pylist([{"id": key, "name": name} for key, name in rows], schema)
        table, key_hashes, _ = keyed_hashes(batch, split.keys)
        for bucket, block in in_buckets([(table, key_hashes)], buckets):
            channels.setdefault(bucket, {}).setdefault(channel, []).append(block)
    return split.combine([], [split.compare(rows) for rows in channels.values()])


ROWS = st.lists(st.tuples(st.integers(0, 30) | st.none(), st.sampled_from("ab")), max_size=40)


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS, st.integers(1, 9))
def test_differing_keys_do_not_depend_on_the_buckets(source: list[Row], target: list[Row], buckets: int):
    """Also with repeated rows and nulls. The expected keys are counted in plain Python."""
    lacking, extra = (
        {key for key, _ in Counter(one) - Counter(other)} for one, other in ((source, target), (target, source))
    )
    expected = dict(zip(WAYS, (lacking - extra, extra - lacking, lacking & extra, set()), strict=True))

    found = differing_in_buckets(source, target, buckets).keys

    assert {way: one.count for way, one in found.items()} == {way: len(keys) for way, keys in expected.items() if keys}
    for way, one in found.items():
        texts = {"NULL" if key is None else str(key) for key in expected[way]}
        assert set(one.examples) <= texts and len(one.examples) == min(len(texts), EXAMPLES)


def test_examples_are_the_first_keys_of_all_buckets():
    source = [(key, "a") for key in range(10, 90)]
    assert differing_in_buckets(source, [], 7).keys["missing in the target"].examples == ("10", "11", "12", "13", "14")

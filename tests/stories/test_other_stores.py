"""A lake in object stores that check signatures, and that are killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from kit.project import FIVE_DAYS, Story, assert_same_rows
from kit.stores import Store, azurite, versitygw
from tidegate.errors import LakeError
from tidegate.runs.listener import Boundary
from tidegate.storage.objects import Bucket

pytestmark = [pytest.mark.postgres, pytest.mark.thorough]

STORES: dict[str, Callable[[Path], AbstractContextManager[Store]]] = {"versitygw": versitygw, "azurite": azurite}


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with STORES[request.param](tmp_path_factory.mktemp(request.param)) as started:
        yield started


def in_store(story: Story, store: Store, folder: str) -> Story:
    lake = {"path": f"{store.url}/{folder}", "store": {**store.options, "retries": "1"}}
    story.project |= {"engine": "process", "lake": lake}
    story.spark = None  # type: ignore[assignment]
    return story


def assert_in_step(story: Story) -> None:
    assert_same_rows(story.rows_in_target(), story.rows_in_source())
    assert {day: generation for day, (generation, _, _) in story.ledger().items()} == dict.fromkeys(FIVE_DAYS, 1)
    assert story.tidegate().verify().outcome == "equal"


def test_a_lake_is_kept(story: Story, store: Store):
    in_store(story, store, "kept").run()
    assert_in_step(story)
    assert story.run().outcome == "nothing to do"
    assert "honours the conditions" in story.tidegate().plan().notes[0]


def test_one_of_eight_writers_is_first(store: Store):
    bucket = Bucket.of(f"{store.url}/race", store.options)
    for turn in range(20):
        with ThreadPoolExecutor(8) as writers:
            first = list(writers.map(lambda number, turn=turn: bucket.create(f"c{turn}", f"run {number}"), range(8)))
        assert sum(first) == 1
        assert bucket.read_text(f"c{turn}") == f"run {first.index(True)}"


def test_one_of_eight_writers_replaces(store: Store):
    bucket = Bucket.of(f"{store.url}/race", store.options)
    bucket.create("current", "before")
    for turn in range(20):
        tag = bucket.etag("current")
        with ThreadPoolExecutor(8) as writers:
            first = list(
                writers.map(lambda n, turn=turn, tag=tag: bucket.swap("current", f"{turn} {n}", tag), range(8))
            )
        assert sum(first) == 1
        assert bucket.read_text("current") == f"{turn} {first.index(True)}"


def test_a_wrong_secret_is_a_clear_error(store: Store):
    secret = "secret_access_key" if "secret_access_key" in store.options else "account_key"
    wrong = Bucket.of(f"{store.url}/x", {**store.options, secret: "d3Jvbmc=", "retries": "0"})
    with pytest.raises(LakeError, match="cannot be used") as refused:
        wrong.make_folder(".tidegate")
    assert store.options[secret] not in str(refused.value)


class StoreKiller(Boundary):
    """Kills the store when a run reaches a place."""

    def __init__(self, store: Store, place: str) -> None:
        self._store, self._place = store, place

    def __call__(self, place: str) -> None:
        if place == self._place and self._store.process is not None and self._store.process.poll() is None:
            self._store.kill()


@pytest.mark.parametrize("boundary", ["published", "loaded"])
def test_a_store_that_is_killed_in_a_run(story: Story, store: Store, boundary: str):
    """The store goes away in the middle of a run, and comes back. The next run completes what is missing."""
    in_store(story, store, f"killed-{boundary}")
    report = story.tidegate(boundary=StoreKiller(store, boundary)).run(check=False)
    assert report.exit_code == 1 or boundary == "loaded"
    store.start()
    story.run()
    assert_in_step(story)

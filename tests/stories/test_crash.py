"""A run that is killed at a boundary and started again loses no row and loads no row twice.

Everyday runs test the most important boundaries, thorough runs test every boundary.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from subprocess import Popen

import pytest

from kit import processes
from kit.crash import Recorder
from kit.pairs import ALL_ARE_ASKED_FOR
from kit.processes import wait_until
from kit.project import FIVE_DAYS, FRIDAY, SATURDAY, THURSDAY, TUESDAY, WEDNESDAY, Stories, Story, child
from kit.sides import ask, sessions_of
from tidegate.errors import RunFailed

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc"),
]

# Every boundary of a run, and how often a run reaches it on the eventful day.
BOUNDARIES = {
    "ledger ready": 1,
    "planned": 1,
    "schema changed": 1,
    "published": 5,
    "extract done": 1,
    "task about to commit": 5,
    "task committed": 5,
    "loaded": 5,
    "load done": 1,
    "removed": 2,
}
# The boundaries of an adoption.
OF_ADOPTION = {"adopt done": 1, "adoption about to commit": 1, "adopted": 1}
IN_TASKS = ("task about to commit", "task committed")
EVERY_CASE = [
    *(("eventful day", place, min(times, 2)) for place, times in BOUNDARIES.items()),
    ("eventful day", "removed", 1),
    *(("first day", place, 1) for place in ("ledger ready", "schema changed", "task committed")),
]
CASES = (
    EVERY_CASE
    if ALL_ARE_ASKED_FOR
    else [
        ("eventful day", "published", 2),
        ("eventful day", "task about to commit", 2),
        ("eventful day", "task committed", 2),
        ("eventful day", "removed", 1),
        ("first day", "schema changed", 1),
    ]
)


def eventful_day(story: Story) -> None:
    """Load five days. Then add a column, a new day and a restated day, and let one day exceed the retention."""
    story.run()
    story.settings |= {"retain": {"target": 5, "lake": 5}, "restatement_column": "load_id"}
    story.in_source("ALTER TABLE trades ADD COLUMN desk text DEFAULT 'rates'")
    story.restate(FRIDAY)
    story.fill(SATURDAY)


def first_day(story: Story) -> None:
    story.fill(SATURDAY)
    story.settings |= {"initial_load_count": 5}


def before_us(story: Story) -> None:
    """Load five days and delete lake and ledger, so that the rows are unknown."""
    story.run()
    shutil.rmtree(story.lake)
    story.in_target("DROP SCHEMA tidegate CASCADE")


def run_until_killed(story: Story, folder: Path, place: str, nth: int, verb: str = "run") -> Popen[str]:
    victim = "session" if place in IN_TASKS else "process"
    configuration = story.file(folder / "tidegate.yml")
    run = child("-m", "kit.crash", configuration, place, nth, folder / "tally", victim, verb)
    run.communicate(timeout=200)
    return run


@pytest.fixture(scope="module")
def killed(
    stories: Stories, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str, int], tuple[Story, Future[Popen[str]]]]]:
    """Start all runs that are killed, two at a time, because starting a JVM takes most of the time."""
    with ThreadPoolExecutor(2) as two:
        runs = {}
        for case in CASES:
            story = stories()
            {"eventful day": eventful_day, "first day": first_day}[case[0]](story)
            runs[case] = story, two.submit(run_until_killed, story, tmp_path_factory.mktemp("killed"), *case[1:])
        yield runs


def test_run_passes_every_listed_boundary(story: Story, tmp_path: Path):
    """A run with new, restated and expired days passes every boundary of `BOUNDARIES`, as often as listed."""
    eventful_day(story)
    recorder = Recorder(tmp_path / "places")

    story.tidegate(recorder).run()

    assert recorder.times() == BOUNDARIES


@pytest.mark.parametrize(("day", "place", "nth"), CASES, ids=lambda part: str(part).replace(" ", "_"))
def test_killed_run_resumes(killed, day: str, place: str, nth: int):
    """When a run is killed at a boundary, the next run completes it and leaves no temporary file."""
    story, ended = killed[day, place, nth]
    run = ended.result()
    assert run.returncode == -9, f"the run came to its end: {run.returncode}"
    wait_until(lambda: not [name for name in sessions_of(story.target) if " run " in name], "the dead run let go")

    story.run()

    story.tidegate().clean(older_than_hours=0)
    assert list((story.lake / ".tidegate" / "tmp").iterdir()) == []
    story.assert_in_step(TUESDAY, WEDNESDAY, THURSDAY, FRIDAY, SATURDAY)


def test_adoption_passes_every_listed_boundary(story: Story, tmp_path: Path):
    """An adoption passes every boundary of `OF_ADOPTION`, as often as listed."""
    before_us(story)
    recorder = Recorder(tmp_path / "places")

    story.tidegate(recorder).adopt()

    assert recorder.times() == OF_ADOPTION


@pytest.mark.parametrize("place", OF_ADOPTION, ids=lambda place: place.replace(" ", "_"))
@pytest.mark.thorough
def test_killed_adoption_is_atomic(story: Story, tmp_path: Path, place: str):
    """When `adopt` is killed, the ledger has all adopted entries or none. With a part of them, a run would replace rows
    of others."""
    before_us(story)
    writers = story.writers()

    killed = run_until_killed(story, tmp_path, place, 1, "adopt")

    assert killed.returncode == -9, f"the adoption came to its end: {killed.returncode}"
    wait_until(lambda: not sessions_of(story.target), "the dead adoption let go")
    scopes = ask(story.target, "SELECT count(*) FROM tidegate.scopes")
    if place == "adopted":
        assert {day: kind for day, (_, kind, _) in story.ledger().items()} == dict.fromkeys(FIVE_DAYS, "adopted")
        assert (scopes, story.run().outcome) == ([(1,)], "nothing to do")
    else:
        assert (story.ledger(), scopes) == ({}, [(0,)])
        with pytest.raises(RunFailed, match="The target holds rows of 5 values that no ledger knows"):
            story.run()
        story.tidegate().adopt()
    assert story.writers() == writers
    assert story.tidegate().verify().outcome == "equal"

"""A lake in object storage on bad days: answers that are slow, wrong or lost, and stores that cannot be trusted."""

from __future__ import annotations

import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import sides
from kit.http_faults import Faults, faulty
from kit.project import FIVE_DAYS, FRIDAY, Story, assert_same_rows
from kit.s3 import S3Server, s3_server
from tidegate.storage.objects import Bucket

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        started.make_bucket("faults")
        yield started


@pytest.fixture
def bucket_story(story: Story, server: S3Server, tmp_path: Path) -> Story:
    """Five days of trades, a lake in a bucket, and threads of this process that move the rows."""
    story.project |= {"engine": "process", "lake": {"path": f"s3://faults/{tmp_path.name}", "store": server.options}}
    story.spark = None  # type: ignore[assignment]
    return story


def through(story: Story, endpoint: str, **settings: str) -> dict[str, Any]:
    """Send the story's requests to another address, and return the lake's settings."""
    lake: dict[str, Any] = story.project["lake"]
    lake["store"] = {**lake["store"], "endpoint": endpoint, **settings}
    return lake


def assert_in_step(story: Story) -> None:
    assert_same_rows(story.rows_in_target(), story.rows_in_source())
    assert {day: generation for day, (generation, _, _) in story.ledger().items()} == dict.fromkeys(FIVE_DAYS, 1)
    assert not story.tidegate().plan().does_something


@pytest.mark.parametrize(
    "dropped",
    [
        {"if-none-match", "if-match"},
        *(pytest.param({one}, marks=pytest.mark.thorough) for one in ("if-none-match", "if-match")),
    ],
)
def test_a_store_that_ignores_conditions_is_refused(bucket_story: Story, server: S3Server, dropped: set[str]):
    """The store never sees the conditions, and answers as if they held. No row moves."""
    with faulty(server.endpoint, Faults(drops=frozenset(dropped))) as endpoint:
        through(bucket_story, endpoint)
        report = bucket_story.tidegate().run(check=False)
        assert report.exit_code == 1 and "ignores the conditions of a PUT" in report.failures[0][1]
        assert "ignores the conditions of a PUT" in bucket_story.tidegate().plan().notes[0]
        assert bucket_story.tidegate().run(check=False).exit_code == 1
    assert sides.ask(bucket_story.target, "SELECT count(*) FROM trades") == [(0,)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "faults",
    [Faults(waits=0.2), Faults(fails=6), Faults(about=lambda method, path: method == "PUT", loses=4)],
    ids=["slow", "failing", "lost answers"],
)
def test_a_run_ends_well_with_bad_answers(bucket_story: Story, server: S3Server, faults: Faults):
    with faulty(server.endpoint, faults) as endpoint:
        through(bucket_story, endpoint)
        assert bucket_story.run().outcome == "done"
        assert_in_step(bucket_story)
    assert faults.seen and not (faults.fails or faults.loses)


def test_a_commit_whose_answer_was_lost_counts_once(bucket_story: Story, server: S3Server):
    faults = Faults(about=lambda method, path: method == "PUT" and "_committed.json" in path, loses=5)
    with faulty(server.endpoint, faults) as endpoint:
        through(bucket_story, endpoint)
        bucket_story.run()
        assert_in_step(bucket_story)


def test_half_of_a_commit_file_is_not_believed(bucket_story: Story):
    """The day is extracted again; the others stay as they are."""
    bucket_story.run()
    lake = bucket_story.project["lake"]
    store = Bucket.of(lake["path"], lake["store"])
    place = f"organized/cob_{FRIDAY}/trades_cob_{FRIDAY}.parquet/_committed.json"
    text = store.read_text(place)
    store.write_text(place, text[: len(text) // 2])
    assert bucket_story.run().outcome == "done"
    assert_same_rows(bucket_story.rows_in_target(), bucket_story.rows_in_source())
    assert bucket_story.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_no_upload_is_left_unfinished(bucket_story: Story, server: S3Server):
    """Every object is put whole: a killed process leaves no upload that somebody would have to abort."""
    faults = Faults()
    with faulty(server.endpoint, faults) as endpoint:
        through(bucket_story, endpoint)
        bucket_story.run()
    assert faults.seen and not [path for _, path in faults.seen if "uploads" in path or "uploadId" in path]


def test_objects_are_encrypted_where_that_is_asked(bucket_story: Story, server: S3Server):
    faults = Faults(about=lambda method, path: method == "PUT")
    with faulty(server.endpoint, faults) as endpoint:
        through(bucket_story, endpoint, encryption="AES256")
        bucket_story.run()
    assert {headers.get("x-amz-server-side-encryption") for headers in faults.headers} == {"AES256"}


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Return a certificate of this machine and its key."""
    found, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    usage = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1"]
    names = [*usage, "-keyout", str(key), "-out", str(found)]
    subprocess.run([*request, *names], check=True, capture_output=True)
    return found, key


def test_a_store_behind_tls(bucket_story: Story, certificate: tuple[Path, Path]):
    """Its certificate must be known: by the machine, or by `ca_file`."""
    with s3_server("-c", str(certificate[0]), "-k", str(certificate[1]), scheme="https") as server:
        trusted = ssl.create_default_context(cafile=str(certificate[0]))
        made = urllib.request.Request(f"{server.endpoint}/faults", method="PUT")
        urllib.request.urlopen(made, timeout=10, context=trusted).close()
        through(bucket_story, server.endpoint, retries="0")
        report = bucket_story.tidegate().run(check=False)
        assert report.exit_code == 1 and "cannot be used" in report.failures[0][1]
        through(bucket_story, server.endpoint, ca_file=str(certificate[0]))
        bucket_story.run()
        assert_in_step(bucket_story)

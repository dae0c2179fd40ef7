"""A bucket of an object store, on an S3 server."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.s3 import S3Server, s3_server
from tidegate.errors import LakeError
from tidegate.storage.objects import Bucket


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


@pytest.fixture
def bucket(server: S3Server, request: pytest.FixtureRequest) -> Bucket:
    server.make_bucket("lake")
    return Bucket(f"s3://lake/{abs(hash(request.node.name))}", tuple(server.options.items()), (("allow_http", "true"),))


def test_a_written_file_appears_whole_when_it_is_flushed(bucket: Bucket):
    with bucket.output("organized/t.parquet") as file:
        pq.write_table(pa.table({"id": list(range(1000))}), file)
    assert bucket.etag("organized/t.parquet") == ""
    size = bucket.flush("organized/t.parquet")
    assert size > 0 and bucket.etag("organized/t.parquet")
    with bucket.input("organized/t.parquet") as file:
        assert pq.read_table(file)["id"].to_pylist() == list(range(1000))
    assert bucket.names("organized") == ["t.parquet"] and bucket.names("") == ["organized"]


def test_only_the_first_writer_creates(bucket: Bucket):
    assert bucket.create("commit", "run one")
    assert not bucket.create("commit", "run two")
    assert bucket.read_text("commit") == "run one"


def test_a_repeated_create_of_the_same_content_is_ours(bucket: Bucket):
    assert bucket.create("commit", "run one") and bucket.create("commit", "run one")


def test_a_swap_needs_the_tag_that_was_read(bucket: Bucket):
    bucket.create("commit", "one")
    tag = bucket.etag("commit")
    assert bucket.swap("commit", "two", tag)
    assert not bucket.swap("commit", "three", tag)
    assert not bucket.swap("nowhere", "four", tag)
    assert bucket.read_text("commit") == "two"


def test_the_probe_trusts_a_store_that_honours_conditions(bucket: Bucket):
    assert bucket.probe(".tidegate") and bucket.names(".tidegate") == []


def test_the_probe_sees_through_a_store_that_overwrites(bucket: Bucket, monkeypatch: pytest.MonkeyPatch):
    def overwrite(store: Bucket, path: str, text: str) -> bool:
        store.write_text(path, text)
        return True

    monkeypatch.setattr(Bucket, "create", overwrite)
    assert not bucket.probe(".tidegate")


def test_folders_are_as_old_as_their_newest_object(bucket: Bucket):
    bucket.write_text("tmp/run/part", "x")
    assert bucket.folders_older_than("tmp", 0) == ["tmp/run"]
    assert bucket.folders_older_than("tmp", 3600) == []
    bucket.delete_folder("tmp/run")
    assert bucket.names("tmp") == []


def test_a_missing_object_is_empty_and_deleting_it_is_harmless(bucket: Bucket):
    bucket.delete("nothing")
    assert (bucket.etag("nothing"), bucket.read_text("nothing")) == ("", "")


def test_a_bucket_that_is_not_there_is_a_clear_error(server: S3Server):
    missing = Bucket("s3://nowhere-at-all/x", tuple(server.options.items()), (("allow_http", "true"),))
    with pytest.raises(LakeError, match="s3://nowhere-at-all/x cannot be used"):
        missing.make_folder(".tidegate")


def test_credentials_travel_to_tasks_and_appear_nowhere(bucket: Bucket):
    travelled = pickle.loads(pickle.dumps(bucket))
    assert travelled == bucket
    assert "secret-of-tests" not in repr(bucket) and "key-of-tests" not in repr(bucket)
    assert "secret-of-tests" not in bucket.full_path("x") + bucket.place


@pytest.mark.parametrize(
    ("url", "settings", "kind"),
    [
        ("gs://company-lake/tidegate", {"skip_signature": "true"}, "GCSStore"),
        ("abfss://lake@account.dfs.core.windows.net/tidegate", {"account_key": "a2V5"}, "AzureStore"),
    ],
)
def test_addresses_of_other_clouds_are_understood(url: str, settings: dict[str, str], kind: str):
    """The store is opened; nothing is asked of it."""
    bucket = Bucket.of(url, settings)
    assert type(bucket._store).__name__ == kind and bucket.place == url
    assert "a2V5" not in repr(bucket)

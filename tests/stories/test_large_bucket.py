"""A lake of 20,000 entries in a bucket is inspected in seconds: one listing, and no entry is opened."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kit.http_faults import Faults, faulty
from kit.stores import versitygw
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.names import TableName
from tidegate.model.state import LedgerEntry

pytestmark = [pytest.mark.thorough, pytest.mark.slow]

ENTRIES = 20_000
TABLE = LakeTable(TableName("", "t"), Layout.VALUES, "cob")


def test_twenty_thousand_entries_are_inspected_in_seconds(tmp_path: Path):
    """The ledger knows all of them by their tags. They are as empty as a listing can see them."""
    faults = Faults()
    with versitygw(tmp_path) as store, faulty(store.options["endpoint"], faults) as endpoint:
        for number in range(ENTRIES):
            folder = tmp_path / "lake" / "organized" / f"cob_{number}" / f"t_cob_{number}.parquet"
            folder.mkdir(parents=True)
            (folder / "_committed.json").write_text("{}")
            (folder / "part-0001.parquet").write_text("x")
        lake = ParquetLake.at_bucket(store.url, store.options)
        listed = ParquetLake(lake.storage.listed("organized"))
        paths = {number: f"organized/cob_{number}/t_cob_{number}.parquet/_committed.json" for number in range(ENTRIES)}
        known = {
            str(number): LedgerEntry(1, "loaded", 1, "00", etag=listed._etag(path)) for number, path in paths.items()
        }
        lake = ParquetLake.at_bucket(store.url, {**store.options, "endpoint": endpoint})
        started = time.monotonic()
        found = lake.entries(TABLE, known).by_window
        seconds = time.monotonic() - started
    assert len(found) == ENTRIES and not any(entry.broken for entry in found.values())
    assert len(faults.seen) <= 2 * ENTRIES // 1000 + 1, "pages of a thousand objects, and nothing else"
    assert seconds < 60, f"{seconds:.1f} s; 7 s on a busy machine of two cores"

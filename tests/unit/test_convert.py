"""`tidegate config convert` and `get_incremental_query`: the document's files and queries in both forms."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import tidegate
from tidegate.config.convert import converted
from tidegate.config.tables_file import read_tables_file
from tidegate.errors import ConfigError

TABLES = """\
s3: {incremental_path: exports}
tables:
  - {name: settlement.settlement_claim_detail, cdc_strategy: hybrid, cdc_timestamp_column: update_at, cdc_id_column: ID}
  - {name: marketing.leads, cdc_strategy: hybrid, cdc_timestamp_column: modified_time, keys: [lead_id]}
  - {name: warehouse.products, cdc_strategy: full_sync}
  - {name: customers, cdc_strategy: full_sync, scd_type: 2, surrogate_key: customer_sk}
  - {name: prices, cdc_strategy: hybrid, scd_type: 2, cdc_id_column: price_id}
  - {name: old}
  - {name: events, cdc_strategy: id_only, cdc_id_column: event_id, load: append}
  - {name: codes, kind: static, primary_keys: [code]}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_conversion_there_and_back_says_the_same(tmp_path: Path):
    first = written(tmp_path, "tables.yml", TABLES)
    project = written(tmp_path, "tidegate.yml", converted(first))
    second = written(tmp_path, "again.yml", converted(project))
    before, after = read_tables_file(first), read_tables_file(second)
    assert dict(after.tables) == dict(before.tables)
    assert after.incremental_path == before.incremental_path == "exports"
    entries = yaml.safe_load(second.read_text())["tables"]
    assert entries[0] == {
        "name": "settlement.settlement_claim_detail",
        "cdc_strategy": "hybrid",
        "cdc_timestamp_column": "update_at",
        "cdc_id_column": "ID",
    }
    assert entries[2] == {"name": "warehouse.products", "cdc_strategy": "full_sync"}
    assert entries[3] == {
        "name": "customers",
        "cdc_strategy": "full_sync",
        "scd_type": 2,
        "surrogate_key": "customer_sk",
    }


def test_other_settings_stay_what_they_are(tmp_path: Path):
    project = written(
        tmp_path,
        "tidegate.yml",
        yaml.safe_dump(
            {"tables": {"o": {"kind": "incremental", "source_table": "s.orders", "timestamp_column": "at"}}}
        ),
    )
    [entry] = yaml.safe_load(converted(project))["tables"]
    assert entry == {"name": "s.orders", "cdc_strategy": "hybrid", "cdc_timestamp_column": "at", "target_table": "o"}


def test_pattern_has_no_other_form(tmp_path: Path):
    project = written(tmp_path, "tidegate.yml", "tables: {'sales.*': {kind: auto}}")
    with pytest.raises(ConfigError, match="is a pattern"):
        converted(project)


SEEN = SimpleNamespace(last_mysql_data_timestamp="2024-08-15 10:30:00", last_processed_id=7)


@pytest.mark.parametrize(
    ("entry", "watermark", "query"),
    [
        (
            {"name": "s.claims", "cdc_strategy": "hybrid", "cdc_timestamp_column": "update_at", "cdc_id_column": "ID"},
            SEEN,
            "SELECT * FROM `s`.`claims` WHERE (`update_at` > '2024-08-15 10:30:00') OR"
            " (`update_at` = '2024-08-15 10:30:00' AND `ID` > 7) ORDER BY `update_at`, `ID`",
        ),
        ({"name": "products", "cdc_strategy": "full_sync"}, SEEN, "SELECT * FROM `products`"),
        (
            {"name": "old"},
            None,
            "SELECT * FROM `old` WHERE `update_at` > '1970-01-01 00:00:00' ORDER BY `update_at`",
        ),
        (
            {"name": "events", "cdc_strategy": "id_only", "cdc_id_column": "n"},
            {"last_processed_id": "x' OR '1'='1"},
            "SELECT * FROM `events` WHERE `n` > 'x'' OR ''1''=''1' ORDER BY `n`",
        ),
    ],
)
def test_documented_query_of_a_strategy(entry: dict[str, Any], watermark: object, query: str):
    assert tidegate.get_incremental_query(entry, watermark) == query


def test_unknown_strategy_is_refused():
    with pytest.raises(ConfigError, match="no query"):
        tidegate.get_incremental_query({"name": "a", "cdc_strategy": "hybird"})

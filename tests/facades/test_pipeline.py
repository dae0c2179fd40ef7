"""`IncrementalSQLServerParquetPipeline` as its users type it: the morning, the analysis, recovery and single steps."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.project import database_on
from tidegate import IncrementalSQLServerParquetPipeline, RunFailed
from tidegate.errors import ConfigError, MissingObject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

MOMENT = {"postgresql": "timestamp(6)", "mysql": "datetime(6)"}
NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
DAYS = range(20240801, 20240807)
CONFIG: dict[str, Any] = {
    "partition_tables": {
        "daily_transactions": {"partition_column": "COBID", "initial_load_count": 4, "sql_server_partitioned": False}
    },
    "scd_tables": {"customer_dim": {"business_keys": ["customer_id"]}},
    "static_tables": {
        "currency_codes": {"primary_keys": ["currency_code"], "merge_strategy": "upsert"},
        "country_lookup": {"primary_keys": ["country_id"], "merge_strategy": "upsert", "allow_deletes": False},
    },
}
ALL = ["daily_transactions", "customer_dim", "currency_codes", "country_lookup"]


@dataclass
class Morning:
    """A source and a target, the folder of Parquet files, and the pipeline between them."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    folder: Path
    spark: SparkSession = field(repr=False)
    pipeline: IncrementalSQLServerParquetPipeline = field(init=False)

    def __post_init__(self) -> None:
        self.pipeline = self.new()

    def new(self, **settings: Any) -> IncrementalSQLServerParquetPipeline:
        """Return a pipeline that knows no table yet, as a new process has it."""
        return IncrementalSQLServerParquetPipeline(self.source, self.target, self.folder, spark=self.spark, **settings)

    def run(self) -> dict[str, Any]:
        return self.pipeline.run_daily_incremental_pipeline(**CONFIG)

    def do(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def rows(self, side: str, table: str) -> list[Any]:
        return sorted(sides.ask(getattr(self, side), f"SELECT * FROM {table}"), key=repr)  # noqa: S608 - our names

    def fill(self, kind: str) -> None:
        quote = '"' if kind == "postgresql" else "`"
        names = {name: f"{quote}{name}{quote}" for name in ("COBID", "LastModified", "IsLatest")}
        self.do(
            f"CREATE TABLE daily_transactions ({names['COBID']} int NOT NULL, id int NOT NULL, amount decimal(38,18))"
        )
        self.do(
            f"CREATE TABLE customer_dim (customer_id int NOT NULL, name varchar(20), {names['LastModified']}"
            f" {MOMENT[kind]} NOT NULL, {names['IsLatest']} smallint NOT NULL)"
        )
        self.do("CREATE TABLE currency_codes (currency_code varchar(3) PRIMARY KEY, name varchar(20))")
        self.do("CREATE TABLE country_lookup (country_id int PRIMARY KEY, name varchar(20))")
        for day in DAYS:
            for number in range(5):
                self.do(
                    "INSERT INTO daily_transactions VALUES (%s, %s, 12345678901234567890.123456789012345678)",
                    day,
                    number,
                )
        for customer in range(4):
            self.do("INSERT INTO customer_dim VALUES (%s, 'first', %s, 1)", customer, NOW - timedelta(days=customer))
        self.do("INSERT INTO currency_codes VALUES ('EUR', 'Euro'), ('CHF', 'Franken')")
        self.do("INSERT INTO country_lookup VALUES (1, 'Norway'), (2, 'Chad')")


@pytest.fixture(scope="module")
def mornings(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Morning]]:
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:

        def make(kind: str = "postgresql") -> Morning:
            prod, uat = (opened.enter_context(database_on(servers[kind])) for _ in range(2))
            morning = Morning(prod, uat, tmp_path_factory.mktemp("parquet"), spark)
            morning.fill(kind)
            return morning

        yield make


def test_every_documented_method_has_its_parameters():
    """The names and the order that users of the class know."""
    for line in METHODS.strip().splitlines():
        name, _, arguments = line.partition("(")
        expected = [argument.strip() for argument in arguments.rstrip(")").split(",") if argument.strip()]
        signature = inspect.signature(getattr(IncrementalSQLServerParquetPipeline, name))
        positional = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and parameter.name != "self"
        ]
        assert positional == expected, name


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_morning_of_all_table_types(mornings: Callable[[str], Morning], kind: str):
    """Status, run, validation and analysis, typed as the class is documented; then a day with news."""
    morning = mornings(kind)
    pipeline = morning.pipeline
    before = pipeline.get_pipeline_status(CONFIG)
    assert json.loads(json.dumps(before)) == before
    assert {name: status["state"] for name, status in before.items()} == dict.fromkeys(ALL, "pending")
    done = pipeline.run_daily_incremental_pipeline(**CONFIG, initial_load_days=30, partition_switch_parallel=True)
    assert done["daily_transactions"]["rows_loaded"] == 20
    assert pipeline.validate_decimal_precision(ALL) == {name: [] for name in ALL}
    assert pipeline.validate_scd_integrity(CONFIG["scd_tables"]) == {"customer_dim": []}
    for issues in pipeline.validate_static_integrity(["currency_codes", "country_lookup"]).values():
        assert not any(issues.values())
    analysis = pipeline.get_missing_data_analysis(CONFIG)
    assert json.loads(json.dumps(analysis)) == analysis
    assert analysis["daily_transactions"]["missing_in_target"] == []
    assert analysis["daily_transactions"]["values_in_parquet"] == list(DAYS)[2:]
    assert pipeline.get_last_processed_partition_value("daily_transactions", "COBID") == DAYS[-1]
    assert pipeline.get_available_partition_values("daily_transactions", "COBID", DAYS[-3]) == list(DAYS)[-2:]
    for name in CONFIG["static_tables"]:
        assert pipeline.get_table_content_hash(name) == pipeline.get_last_content_hash_from_parquet(name)
    for name in ("daily_transactions", "currency_codes", "country_lookup"):
        expected = [row for row in morning.rows("source", name) if name != "daily_transactions" or row[0] in DAYS[2:]]
        assert morning.rows("target", name) == expected
    morning.do("UPDATE currency_codes SET name = 'Swiss franc' WHERE currency_code = 'CHF'")
    assert pipeline.get_table_content_hash("currency_codes") != pipeline.get_last_content_hash_from_parquet(
        "currency_codes"
    )
    assert pipeline.get_pipeline_status(CONFIG)["currency_codes"]["state"] == "pending"
    morning.run()
    assert all(status["consistent"] for status in pipeline.get_pipeline_status(CONFIG).values())


def test_extract_first_and_load_later(mornings: Callable[[str], Morning]):
    """Nothing reaches the target before the files are loaded, and loading them twice adds nothing."""
    morning = mornings("postgresql")
    files = morning.pipeline.extract_incremental_to_parquet(CONFIG)
    assert {name: len(paths) for name, paths in files.items()} == {
        "daily_transactions": 4,
        "customer_dim": 1,
        "currency_codes": 1,
        "country_lookup": 1,
    }
    assert all(Path(path).exists() for paths in files.values() for path in paths)
    assert morning.pipeline.get_last_processed_partition_value("daily_transactions", "COBID") is None
    assert morning.pipeline.get_last_processed_partition_value_from_parquet("daily_transactions", "COBID") == DAYS[-1]
    morning.pipeline.load_incremental_from_parquet(files)
    again = morning.pipeline.load_incremental_from_parquet(files)
    assert sum(table["rows_loaded"] for table in again.values()) == 0
    assert len(morning.rows("target", "daily_transactions")) == 20
    assert len(morning.rows("target", "customer_dim")) == 4
    with pytest.raises(MissingObject, match="no file of these tables"):
        morning.pipeline.load_incremental_from_parquet([str(morning.folder / "elsewhere.parquet")])


@pytest.mark.thorough
def test_one_value_is_extracted_and_loaded_alone(mornings: Callable[[str], Morning]):
    morning = mornings("postgresql")
    tables = CONFIG["partition_tables"]
    files = morning.pipeline.extract_partition_tables_to_parquet(tables, target_partition_value=DAYS[-2])
    [path] = files["daily_transactions"]
    morning.pipeline.load_partitioned_table_from_parquet(
        path, "daily_transactions", DAYS[-2], tables["daily_transactions"]
    )
    assert {row[0] for row in morning.rows("target", "daily_transactions")} == {DAYS[-2]}


def test_backfill_adds_only_its_range(mornings: Callable[[str], Morning]):
    morning = mornings("postgresql")
    morning.run()
    morning.pipeline.backfill_partition_data(CONFIG["partition_tables"], DAYS[0], DAYS[0])
    assert sorted({row[0] for row in morning.rows("target", "daily_transactions")}) == [DAYS[0], *DAYS[2:]]
    start, end = (NOW - timedelta(days=90)).isoformat(" "), NOW.isoformat(" ")
    morning.do("INSERT INTO customer_dim VALUES (9, 'old', %s, 1)", NOW - timedelta(days=60))
    morning.pipeline.backfill_scd_data(CONFIG["scd_tables"], start, end)
    assert 9 in {row[0] for row in morning.rows("target", "customer_dim")}


def test_flags_and_static_rows_are_repaired(mornings: Callable[[str], Morning]):
    """Somebody damages the target; validation names it, and the repair brings it back."""
    morning = mornings("postgresql")
    morning.run()
    sides.do(morning.target, 'UPDATE customer_dim SET "IsLatest" = 0 WHERE customer_id = 2')
    sides.do(morning.target, "UPDATE currency_codes SET name = 'wrong' WHERE currency_code = 'EUR'")
    assert morning.pipeline.validate_scd_integrity(CONFIG["scd_tables"])["customer_dim"]
    assert morning.pipeline.validate_static_integrity(CONFIG["static_tables"])["currency_codes"]["hash_mismatch"]
    morning.pipeline.repair_scd_islatest_flags("customer_dim", ["customer_id"])
    morning.pipeline.repair_static_table("currency_codes", ["currency_code"])
    assert not any(morning.pipeline.validate_scd_integrity(CONFIG["scd_tables"]).values())
    assert morning.rows("target", "currency_codes") == morning.rows("source", "currency_codes")


@pytest.mark.thorough
def test_new_process_detects_tables(mornings: Callable[[str], Morning]):
    """A pipeline that was given no table asks the catalog."""
    morning = mornings("postgresql")
    morning.run()
    fresh = morning.new()
    assert fresh.detect_table_type("daily_transactions") == "partition"
    assert fresh.detect_partition_column("daily_transactions") == "COBID"
    assert fresh.detect_table_type("customer_dim") == "scd"
    assert fresh.detect_table_type("currency_codes") == "static"
    assert fresh.get_table_primary_keys("currency_codes") == ["currency_code"]
    assert fresh.get_last_static_state_from_parquet("currency_codes")["row_count"] == 2
    with pytest.raises(MissingObject, match="no table nowhere"):
        fresh.detect_table_type("nowhere")


@pytest.mark.thorough
def test_forced_refresh_loads_again(mornings: Callable[[str], Morning]):
    morning = mornings("postgresql")
    morning.run()
    sides.do(morning.target, "DELETE FROM currency_codes")
    morning.pipeline.force_refresh_static_tables({"currency_codes": CONFIG["static_tables"]["currency_codes"]})
    assert morning.rows("target", "currency_codes") == morning.rows("source", "currency_codes")


def test_global_settings_are_honoured(mornings: Callable[[str], Morning], caplog: pytest.LogCaptureFixture):
    """Files are compressed as asked, and a run logs the alerts."""
    import pyarrow.parquet as pq

    morning = mornings("postgresql")
    settings = {"parquet_compression": "snappy", "enable_monitoring": True, "decimal_precision_validation": True}
    pipeline = morning.new(global_settings=settings)
    tables = CONFIG["static_tables"]
    with caplog.at_level("WARNING", "IncrementalSQLServerParquetPipeline"):
        pipeline.run_daily_incremental_pipeline(static_tables=tables)
        assert caplog.text == ""
        sides.do(morning.target, "UPDATE currency_codes SET currency_code = 'XXX' WHERE currency_code = 'EUR'")
        pipeline.validate_static_integrity(["currency_codes"])
        pipeline.run_daily_incremental_pipeline(static_tables={"country_lookup": tables["country_lookup"]})
    [file] = pipeline.get_last_static_state_from_parquet("currency_codes")["files"]
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "SNAPPY"


@pytest.mark.thorough
def test_results_are_false_when_clean(mornings: Callable[[str], Morning]):
    morning = mornings("postgresql")
    morning.run()
    [clean] = morning.pipeline.validate_static_integrity(["currency_codes"]).values()
    assert not clean
    sides.do(morning.target, "DELETE FROM currency_codes")
    [wrong] = morning.pipeline.validate_static_integrity(["currency_codes"]).values()
    assert wrong
    assert json.loads(json.dumps(wrong))["row_count_mismatch"] is True


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"partition_table": {}}, "Did you mean `partition_tables`"),
        ({"static_tables": {"t": {"primary_key": ["a"]}}}, "Did you mean `primary_keys`"),
        ({"partition_tables": {"t": {"partition_column": "c", "partition_switching": {"enable": 1}}}}, "`enabled`"),
        ({"static_tables": {"t": {}}, "scd_tables": {"t": {}}}, "two sections"),
    ],
)
def test_wrong_keys_name_the_right_one(mornings: Callable[[str], Morning], config: dict[str, Any], why: str):
    with pytest.raises(ConfigError, match=why):
        mornings("postgresql").pipeline.get_pipeline_status(config)


@pytest.mark.thorough
def test_failed_table_raises_after_the_others(mornings: Callable[[str], Morning]):
    morning = mornings("postgresql")
    morning.do("DROP TABLE country_lookup")
    with pytest.raises(RunFailed, match="country_lookup"):
        morning.run()
    assert len(morning.rows("target", "daily_transactions")) == 20
    tolerant = morning.new(global_settings={"error_threshold": 0.5, "log_level": "INFO"})
    tolerant.run_daily_incremental_pipeline(**CONFIG)


METHODS = """
run_daily_incremental_pipeline(partition_tables, scd_tables, static_tables)
extract_incremental_to_parquet(table_config)
load_incremental_from_parquet(parquet_files, target_schema)
detect_table_type(table_name)
get_table_business_keys(table_name)
detect_partition_column(table_name)
get_table_primary_keys(table_name)
extract_partition_tables_to_parquet(table_config, target_partition_value)
get_last_processed_partition_value(table_name, partition_column)
get_available_partition_values(table_name, partition_column, start_value)
load_partitioned_table_from_parquet(parquet_file, table_name, partition_value, table_config, schema)
extract_scd_tables_to_parquet(table_config, target_timestamp)
get_last_processed_timestamp(table_name)
load_scd_from_parquet(parquet_files, table_config, target_schema)
update_islatest_flags(table_name, business_keys, target_schema)
extract_static_tables_to_parquet(table_config, force_extract)
get_table_content_hash(table_name)
get_last_content_hash_from_parquet(table_name)
load_static_from_parquet(parquet_files, table_config, target_schema)
merge_static_table(table_name, primary_keys, merge_strategy, target_schema)
get_last_processed_partition_value_from_parquet(table_name, partition_column)
get_last_processed_partition_value_from_target_db(table_name, partition_column)
get_last_processed_timestamp_from_parquet(table_name)
get_last_processed_timestamp_from_target_db(table_name)
get_last_static_state_from_parquet(table_name)
get_static_state_from_target_db(table_name)
get_missing_data_analysis(table_config)
get_pipeline_status(table_config)
validate_decimal_precision(tables)
validate_scd_integrity(scd_tables)
validate_static_integrity(static_tables)
backfill_partition_data(table_config, start_value, end_value)
backfill_scd_data(table_config, start_date, end_date)
force_refresh_static_tables(table_config)
repair_scd_islatest_flags(table_name, business_keys)
repair_static_table(table_name, primary_keys, target_schema)
"""

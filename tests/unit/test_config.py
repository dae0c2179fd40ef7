"""Read `tidegate.yml`, or the same settings in Python, into a project; and the errors of that."""

from __future__ import annotations

import datetime
import os
import pickle
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from tidegate.changes.partition import PartitionSettings, Values
from tidegate.config import Project, Retain, TableSettings, document, load_project
from tidegate.config.project import Lake
from tidegate.config.tables import setting_names, table_model
from tidegate.errors import ConfigError, TidegateError, Unsupported
from tidegate.loads.replace_partition import ReplacePartitionSettings
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.settings import CreateSettings

ENVIRON = {
    "PROD_URL": "postgresql://reader:hunter2@prod.example.com/sales",
    "UAT_URL": "postgresql://writer:hunter3@uat.example.com/sales",
    "TEN": "10",
}
HEAD = "source: ${PROD_URL}\ntarget: ${UAT_URL}\nlake: ./parquet_data\n"
TABLES = "tables:\n  daily: {kind: partition, partition_column: COBID}\n"


def top(line: str) -> str:
    """A file with one more setting, in line 4; its table is in line 6."""
    return f"{HEAD}{line}\n{TABLES}"


def own(setting: str) -> str:
    """A file whose table, in line 5, has one more setting."""
    return HEAD + TABLES.replace("}", f", {setting}}}")


def tables(own: str) -> str:
    return f"{HEAD}tables:\n  daily: {own}\n"


def source(text: str) -> str:
    return HEAD.replace("${PROD_URL}", text) + TABLES


def column(text: str) -> str:
    return HEAD + TABLES.replace("COBID", text)


def kind(text: str) -> str:
    return HEAD + TABLES.replace("kind: partition", f"kind: {text}")


def lake(text: str) -> str:
    return HEAD.replace("./parquet_data", text) + TABLES


def target(text: str) -> str:
    return HEAD.replace("${UAT_URL}", text) + TABLES


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def loader(request, monkeypatch):
    """libyaml where it is there, PyYAML's own parser elsewhere: both must do."""
    monkeypatch.setattr(document, "_LOADER", getattr(yaml, request.param))


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load(text: str | bytes, environ: dict[str, str] = ENVIRON) -> Project:
        Path("tidegate.yml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_project(Path("tidegate.yml"), environ)

    return load


@pytest.fixture
def refused(load):
    def refused(text: str | bytes, error: type[TidegateError] = ConfigError) -> TidegateError:
        with pytest.raises(error) as refusal:
            load(text)
        assert refusal.value.safe == "Nothing was read or written."
        assert refusal.value.remedy
        assert "hunter" not in str(refusal.value)
        return refusal.value

    return refused


def mapping(**changes: object) -> dict[str, object]:
    whole = {"source": ENVIRON["PROD_URL"], "target": ENVIRON["UAT_URL"], "lake": "lake"}
    return {**whole, "tables": {"daily": {"kind": "partition", "partition_column": "COBID"}}, **changes}


def table(**settings: object) -> TableSettings:
    tables = {"daily": {"kind": "partition", "partition_column": "COBID", **settings}}
    return Project.from_mapping(mapping(tables=tables), environ=ENVIRON).tables["daily"]


def test_a_short_file_has_every_default(load, tmp_path):
    project = load(HEAD + TABLES)

    assert project.source == Connection("postgresql", "prod.example.com", 5432, "sales", "reader", "hunter2")
    assert project.target == Connection("postgresql", "uat.example.com", 5432, "sales", "writer", "hunter3")
    assert (project.lake.format, project.lake.path) == ("parquet", tmp_path / "parquet_data")
    assert project.protected == ()
    assert (project.spark.master, project.spark.remote, project.spark.options) == (None, None, {})
    assert (project.batch_rows, project.batch_bytes) == (10_000, 16 * 1024 * 1024)
    assert (project.max_connections, project.query_timeout, project.error_threshold) == (4, 300, 0.0)
    assert list(project.tables) == ["daily"]


def test_a_short_table_has_every_default():
    made = table()

    assert isinstance(made, PartitionSettings)
    assert isinstance(made, ReplacePartitionSettings)
    assert {name: getattr(made, name) for name in type(made).model_fields} == {
        "name": "daily",
        "kind": "partition",
        "decided": "",
        "shows_values": False,
        "invalid_values": None,
        "target": "database",
        "lake_partition": "identity",
        "changes": None,
        "load": None,
        "check": None,
        "partition_column": "COBID",
        "source_table": TableName("", "daily"),
        "target_table": TableName("", "daily"),
        "initial_load_count": 10,
        "look_back": 5,
        "hold_back": 0,
        "ready_query": None,
        "values": Values(),
        "restatement": "count",
        "restatement_column": None,
        "retain": Retain(),
        "on_target_change": "report",
        "max_apply_rows": None,
        "proof": "hash",
        "keys": None,
        "checks": (),
        "columns": {},
        "only_columns": None,
        "where": None,
        "create": CreateSettings(),
        "triggers": "fire",
        "batch_rows": 10_000,
        "batch_bytes": 16_777_216,
        "distribution": None,
        "sort_keys": None,
        "split_rows": 500_000,
        "lake_table": None,
        "transform": None,
    }


def test_a_long_file_says_everything(load):
    project = load(
        HEAD
        + """
protected: ["*prod*", live]
spark: {master: "local[2]", remote: null, options: {spark.executor.memory: 2g, spark.ui.enabled: false}}
batch_rows: 500
batch_bytes: 64 MiB
max_connections: 2
query_timeout: null
error_threshold: 0.25
defaults: {look_back: 3, partition_column: COBID, kind: partition}
tables:
  sales.daily:
    target_table: '"odd.schema"."odd ""table"'
    initial_load_count: ${TEN}
    look_back: 0
    hold_back: 1
    ready_query: TABLE days_done -- $${x}
    values:
      from: 00123
      to: 2024-01-01
      exclude: [0, -1, 99991231, 1_0, 0x1F, 1.50, "yes", no, 2024-01-01 10:00:00]
    restatement: hash
    restatement_column: LoadId
    retain: {target: 30, lake: 400}
    on_target_change: restore
    proof: count
    keys: [id, no, "1"]
    columns: {on: text, 12: text, ~: text}
    batch_rows: 7
    batch_bytes: 1KB
  monthly: {partition_column: yes}
"""
    )
    daily, monthly = project.tables["sales.daily"], project.tables["monthly"]

    assert project.protected == ("*prod*", "live")
    assert project.spark.master == "local[2]"
    assert project.spark.options == {"spark.executor.memory": "2g", "spark.ui.enabled": "false"}
    assert (project.batch_rows, project.batch_bytes, project.max_connections) == (500, 67_108_864, 2)
    assert (project.query_timeout, project.error_threshold) == (None, 0.25)
    assert daily.source_table == TableName("sales", "daily")
    assert daily.target_table == TableName("odd.schema", 'odd "table')
    assert (daily.initial_load_count, daily.look_back, daily.hold_back) == (10, 0, 1)
    assert daily.ready_query == "TABLE days_done -- ${x}"
    assert (daily.values.from_, daily.values.to) == ("00123", "2024-01-01")
    assert " ".join(daily.values.exclude) == "0 -1 99991231 1_0 0x1F 1.50 yes no 2024-01-01 10:00:00"
    assert (daily.restatement, daily.restatement_column) == ("hash", "LoadId")
    assert (daily.retain.target, daily.retain.lake) == (30, 400)
    assert (daily.on_target_change, daily.proof) == ("restore", "count")
    assert daily.keys == ("id", "no", "1")
    assert {name: own.type for name, own in daily.columns.items()} == {"on": "text", "12": "text", "~": "text"}
    assert (daily.batch_rows, daily.batch_bytes) == (7, 1000)
    assert (monthly.name, monthly.look_back, monthly.partition_column) == ("monthly", 3, "yes")
    assert (monthly.batch_rows, monthly.batch_bytes) == (500, 67_108_864)


def test_an_unknown_key_names_the_nearest_right_one(refused):
    table = "  daily_transactions:\n    kind: partition\n    partiton_column: COBID\n"
    error = refused(f"{HEAD}tables:\n{table}")

    assert str(error) == (
        "tidegate.yml:7: `partiton_column` is not a setting of tables.daily_transactions.\n"
        "Nothing was read or written.\n"
        "Did you mean `partition_column`? Settings here: batch_bytes, batch_rows, changes, check, checks, columns, "
        "create, "
        "distribution, hold_back, initial_load_count, invalid_values, keys, kind, lake_partition, lake_table, load, "
        "look_back, "
        "max_apply_rows, on_target_change, "
        "only_columns, partition_column, proof, ready_query, restatement, restatement_column, retain, sort_keys, "
        "source_table, split_rows, target, target_table, transform, triggers, values, where."
    )


# Changes and loads


@pytest.mark.parametrize(
    ("setting", "happened", "remedy"),
    [
        (
            "changes: magic",
            "`magic` is not among the changes that are installed here.",
            "Installed: cdc, ",
        ),
        (
            "load: magic",
            "`magic` is not among the loads that are installed here.",
            "Installed: append, apply_changes, lake_merge, lake_scd2, merge, replace, replace_partition, scd2",
        ),
        (
            "load: scd2",
            "`load: scd2` does not fit `changes: partition`.",
            "Loads that fit: replace_partition, switch_partition.",
        ),
        (
            "changes: cursor",
            "`load: replace_partition` does not fit `changes: cursor`.",
            "Loads that fit: scd2.",
        ),
        (
            "changes: content_hash, load: scd2",
            "`load: scd2` does not fit `changes: content_hash`.",
            "Loads that fit: merge, replace.",
        ),
    ],
)
def test_change_or_load_that_does_not_fit_is_refused(refused, setting: str, happened: str, remedy: str):
    """The error names the line, and what is installed or fits."""
    error = refused(own(setting), Unsupported)
    assert error.happened == f"tidegate.yml:5: {happened}"
    assert error.remedy.startswith(remedy)


def test_unknown_change_names_its_own_line(refused):
    """The error names the line of `changes`, also when the table has a `load`."""
    text = f"{HEAD}tables:\n  daily:\n    kind: static\n    changes: magic\n    load: replace\n"
    assert refused(text, Unsupported).happened.startswith("tidegate.yml:7: `magic` is not among the changes")


def test_settings_are_those_of_change_and_load(load, refused):
    """A table has the settings of its own change and load. Those of another load are unknown to it."""
    text = f"{HEAD}tables:\n  rates: {{kind: static, load: replace, hash_columns: [rate]}}\n"
    rates = load(text).tables["rates"]

    assert (rates.change_name, rates.load_name, rates.hash_columns) == ("content_hash", "replace", ("rate",))
    error = refused(text.replace("hash_columns: [rate]", "allow_deletes: true"))
    assert error.happened == "tidegate.yml:5: `allow_deletes` is not a setting of tables.rates."


def test_defaults_may_hold_settings_of_every_table(load):
    """A default counts for the tables whose change or load has this setting, and for no other."""
    text = f"{HEAD}defaults: {{proof: count, allow_deletes: true}}\n{TABLES}  rates: {{kind: static}}\n"
    daily, rates = load(text).tables.values()

    assert (daily.proof, rates.allow_deletes) == ("count", True)
    assert not hasattr(daily, "allow_deletes")
    assert not hasattr(rates, "proof")


def test_setting_names_are_those_of_all_parts():
    """The names come from what every table has, from every change and from every load."""
    names = {"retain", "partition_column", "cursor_column", "hash_columns", "proof", "merge_strategy", "business_keys"}
    assert names <= setting_names()
    assert "name" not in setting_names()


@pytest.mark.parametrize("kind", ["partition", "scd2", "static"])
def test_every_kind_may_keep_fewer_entries_in_the_lake(load, kind: str):
    """`retain: {lake: N}` is a setting of every kind of table."""
    column = ", partition_column: COBID" if kind == "partition" else ""
    made = load(f"{HEAD}tables:\n  daily: {{kind: {kind}, retain: {{lake: 3}}{column}}}\n").tables["daily"]
    assert made.retain == Retain(lake=3)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("kind: static", "the target is compared with the whole source, and rows that were removed would come back"),
        ("kind: scd2", "without its older versions the target would tell the past of a key wrongly"),
        (
            "kind: incremental, timestamp_column: updated_at, id_column: id",
            "a row stays in its table however long ago it changed",
        ),
        ("kind: incremental, changes: full", "every window is the whole table"),
        ("kind: incremental, changes: cdc", "a change feed tells when a row leaves"),
    ],
)
def test_retention_in_the_target_is_refused_with_its_reason(refused, table: str, why: str):
    error = refused(f"{HEAD}tables:\n  daily: {{{table}, retain: {{target: 3}}}}\n")
    assert "has `retain: {target: ...}`, which makes no sense with `changes: " in error.happened
    assert why in error.happened


# Former names


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("mark_column: LastModified", "`mark_column` is now called `cursor_column`."),
        ("latest_value: Y", "`latest_value` is now called `current_value`."),
        ("outside: [valid_to]", "`outside` is now called `ignore_columns`."),
        ("versions: made", "`versions: made` is now called `history: generate`."),
        ("versions: source", "`versions: source` is now called `history: source`."),
        ("versions: mine", "`versions` is now called `history`."),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}tables:\n  customers: {{kind: scd2, OLD}}\n",
        f"{HEAD}defaults:\n  OLD\ntables: {{customers: {{kind: scd2}}}}\n",
    ],
    ids=["in a table", "in the defaults"],
)
def test_former_name_of_a_setting_gives_the_name_now(refused, text: str, before: str, now: str):
    error = refused(text.replace("OLD", before))
    assert (error.happened, error.remedy) == (f"tidegate.yml:5: {now}", "Rename it.")


def test_former_name_elsewhere_is_an_unknown_key(refused):
    """A partition table never had `mark_column`."""
    error = refused(own("mark_column: x"))
    assert error.happened == "tidegate.yml:5: `mark_column` is not a setting of tables.daily."


@pytest.mark.parametrize(
    ("text", "happened", "remedy"),
    [
        # keys that are not settings
        (top("lakes: x"), "4: `lakes` is not a setting of the project.", "Did you mean `lake`?"),
        (top("xyzzy: x"), "4: `xyzzy` is not a setting of the project.", "Take it out. Settings here: b"),
        (top("spark: {Master: x}"), "4: `Master` is not a setting of spark.", "Did you mean `master`?"),
        (top("defaults: {lookback: 1}"), "4: `lookback` is not a setting of defaults.", "Did you mean `loo"),
        (top("defaults: {source_table: a}"), "4: `source_table` is not a setting of defaults.", ""),
        (own("name: x"), "5: `name` is not a setting of tables.daily.", ""),
        (
            own("values: {form: 1}"),
            "5: `form` is not a setting of tables.daily.values.",
            "Did you mean `from`? Settings here: exclude, from, nulls, to.",
        ),
        # settings that are missing
        (HEAD.replace("lake: ./parquet_data\n", "") + TABLES, "1: `lake` is missing.", "Add `lake`."),
        (HEAD.replace("source: ${PROD_URL}\n", "") + TABLES, "1: `source` is missing.", "Add `source`."),
        (target(""), "2: `target` is missing.", "Add `target`."),
        (HEAD, "1: `tables` is missing.", "Add `tables`."),
        (HEAD + "tables:\n", "4: `tables` is missing.", "Add `tables`."),
        (HEAD + "tables: {}\n", "4: `tables` must not be empty.", ""),
        (tables("{kind: partition}"), "5: `tables.daily.partition_column` is missing.", "Add `part"),
        (tables("{kind: partition, }"), "5: `tables.daily.partition_column` is missing.", "Add `part"),
        # values of the wrong type or size
        (HEAD + "tables: [daily]\n", "4: `tables` must be a mapping, as in {name: value}.", ""),
        (tables("yes"), "5: `tables.daily` must be a mapping.", "Write {kind: partition, ...}."),
        (top("batch_rows: lots"), "4: `batch_rows` must be a whole number; it is `lots`.", ""),
        (top("batch_rows: true"), "4: `batch_rows` must be a whole number; it is `true`.", ""),
        (top("batch_rows: 1.5"), "4: `batch_rows` must be a whole number; it is `1.5`.", ""),
        (top("batch_rows: 0"), "4: `batch_rows` must be 1 or more; it is `0`.", ""),
        (top("batch_bytes: 16 M"), "4: `batch_bytes` must be a number of bytes, as in", ""),
        (top("max_connections: 0"), "4: `max_connections` must be 1 or more; it is `0`.", ""),
        (top("query_timeout: 0"), "4: `query_timeout` must be 1 or more; it is `0`.", ""),
        (top("error_threshold: 2"), "4: `error_threshold` must be 1 or less; it is `2`.", ""),
        (top("error_threshold: 1%"), "4: `error_threshold` must be a number; it is `1%`.", ""),
        (top("error_threshold: nan"), "4: `error_threshold` must be", ""),
        (top("error_threshold: true"), "4: `error_threshold` must be a number from 0 to 1", ""),
        (top("protected: '*prod*'"), "4: `protected` must be a list, as in [a, b]; it is `*prod*`.", ""),
        (top("protected:\n- a\n- ''"), "6: `protected.1` must not be empty", ""),
        (top("spark: local"), "4: `spark` must be a mapping, as in {setting: value}; it is `local`.", ""),
        (top("spark: {options: {spark.x: [1]}}"), "4: `spark.options.spark.x` must be a text", ""),
        (top("spark: {master: a, remote: b}"), "4: `spark` must have `master` or `remote`, not both.", ""),
        (
            top("spark: {from_rows: 0}"),
            "4: `spark` has `from_rows`, which is no setting any more: Spark moves all rows.",
            "Take `from_rows` out. Write `engine: process` to move rows without Spark.",
        ),
        (top("engine: threads"), "4: `engine.name` must be `spark` or `process`", ""),
        (top("engine: {warm: yes}"), "4: `engine.warm` must be `use`, `auto` or `never`; it is `yes`.", ""),
        (
            top("engine: {name: process, warm: auto}"),
            "4: `engine` must not have `warm` or `idle` with `name: process`, which starts no Spark.",
            "",
        ),
        (
            top("engine: process\nspark: {master: local}"),
            "5: `spark` has a master or a remote, which `engine: process` does not use.",
            "Keep one of them.",
        ),
        (top("defaults: 5"), "4: `defaults` must be a mapping, as in {name: value}; it is `5`.", ""),
        (top("defaults:\n  look_back: -1"), "5: `defaults.look_back` must be 0 or more; it is `-1`.", ""),
        (column("true"), "5: `tables.daily.partition_column` must be a text; numbers", ""),
        (column("[a]"), "5: `tables.daily.partition_column` must be a text; numbers", ""),
        (
            own("on_target_change: restor"),
            "5: `tables.daily.on_target_change` must be `report`, `restore` or `keep`; it is `restor`.",
            "",
        ),
        (own("proof: sample"), "5: `tables.daily.proof` must be `hash` or `count`", ""),
        (own("restatement: max"), "5: `tables.daily.restatement` must be `count` or", ""),
        (own("columns: {a: int}"), "5: `tables.daily.columns.a.type` must be `text`, or a type", ""),
        (own("keys: []"), "5: `tables.daily.keys` must not be empty", ""),
        (own("keys: id"), "5: `tables.daily.keys` must be a list, as in [a, b]", ""),
        (own("retain: {lake: 0}"), "5: `tables.daily.retain.lake` must be 1 or more", ""),
        (own("values: {from: [1]}"), "5: `tables.daily.values.from` must be a number, a", ""),
        (own("values: {from: 9, to: 8}"), "5: `tables.daily.values` must", ""),
        (own("source_table: a.b.c"), "5: `tables.daily.source_table` must be a table's", ""),
        (HEAD + TABLES.replace("daily", "a..b"), "5: `tables.a..b` must be a table's name", ""),
        (own("kind: partition"), "5: `tables.daily.kind` is there twice, first on line 5.", ""),
        (kind("part"), "5: `tables.daily.kind` is `part`, which is no kind", ""),
        # secrets and connections
        (source("${DEV_URL}"), "1: `source` needs the environment variable DEV_URL, which is not", "Export"),
        (column("'${NO}'"), "5: `tables.daily.partition_column` needs the environment", ""),
        (target("[a]"), "2: `target` must be a URL or a `key=value` text.", ""),
        (target("postgresql://u:hunter@h"), "2: `target` names no database.", "Add it: p"),
        # targets that must not be written
        (
            target("host=PROD.example.com dbname=sales user=x"),
            "4: `tables` would load daily into a source; `target` is the same database as `source`: "
            "postgresql://x@PROD.example.com:5432/sales.",
            "Name another target, or load into another schema",
        ),
        (top("protected: ['UAT.*']"), "2: `target` is protected by the pattern `UAT.*`: postgresql", "Name"),
        (top("protected: [sales]"), "2: `target` is protected by the pattern `sales`", ""),
        (top("protected: ['uat*/s*']"), "2: `target` is protected by the pattern `uat*/s*`", ""),
        (
            target("postgresql://u@127.0.0.1/copy").replace("tables:", "protected: [localhost]\ntables:"),
            "2: `target` is protected by the pattern `localhost`",
            "",
        ),
        # two writers of one table
        (
            HEAD + TABLES + "  other: {kind: partition, partition_column: c, target_table: dbo.daily}\n",
            "4: `tables` must have one writer per target table: daily and other both load dbo.daily.",
            "",
        ),
    ],
)  # fmt: skip
def test_error_names_the_line(refused, text, happened, remedy):
    error = refused(text)

    assert error.happened.startswith(f"tidegate.yml:{happened}")
    assert "\n" not in error.happened
    assert error.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("text", "happened"),
    [
        ("", "tidegate.yml:1: the file is empty."),
        ("# only a comment\n", "tidegate.yml:1: the file is empty."),
        ("just text", "tidegate.yml:1: the file holds a single value or a list, not settings."),
        ("- a\n- b\n", "tidegate.yml:1: the file holds a single value or a list, not settings."),
        ("source: a\ntarget: [1,\n", "tidegate.yml:3: this is not YAML: while parsing a flow"),
        ("source: a\n\ttarget: b\n", "tidegate.yml:2: this is not YAML: "),
        ("source: a: b\n", "tidegate.yml:1: this is not YAML: mapping values are not allowed"),
        ("source: {a: ${B}}\n", "tidegate.yml:1: this is not YAML: "),
        ("source: a\n---\nsource: b\n", "tidegate.yml:2: this is not YAML: expected a single document"),
        ("source: *nowhere\n", "tidegate.yml:1: this is not YAML: found undefined alias"),
        ("source: a\nlake: \x07\n", "tidegate.yml:2: this is not YAML: a control character."),
        (b"source: a\nlake: \xff\n", "tidegate.yml:2: the file is not UTF-8 text."),
        (top("spark: !!python/name:os.system x"), "tidegate.yml:4: `spark` has the tag tag:yaml.org"),
        (top("spark: !vault x"), "tidegate.yml:4: `spark` has the tag !vault."),
        (top("spark: &me\n  options: *me"), "tidegate.yml:5: `spark.options` refers to itself."),
        (top("spark: {? [a] : b}"), "tidegate.yml:4: `spark` has a key that is not a text."),
        (top("spark: {<<: 5}"), "tidegate.yml:4: `spark` has a `<<` that does not refer to a mapping."),
        (top("? [a]\n: b"), "tidegate.yml:1: The file has a key that is not a text."),
        (own("kind: [a]").replace("kind: partition, ", ""), "tidegate.yml:5: `tables.daily.kind` is `['a']`"),
        (top("lake: x"), "tidegate.yml:4: `lake` is there twice, first on line 3."),
    ],
)  # fmt: skip
def test_file_without_settings_names_the_line(refused, text, happened):
    assert refused(text).happened.startswith(happened)


@pytest.mark.parametrize(
    ("text", "happened"),
    [
        (lake("ftp://host/x"), "3: `lake.path` starts with `ftp:`. Known are local paths and"),
        (lake("{path: 'hdfs://n/x'}"), "3: `lake.path` starts with `hdfs:`. Known are"),
        (
            lake("{format: hudi, path: x}"),
            "3: `lake.format` asks for `hudi`, which is not installed; installed: `",
        ),
    ],
)  # fmt: skip
def test_what_is_yet_to_come_is_refused_by_name(refused, text, happened):
    assert refused(text, Unsupported).happened.startswith(f"tidegate.yml:{happened}")


def test_error_lists_problems_in_order_of_lines(refused):
    table = TABLES.replace("}", ", look_back: -1, proof: x}")
    error = refused(HEAD.replace("UAT", "NO") + "lakes: x\n" + table)

    assert str(error) == (
        "tidegate.yml:2: `target` needs the environment variable NO_URL, which is not set. "
        "Export NO_URL, or write `${NO_URL:-default}`. A `.env` file is not read.\n"
        "tidegate.yml:4: `lakes` is not a setting of the project. Did you mean `lake`?\n"
        "tidegate.yml:6: `tables.daily.proof` must be `hash` or `count`; it is `x`. Correct the value.\n"
        "tidegate.yml:6: `tables.daily.look_back` must be 0 or more; it is `-1`. Correct the value.\n"
        "Nothing was read or written.\n"
        "Correct these 4 places."
    )


def test_error_lists_the_first_five_problems(refused):
    error = refused(HEAD + TABLES + "".join(f"key{number}: x\n" for number in range(8)))

    assert error.happened.count("is not a setting of the project") == 5
    assert error.happened.endswith("\n... and 3 more.")
    assert error.remedy == "Correct these 8 places."


def test_error_in_a_default_is_reported_once(refused):
    two_tables = TABLES + "  other: {kind: partition, partition_column: c}\n"

    assert refused(HEAD + "batch_rows: 0\n" + two_tables).happened.count("\n") == 0
    assert refused(HEAD + "defaults: {look_back: x}\n" + two_tables).happened.count("\n") == 0


def test_a_missing_file_suggests_init(tmp_path):
    with pytest.raises(ConfigError) as refusal:
        load_project(tmp_path / "tidegate.yml")

    assert str(refusal.value) == (
        f"{tmp_path}/tidegate.yml does not exist.\n"
        "Nothing was read or written.\n"
        "Run `tidegate init` to write it, or go to the folder that has it."
    )


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_project(tmp_path)


def test_anchors_and_merges_keep_the_right_lines(load, refused):
    text = HEAD + (
        "tables:\n"
        "  a: &a {kind: partition, partition_column: c, look_back: 1}\n"
        "  b: {<<: *a, look_back: 2}\n"
        "  d: {look_back: 3, <<: [{hold_back: 1}, *a, {hold_back: 9}]}\n"
    )
    tables = load(text).tables

    assert [tables[name].look_back for name in "abd"] == [1, 2, 3]
    assert [tables[name].hold_back for name in "abd"] == [0, 0, 1]
    error = refused(text.replace("look_back: 2", "look_back: x"))
    assert error.happened.startswith("tidegate.yml:6: `tables.b.look_back` must")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(load):
    text = (HEAD + TABLES).replace("\n", "\r\n")

    assert load(b"\xef\xbb\xbf" + text.encode()).tables["daily"].name == "daily"


@pytest.mark.parametrize(
    ("written", "settings"),
    [
        ("spark:", ("spark", "use", 1800)),
        ("engine: process", ("process", "use", 1800)),
        ("engine: spark", ("spark", "use", 1800)),
        ("engine: {warm: auto, idle: 30m}", ("spark", "auto", 1800)),
        ("engine: {warm: never}", ("spark", "never", 1800)),
        ("engine: {idle: 2 hours}", ("spark", "use", 7200)),
        ("engine: {idle: 90s}", ("spark", "use", 90)),
    ],
)
def test_engine_is_spark_unless_written(load, written, settings):
    engine = load(top(written)).engine
    assert (engine.name, engine.warm, engine.idle) == settings


def test_idle_time_of_milliseconds_is_refused(refused):
    """`5ms` is not five minutes."""
    assert "`engine.idle` must be a number of seconds" in refused(top("engine: {idle: 5ms}")).happened


def test_caller_replaces_the_engine(tmp_path):
    """A master in the file gives way to `process`."""
    path = tmp_path / "tidegate.yml"
    path.write_text(top("spark: {master: local, options: {spark.ui.port: 4050}}"))
    project = load_project(path, ENVIRON, engine="process")
    assert (project.engine.name, project.spark.master) == ("process", None)
    assert project.spark.options == {"spark.ui.port": "4050"}


def test_an_empty_value_keeps_the_default(load):
    project = load(own("values: , keys: ") + "protected:\nspark:\ndefaults:\nbatch_rows:\n")

    assert (project.protected, project.spark.master, project.batch_rows) == ((), None, 10_000)
    assert (project.tables["daily"].keys, project.tables["daily"].values.exclude) == (None, ())


@pytest.mark.parametrize(
    ("lake", "path"),
    [
        ("data", "/project/data"),
        ("./data", "/project/data"),
        ("/mnt/lake", "/mnt/lake"),
        (Path("data"), "/project/data"),
        ({"path": "data"}, "/project/data"),
        ({"format": "parquet", "path": Path("/mnt/lake")}, "/mnt/lake"),
        ("${TEN}/data", "/project/10/data"),
        ("~/data", os.path.expanduser("~/data")),
    ],
)
def test_the_lake_starts_at_the_folder(lake, path):
    project = Project.from_mapping(mapping(lake=lake), folder=Path("/project"), environ=ENVIRON)

    assert project.lake.path == Path(path)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, 1),
        ("1048576", 1_048_576),
        ("16MB", 16_000_000),
        ("16 mb", 16_000_000),
        ("64 MiB", 67_108_864),
        ("1.5 KiB", 1536),
        ("2GB", 2_000_000_000),
        ("1GiB", 1_073_741_824),
        ("512 B", 512),
    ],
)
def test_sizes(size, expected):
    assert table(batch_bytes=size).batch_bytes == expected


@pytest.mark.parametrize("size", [0, -1, "", "MB", "16 TB", "16 megabytes", "1,5 MB", True, None, [1], 0.5])
def test_sizes_that_are_refused(size):
    if size is None:
        assert table(batch_bytes=size).batch_bytes == 16_777_216
        return
    with pytest.raises(ConfigError, match="batch_bytes"):
        table(batch_bytes=size)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (20240101, "20240101"),
        ("00123", "00123"),
        ("", ""),
        (datetime.date(2024, 1, 1), "2024-01-01"),
        (datetime.datetime(2024, 1, 1, 10), "2024-01-01 10:00:00"),
        (Decimal("1.50"), "1.50"),
    ],
)
def test_values_from_python_are_kept_as_text(value, text):
    assert table(values={"from": value, "exclude": [value]}).values.from_ == text
    assert table(values={"exclude": (value,)}).values.exclude == (text,)


@pytest.mark.parametrize("value", [True, 1.5, b"1", ["1"], {"a": 1}])
def test_values_from_python_that_are_no_scalars_are_refused(value):
    with pytest.raises(ConfigError, match="must be a number, a date or a text"):
        table(values={"from": value})


@pytest.mark.parametrize(
    ("first", "last", "fits"),
    [
        (1, 2, True),
        (2, 2, True),
        (9, 10, True),
        (10, 9, False),
        (-1, -2, False),
        ("2024-01-01", "2023-12-31", False),
        ("2024-01-01", "2024-01-02", True),
        ("b", "a", True),  # the order of texts is the server's
        ("2024-01-01", 20231231, True),
        (5, None, True),
    ],
)
def test_a_range_goes_upwards_where_the_order_is_known(first, last, fits):
    if fits:
        assert table(values={"from": first, "to": last}).values.from_ == str(first)
    else:
        with pytest.raises(ConfigError, match=r"`tables\.daily\.values` must go upwards"):
            table(values={"from": first, "to": last})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", TableName("", "orders")),
        ("sales.orders", TableName("sales", "orders")),
        ('"odd.schema"."odd ""table"', TableName("odd.schema", 'odd "table')),
        ('sales."a b"', TableName("sales", "a b")),
        (TableName("sales", "orders"), TableName("sales", "orders")),
    ],
)
def test_table_names(text, name):
    assert table(source_table=text).source_table == name
    assert table(source_table=text).target_table == TableName("", "daily")


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", '"a', '""', 'a.""', '"".a', "a.b.c", 5, ["a"]])
def test_table_names_that_are_refused(text):
    if text == "":
        assert table(source_table=text).source_table == TableName("", "daily")
        return
    with pytest.raises(ConfigError, match=r"`tables\.daily\.source_table` must"):
        table(source_table=text)


def test_settings_in_python_give_the_same_errors_without_line():
    with pytest.raises(ConfigError) as refusal:
        table(partiton_column="COBID")

    assert refusal.value.happened == "`partiton_column` is not a setting of tables.daily."
    assert refusal.value.remedy.startswith("Did you mean `partition_column`? Settings here: ")


def test_python_settings_may_hold_connections_and_variables():
    source = Connection("postgresql", "h", 5432, "db", "u", "hunter2")
    project = Project.from_mapping(mapping(source=source, target="${UAT_URL}"), environ=ENVIRON)

    assert project.source is source
    assert project.target.password == "hunter3"


@pytest.mark.parametrize("settings", [None, [], "text"])
def test_settings_that_are_no_mapping_are_refused(settings):
    with pytest.raises(ConfigError, match="not a mapping"):
        Project.from_mapping(settings)


def test_the_project_hides_secrets_and_knows_them():
    options = {"spark.hadoop.fs.s3a.secret.key": "hunter4", "spark.ui.port": 4050}
    project = Project.from_mapping(mapping(spark={"options": options}), environ=ENVIRON)

    assert "hunter" not in repr(project) + str(project)
    assert project.spark.options["spark.ui.port"] == "4050"
    assert project.redactor().redact("hunter2 hunter3 hunter4 4050") == "*** *** *** 4050"


def test_settings_are_frozen_and_can_be_pickled():
    project = Project.from_mapping(mapping(), environ=ENVIRON)

    with pytest.raises(ValidationError):
        project.batch_rows = 5
    assert pickle.loads(pickle.dumps(project)) == project


def test_a_table_can_be_made_without_a_file():
    made = table_model("partition")(name="daily", kind="partition", partition_column="COBID")

    assert made == table()


@pytest.mark.parametrize(
    ("given", "format_", "name"),
    [
        ("lake", "parquet", "lake"),
        ("iceberg:lake", "iceberg", "lake"),
        ("iceberg:./a:b", "iceberg", "a:b"),
        ("hudi:lake", "parquet", "hudi:lake"),
        ({"kind": "iceberg", "path": "lake"}, "iceberg", "lake"),
        ({"format": "iceberg", "path": "lake"}, "iceberg", "lake"),
    ],
)
def test_lake_has_a_short_form(tmp_path: Path, given: object, format_: str, name: str):
    """The format of a lake is a word before its path, or a setting. A word that is no installed format is a path."""
    found = Lake.model_validate(given, context={"folder": tmp_path})

    assert (found.format, found.path) == (format_, tmp_path / name)

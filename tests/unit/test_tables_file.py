"""`conf/tables.yml` becomes the settings of `tidegate.yml`; errors name its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.config.per_run import Chosen, project_of
from tidegate.config.tables_file import read_tables_file
from tidegate.errors import TidegateError
from tidegate.model.names import TableName

ENVIRON = {
    "TIDEGATE_SOURCE": "mysql://reader:hunter2@prod.example.com:3306/",
    "TIDEGATE_TARGET": "postgresql://writer:hunter3@dwh.example.com/analytics",
    "TIDEGATE_LAKE": "./lake",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, *entries: str, top: str = "") -> Path:
    path = folder / "conf" / "tables.yml"
    path.write_text(f"{top}tables:\n" + "\n".join(f"  - {entry}" for entry in entries) + "\n")
    return path


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("", {"kind": "incremental", "changes": "timestamp", "timestamp_column": "update_at"}),
        (
            "cdc_strategy: hybrid, cdc_timestamp_column: changed, cdc_id_column: ID",
            {"kind": "incremental", "changes": "hybrid", "timestamp_column": "changed", "id_column": "ID"},
        ),
        ("cdc_strategy: full_sync", {"kind": "incremental", "changes": "full", "load": "replace"}),
        (
            "cdc_strategy: timestamp_only",
            {"kind": "incremental", "changes": "timestamp", "timestamp_column": "update_at"},
        ),
        (
            "cdc_strategy: id_only, cdc_id_column: ID",
            {"kind": "incremental", "changes": "sequence", "sequence_column": "ID"},
        ),
        (
            "cdc_strategy: full_sync, scd_type: 2",
            {"kind": "scd2", "initial_load": "full", "load": "scd2", "history": "generate"},
        ),
        (
            "cdc_strategy: hybrid, load: scd2, surrogate_key: customer_sk",
            {
                "kind": "incremental",
                "changes": "hybrid",
                "timestamp_column": "update_at",
                "load": "scd2",
                "history": "generate",
                "surrogate_key": "customer_sk",
            },
        ),
        ("kind: static", {"kind": "static"}),
    ],
)
def test_strategies_become_settings(folder: Path, entry: str, expected: dict[str, str]):
    file = read_tables_file(written(folder, f"{{name: customers, {entry}}}"))
    assert file.tables == {TableName("", "customers"): expected}


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ("{name: a, cdc_stratgy: hybrid}", "2: `tables.0.cdc_stratgy` is no setting. Did you mean `cdc_strategy`?"),
        ("{name: a, cdc_strategy: hybird}", "is `hybird`, which is no strategy. Did you mean `hybrid`?"),
        ("{name: a, delets: key_compare}", "Did you mean `deletes`?"),
        ("{cdc_strategy: hybrid}", "has no `name`"),
        ("{name: a.b.c}", "is no table's name"),
        ("{name: a, cdc_strategy: hybrid, look_back: soon}", "conf/tables.yml:2:"),
        ("{name: a, cdc_strategy: id_only}", "`tables.a.sequence_column` is missing"),
        ("{name: a}\n  - {name: a}", "names a again"),
    ],
)
def test_wrong_entries_are_refused(folder: Path, entry: str, error: str):
    written(folder, entry)
    with pytest.raises(TidegateError) as refused:
        project_of(Chosen("sales_db", "reporting", ["a"]), environ=ENVIRON)
    assert error in str(refused.value)


def test_wrong_top_level_keys_are_refused(folder: Path):
    with pytest.raises(TidegateError, match="Did you mean `incremental_path`"):
        read_tables_file(written(folder, "name: a", top="s3: {incremental_pth: x}\n"))


def test_name_with_database_comes_first(folder: Path):
    written(folder, "{name: orders, cdc_strategy: full_sync}", "{name: sales_db.orders, cdc_strategy: hybrid}")

    def change(database: str) -> str:
        return project_of(Chosen(database, "reporting", ["orders"]), environ=ENVIRON).tables["orders"].change_name

    assert (change("sales_db"), change("other_db")) == ("hybrid", "full")


def test_places_come_from_the_call(folder: Path):
    """The database of the source and the schema of the target; the prefix of the lake from the file."""
    written(folder, "name: orders", top="s3: {incremental_path: exports/incremental/}\n")
    project = project_of(Chosen("sales_db", "reporting_sales", ["orders"]), environ=ENVIRON)
    [table] = project.tables.values()
    assert (project.source.database, project.target.database) == ("sales_db", "analytics")
    assert (str(table.source_table), str(table.target_table)) == ("orders", "reporting_sales.orders")
    assert (project.lake.layout, project.lake.incremental_path) == ("schemas", "exports/incremental")


def test_mysql_target_has_the_schema_as_its_database(folder: Path):
    written(folder, "name: orders")
    environ = {**ENVIRON, "TIDEGATE_TARGET": "mysql://writer:hunter3@uat.example.com/any"}
    project = project_of(Chosen("sales_db", "reporting", ["orders"]), environ=environ)
    assert project.target.database == "reporting"


def test_connections_of_the_configuration_file(folder: Path):
    """`tidegate.yml` without tables, and with defaults for all tables."""
    written(folder, "name: orders")
    (folder / "tidegate.yml").write_text(
        "source: ${TIDEGATE_SOURCE}\ntarget: ${TIDEGATE_TARGET}\nlake: ./here\ntables: {}\nbatch_rows: 500\n"
    )
    project = project_of(Chosen("sales_db", "reporting", ["orders"]), environ=ENVIRON)
    assert project.lake.path == folder / "here"
    assert project.tables["orders"].batch_rows == 500


def test_table_of_the_configuration_file_is_known_too(folder: Path):
    text = "source: ${TIDEGATE_SOURCE}\ntarget: ${TIDEGATE_TARGET}\nlake: ./here\ntables:\n  orders: {kind: static}\n"
    (folder / "tidegate.yml").write_text(text)
    project = project_of(Chosen("sales_db", "reporting", ["orders"]), environ=ENVIRON)
    assert str(project.tables["orders"].target_table) == "reporting.orders"


def test_missing_variable_is_named(folder: Path):
    written(folder, "name: orders")
    with pytest.raises(TidegateError, match="TIDEGATE_TARGET"):
        project_of(Chosen("a", "b", ["orders"]), environ={"TIDEGATE_SOURCE": ENVIRON["TIDEGATE_SOURCE"]})


def test_schema_before_a_table_is_refused(folder: Path):
    written(folder, "name: orders")
    with pytest.raises(TidegateError, match="--tables orders"):
        project_of(Chosen("sales_db", "reporting", ["sales_db.orders"]), environ=ENVIRON)

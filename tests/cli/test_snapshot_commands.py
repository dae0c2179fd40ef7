"""`tidegate snapshot`: the commands, with a configuration, with variables and with options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from kit import sides
from tidegate.cli.main import main
from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = pytest.mark.postgres


@pytest.fixture
def archive(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A folder with a file of rows, and variables that name both databases. Return the archive's URL."""
    url = postgres.create_database("snapshot_archive")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNAPSHOT_DATABASE_URL", database)
    monkeypatch.setenv("SNAPSHOT_ARCHIVE_URL", url)
    write(4)
    yield url
    postgres.drop_database("snapshot_archive")


def write(rows: int, **changed: list[object]) -> None:
    columns = {"AAG ORDER NUMBER": [f"A{n}" for n in range(rows)], "CUSTOMER NAME": ["x"] * rows, "n": [*range(rows)]}
    pq.write_table(pa.table({**columns, **changed}), "orders.parquet")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["snapshot", *arguments])


def answer(*arguments: str) -> dict[str, object]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_a_day_of_snapshots_by_commands(archive: str):
    first = answer("save", "orders.parquet", "--filter", "x", "--tag", "pipeline=v3")["archive_id"]
    write(5, n=[0, 1, 7, 3, 4])
    assert "1 new, 1 changed, 3 unchanged, 0 deleted" in call("diff", "orders.parquet", "--filter", "x").stdout
    second = answer("save", "orders.parquet", "--filter", "x")["archive_id"]
    compared = call("diff", str(first), str(second))
    assert "1 new, 1 changed, 3 unchanged, 0 deleted" in compared.stdout
    assert "A2: n: 2 -> 7" in compared.stdout
    assert "archive" in call("list").stdout
    assert answer("list")["archives"][1]["tags"] == {"pipeline": "v3"}
    assert answer("stats")["filters"][0]["rows"] == 9
    assert "4 rows" in call("load", str(first), "-o", "copy.parquet").stdout
    assert pq.read_table("copy.parquet").num_rows == 4
    assert "2 of 2 archives are valid" in call("validate").stdout
    assert answer("clean", "--keep", "1", "--yes")["snapshots"] == 1


def test_corrupt_archives_end_with_exit_code_3(archive: str):
    number = answer("save", "orders.parquet", "--filter", "x")["archive_id"]
    sides.do(archive, "UPDATE snapshot_archive SET parquet_data = 'PAR1 is not enough'")
    result = call("validate")
    assert result.exit_code == 3
    assert f"archive {number}: the size changed" in result.stdout


def test_clean_asks_and_shows_before_it_removes(archive: str):
    call("save", "orders.parquet", "--filter", "x")
    sides.do(archive, "UPDATE snapshot_archive SET snapshot_date = '2020-01-01'")
    assert "1 archives and 0 snapshots of the table would be removed" in call("clean", "--dry-run").stdout
    assert call("clean").exit_code == 2
    assert len(answer("clean", "--yes")["archives"]) == 1
    assert answer("list")["archives"] == []


def test_rows_of_a_table_and_settings_of_a_file(archive: str, database: str, monkeypatch: pytest.MonkeyPatch):
    """The configuration wins over the variables, and options over the configuration."""
    sides.do(database, "CREATE TABLE orders (id int, customer text, amount numeric(9,2))")
    sides.do(database, "INSERT INTO orders SELECT n, 'c' || n % 2, n FROM generate_series(1, 10) n")
    monkeypatch.setenv("UAT_URL", database)
    monkeypatch.delenv("SNAPSHOT_ARCHIVE_URL")
    Path("tidegate.yml").write_text(
        "source: postgresql://reader@prod/sales\ntarget: ${UAT_URL}\nlake: ./lake\n"
        "snapshots: {database: '${UAT_URL}', table: order_snapshots, business_key: [id]}\n"
        "tables:\n  orders: {kind: static, primary_keys: [id]}\n"
    )
    saved = answer("save", "--from", "orders", "--where", "customer = 'c1'", "--filter", "c1")
    assert (saved["rows"], saved["archive_id"]) == (5, None)
    sides.do(database, "UPDATE orders SET amount = 0 WHERE id = 3")
    found = answer("diff", "--from", "orders", "--where", "customer = 'c1'", "--filter", "c1")
    assert found["rows"] == {"new": 0, "changed": 1, "unchanged": 4, "deleted": 0}
    assert found["keys"]["changed"] == [{"id": 3}]
    assert sides.ask(database, "SELECT count(*) FROM order_snapshots") == [(5,)]
    assert answer("list", "--table", "other_snapshots")["snapshots"] == []


def test_report_shows_snapshots_and_clean_removes_old_ones(archive: str, database: str, postgres: EmbeddedPostgres):
    """With `snapshots:` in the configuration, the commands of every day know of them."""
    target = postgres.create_database("snapshot_target")
    Path("tidegate.yml").write_text(
        f"source: {database}\ntarget: {target}\nlake: ./lake\n"
        f"snapshots: {{database: '{database}', archive: '{archive}', table: s, business_key: [AAG ORDER NUMBER]}}\n"
        "tables:\n  orders: {kind: static, primary_keys: [id]}\n"
    )
    for rows in (4, 6):
        write(rows)
        call("save", "orders.parquet", "--filter", "it's <x>")
    assert CliRunner().invoke(main, ["report"]).exit_code == 0
    page = Path("tidegate-report.html").read_text()
    assert "it's &lt;x&gt;" in page or "it&#x27;s &lt;x&gt;" in page
    assert "Snapshots" in page
    assert "polyline" in page
    sides.do(archive, "UPDATE snapshot_archive SET snapshot_date = '2020-01-01'")
    cleaned = CliRunner().invoke(main, ["clean"])
    assert "2 archives of snapshots removed" in cleaned.stdout, cleaned.output
    postgres.drop_database("snapshot_target")


@pytest.mark.parametrize("kind", ["sqlserver", "postgresql", "mysql"])
def test_ddl_is_printed_without_a_server(kind: str):
    text = call("ddl", "--for", kind, "--table", "sales.snaps", "--key", "order no.").stdout
    assert "CREATE TABLE" in text
    assert "order no." in text
    assert ("sp_cleanup_snapshot_history" in text) == (kind == "sqlserver")


def test_ddl_of_the_archive(archive: str):
    text = call("ddl", "--for", "postgresql", "--of-archive").stdout
    assert "cleanup_old_archives" in text
    assert call("ddl", "--for", "mysql", "--of-archive").exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["save", "--filter", "x"],
        ["save", "nowhere.parquet", "--filter", "x"],
        ["save", "orders.parquet", "--filter", "x", "--tag", "pipeline"],
        ["save", "orders.parquet", "--filter", "x", "--batch", "monday"],
        ["diff", "orders.parquet"],
    ],
)
def test_wrong_use_ends_with_exit_code_2(archive: str, arguments: list[str]):
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert "Nothing was" in result.output

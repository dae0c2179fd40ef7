"""Memory of whole runs: of this process, of the JVM and of its workers together. It must not grow with the table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bench.measure import run
from kit import sides

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.slow, pytest.mark.thorough]

ROWS = 3_000_000
MIB = 2**20
STATIC = """CREATE TABLE things AS SELECT i::bigint AS id, 'account ' || mod(i, 50000) AS account,
    mod(i, 1000003)::numeric(38,18) AS amount, md5(i::text) AS note FROM generate_series(1, %s) AS i"""
VERSIONS = """CREATE TABLE things AS SELECT (i / 2)::bigint AS id, mod(i, 2) = 1 AS latest, md5(i::text) AS note,
    timestamp '2024-01-01' + i * interval '1 second' AS at FROM generate_series(0, %s - 1) AS i"""
CHANGED = ["UPDATE things SET amount = amount + 1 WHERE mod(id, 100) = 7"]
NEW_VERSIONS = [
    "UPDATE things SET latest = false WHERE mod(id, 200) = 7",
    """INSERT INTO things (id, latest, note, at)
        SELECT DISTINCT id, true, 'new', timestamp '2025-01-01' FROM things WHERE mod(id, 200) = 7""",
]
CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "static": (
        [STATIC, "ALTER TABLE things ADD PRIMARY KEY (id)"],
        {"kind": "static", "allow_deletes": True},
    ),
    "scd2": (
        [VERSIONS, "ALTER TABLE things ADD PRIMARY KEY (id, at)", "CREATE INDEX ON things (at)"],
        {
            "kind": "scd2",
            "initial_load": "full",
            "business_keys": ["id"],
            "cursor_column": "at",
            "flag_column": "latest",
        },
    ),
}


@pytest.fixture
def databases(postgres: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    names = ("memory_source", "memory_target")
    yield postgres.create_database(names[0]), postgres.create_database(names[1])
    for name in names:
        postgres.drop_database(name)


@pytest.mark.parametrize(("engine", "most"), [("spark", 1_400), ("process", 700)])
@pytest.mark.parametrize("kind", CASES)
def test_memory_does_not_grow_with_the_table(
    databases: tuple[str, str], tmp_path: Path, kind: str, engine: str, most: int, monkeypatch: pytest.MonkeyPatch
):
    """A first load, a changed source, and a proof with the keys that differ. Hashes of three million rows and their
    keys in one process, as arrays, would take more."""
    source, target = databases
    statements, table = CASES[kind]
    for statement in statements:
        sides.do(source, statement, *([ROWS] if "%s" in statement else []))
    project = {"source": source, "target": target, "lake": str(tmp_path / "lake"), "engine": engine}
    (tmp_path / "tidegate.yml").write_text(yaml.safe_dump({**project, "tables": {"things": table}}))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))

    def peak(command: str, *options: str) -> float:
        argv = [sys.executable, "-m", "tidegate.cli.main", command, *options, "-c", str(tmp_path / "tidegate.yml")]
        return run(argv, timeout=900).peak / MIB

    peaks = {"first run": peak("run")}
    for statement in CHANGED if kind == "static" else NEW_VERSIONS:
        sides.do(source, statement)
    peaks["daily run"] = peak("run")
    peaks["verify"] = peak("verify", "--deep")
    assert max(peaks.values()) < most, peaks

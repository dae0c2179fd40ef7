"""A ledger and a lake of version 1 are read as they are, and upgraded in place by the first run.

The rows below were written by Tidegate at commit db2aa3b, for three tables after two runs. Only times, run ids and what
depends on the machine (the identity of the target, sizes and times of files) are filled in here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit import sides
from kit.copies import database_at
from kit.one_process import OneProcess
from kit.pairs import first_daily
from kit.project import database_on
from tidegate import Tidegate
from tidegate.errors import RunFailed, Unsupported
from tidegate.model.names import TableName
from tidegate.model.plan import Notice
from tidegate.model.scope import Scope
from tidegate.state.ledger import Ledger

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = pytest.mark.postgres

# The three tables, as they are in source and target.
CREATE = """
CREATE TABLE trades (cob integer NOT NULL, id bigint NOT NULL, amount numeric(20,4), load_id bigint);
CREATE INDEX ON trades (cob);
CREATE TABLE currencies (code varchar(3) PRIMARY KEY, name varchar(40));
CREATE TABLE customers (
    id integer NOT NULL, name varchar(40), lastmodified timestamp(6) NOT NULL, islatest boolean NOT NULL
);
INSERT INTO trades VALUES (20240101, 1, 1.5, 7), (20240101, 2, NULL, 7), (20240102, 1, 2.25, 8);
INSERT INTO currencies VALUES ('CHF', 'Franken'), ('EUR', 'Euro');
INSERT INTO customers VALUES
    (1, 'first', '2024-01-01 10:00:00', false), (1, 'second', '2024-01-02 10:00:00.5', true),
    (2, 'other', '2024-01-02 09:00:00', false), (2, 'newer', '2024-01-03 08:00:00', true)
"""
TABLES = {
    "trades": {"kind": "partition", "partition_column": "cob", "restatement_column": "load_id"},
    "currencies": {"kind": "static"},
    "customers": {"kind": "scd2", "business_keys": ["id"], "initial_load_days": 3650},
}

# The ledger as version 1 created it.
CREATE_LEDGER = """
CREATE SCHEMA tidegate;
CREATE TABLE tidegate.target (
    owner varchar(200) NOT NULL PRIMARY KEY, version integer NOT NULL, at varchar(40) NOT NULL
);
CREATE TABLE tidegate.scopes (table_name varchar(300) NOT NULL PRIMARY KEY, scope text NOT NULL);
CREATE TABLE tidegate.runs (run varchar(64) NOT NULL PRIMARY KEY, at varchar(40) NOT NULL, report text NOT NULL);
CREATE TABLE tidegate.locks (
    table_name varchar(300) NOT NULL PRIMARY KEY, run varchar(64) NOT NULL, holder varchar(200) NOT NULL,
    since varchar(40) NOT NULL
);
CREATE TABLE tidegate.ledger (
    table_name varchar(300) NOT NULL, value_text varchar(400) NOT NULL, generation integer NOT NULL,
    kind varchar(20) NOT NULL, row_total bigint NOT NULL, hash varchar(64) NOT NULL, text_columns text NOT NULL,
    newest text, columns text NOT NULL, columns_id varchar(64) NOT NULL, stamp varchar(80) NOT NULL,
    run varchar(64) NOT NULL, at varchar(40) NOT NULL, PRIMARY KEY (table_name, value_text, generation)
)
"""
INSERT_SCOPE = "INSERT INTO tidegate.scopes VALUES (%s, %s)"
INSERT_OWNER = "INSERT INTO tidegate.target VALUES (%s, 1, '2024-02-01T06:00:00.493327+00:00')"
INSERT_ENTRY = "INSERT INTO tidegate.ledger VALUES (%s, %s, 1, 'loaded', %s, %s, '[]', %s, %s, %s, %s, 'r-old', %s)"
SCOPES = {
    "currencies": '{"kind": "text", "floor": "all rows", "ranges": [], "forgotten": []}',
    "customers": '{"kind": "timestamp", "floor": "2016-11-20 16:53:29", "ranges": [], "forgotten": []}',
    "trades": '{"kind": "integer", "floor": "20240101", "ranges": [], "forgotten": []}',
}
FIRST, SECOND = "2024-02-01T06:00:00.173752+00:00", "2024-02-02T06:00:00.951255+00:00"

_TRADES = pa.schema(
    [("cob", pa.int32()), ("id", pa.int64()), ("amount", pa.decimal128(20, 4)), ("load_id", pa.int64())]
)
_CURRENCIES = pa.schema([("code", pa.string()), ("name", pa.string())])
_CUSTOMERS = pa.schema(
    [("id", pa.int32()), ("name", pa.string()), ("lastmodified", pa.timestamp("us")), ("islatest", pa.bool_())]
)


@dataclass(frozen=True)
class OldEntry:
    """One window as version 1 kept it: a row of its ledger, and a Parquet file with a footer of format 1."""

    table: str
    column: str
    """The partition column, `static` or `scd`."""
    value: str
    file: str
    rows: list[tuple[Any, ...]]
    schema: pa.Schema
    hash: str
    columns_id: str
    in_ledger: str
    """What the ledger's column `newest` had."""
    newest: str
    """What the footer had under `newest`."""
    window: str = ""
    """What the footer of a table of versions had besides."""
    read_at: str = FIRST

    def write(self, lake: Path) -> str:
        """Write the Parquet file. Return its size and time, as the ledger's column `stamp` has them."""
        path = lake / "organized" / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = pa.Table.from_pylist([dict(zip(self.schema.names, row, strict=True)) for row in self.rows], self.schema)
        with pq.ParquetWriter(path, self.schema) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata({"tidegate": json.dumps(self._footer())})
        found = path.stat()
        return f"{found.st_size}-{found.st_mtime_ns}"

    def _footer(self) -> dict[str, Any]:
        return {
            "format": 1,
            "table": self.table,
            "column": self.column,
            "value": self.value,
            **({"window": self.window} if self.window else {}),
            "run": "r-old",
            "columns_id": self.columns_id,
            "scope": SCOPES[self.table],
            "why": "new in the source",
            "read_at": self.read_at,
            "newest": self.newest,
            "rows": len(self.rows),
            "hash": self.hash,
            "text_columns": [],
            "columns": self.schema.names,
            "unproven": False,
        }

    def record(self, target: str, stamp: str) -> None:
        columns = json.dumps(self.schema.names)
        cells = (len(self.rows), self.hash, self.in_ledger, columns, self.columns_id, stamp, self.read_at)
        sides.do(target, INSERT_ENTRY, f"public.{self.table}", self.value, *cells)


def _customers(value: str, window: str, tail: str, held: int, **own: Any) -> OldEntry:
    """Return a window of the table of versions. Ledger and footer keep its bounds as JSON, each in its own way."""
    bounds = json.loads(window)
    stored = {**bounds, "tail": tail, "held": held, "read_at": own["read_at"], "is_given": False}
    return OldEntry(
        "customers",
        "scd",
        value,
        f"scd_customers/{value[:10]}/customers_scd_{value}.parquet",
        schema=_CUSTOMERS,
        columns_id="eea7a868b899d33b",
        in_ledger=json.dumps(stored),
        newest=tail,
        window=json.dumps({**bounds, "tail": "", "held": None, "read_at": "", "is_given": False}),
        **own,
    )


ENTRIES = [
    OldEntry(
        "trades",
        "cob",
        "20240101",
        "cob_20240101/trades_cob_20240101.parquet",
        [(20240101, 1, Decimal("1.5000"), 7), (20240101, 2, None, 7)],
        _TRADES,
        "6469bd5d547510baf7a428a3adeda5f2",
        "b7d94ff8bc47f139",
        in_ledger="7",
        newest="7",
    ),
    OldEntry(
        "trades",
        "cob",
        "20240102",
        "cob_20240102/trades_cob_20240102.parquet",
        [(20240102, 1, Decimal("2.2500"), 8)],
        _TRADES,
        "b3d60d7bc045e373fa846f0f772e4662",
        "b7d94ff8bc47f139",
        in_ledger="8",
        newest="8",
    ),
    OldEntry(
        "currencies",
        "static",
        "all rows",
        "static_currencies/currencies_static_2024-02-01-06-00-00.parquet",
        [("CHF", "Franken"), ("EUR", "Euro")],
        _CURRENCIES,
        "2403cfb14dcf2b8860d3c4306ffe05c0",
        "7676439f02fcedcf",
        in_ledger="2 2403cfb14dcf2b8860d3c4306ffe05c0",
        newest="2 2403cfb14dcf2b8860d3c4306ffe05c0",
    ),
    _customers(
        "2024-02-01-06-00-00",
        '{"after": "2016-11-20 16:53:29", "upto": "2024-01-02 10:00:00.5", "mark": "2024-01-02 10:00:00.5",'
        ' "seen_at": null}',
        "1 923ea019c019ef6278f89c2fc1317003",
        3,
        rows=[
            (1, "first", datetime(2024, 1, 1, 10), False),
            (1, "second", datetime(2024, 1, 2, 10, 0, 0, 500000), True),
            (2, "other", datetime(2024, 1, 2, 9), True),
        ],
        hash="e9954f48830c401b8a947b88f940e9c4",
        read_at=FIRST,
    ),
    _customers(
        "2024-02-02-06-00-00",
        '{"after": "2024-01-02 09:50:00", "upto": "2024-01-03 08:00:00", "mark": "2024-01-03 08:00:00",'
        ' "seen_at": null}',
        "1 9612e0a54eb76654f4654a6b2732fe54",
        4,
        rows=[
            (1, "second", datetime(2024, 1, 2, 10, 0, 0, 500000), True),
            (2, "newer", datetime(2024, 1, 3, 8), True),
        ],
        hash="33bac959b4506b81ec8d62ae1be23bce",
        read_at=SECOND,
    ),
]
# The tokens of these entries in version 2.
TOKENS = {
    "20240101": {"token": "partition", "version": 1, "newest": "7"},
    "20240102": {"token": "partition", "version": 1, "newest": "8"},
    "all rows": {"token": "content", "version": 1, "content": None},
    "2024-02-01-06-00-00": {
        "token": "cursor",
        "version": 1,
        "kind": "timestamp",
        "after": "2016-11-20 16:53:29",
        "upto": "2024-01-02 10:00:00.5",
        "watermark": "2024-01-02 10:00:00.5",
        "keys_read_at": None,
        "lookback_fingerprint": "1 923ea019c019ef6278f89c2fc1317003",
        "read_at": FIRST,
        "is_given": False,
    },
    "2024-02-02-06-00-00": {
        "token": "cursor",
        "version": 1,
        "kind": "timestamp",
        "after": "2024-01-02 09:50:00",
        "upto": "2024-01-03 08:00:00",
        "watermark": "2024-01-03 08:00:00",
        "keys_read_at": None,
        "lookback_fingerprint": "1 9612e0a54eb76654f4654a6b2732fe54",
        "read_at": SECOND,
        "is_given": False,
    },
}


@dataclass
class Old:
    """A source, and a lake and a target that version 1 brought in sync with it."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path

    def open(self) -> None:
        sides.do(self.source, CREATE)
        sides.do(self.target, CREATE + ";" + CREATE_LEDGER)
        with database_at(self.target).connect("test") as session:
            owner = session.identity()
        sides.do(self.target, INSERT_OWNER, owner)
        for table, scope in SCOPES.items():
            sides.do(self.target, INSERT_SCOPE, f"public.{table}", scope)
        for entry in ENTRIES:
            entry.record(self.target, entry.write(self.lake))

    def tidegate(self) -> Tidegate:
        places = {"source": self.source, "target": self.target, "lake": str(self.lake)}
        return Tidegate(**places, tables=TABLES, spark=OneProcess())

    def run(self) -> RunReport:
        return self.tidegate().run()

    def steps(self) -> list[str]:
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [
            f"{type(step).__name__} {table.table}"
            for table in plan.tables
            for step in table.steps
            if not isinstance(step, Notice)
        ]

    def new_day(self) -> None:
        """Change all three tables of the source."""
        sides.do(self.source, "INSERT INTO trades VALUES (20240103, 1, 3, 9)")
        sides.do(self.source, "UPDATE currencies SET name = 'Swiss franc' WHERE code = 'CHF'")
        sides.do(self.source, "UPDATE customers SET islatest = false WHERE id = 1")
        sides.do(self.source, "INSERT INTO customers VALUES (1, 'third', '2024-01-04 08:00:00', true)")

    # Looking

    def versions(self) -> set[int]:
        return {version for (version,) in sides.ask(self.target, "SELECT version FROM tidegate.target")}

    def ledger(self) -> dict[str, str]:
        """Return the column `newest` of every entry of generation 1."""
        return dict(sides.ask(self.target, "SELECT value_text, newest FROM tidegate.ledger WHERE generation = 1"))

    def contents(self) -> list[Any]:
        """Return all rows of the ledger and the transactions that wrote them, and the files of the lake."""
        tables = ("target", "scopes", "runs", "locks", "ledger")
        query = "SELECT xmin::text, t.* FROM tidegate.{} AS t ORDER BY 2, 3"
        rows = [sides.ask(self.target, query.format(name)) for name in tables]
        files = {path: path.stat().st_mtime_ns for path in self.lake.rglob("*") if path.is_file()}
        return [*rows, files]

    def assert_in_step(self) -> None:
        for table in TABLES:
            query = f"SELECT * FROM {table}"  # noqa: S608 - a name of ours
            expected, found = (sorted(sides.ask(url, query), key=repr) for url in (self.source, self.target))
            assert found == expected
        verified = self.tidegate().verify()
        assert verified.outcome == "equal", verified.findings
        assert self.steps() == []


@pytest.fixture
def old(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Old]:
    with database_on(postgres) as source, database_on(postgres) as target:
        project = Old(source, target, tmp_path / "lake")
        project.open()
        yield project


def _tokens(ledger: Mapping[str, str]) -> dict[str, Any]:
    """Return the tokens of entries of version 2."""
    stored = {window: json.loads(text) for window, text in ledger.items()}
    assert {entry["version"] for entry in stored.values()} == {2}
    return {window: entry["token"] for window, entry in stored.items()}


def test_plan_reads_version_1_and_writes_nothing(old: Old):
    """A target in sync needs no step. Planning, status and explain leave ledger and lake as version 1 wrote them."""
    before = old.contents()

    assert old.steps() == []
    assert {table.state for table in old.tidegate().status(count_all=True)} == {"in sync"}

    assert old.contents() == before
    assert old.versions() == {1}


@pytest.mark.thorough
def test_verify_reads_version_1(old: Old):
    """`verify` compares both sides with a ledger of version 1, and does not upgrade it."""
    verified = old.tidegate().verify()

    assert verified.outcome == "equal", verified.findings
    assert old.versions() == {1}


def test_run_upgrades_the_ledger(old: Old):
    """A run without changes in the source upgrades the ledger, and does nothing else."""
    assert old.run().outcome == "nothing to do"

    assert old.versions() == {2}
    assert _tokens(old.ledger()) == TOKENS
    [(static,)] = sides.ask(old.target, "SELECT newest FROM tidegate.ledger WHERE value_text = 'all rows'")
    assert (json.loads(static)["target_rows"], json.loads(static)["target_hash"]) == (2, ENTRIES[2].hash)
    last = json.loads(old.ledger()["2024-02-02-06-00-00"])
    assert last["target_rows"] == 4
    old.assert_in_step()


def test_new_day_is_loaded_after_the_upgrade(old: Old):
    """A run with changes in all three tables upgrades the ledger and loads only what changed."""
    old.new_day()

    report = old.run()

    done = sorted(f"{step.table} {step.step}" for step in report.steps if step.outcome == "done")
    assert done == [f"{table} {step}" for table in sorted(TABLES) for step in ("extract", "load")]
    assert [step.value for step in report.steps if step.table == "trades"] == ["20240103", "20240103"]
    assert old.versions() == {2}
    kept = _tokens(old.ledger())
    assert {window: kept[window] for window in TOKENS} == TOKENS
    old.assert_in_step()
    assert old.run().outcome == "nothing to do"


@pytest.mark.thorough
def test_lost_rows_come_from_the_old_lake(old: Old):
    """Rows that the target lost are loaded from files of format 1: nothing is extracted."""
    for table in TABLES:
        sides.do(old.target, f"DELETE FROM {table}")  # noqa: S608 - a name of ours

    report = old.run()

    assert {step.step for step in report.steps} == {"load"}
    old.assert_in_step()


def test_lost_ledger_is_rebuilt_from_the_old_lake(old: Old):
    """When the ledger of version 1 is lost, files of format 1 rebuild one of version 2."""
    place = database_at(old.target).connection.display
    lake = old.tidegate()._pipeline.lake
    for planned in old.tidegate().plan().tables:
        lake.save_scope(_lake_table(planned.table), place, Scope.from_json(SCOPES[planned.table]))
    sides.do(old.target, "DROP SCHEMA tidegate CASCADE")

    report = old.run()

    assert {step.step for step in report.steps} == {"load"}
    assert old.versions() == {2}
    old.assert_in_step()


def _lake_table(name: str) -> Any:
    from tidegate.interfaces.lake import LakeTable, Layout

    column, layout = {
        "trades": ("cob", Layout.VALUES),
        "currencies": ("static", Layout.WHOLE),
        "customers": ("scd", Layout.LOG),
    }[name]
    return LakeTable(TableName("", name), layout, column)


@pytest.mark.thorough
def test_killed_upgrade_leaves_version_1(old: Old, monkeypatch: pytest.MonkeyPatch):
    """An upgrade that is killed before its commit leaves every row of version 1. The next run upgrades again."""
    before = old.contents()
    upgrade = Ledger._upgrade

    def killed(ledger: Ledger) -> None:
        upgrade(ledger)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_upgrade", killed)
        with pytest.raises(KeyboardInterrupt):
            old.run()
    assert old.contents() == before

    assert old.run().outcome == "nothing to do"
    assert _tokens(old.ledger()) == TOKENS
    old.assert_in_step()


@pytest.mark.parametrize("verb", first_daily("forget", "adopt"))
def test_entries_written_before_the_upgrade_survive_it(old: Old, verb: str):
    """`forget` and `adopt` may write into the ledger before the first run: the upgrade keeps what they wrote."""
    if verb == "forget":
        old.tidegate().forget("trades", "20240102")
    else:
        sides.do(old.target, "DELETE FROM tidegate.ledger WHERE table_name = 'public.trades'")
        old.tidegate().adopt("trades")

    assert old.run().outcome in ("nothing to do", "done")

    assert old.versions() == {2}
    newest = (
        "SELECT DISTINCT ON (value_text) value_text, newest FROM tidegate.ledger WHERE table_name = 'public.trades'"
        " ORDER BY value_text, generation DESC"
    )
    tokens = {value: json.loads(text)["token"] for value, text in sides.ask(old.target, newest)}
    # An adopted target says nothing about the source.
    assert tokens == {value: TOKENS[value] if verb == "forget" else None for value in ("20240101", "20240102")}
    assert old.tidegate().verify().outcome == "equal"
    assert old.steps() == []


@pytest.mark.parametrize("verb", first_daily("plan", "run", "verify"))
def test_ledger_of_a_newer_version_is_refused(old: Old, verb: str):
    """A ledger of version 3 was written by a newer Tidegate. It is refused, and nothing is written."""
    sides.do(old.target, "UPDATE tidegate.target SET version = 3")
    before = old.contents()

    with pytest.raises((Unsupported, RunFailed), match="is of version 3; this Tidegate knows 2") as refused:
        getattr(old.tidegate(), verb)()

    assert "newer version of Tidegate" in str(refused.value)
    assert old.contents() == before

"""Every statement that PostgreSQL gets from us, as text, in golden/postgresql/.

`TIDEGATE_UPDATE_GOLDEN=1 pytest tests/sql` writes the files anew; the difference is read in review.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import pq

from tidegate.databases.postgresql import Postgresql, catalog
from tidegate.errors import Locked
from tidegate.interfaces import ReadRequest, Session
from tidegate.model.columns import Column, Shape
from tidegate.model.connection import Connection
from tidegate.model.evidence import LedgerEntry
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.values import Kind, Value
from tidegate.sql import partitions
from tidegate.sql.text import Sql, raw, sql
from tidegate.state import lock
from tidegate.state.ledger import Ledger

GOLDEN = Path(__file__).parent / "golden" / "postgresql"
SOURCE = Path(__file__).parents[2] / "src" / "tidegate"
DATABASE = Postgresql(Connection("postgresql", "nowhere", 5432, "none"))
UPDATE = os.environ.get("TIDEGATE_UPDATE_GOLDEN") == "1"

ODD = TableName("sales", 'odd "orders" {x} 100%')
COBID = Column("cobid", "integer", "int32", nullable=False)
NOTE = Column('it\'s a "note"', "character varying(20)", "string")
PRICE = Column("price", "money", "text")
DAY, NEXT_DAY = Value.of(20240131, Kind.INTEGER), Value.of(20240201, Kind.INTEGER)
ENTRY = LedgerEntry(
    generation=3,
    kind="loaded",
    rows=1204,
    hash="0f" * 16,
    text_columns=("it's",),
    newest="2024-01-31 10:00:00",
    columns_id="abc",
    stamp="1204-99",
    run="r-1",
)


class Driver:
    """Stands where psycopg's connection stands and writes down what it is given. `answers` are fetched in turn."""

    closed = False

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.answers: list[list[tuple[Any, ...]]] = []

    def execute(self, text: str, parameters: object = None) -> Driver:
        self.sent += [text.strip(), f"-- with {parameters}"] if parameters else [text.strip()]
        self.statusmessage = text
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.answers.pop(0) if self.answers else []

    rowcount = 0

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        yield

    @contextmanager
    def copy(self, text: str) -> Iterator[Driver]:
        self.sent.append(text)
        yield self

    # What is read comes straight from libpq.

    @property
    def pgconn(self) -> Driver:
        return self

    def exec_(self, text: bytes) -> SimpleNamespace:
        self.sent.append(text.decode())
        return SimpleNamespace(status=pq.ExecStatus.COPY_OUT)

    def get_copy_data(self, asynchronous: int) -> tuple[int, bytes]:
        return -1, b""

    def get_result(self) -> SimpleNamespace:
        return SimpleNamespace(status=pq.ExecStatus.COMMAND_OK)

    def write(self, data: bytes) -> None:
        self.sent += ["-- then its data:", *(f"-- {line}" for line in data.decode().splitlines())]

    def cursor(self) -> Driver:
        return self

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


def of_method(call: Callable[[Session], object], *answers: list[tuple[Any, ...]]) -> Callable[[Driver], None]:
    """What a session sends when it is asked this; what it sent to open is left out."""

    def record(driver: Driver) -> None:
        session = DATABASE.connect("golden")
        driver.sent.clear()
        driver.answers = list(answers)
        with suppress(Locked):
            call(session)

    return record


def of_statement(*statements: Sql) -> Callable[[Driver], None]:
    return lambda driver: driver.sent.extend(DATABASE.text_of(statement) for statement in statements)


def reading(session: Session, *columns: Column, rows: Sql | None = None) -> None:
    for _ in session.read(ReadRequest(ODD, columns, rows)):
        raise AssertionError("there are no rows")


def in_transaction(session: Session) -> None:
    with session.transaction():
        pass


def rolled_back(session: Session) -> None:
    with suppress(KeyError), session.transaction():
        raise KeyError


def shape(*key: str) -> Shape:
    return Shape(ODD, (COBID, NOTE), primary_key=key)


def batch(note: str) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"cobid": pa.array([7, None], pa.int32()), NOTE.name: [note, ""], "b": [b"\x00\xff", None]})


STATEMENTS: dict[str, Callable[[Driver], None]] = {
    # One session
    "session_commit": of_method(in_transaction),
    "session_roll_back": of_method(rolled_back),
    "session_now": of_method(lambda session: session.now(), [("now",)]),
    "session_identity": of_method(lambda session: session.identity(), [("1/2",)]),
    "session_query_of_user": of_method(lambda session: session.query_of_user(sql("SELECT cob FROM closed_days"))),
    "session_tables": of_method(lambda session: session.tables()),
    "session_shapes": of_method(lambda session: session.shapes([ODD, TableName("public", "t")])),
    "session_export_snapshot": of_method(lambda session: session.export_snapshot(), [("00000003-1",)]),
    "session_use_snapshot": of_method(lambda session: session.use_snapshot("00000003-1")),
    "session_try_lock": of_method(lambda session: session.try_lock("tidegate table it's"), [(True,)]),
    "session_lock_in_transaction": of_method(lambda session: session.lock_in_transaction("tidegate value it's 7")),
    # Rows
    "read_table": of_method(lambda session: reading(session, COBID, NOTE)),
    "read_value": of_method(lambda session: reading(session, COBID, PRICE, rows=partitions.of_value(COBID, DAY))),
    "write_rows": of_method(lambda session: session.write(ODD, batch('say "hi"\n\\.\n'))),
    # Values of a partition column
    "partition_values_by_index": of_statement(partitions.distinct_by_index(ODD, COBID, 100_001)),
    "partition_values_by_scan": of_statement(partitions.distinct_by_scan(ODD, NOTE, 100_001)),
    "partition_counts": of_statement(partitions.counts(ODD, COBID, [DAY, NEXT_DAY], None)),
    "partition_counts_and_newest": of_statement(partitions.counts(ODD, COBID, [DAY], "load_id")),
    "partition_newest": of_statement(partitions.newest_of_value(ODD, COBID, DAY, "load_id")),
    "partition_nulls": of_statement(partitions.count_nulls(ODD, NOTE)),
    "partition_delete": of_statement(partitions.delete_value(ODD, NOTE, Value.of("it's", Kind.TEXT))),
    "partition_ready": of_statement(
        sql("SELECT CAST(ready.value AS text) FROM ({query}) AS ready(value)", query=raw("SELECT '{}' FROM control"))
    ),
    # Schemas
    "schema_create_table": of_statement(*DATABASE.create_table(ODD, shape(NOTE.name), (COBID, NOTE), "cobid")),
    "schema_create_table_with_key_first": of_statement(
        *DATABASE.create_table(TableName("public", "t"), shape("cobid", NOTE.name), (COBID, NOTE), "cobid")
    ),
    "schema_create_table_without_key": of_statement(*DATABASE.create_table(ODD, shape("id"), (COBID, NOTE), "cobid")),
    "schema_add_column": of_statement(DATABASE.add_column(ODD, NOTE)),
    "schema_widen_column": of_statement(DATABASE.widen_column(ODD, NOTE)),
    # The ledger
    "ledger_create": of_method(lambda session: Ledger(session).create(), [], [], [("1/2",)], [("now",)]),
    "ledger_require_own": of_method(lambda session: Ledger(session).require_own(), [("1/2",)], [("1/2",)]),
    "ledger_disown": of_method(lambda session: Ledger(session).disown(), [("1/2",)], [("now",)]),
    "ledger_entries": of_method(lambda session: Ledger(session).entries("it's")),
    "ledger_newest": of_method(lambda session: Ledger(session).newest("it's", "7")),
    "ledger_record": of_method(lambda session: Ledger(session).record("it's", "7", ENTRY), [("now",)]),
    "ledger_restamp": of_method(lambda session: Ledger(session).restamp("it's", "7", ENTRY)),
    "ledger_scope": of_method(lambda session: Ledger(session).scope("it's")),
    "ledger_declare": of_method(lambda session: Ledger(session).declare("it's", Scope(DAY))),
    "ledger_keep_report": of_method(lambda session: Ledger(session).keep_report("r-1", {"it's": "{}"}), [("now",)]),
    "ledger_reports": of_method(lambda session: Ledger(session).reports(20)),
    "ledger_forget_reports": of_method(lambda session: Ledger(session).forget_reports(500)),
    "lock_take": of_method(lambda session: lock.take(session, "it's", "r-1"), [(True,)], [("now",)]),
    "lock_newest_run": of_method(lambda session: lock.newest_run(session, "it's")),
    "lock_refused": of_method(lambda session: lock.take(session, "it's", "r-1"), [(False,)]),
}


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    recorder = Driver()
    monkeypatch.setattr(psycopg, "connect", lambda **arguments: recorder)
    monkeypatch.setattr(lock, "_whoami", lambda: "somebody on a machine, process 1")
    return recorder


def as_file(sent: list[str]) -> str:
    return "".join(text.rstrip() + ("\n" if text.startswith("-- ") else ";\n") for text in sent)


def compared(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.sql"
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"{path} is missing: run with TIDEGATE_UPDATE_GOLDEN=1 and look at what it holds"
    assert text == path.read_text()


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_reads_as_it_did(name: str, driver: Driver):
    STATEMENTS[name](driver)
    compared(name, as_file(driver.sent))


@pytest.mark.parametrize(
    ("name", "how"),
    [("session_open", {}), ("session_open_to_look", {"read_only": True, "query_timeout": 300.0})],
)
def test_a_session_opens_with_settings_that_leave_nothing_to_the_server(name: str, how: dict[str, Any], driver: Driver):
    DATABASE.connect("golden", **how)
    compared(name, as_file(driver.sent))


def test_no_file_is_left_over():
    known = {*STATEMENTS, "session_open", "session_open_to_look"}
    assert {path.stem for path in GOLDEN.glob("*.sql")} == known


def templates() -> Iterator[tuple[str, str]]:
    """Every text that the product hands to `sql()`, and the queries of the catalog."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sql" and node.args:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", _text(node.args[0])
    for name in ("COLUMNS", "KEYS", "GUARDS", "TABLES", "IDENTITY"):
        yield f"catalog.{name}", getattr(catalog, name).strip().replace("{", "{{")


def _text(node: ast.expr) -> str:
    """The constant parts of a template; an expression in it counts as a hole."""
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return node.value if isinstance(node, ast.Constant) else "{hole}"


def test_every_statement_of_the_product_has_a_golden_file():
    written = "\n".join(path.read_text() for path in GOLDEN.glob("*.sql"))
    missing = [place for place, template in templates() if not re.search(_pattern(template), written)]
    assert missing == []


def _pattern(template: str) -> str:
    fixed = re.split(r"(?<!\{)\{\w+\}", template)
    return "(?s)" + ".{0,400}?".join(re.escape(part.replace("{{", "{").replace("}}", "}")) for part in fixed)

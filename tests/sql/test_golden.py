"""Every statement that a server gets from us, as text, in golden/<kind>/.

`TIDEGATE_UPDATE_GOLDEN=1 pytest tests/sql` writes the files anew; the difference is read in review. A new database
costs a recorder (`recorders.py`) and the statements that only it has (`statements.py`).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from sql import native_statements, trigger_statements
from sql.feed_statements import POSTGRESQL_FEEDS, SHARED_FEEDS
from sql.recorders import RECORDERS
from sql.redshift_statements import REDSHIFT
from sql.snapshot_statements import SNAPSHOT_ARCHIVES, SNAPSHOT_PARTITIONS, SNAPSHOT_PROCEDURES, SNAPSHOTS
from sql.sqlserver_statements import SQLSERVER
from sql.statements import MYSQL, POSTGRESQL, SHARED, Statement
from tidegate.state import lock, records

GOLDEN = Path(__file__).parent / "golden"
SOURCE = Path(__file__).parents[2] / "src" / "tidegate"
UPDATE = os.environ.get("TIDEGATE_UPDATE_GOLDEN") == "1"
OWN = {
    "postgresql": {
        **POSTGRESQL,
        **SNAPSHOT_ARCHIVES,
        **SNAPSHOT_PARTITIONS,
        **POSTGRESQL_FEEDS,
        **trigger_statements.POSTGRESQL,
    },
    "mysql": {**SNAPSHOT_PARTITIONS, **MYSQL, **trigger_statements.MYSQL},
    "sqlserver": {**SQLSERVER, **SNAPSHOT_PROCEDURES, **trigger_statements.SQLSERVER},
    "redshift": REDSHIFT,
}
NATIVE = {
    "postgresql": native_statements.POSTGRESQL,
    "mysql": native_statements.MYSQL,
    "sqlserver": native_statements.SQLSERVER,
}
STATEMENTS = {
    kind: {
        **SHARED,
        **SNAPSHOTS,
        **SHARED_FEEDS,
        **OWN[kind],
        **native_statements.ALL,
        **(native_statements.OF_PARTITIONS if kind in NATIVE else {}),
        **NATIVE.get(kind, {}),
    }
    for kind in RECORDERS
}
# Settings and transactions go to some drivers as plain text; longer statements are always `sql()`.
PLAIN = re.compile(r"\s*(SELECT|SET|START|SHOW|BEGIN|COMMIT|ROLLBACK|RESET)\b")


def sent(kind: str, statement: Statement, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a session sends when it is asked; what it sent to open is left out, unless nothing is asked."""
    recorder = RECORDERS[kind](server=statement.server, answers=statement.answers, lock_is_free=statement.lock_is_free)
    recorder.install(monkeypatch)
    session = recorder.database.connect("golden", **statement.opened)
    if statement.call is not None:
        recorder.sent.clear()
        with nullcontext() if statement.raises is None else pytest.raises(statement.raises):
            statement.call(session)
    return recorder.sent


def as_file(statements: list[str]) -> str:
    return "".join(text.rstrip() + ("\n" if text.startswith("-- ") else ";\n") for text in statements)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, named in STATEMENTS.items() for name in named])
def test_a_statement_reads_as_it_did(kind: str, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lock, "_whoami", lambda: "somebody on a machine, process 1")
    monkeypatch.setattr(records, "whoami", lambda: "somebody")
    text = as_file(sent(kind, STATEMENTS[kind][name], monkeypatch))
    path = GOLDEN / kind / f"{name}.sql"
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"{path} is missing: run with TIDEGATE_UPDATE_GOLDEN=1 and look at what it holds"
    assert text == path.read_text()


def test_no_file_is_left_over():
    files = {(path.parent.name, path.stem) for path in GOLDEN.rglob("*.sql")}
    assert files == {(kind, name) for kind, named in STATEMENTS.items() for name in named}


def test_every_database_of_the_product_has_a_recorder():
    assert {path.name for path in (SOURCE / "databases").iterdir() if not path.name.startswith("_")} == set(RECORDERS)


@pytest.mark.parametrize("kind", RECORDERS)
def test_every_statement_of_the_product_has_a_golden_file(kind: str):
    written = "\n".join(path.read_text() for path in (GOLDEN / kind).glob("*.sql"))
    missing = [place for place, template in templates(kind) if not re.search(_pattern(template), written)]
    assert missing == []


def templates(kind: str) -> Iterator[tuple[str, str]]:
    """Every text that becomes a statement for this database: its own, and those that all databases share."""
    databases = SOURCE / "databases"
    for path in sorted(SOURCE.rglob("*.py")):
        is_own = path.is_relative_to(databases / kind)
        if is_own or not path.is_relative_to(databases):
            for node, text in _texts(ast.parse(path.read_text()), with_plain=is_own):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", text


def _texts(tree: ast.AST, *, with_plain: bool) -> Iterator[tuple[ast.expr, str]]:
    """What is handed to `sql()` and, `with_plain`, every other string that begins as a statement does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sql" and node.args:
            yield node, _text(node.args[0])
        elif with_plain and isinstance(node, ast.Constant | ast.JoinedStr) and PLAIN.match(_text(node)):
            yield node, _text(node).strip()


def _text(node: ast.expr) -> str:
    """The constant parts of a template; an expression in it counts as a hole."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return _text(left) + _text(right)
        case ast.JoinedStr(parts):
            return "".join(map(_text, parts))
        case ast.Constant(str(text)):
            return text
    return "{hole}"


def _pattern(template: str) -> str:
    # A hole at either end matches nothing, too: without it the search begins at a fixed text, which is quick.
    fixed = [part for part in re.split(r"(?<!\{)\{\w+\}", template) if part]
    return "(?s)" + ".{0,1000}?".join(re.escape(part.replace("{{", "{").replace("}}", "}")) for part in fixed)

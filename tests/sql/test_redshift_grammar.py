"""Every statement that Redshift gets from us, read by sqlglot, and held against what Redshift refuses.

Parsing is not running. LOCK and some GRANTs are commands that the grammar takes as they are.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
import sqlglot

from kit.redshift import REFUSED, folded

STATEMENTS = sorted((Path(__file__).parent / "golden" / "redshift").glob("*.sql"))
OPAQUE = re.compile(r"LOCK TABLE |GRANT |SET ")
# Snapshots of frames have statements that no run sends; of columns, only VARCHAR is ever widened.
NOT_SENT = ("snapshot_", "recommended_index", "scanned_tables", "session_texts_of_user", "schema_widen_column")


def statements(path: Path) -> list[str]:
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("-- "))
    return [each for each in text.split(";\n") if each.strip()]


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_statement_is_in_redshifts_grammar(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logging.getLogger("sqlglot"), "disabled", True)
    for text in statements(path):
        parsed = sqlglot.parse_one(text, read="redshift")
        assert parsed.key != "command" or OPAQUE.match(text), text


@pytest.mark.parametrize(
    "path", [path for path in STATEMENTS if not path.stem.startswith(NOT_SENT)], ids=lambda path: path.stem
)
def test_statement_is_not_refused(path: Path):
    for text in statements(path):
        code, _ = folded(text)
        assert [refused.message for refused in REFUSED if refused.matches(code, in_transaction=False)] == [], text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a FOR UPDATE",
        "INSERT INTO a VALUES (1) ON CONFLICT DO NOTHING",
        "DELETE FROM a AS t USING b AS s WHERE t.x = s.x",
        "CREATE INDEX i ON a (x)",
        "SELECT pg_advisory_xact_lock(1)",
        "SELECT CAST(x AS text) FROM a",
        "CREATE TABLE a (x jsonb)",
        "CREATE TABLE a (x numeric(39,2))",
        "CREATE TABLE a (x character varying(65536))",
        "CREATE TEMP TABLE pg_temp.a (x int)",
        "ALTER TABLE a ALTER COLUMN x TYPE bigint",
        "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED AND a.y <> b.y THEN UPDATE SET y = b.y",
    ],
)
def test_what_redshift_lacks_is_refused(text: str):
    code, _ = folded(text)
    assert any(refused.matches(code, in_transaction=False) for refused in REFUSED)


def test_refusals_have_a_source():
    assert all(refused.source.startswith("https://docs.aws.amazon.com/redshift/") for refused in REFUSED)

"""Lines of log: one for each major operation, as text and as JSON, without secrets."""

from __future__ import annotations

import json
import logging
import re

import pytest

from kit import sides
from kit.project import cli
from kit.shop import Shop
from tidegate import RunFailed

pytestmark = [pytest.mark.postgres]


def test_each_operation_is_one_line_of_json(shop: Shop):
    path = shop.folder / "logs" / "tidegate.jsonl"
    shop.settings["logging"] = {"level": "info", "format": "json", "file": str(path)}
    code, _, errors = cli("run", "-q", "-c", shop.file())
    assert (code, errors) == (0, "")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["event"] == "begin"
    assert lines[-1]["event"] == "end"
    assert (lines[-1]["outcome"], lines[-1]["rows_loaded"], lines[-1]["exit_code"]) == ("done", 352, 0)
    assert len({line["run"] for line in lines}) == 1
    loads = [line for line in lines if line.get("step") == "load" and line["table"] == "sales"]
    assert sorted((line["window"], line["rows"], line["outcome"]) for line in loads) == [
        ("20240101", 100, "done"),
        ("20240102", 100, "done"),
        ("20240103", 100, "done"),
    ]
    assert all(line["seconds"] > 0 and line["level"] == "info" and line["memory"] > 2**20 for line in loads)


def test_text_goes_to_standard_error(shop: Shop):
    shop.settings["logging"] = "INFO"
    code, output, errors = cli("run", "-q", "-c", shop.file(), "sales")
    assert code == 0
    pattern = r"^\d{4}-\d\d-\d\dT\S+Z INFO sales 20240101: load done, 100 rows, [\d.]+ s.*, run r-\S+"
    assert re.search(pattern, errors, re.MULTILINE)
    assert "INFO" not in output


def test_without_the_setting_nothing_is_written(shop: Shop):
    assert cli("run", "-q", "-c", shop.file(), "sales")[2] == ""


def test_a_program_handles_the_lines_itself(shop: Shop, caplog: pytest.LogCaptureFixture):
    """Also those of a load that failed, which name the reason and no secret."""
    shop.run()
    shop.in_source("INSERT INTO sales VALUES (20240104, 901, 1, 'x', NULL)")
    sides.do(shop.target, "ALTER TABLE sales ADD CONSTRAINT small CHECK (id < 900)")
    with caplog.at_level(logging.INFO, "tidegate"), pytest.raises(RunFailed):
        shop.run()
    failed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert any("sales 20240104: load failed" in record.getMessage() for record in failed)


def test_no_line_has_a_secret(shop: Shop, caplog: pytest.LogCaptureFixture):
    from tidegate.config.secrets import Redactor
    from tidegate.logs import log

    with caplog.at_level(logging.INFO, "tidegate"):
        log(logging.INFO, "login with pa55word", Redactor(["pa55word"]).redact, error="password pa55word is wrong")
    [record] = caplog.records
    assert "pa55word" not in record.getMessage() + json.dumps(record.tidegate_facts)

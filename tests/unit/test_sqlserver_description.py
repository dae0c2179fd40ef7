"""What `describe` makes of the answers of SQL Server's catalog."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.databases.sqlserver import description
from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.server import ServerFeatures
from tidegate.errors import DatabaseError, Transient
from tidegate.model.description import Section
from tidegate.sql.text import Sql, render

EVERYTHING = ServerFeatures.of(1, True, 2, 3, 5, 1, "READ_WRITE", 1, 1)
NOTHING_MORE = ServerFeatures.of(1, True, 2, 3, 5)
QUESTIONS = {question.title: question for question in description.QUESTIONS}


def sections(answers: dict[str, list[tuple[Any, ...]]], features: ServerFeatures = EVERYTHING) -> dict[str, Section]:
    """By title, when the server answers so; nothing to what is not named."""
    texts = {render(QUESTIONS[title].of(7), DIALECT): rows for title, rows in answers.items()}
    found = description.sections(lambda question: texts.get(render(question, DIALECT), []), 7, features)
    return {section.title: section for section in found}


def test_a_column_says_what_it_is_and_nothing_else():
    plain = ("a", "int", *[None] * 3, False, *[None] * 8, *[False] * 6, 0, None, 0)
    counting = ("b", "code", "sales", None, None, False, "0", "5", "57", None, None, "DF_b", "((1))")
    counting = (*counting, None, False, True, *[False] * 4, 0, None, 0)
    made = (
        "c",
        "int",
        *[None] * 3,
        False,
        *[None] * 3,
        "(hidden)",
        True,
        None,
        None,
        "whole",
        *[False] * 6,
        0,
        None,
        0,
    )
    found = sections({"columns as declared": [plain, counting, made]})
    assert found["columns as declared"].rows == (
        ("a", "int", ""),
        ("b", "code", "of schema sales, identity from 0, by 5, now at 57, default DF_b, = ((1)), sparse"),
        ("c", "int", "computed: (hidden), persisted, rule whole"),
    )


def test_partitions_are_told_with_their_bounds():
    rows = [
        (1, None, "2026-01-01", 0, "NONE", "old", True),
        (2, "2026-01-01", None, 12, "PAGE", "new", False),
    ]
    [section] = sections({"its partitions": rows}).values()
    assert section.headings == ("partition", "from", "to", "rows, about", "compression", "filegroup", "")
    assert section.rows == (
        ("1", "", "2026-01-01", "0", "NONE", "old", "read-only"),
        ("2", "2026-01-01", "", "12", "PAGE", "new", ""),
    )


def test_what_is_not_there_is_no_section():
    assert sections({"its size": [(None, None)], "triggers": []}) == {}


@pytest.mark.parametrize("title", list(QUESTIONS))
def test_every_question_has_as_many_labels_as_it_asks_for(title: str):
    """Counted in the statement itself: between SELECT and FROM, outside of brackets."""
    text = QUESTIONS[title].text.strip()
    asked, depth = 1, 0
    for number, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and text.startswith("\nFROM ", number):
            break
        asked += depth == 0 and letter == ","
    assert asked == len(QUESTIONS[title].headings) + len(QUESTIONS[title].labels)


@pytest.mark.parametrize(
    ("features", "captures", "views"),
    [
        (EVERYTHING, True, True),
        (EVERYTHING._replace(captures=False), False, True),
        (EVERYTHING._replace(dependencies=False), True, False),
    ],
)
def test_what_a_login_may_not_ask_is_not_asked(features: ServerFeatures, captures: bool, views: bool):
    asked: list[str] = []

    def query(question: Sql) -> list[Any]:
        asked.append(render(question, DIALECT))
        return []

    told = {section.title: section.problem for section in description.sections(query, 7, features)}
    assert any("cdc.change_tables AS c" in text for text in asked) is captures
    assert any("sys.sql_expression_dependencies" in text for text in asked) is views
    assert ("VIEW DEFINITION" in told.get("views that are bound to it", "")) is not views


def test_what_a_login_is_not_told_is_told():
    def query(question: Sql) -> list[Any]:
        if "dm_db_partition_stats" in render(question, DIALECT):
            raise DatabaseError("VIEW DATABASE STATE permission was denied.")
        return []

    [section] = description.sections(query, 7, EVERYTHING)
    assert (section.title, section.rows) == ("its size", ())
    assert section.problem == "VIEW DATABASE STATE permission was denied."


def test_a_lost_connection_is_no_answer():
    def query(question: Sql) -> list[Any]:
        raise Transient("The connection was lost.")

    with pytest.raises(Transient):
        description.sections(query, 7, EVERYTHING)

"""Statements: holes take names, values and other statements, and nothing that is a string."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.databases.postgresql.session import DIALECT
from tidegate.errors import ValueProblem
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, names, raw, render, sql

HOSTILE = [
    "plain",
    "two words",
    "Mixed Case",
    "select",
    'say "hi"',
    "it's",
    "''",
    '""',
    "back\\slash",
    "\\'",
    "{braces}",
    "{}",
    "{0}",
    "{table}",
    "{{",
    "100%",
    "%s",
    "%(name)s",
    "a.b",
    "[x]",
    "a;--",
    "/* */",
    "$$",
    "line\nbreak\r\n\ttab",
    "\ufeffmark",
    "é🙂𝒳",
    "'; DROP TABLE x; --",
    '"; DROP TABLE x; --',
]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")) | st.sampled_from(HOSTILE)


def rendered(statement: Sql | Name | Literal) -> str:
    return render(statement, DIALECT)


def unquoted(text: str, mark: str) -> str:
    """As the standard reads it: the first and the last mark go, two marks inside are one, and no mark stands alone."""
    assert text[0] == text[-1] == mark
    assert len(text) >= 2
    inner = text[1:-1]
    assert mark not in inner.replace(mark * 2, "")
    return inner.replace(mark * 2, mark)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (Name.of("a"), '"a"'),
        (Name.of("Mixed Case"), '"Mixed Case"'),
        (Name.of('say "hi"'), '"say ""hi"""'),
        (Name.of("a.b"), '"a.b"'),
        (Name.of("{x}%s"), '"{x}%s"'),
        (Name.of(TableName("sales", "orders")), '"sales"."orders"'),
        (Name.of(TableName("", "orders")), '"orders"'),
        (Name.of(TableName("a.b", 'c"d')), '"a.b"."c""d"'),
        (Name(("a", "b", "c")), '"a"."b"."c"'),
    ],
)
def test_a_name_is_quoted_part_by_part(name: Name, text: str):
    assert rendered(name) == text


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (Literal("x"), "'x'"),
        (Literal(""), "''"),
        (Literal("it's"), "'it''s'"),
        (Literal("back\\slash"), "'back\\slash'"),
        (Literal(5), "5"),
        (Literal(-5), "-5"),
        (Literal(9223372036854775807), "9223372036854775807"),
        (Literal("5"), "'5'"),
        (Literal(None), "NULL"),
        (Literal(None, "integer"), "NULL"),
        (Literal(5, "bigint"), "CAST('5' AS bigint)"),
        (Literal("20240131", "integer"), "CAST('20240131' AS integer)"),
        (Literal("it's", "character varying(8)"), "CAST('it''s' AS character varying(8))"),
        (Literal("{}", 'public."od{d}"'), "CAST('{}' AS public.\"od{d}\")"),
    ],
)
def test_a_literal_is_quoted_and_takes_its_columns_type(literal: Literal, text: str):
    assert rendered(literal) == text


@given(ANY_TEXT)
def test_no_name_ends_its_own_quotes(text: str):
    assert unquoted(rendered(Name.of(text)), '"') == text


@given(ANY_TEXT)
def test_no_value_ends_its_own_quotes(text: str):
    assert unquoted(rendered(Literal(text)), "'") == text


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_what_fills_a_hole_is_never_read_as_a_template(name: str, value: str, written: str):
    inner = sql("{n} = {v}", n=Name.of(name), v=Literal(value))
    outer = sql("SELECT {{}} {inner} {written}", inner=inner, written=raw(written))

    assert rendered(outer) == f"SELECT {{}} {rendered(Name.of(name))} = {rendered(Literal(value))} {written}"


@given(st.lists(ANY_TEXT))
def test_a_list_is_joined_by_commas(columns: list[str]):
    assert rendered(sql("({c})", c=names(columns))) == "(" + ", ".join(rendered(Name.of(c)) for c in columns) + ")"


def test_statements_nest():
    where = sql("{column} = {value}", column=Name.of("cobid"), value=Literal("7", "integer"))
    query = sql("SELECT {columns} FROM {table}", columns=names(["a", "b"]), table=Name.of(TableName("s", "t")))

    whole = sql("COPY ({query} WHERE {where}) TO STDOUT", query=query, where=where)

    assert rendered(whole) == 'COPY (SELECT "a", "b" FROM "s"."t" WHERE "cobid" = CAST(\'7\' AS integer)) TO STDOUT'


def test_one_hole_may_stand_twice():
    assert rendered(sql("{x} + {x}", x=Literal(1))) == "1 + 1"


def test_braces_that_are_doubled_are_braces():
    assert rendered(sql("SELECT '{{}}'")) == "SELECT '{}'"


@given(ANY_TEXT)
def test_raw_text_stays_as_it_is(text: str):
    assert rendered(raw(text)) == text


@pytest.mark.parametrize(
    "hole", ["x", "", "DROP TABLE x", ["x"], [Name.of("a"), "x"], b"x", 5, None, 1.5, TableName("", "t"), object()]
)
def test_what_is_neither_name_nor_value_nor_statement_is_refused(hole: object):
    with pytest.raises(TypeError):
        rendered(sql("SELECT {x}", x=hole))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("template", "holes", "problem"),
    [
        ("{a}", {}, r"holes \['a'\] were given \[\]"),
        ("{a}", {"b": Literal(1)}, r"holes \['a'\] were given \['b'\]"),
        ("{a} {b}", {"a": Literal(1)}, r"holes \['a', 'b'\] were given \['a'\]"),
        ("SELECT 1", {"a": Literal(1)}, r"holes \[\] were given \['a'\]"),
        ("{}", {"a": Literal(1)}, r"holes \[''\] were given \['a'\]"),
        ("{a.b}", {"a": Literal(1)}, r"holes \['a.b'\] were given \['a'\]"),
        ("{a[0]}", {"a": Literal(1)}, r"holes \['a\[0\]'\] were given \['a'\]"),
    ],
)
def test_every_hole_is_filled_and_nothing_else(template: str, holes: dict[str, Literal], problem: str):
    with pytest.raises(TypeError, match=problem):
        sql(template, **holes)


@pytest.mark.parametrize("part", [Name.of("a\0b"), Name(("a", "\0")), Literal("a\0b"), Literal("\0", "text")])
def test_a_nul_character_is_refused_before_the_server_sees_it(part: Name | Literal):
    with pytest.raises(ValueProblem, match="holds a NUL character") as refusal:
        rendered(sql("SELECT {part}", part=part))
    assert refusal.value.safe == "No statement was sent."

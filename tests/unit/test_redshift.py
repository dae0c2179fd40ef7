"""Redshift without a server: types, the passport of values, manifests, literals, names, errors."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tidegate.databases.redshift import Redshift
from tidegate.databases.redshift.copying import manifest_of, problem_of
from tidegate.databases.redshift.dialect import DIALECT
from tidegate.databases.redshift.failures import ServerError, translated
from tidegate.databases.redshift.types import logical_type
from tidegate.errors import DatabaseError, MissingObject, Transient
from tidegate.interfaces.stored_files import StoredFile
from tidegate.model.columns import Column, TableSchema
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.sql.text import Literal, render

PLACE = Connection("redshift", "nowhere", 5439, "dwh")
REDSHIFT = Redshift(PLACE)


def column(kind: Type, name: str = "c") -> Column:
    return Column(name, str(kind), kind.storage_type, logical_type=kind, database="mysql")


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        (Type("string", 40), "character varying(160)"),
        (Type("string", 20_000), "character varying(65535)"),
        (Type("string"), "character varying(65535)"),
        (Type("char", 3), "character varying(12)"),
        (Type("uint64"), "numeric(20,0)"),
        (Type("decimal", 38, 10), "numeric(38,10)"),
        (Type("timestamp", 6), "timestamp without time zone"),
        (Type("instant", 3), "timestamp with time zone"),
        (Type("binary", 20), "binary varying(20)"),
        (Type("json"), "character varying(65535)"),
        (Type("uuid"), "character varying(36)"),
    ],
)
def test_declared_types_fit_what_they_were_declared_for(kind: Type, declared: str):
    target = REDSHIFT.declare(column(kind))
    assert target.type == declared
    assert REDSHIFT.fits(column(kind), target) == "same"


def test_types_of_the_catalog():
    assert logical_type("character varying(256)") == Type("string", 64)
    assert logical_type("binary varying(64)") == Type("binary", 64)
    assert logical_type("super") == Type("local", spelling="super")


def test_narrow_text_is_widened_only_where_redshift_can():
    source, narrow = column(Type("string", 255)), REDSHIFT.declare(column(Type("string", 40)))
    assert REDSHIFT.fits(source, narrow) == "widen"
    free = TableSchema(TableName("public", "t"), (narrow,))
    keyed = TableSchema(TableName("public", "t"), (narrow,), primary_key=("c",))
    assert REDSHIFT.widening_problem(source, narrow, free) == ""
    assert "in a key" in REDSHIFT.widening_problem(source, narrow, keyed)
    number = REDSHIFT.declare(column(Type("int16")))
    assert "VARCHAR alone" in REDSHIFT.widening_problem(column(Type("int32")), number, free)


def test_types_without_a_place_are_refused():
    wide = [
        column(Type("decimal", 39, 2), "a"),
        column(Type("decimal", 38, 38), "b"),
        column(Type("decimal", 38, 37), "c"),
    ]
    assert list(REDSHIFT.refused_types(wide)) == ["a", "b"]
    [caution] = REDSHIFT.cautions([column(Type("string"), "note"), column(Type("string", 40), "name")])
    assert "note" in caution and "name" not in caution


def test_names_are_folded_and_not_cut():
    refused = REDSHIFT.invalid_names(["ID", "id", "é" * 64, "fine"])
    assert set(refused) == {"ID", "id", "é" * 64}


@pytest.mark.parametrize(
    ("cells", "most", "why"),
    [
        (["abc", None, "é"], 3, ""),
        (["éé", "ééé"], 3, "2 values have more than 3 bytes, one of them 6"),
        (["a\0b"], 100, "U+0000"),
        ([None, None], 1, ""),
        ([], 1, ""),
    ],
)
def test_values_that_redshift_would_cut_are_named(cells: list[str | None], most: int, why: str):
    assert why in problem_of(pa.array(cells, pa.string()), most)
    assert bool(problem_of(pa.array(cells, pa.string()), most)) == bool(why)


def test_bytes_have_a_bound():
    assert "more than 2 bytes" in problem_of(pa.array([b"\0\0\0"], pa.binary()), 2)
    assert problem_of(pa.array([b"\0"], pa.binary()), 2) == ""


def test_manifest_tells_length_and_that_files_are_needed():
    [entry] = json.loads(manifest_of([StoredFile("s3a://bucket/a.parquet", 7)]))["entries"]
    assert entry == {"url": "s3://bucket/a.parquet", "mandatory": True, "meta": {"content_length": 7}}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("it's", "'it''s'"),
        ("a\\b", "('a' || CHR(92) || 'b')"),
        ("\\", "(CHR(92))"),
        ("\\\\'", "(CHR(92) || CHR(92) || '''')"),
        ("", "''"),
    ],
)
def test_backslashes_mean_themselves_whatever_the_settings(text: str, written: str):
    assert render(Literal(text), DIALECT) == written


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (ServerError("XX000", "1023", "Serializable isolation violation on table - 1"), Transient),
        (ServerError("XX000", "Serializable isolation violation on table - 1"), Transient),
        (ServerError("", "server closed the connection", lost=True), Transient),
        (ServerError("42P01", 'relation "a" does not exist'), MissingObject),
        (ServerError("XX000", "Load of 11023 rows failed"), DatabaseError),
    ],
)
def test_errors_are_told_apart(problem: ServerError, kind: type[DatabaseError]):
    assert type(translated(problem, PLACE)) is kind


def test_values_in_messages_are_left_out():
    told = translated(ServerError("22P02", 'invalid input syntax for integer: "secret"'), PLACE)
    assert "secret" not in str(told)

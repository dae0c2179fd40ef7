"""Schema drift: the verdict for every way in which source and target may differ, as in the table of runs/drift.py."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tidegate.databases.postgresql import Postgresql
from tidegate.databases.postgresql.types import holds
from tidegate.errors import DriftStop, MissingObject
from tidegate.model.columns import Column, Shape
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.plan import ChangeSchema, Notice
from tidegate.runs.drift import Drift, compare

DATABASE = Postgresql(Connection("postgresql", "nowhere", 5432, "none"))
ORDERS = TableName("public", "orders")
_CATALOG_NAMES = {
    "smallint": "int2",
    "integer": "int4",
    "bigint": "int8",
    "text": "text",
    "character varying": "varchar",
    "character": "bpchar",
    "date": "date",
    "timestamp without time zone": "timestamp",
    "boolean": "bool",
}


def column(name: str, kind: str, **facts: bool | str) -> Column:
    below = str(facts.get("in_target", kind))
    base = re.sub(r"\(.*?\)", "", below)
    held = holds(_CATALOG_NAMES.get(base, base), below)
    return Column(name, kind, held.rests_as, holds=held, database="postgresql", **facts)  # type: ignore[arg-type]


COBID = column("cobid", "integer", nullable=False)
AMOUNT = column("amount", "numeric(18,2)")
NOTE = column("note", "text")


def shape(*columns: Column, key: tuple[str, ...] = (), name: TableName = ORDERS) -> Shape:
    return Shape(name, (COBID, *columns), primary_key=key, indexes=(("cobid",),))


def verdict(source: Shape, target: Shape | None, into: TableName = ORDERS) -> Drift:
    return compare("orders", source, target, into, DATABASE, COBID)


def names(drift: Drift) -> list[str]:
    return [one.name for one in drift.columns]


def ddl(drift: Drift) -> list[str]:
    return list(drift.change.statements) if drift.change else []


# go


def test_equal_tables_need_nothing():
    assert verdict(shape(AMOUNT, NOTE), shape(AMOUNT, NOTE)) == Drift((COBID, AMOUNT, NOTE))


def test_columns_in_another_order_travel_in_the_sources_order():
    drift = verdict(shape(AMOUNT, NOTE), Shape(ORDERS, (NOTE, AMOUNT, COBID), ("cobid",)))
    assert drift == Drift((COBID, AMOUNT, NOTE))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("smallint", "integer"),
        ("smallint", "bigint"),
        ("integer", "bigint"),
        ("numeric(10,2)", "numeric(18,2)"),
        ("character varying(10)", "character varying(20)"),
        ("character varying(10)", "character varying"),
        ("character varying(10)", "text"),
        ("character varying", "text"),
        ("text", "character varying"),
        ("timestamp(3) without time zone", "timestamp without time zone"),
        ("boolean", "smallint"),
    ],
)
def test_a_target_with_more_room_takes_a_narrower_source(source: str, target: str):
    assert ddl(verdict(shape(column("x", source)), shape(column("x", target)))) == []


# go with DDL


def test_a_missing_target_table_is_created_with_the_sources_key_and_an_index():
    drift = verdict(shape(AMOUNT, NOTE, key=("cobid", "amount")), None)
    assert drift.columns == (COBID, AMOUNT, NOTE)
    assert drift.change == ChangeSchema(
        (
            'CREATE TABLE "public"."orders" ("cobid" integer NOT NULL, "amount" numeric(18,2), "note" text,'
            ' PRIMARY KEY ("cobid", "amount"))',
        ),
        "the target table does not exist yet",
    )


def test_a_missing_target_table_in_another_schema_gets_that_schema_too():
    drift = verdict(shape(NOTE, key=("note",)), None, TableName("sales", "orders"))
    assert ddl(drift) == [
        'CREATE SCHEMA IF NOT EXISTS "sales"',
        'CREATE TABLE "sales"."orders" ("cobid" integer NOT NULL, "note" text, PRIMARY KEY ("note"))',
        'CREATE INDEX ON "sales"."orders" ("cobid")',
    ]


def test_a_new_column_is_added_and_may_be_null_since_old_rows_have_no_value_for_it():
    fresh = column("fresh", "date", nullable=False)
    drift = verdict(shape(NOTE, fresh), shape(NOTE))
    assert ddl(drift) == ['ALTER TABLE "public"."orders" ADD COLUMN "fresh" date']
    assert names(drift) == ["cobid", "note", "fresh"]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("integer", "smallint"),
        ("bigint", "smallint"),
        ("bigint", "integer"),
        ("numeric(18,2)", "numeric(10,2)"),
        ("character varying(20)", "character varying(10)"),
        ("character varying", "character varying(10)"),
        ("text", "character varying(10)"),
        ("timestamp without time zone", "timestamp(3) without time zone"),
    ],
)
def test_a_source_that_became_wider_widens_the_target(source: str, target: str):
    drift = verdict(shape(column("x", source)), shape(column("x", target)))
    assert ddl(drift) == [f'ALTER TABLE "public"."orders" ALTER COLUMN "x" TYPE {source}']


def test_a_wider_partition_column_is_widened_like_any_other():
    wide = column("cobid", "bigint", nullable=False)
    drift = compare("orders", Shape(ORDERS, (wide, NOTE)), shape(NOTE), ORDERS, DATABASE, wide)
    assert ddl(drift) == ['ALTER TABLE "public"."orders" ALTER COLUMN "cobid" TYPE bigint']


def test_the_statement_names_the_target_as_it_is_really_spelled():
    spelled = TableName("public", 'Odd "Orders"')
    drift = verdict(shape(NOTE, AMOUNT), shape(NOTE, name=spelled))
    assert ddl(drift) == ['ALTER TABLE "public"."Odd ""Orders""" ADD COLUMN "amount" numeric(18,2)']


def test_the_plan_says_why_the_schema_changes():
    drift = verdict(shape(NOTE, AMOUNT), shape(NOTE))
    assert drift.change is not None
    assert drift.change.why == "the source's columns changed"


# go, with a word to a person


@pytest.mark.parametrize(
    "own",
    [
        column("own", "text"),
        column("own", "text", nullable=False, has_default=True),
        column("own", "text", generated=True),
        column("own", "bigint", nullable=False, identity=True, has_default=True),
    ],
    ids=["nullable", "default", "computed", "identity"],
)
def test_a_column_of_the_targets_own_stays_as_it_is(own: Column):
    drift = verdict(shape(NOTE), shape(NOTE, own))
    assert drift == Drift((COBID, NOTE), notices=(Notice("only in the target, left as they are: own"),))


def test_a_column_that_is_gone_from_the_source_stays_empty_in_the_target():
    drift = verdict(shape(), shape(NOTE))
    assert drift == Drift((COBID,), notices=(Notice("only in the target, left as they are: note"),))


def test_a_column_that_the_target_computes_is_left_out():
    drift = verdict(shape(AMOUNT, NOTE), shape(replace(AMOUNT, generated=True), NOTE))
    assert drift == Drift(
        (COBID, NOTE), notices=(Notice("computed by the target, left out of load and proof: amount"),)
    )


def test_triggers_on_the_target_are_named():
    drift = verdict(shape(NOTE), replace(shape(NOTE), triggers=("audit", "stamp")))
    assert drift.notices == (Notice("triggers fire on the target: audit, stamp"),)


def test_a_target_whose_loads_scan_the_table_is_named():
    drift = verdict(shape(NOTE), Shape(ORDERS, (COBID, NOTE), ("note", "cobid"), indexes=(("note",),)))
    assert drift.notices == (Notice("no index of the target starts with cobid: every load scans the table"),)


def test_tables_that_refer_to_the_target_are_named_with_a_warning():
    drift = verdict(shape(NOTE), replace(shape(NOTE), referenced_by=("lines",)))
    assert drift.notices == (Notice("referenced by lines: replacing rows may be refused", severity="warning"),)


# stop


def test_a_required_column_that_the_source_lacks_stops():
    with pytest.raises(DriftStop) as stop:
        verdict(shape(NOTE), shape(NOTE, column("own", "text", nullable=False)))
    assert str(stop.value) == (
        "orders: the target's column own must not be null and the source has no such column.\n"
        "Nothing was written.\n"
        "Give own a default in the target, make it nullable, or drop it."
    )


def test_one_column_gone_and_one_new_of_its_type_looks_renamed():
    with pytest.raises(DriftStop) as stop:
        verdict(shape(AMOUNT, column("remark", "text")), shape(AMOUNT, NOTE))
    assert str(stop.value) == (
        "orders: note left the source and remark, of its type, is new: it looks renamed.\n"
        "Nothing was written.\n"
        "Rename note in the target, or drop it there if remark is really new."
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([column("remark", "date")], [NOTE]),
        ([column("remark", "text"), column("comment", "text")], [NOTE]),
        ([column("remark", "text")], [NOTE, column("memo", "text")]),
    ],
    ids=["of another type", "two are new", "two are gone"],
)
def test_other_comings_and_goings_do_not_look_renamed(source: list[Column], target: list[Column]):
    added = [f'ALTER TABLE "public"."orders" ADD COLUMN "{one.name}" {one.type}' for one in source]
    assert ddl(verdict(shape(*source), shape(*target))) == added


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("integer", "text"),
        ("text", "integer"),
        ("date", "timestamp without time zone"),
        ("timestamp without time zone", "timestamp with time zone"),
        ("numeric(18,2)", "numeric(18,4)"),
        ("numeric(18,4)", "numeric(18,2)"),
        ("numeric", "numeric(18,2)"),
        ("real", "double precision"),
        ("character(8)", "character(10)"),
        ("character(8)", "character varying(8)"),
        ("json", "jsonb"),
    ],
)
def test_another_type_stops(source: str, target: str):
    with pytest.raises(DriftStop) as stop:
        verdict(shape(column("x", source)), shape(column("x", target)))
    assert str(stop.value) == (
        f"orders: x is {target} in the target and {source} in the source; values could change on the way.\n"
        "Nothing was written.\n"
        f"Alter x in the target to {source}, or load into another table with `target_table`."
    )


def test_a_column_spelled_in_another_case_stops():
    with pytest.raises(DriftStop, match="orders: column note is spelled Note in the target"):
        verdict(shape(NOTE), shape(replace(NOTE, name="Note")))


def test_of_two_columns_that_differ_in_case_alone_the_missing_one_is_added():
    upper = replace(NOTE, name="NOTE")
    assert ddl(verdict(shape(NOTE, upper), shape(NOTE))) == ['ALTER TABLE "public"."orders" ADD COLUMN "NOTE" text']


def test_a_target_without_the_partition_column_stops():
    with pytest.raises(MissingObject, match=r"orders: public\.orders in the target has no column cobid"):
        verdict(shape(NOTE), Shape(ORDERS, (NOTE,)))


@pytest.mark.parametrize("target", [None, shape(NOTE)], ids=["to be created", "there already"])
def test_columns_that_the_source_hides_stop(target: Shape | None):
    masked = replace(NOTE, unreadable="it is masked")
    sealed = column("iban", "text", unreadable="it is encrypted")
    with pytest.raises(DriftStop) as stop:
        verdict(shape(AMOUNT, masked, sealed), target)
    assert str(stop.value) == (
        "orders: the source does not give every column as it is (note: it is masked; iban: it is encrypted).\n"
        "Nothing was read or written.\n"
        "Grant what is missing, or read a view that leaves the column out or converts it (`source_table`)."
    )


# Domains


def test_a_domain_is_created_as_the_type_below_it():
    """A domain lives in one database; its values fit the type that it is made of."""
    rate = column("rate", "public.rate", in_target="numeric(9,6)")
    assert 'CREATE TABLE "public"."orders" ("cobid" integer NOT NULL, "rate" numeric(9,6))' in ddl(
        verdict(shape(rate), None)
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (column("rate", "public.rate", in_target="integer"), column("rate", "integer")),
        (column("rate", "public.rate", in_target="integer"), column("rate", "public.rate", in_target="integer")),
        (column("rate", "integer"), column("rate", "public.rate", in_target="integer")),
        (column("rate", "public.rate", in_target="integer"), column("rate", "other.rate", in_target="integer")),
    ],
    ids=["domain into its type", "domain into domain", "type into domain", "two domains of one type"],
)
def test_a_domain_and_the_type_below_it_are_the_same(source: Column, target: Column):
    assert verdict(shape(source), shape(target)) == Drift((COBID, source))


def test_a_domain_of_the_target_is_never_altered():
    with pytest.raises(DriftStop, match=r"rate is public\.rate in the target and bigint in the source"):
        verdict(shape(column("rate", "bigint")), shape(column("rate", "public.rate", in_target="integer")))


def test_a_null_that_the_target_would_refuse_is_told_before():
    drift = verdict(shape(NOTE), shape(column("note", "text", nullable=False)))
    assert Notice("a null would be refused by the target: note", severity="warning") in drift.notices


@pytest.mark.parametrize("target", [None, shape(NOTE)], ids=["new", "there"])
def test_what_the_source_may_keep_to_itself_is_told_before(target: Shape | None):
    drift = verdict(replace(shape(NOTE), cautions=("some rows are hidden",)), target)
    assert drift.notices == (Notice("some rows are hidden", severity="warning"),)


def test_what_the_login_may_not_see_of_the_source_is_a_note():
    drift = verdict(replace(shape(NOTE), unseen=("rows could be hidden",)), shape(NOTE))
    assert drift.notices == (Notice("rows could be hidden"),)


def test_a_deletion_that_reaches_other_tables_stops():
    with pytest.raises(DriftStop, match=r"would delete or change rows of public\.fills"):
        verdict(shape(NOTE), replace(shape(NOTE), referenced_by=("public.fills",), cascades_to=("public.fills",)))


def test_a_name_that_would_be_cut_stops():
    with pytest.raises(DriftStop, match="longer than 63 bytes"):
        verdict(shape(column("é" * 32, "text")), None)


def test_a_target_without_transactions_stops():
    with pytest.raises(DriftStop, match="without transactions"):
        verdict(shape(NOTE), replace(shape(NOTE), transactional=False))

"""Schema drift: the decision for each difference between source and target, as listed in tables/drift.py."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tidegate.databases.postgresql import Postgresql
from tidegate.databases.postgresql.types import logical_type
from tidegate.errors import DriftStop, MissingObject
from tidegate.model.columns import Column, TableSchema
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.plan import ChangeSchema, Notice
from tidegate.tables.drift import Drift, compare

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
    below = str(facts.get("portable_type", kind))
    base = re.sub(r"\(.*?\)", "", below)
    held = logical_type(_CATALOG_NAMES.get(base, base), below)
    return Column(name, kind, held.storage_type, logical_type=held, database="postgresql", **facts)  # type: ignore[arg-type]


COBID = column("cobid", "integer", nullable=False)
AMOUNT = column("amount", "numeric(18,2)")
NOTE = column("note", "text")


def shape(*columns: Column, key: tuple[str, ...] = (), name: TableName = ORDERS) -> TableSchema:
    return TableSchema(name, (COBID, *columns), primary_key=key, indexes=(("cobid",),))


def verdict(source: TableSchema, target: TableSchema | None, into: TableName = ORDERS) -> Drift:
    return compare("orders", source, target, into, DATABASE, COBID)


def names(drift: Drift) -> list[str]:
    return [one.name for one in drift.columns]


def ddl(drift: Drift) -> list[str]:
    return list(drift.change.statements) if drift.change else []


# No change needed


def test_equal_tables_need_no_change():
    """When source and target have the same columns, all columns are copied and nothing changes."""
    assert verdict(shape(AMOUNT, NOTE), shape(AMOUNT, NOTE)) == Drift((COBID, AMOUNT, NOTE))


def test_columns_follow_the_source_order():
    """When the target has another column order, columns are copied in the source's order."""
    drift = verdict(shape(AMOUNT, NOTE), TableSchema(ORDERS, (NOTE, AMOUNT, COBID), ("cobid",)))
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
def test_wider_target_type_is_accepted(source: str, target: str):
    """When the target's type holds every value of the source's, no DDL is needed."""
    assert ddl(verdict(shape(column("x", source)), shape(column("x", target)))) == []


# Changes by DDL


def test_missing_target_table_is_created():
    """A missing target table is created with the source's columns and key."""
    drift = verdict(shape(AMOUNT, NOTE, key=("cobid", "amount")), None)
    assert drift.columns == (COBID, AMOUNT, NOTE)
    assert drift.change == ChangeSchema(
        (
            'CREATE TABLE "public"."orders" ("cobid" integer NOT NULL, "amount" numeric(18,2), "note" text,'
            ' PRIMARY KEY ("cobid", "amount"))',
        ),
        "the target table does not exist yet",
    )


def test_missing_schema_is_created():
    """A missing table in another schema is created with its schema and an index on the partition column."""
    drift = verdict(shape(NOTE, key=("note",)), None, TableName("sales", "orders"))
    assert ddl(drift) == [
        'CREATE SCHEMA IF NOT EXISTS "sales"',
        'CREATE TABLE "sales"."orders" ("cobid" integer NOT NULL, "note" text, PRIMARY KEY ("note"))',
        'CREATE INDEX ON "sales"."orders" ("cobid")',
    ]


def test_new_column_is_added_as_nullable():
    """A new column is added as nullable, because rows that were loaded before have no value for it."""
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
def test_wider_source_type_widens_the_target(source: str, target: str):
    """When the source's type became wider, the target's column is altered to it."""
    drift = verdict(shape(column("x", source)), shape(column("x", target)))
    assert ddl(drift) == [f'ALTER TABLE "public"."orders" ALTER COLUMN "x" TYPE {source}']


def test_wider_partition_column_is_widened():
    """A wider partition column is altered like any other column."""
    wide = column("cobid", "bigint", nullable=False)
    drift = compare("orders", TableSchema(ORDERS, (wide, NOTE)), shape(NOTE), ORDERS, DATABASE, wide)
    assert ddl(drift) == ['ALTER TABLE "public"."orders" ALTER COLUMN "cobid" TYPE bigint']


def test_ddl_uses_the_target_spelling():
    """DDL quotes the name of the target table as the catalog spells it."""
    spelled = TableName("public", 'Odd "Orders"')
    drift = verdict(shape(NOTE, AMOUNT), shape(NOTE, name=spelled))
    assert ddl(drift) == ['ALTER TABLE "public"."Odd ""Orders""" ADD COLUMN "amount" numeric(18,2)']


def test_schema_change_has_a_reason():
    """The planned schema change says that the source's columns changed."""
    drift = verdict(shape(NOTE, AMOUNT), shape(NOTE))
    assert drift.change is not None
    assert drift.change.why == "the source's columns changed"


# Notes and warnings


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
def test_own_column_of_the_target_is_kept(own: Column):
    """A nullable, default, computed or identity column that only the target has is left as it is, with a note."""
    drift = verdict(shape(NOTE), shape(NOTE, own))
    assert drift == Drift((COBID, NOTE), notices=(Notice("only in the target, left as they are: own"),))


def test_dropped_source_column_is_kept():
    """A column that the source dropped is left as it is in the target, with a note."""
    drift = verdict(shape(), shape(NOTE))
    assert drift == Drift((COBID,), notices=(Notice("only in the target, left as they are: note"),))


def test_generated_target_column_is_left_out():
    """A column that the target computes is not copied, with a note."""
    drift = verdict(shape(AMOUNT, NOTE), shape(replace(AMOUNT, generated=True), NOTE))
    assert drift == Drift(
        (COBID, NOTE), notices=(Notice("computed by the target, left out of load and proof: amount"),)
    )


def test_target_triggers_are_noted():
    """The plan notes the triggers of the target table."""
    drift = verdict(shape(NOTE), replace(shape(NOTE), triggers=("audit", "stamp")))
    assert drift.notices == ()


def test_missing_partition_index_is_noted():
    """When no index of the target starts with the partition column, the plan notes that loads scan the table."""
    drift = verdict(shape(NOTE), TableSchema(ORDERS, (COBID, NOTE), ("note", "cobid"), indexes=(("note",),)))
    assert drift.notices == (Notice("no index of the target starts with cobid: every load scans the table"),)


def test_referencing_tables_are_warned_about():
    """When other tables refer to the target, the plan warns that replacing rows may be refused."""
    drift = verdict(shape(NOTE), replace(shape(NOTE), referenced_by=("lines",)))
    assert drift.notices == (Notice("referenced by lines: replacing rows may be refused", severity="warning"),)


# Differences that stop the run


def test_required_column_missing_in_source_stops():
    """A NOT NULL target column without a default that the source lacks stops the run."""
    with pytest.raises(DriftStop) as stop:
        verdict(shape(NOTE), shape(NOTE, column("own", "text", nullable=False)))
    assert str(stop.value) == (
        "orders: the target's column own must not be null and the source has no such column.\n"
        "Nothing was written.\n"
        "Give own a default in the target, make it nullable, or drop it."
    )


def test_renamed_column_stops():
    """One column gone and one new column of the same type look like a renaming, which stops the run."""
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
def test_other_column_changes_are_not_renames(source: list[Column], target: list[Column]):
    """New and missing columns of different types or numbers are added, not taken for a renaming."""
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
def test_incompatible_type_stops(source: str, target: str):
    """When values could change between the types of a column, the run stops with a remedy."""
    with pytest.raises(DriftStop) as stop:
        verdict(shape(column("x", source)), shape(column("x", target)))
    assert str(stop.value) == (
        f"orders: x is {target} in the target and {source} in the source; values could change on the way.\n"
        "Nothing was written.\n"
        f"Alter x in the target to {source}, or load into another table with `target_table`."
    )


def test_column_in_another_case_stops():
    """A target column that differs only in case stops the run."""
    with pytest.raises(DriftStop, match="orders: column note is spelled Note in the target") as stop:
        verdict(shape(NOTE), shape(replace(NOTE, name="Note")))
    assert "`columns: {note: {name: Note}}`" in str(stop.value)


def test_columns_differing_in_case_are_separate():
    """When the source has two columns that differ only in case, the missing one is added."""
    upper = replace(NOTE, name="NOTE")
    assert ddl(verdict(shape(NOTE, upper), shape(NOTE))) == ['ALTER TABLE "public"."orders" ADD COLUMN "NOTE" text']


def test_target_without_partition_column_stops():
    """A target table without the partition column stops the run."""
    with pytest.raises(MissingObject, match=r"orders: public\.orders in the target has no column cobid"):
        verdict(shape(NOTE), TableSchema(ORDERS, (NOTE,)))


@pytest.mark.parametrize("target", [None, shape(NOTE)], ids=["to be created", "there already"])
def test_unreadable_source_columns_stop(target: TableSchema | None):
    """Masked or encrypted source columns stop the run, and the message names each one."""
    masked = replace(NOTE, unreadable="it is masked")
    sealed = column("iban", "text", unreadable="it is encrypted")
    with pytest.raises(DriftStop) as stop:
        verdict(shape(AMOUNT, masked, sealed), target)
    assert str(stop.value) == (
        "orders: the source does not give every column as it is (note: it is masked; iban: it is encrypted).\n"
        "Nothing was read or written.\n"
        "Grant what is missing, or leave the column out: `columns: {its_name: false}`."
    )


# Domains


def test_domain_is_created_as_its_base_type():
    """A domain exists in one database only, so the target gets its base type."""
    rate = column("rate", "public.rate", portable_type="numeric(9,6)")
    assert 'CREATE TABLE "public"."orders" ("cobid" integer NOT NULL, "rate" numeric(9,6))' in ddl(
        verdict(shape(rate), None)
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (column("rate", "public.rate", portable_type="integer"), column("rate", "integer")),
        (
            column("rate", "public.rate", portable_type="integer"),
            column("rate", "public.rate", portable_type="integer"),
        ),
        (column("rate", "integer"), column("rate", "public.rate", portable_type="integer")),
        (column("rate", "public.rate", portable_type="integer"), column("rate", "other.rate", portable_type="integer")),
    ],
    ids=["domain into its type", "domain into domain", "type into domain", "two domains of one type"],
)
def test_domain_equals_its_base_type(source: Column, target: Column):
    """A domain and its base type are compatible in both directions."""
    assert verdict(shape(source), shape(target)) == Drift((COBID, source))


def test_target_domain_is_never_altered():
    """When a domain of the target is too narrow, the run stops instead of altering it."""
    with pytest.raises(DriftStop, match=r"rate is public\.rate in the target and bigint in the source"):
        verdict(shape(column("rate", "bigint")), shape(column("rate", "public.rate", portable_type="integer")))


def test_null_in_a_not_null_column_is_warned_about():
    """When a nullable source column is NOT NULL in the target, the plan warns."""
    drift = verdict(shape(NOTE), shape(column("note", "text", nullable=False)))
    assert Notice("a null would be refused by the target: note", severity="warning") in drift.notices


@pytest.mark.parametrize("target", [None, shape(NOTE)], ids=["new", "there"])
def test_source_cautions_are_warnings(target: TableSchema | None):
    """Cautions about the source, such as hidden rows, become warnings of the plan."""
    drift = verdict(replace(shape(NOTE), source_warnings=("some rows are hidden",)), target)
    assert drift.notices == (Notice("some rows are hidden", severity="warning"),)


def test_unseen_source_properties_are_noted():
    """What the login cannot see of the source becomes a note of the plan."""
    drift = verdict(replace(shape(NOTE), source_notes=("rows could be hidden",)), shape(NOTE))
    assert drift.notices == (Notice("rows could be hidden"),)


def test_cascading_delete_stops():
    """When deleting target rows would change other tables, the run stops."""
    with pytest.raises(DriftStop, match=r"would delete or change rows of public\.fills"):
        verdict(shape(NOTE), replace(shape(NOTE), referenced_by=("public.fills",), cascades_to=("public.fills",)))


def test_too_long_name_stops():
    """A column name longer than 63 bytes stops the run instead of being cut."""
    with pytest.raises(DriftStop, match="longer than 63 bytes"):
        verdict(shape(column("é" * 32, "text")), None)


def test_target_without_transactions_stops():
    """A target table without transactions stops the run."""
    with pytest.raises(DriftStop, match="without transactions"):
        verdict(shape(NOTE), replace(shape(NOTE), transactional=False))

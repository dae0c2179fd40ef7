"""Detection and proposal: the kind of a table by its schema, the reasons, and a file that loads with any name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.config.project import Project
from tidegate.config.reading import load_project
from tidegate.databases.postgresql.dialect import PostgresqlDialect
from tidegate.errors import ConfigError, DatabaseError
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.values import ValueKind
from tidegate.ops.detection import MOST_STATIC_ROWS, Proposal, column_names, detect
from tidegate.ops.proposal import as_yaml, propose
from tidegate.sql.text import Sql, render

LARGE = 2_000_000
ORDERED = {
    "int16": ValueKind.INTEGER,
    "int32": ValueKind.INTEGER,
    "int64": ValueKind.INTEGER,
    "decimal(8,0)": ValueKind.DECIMAL,
    "decimal(18,2)": ValueKind.DECIMAL,
    "date": ValueKind.DATE,
    "timestamp": ValueKind.TIMESTAMP,
    "timestamptz": ValueKind.TIMESTAMP,
    "string": ValueKind.TEXT,
    "bool": ValueKind.TEXT,
    "binary": ValueKind.TEXT,
}


def kind_of(column: Column) -> ValueKind | None:
    return ORDERED.get(column.storage_type)


def column(spelled: str) -> Column:
    """`name type`, with `?` when it is nullable, `!` when the server fills it in, `=t` for how its server calls it."""
    name, storage_type, *facts = spelled.split()
    declared = next((fact[1:] for fact in facts if fact[0] == "="), storage_type)
    return Column(name, declared, storage_type, nullable="?" in facts, identity="!" in facts)


def schema(
    columns: str, key: str = "", unique: tuple[str, ...] = (), indexes: tuple[str, ...] = (), rows: int = LARGE
) -> TableSchema:
    return TableSchema(
        TableName("public", "t"),
        tuple(column(spelled) for spelled in columns.split(", ")),
        primary_key=tuple(key.split()),
        unique_keys=tuple(tuple(key.split()) for key in unique),
        indexes=tuple(tuple(index.split()) for index in indexes),
        row_estimate=rows,
    )


def detected(found: TableSchema) -> Proposal:
    return detect(found, kind_of)


def proposed_settings(found: TableSchema) -> dict[str, object]:
    return {setting.name: setting.value for setting in detected(found).settings if setting.value is not None}


def reasons(found: TableSchema) -> list[str]:
    proposal = detected(found)
    return [*proposal.reasons, *(words for setting in proposal.settings for words in setting.why)]


# Kinds


@pytest.mark.parametrize(
    ("columns", "key", "rows", "kind"),
    [
        ("COBID int32, id int64", "COBID id", LARGE, "partition"),
        ("cob_id string, id int64", "cob_id id", LARGE, "partition"),
        ("Reporting-Date date, id int64", "", LARGE, "partition"),
        ("BUSINESS_DATE timestamp, id int64", "", 10, "partition"),
        ("ProcessDate decimal(8,0), id int64", "", LARGE, "partition"),
        ("period int32, id int64", "period id", LARGE, "partition"),
        # No order, or not one of days.
        ("COBID float64, id int64", "id", LARGE, ""),
        ("COBID decimal(18,2), id int64", "id", LARGE, ""),
        ("COBID bool, id int64", "id", LARGE, ""),
        ("COBID binary, id int64", "id", 10, "static"),
        # One row per value: a calendar.
        ("DateKey int32, holiday bool", "DateKey", 10, "static"),
        ("COBID int32, closed bool", "COBID", LARGE, ""),
        # Versions.
        ("id int64, LastModified timestamp, IsLatest bool", "id LastModified", LARGE, "scd2"),
        ("id int64, last_modified timestamptz, is_latest int16", "id last_modified", 10, "scd2"),
        ("id int64, updated_at timestamp, is_current string", "id", LARGE, "scd2"),
        ("id int64, modified_on date, current_flag text", "", LARGE, "scd2"),
        ("id int64, valid_from timestamp, CURRENT_IND bool", "", LARGE, "scd2"),
        ("id int64, valid_from date, valid_to date", "id valid_from", LARGE, "scd2"),
        ("sk int64, valid_from date, valid_to date, is_active bool", "sk", LARGE, "scd2"),
        ("id int64, version int32, updated_at timestamp, active bool", "id version", LARGE, "scd2"),
        # A reporting day is believed before versions, versions before a mere load date.
        ("COBID int32, id int64, LastModified timestamp, IsLatest bool", "", LARGE, "partition"),
        ("LoadDate date, id int64, LastModified timestamp, IsLatest bool", "", LARGE, "scd2"),
        # Not enough to be versions.
        ("id int64, updated_at timestamp, is_active bool", "id", LARGE, "incremental"),
        ("id int64, valid_from date, valid_to date", "id", LARGE, ""),
        ("id int64, IsLatest bool", "id", LARGE, ""),
        ("id int64, LastModified string, IsLatest bool", "id", LARGE, ""),
        ("id int64, LastModified timestamp, IsLatest float64", "id", LARGE, "incremental"),
        # By size.
        ("code string, name string", "code", 1_200, "static"),
        ("code string, name string", "", MOST_STATIC_ROWS, "static"),
        ("code string, name string", "code", 0, "static"),
        ("code string, name string", "code", MOST_STATIC_ROWS + 1, ""),
    ],
)
def test_kind(columns: str, key: str, rows: int, kind: str):
    assert detected(schema(columns, key, rows=rows)).kind == kind


def test_partitioned_table_without_estimate_is_not_small():
    found = replace(schema("id int64, booked date", "id", rows=0), partitioned_by="RANGE (booked)")
    assert detected(found).kind == ""
    assert "the server partitions it by RANGE (booked)" in reasons(found)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (replace(schema("COBID int32"), readable=False), "the login may see it, but not its rows"),
        (replace(schema("COBID int32"), columns=()), "it has no columns"),
    ],
)
def test_what_cannot_be_read_is_not_proposed(found: TableSchema, reason: str):
    assert (detected(found).kind, reasons(found)) == ("", [reason])


# Settings


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            schema("COBID int32, id int64, LoadId int64, amount decimal(18,2)", "COBID id"),
            {"partition_column": "COBID", "restatement_column": "LoadId", "initial_load_count": "all"},
        ),
        (
            schema("COBID int32, a int64, b int64 ?, c int64, d int64", unique=("a b", "COBID c d", "COBID a")),
            {"partition_column": "COBID", "keys": ("COBID", "a"), "initial_load_count": "all"},
        ),
        (
            schema("customer_id int64, LastModified timestamp, IsLatest bool", "customer_id LastModified"),
            {
                "business_keys": ("customer_id",),
                "cursor_column": "LastModified",
                "flag_column": "IsLatest",
                "initial_load": "full",
            },
        ),
        (
            schema("code string, version int32, LastModified timestamp, IsLatest bool", "code version"),
            {
                "business_keys": ("code",),
                "version_key": ("code", "version"),
                "cursor_column": "LastModified",
                "flag_column": "IsLatest",
                "initial_load": "full",
            },
        ),
        (
            schema(
                "sk int64 !, country string, id int64, valid_from date, is_current bool",
                "sk",
                unique=("country id valid_from",),
            ),
            {
                "business_keys": ("country", "id"),
                "cursor_column": "valid_from",
                "flag_column": "is_current",
                "initial_load": "full",
            },
        ),
        (
            schema("sk int64 !, id int64, updated_at timestamp, is_current bool", "sk"),
            {
                "business_keys": (),
                "version_key": ("sk",),
                "cursor_column": "updated_at",
                "flag_column": "is_current",
                "initial_load": "full",
            },
        ),
        (
            schema("id int64, valid_from timestamp, valid_to timestamp ?", "id valid_from"),
            {
                "business_keys": ("id",),
                "cursor_column": "valid_from",
                "ignore_columns": ("valid_to",),
                "initial_load": "full",
            },
        ),
        # Whatever the key numbers, it names a row that is updated in place.
        (
            schema("id int64, LastModified timestamp, IsLatest bool", "id"),
            {
                "business_keys": ("id",),
                "version_key": ("id",),
                "cursor_column": "LastModified",
                "flag_column": "IsLatest",
                "initial_load": "full",
            },
        ),
        (
            schema("code string, name string", "code", rows=180),
            {"primary_keys": ("code",), "merge_strategy": "upsert"},
        ),
        (
            schema("id int64 ?, code string", unique=("id", "code"), rows=180),
            {"primary_keys": ("code",), "merge_strategy": "upsert"},
        ),
        (schema("code string ?", unique=("code",), rows=180), {"merge_strategy": "replace"}),
    ],
)
def test_settings(found: TableSchema, expected: dict[str, object]):
    assert proposed_settings(found) == expected


@pytest.mark.parametrize(
    ("others", "column"),
    [
        ("LOAD_ID int32", "LOAD_ID"),
        ("batch_id int64, updated_at timestamp", "batch_id"),
        ("created_at timestamp, updated_at timestamp", "updated_at"),
        ("RowVersion binary =rowversion", "RowVersion"),
        ("timestamp binary =timestamp, created_at date", "timestamp"),
        ("load_date date", "load_date"),
        # Of these the greatest need not move.
        ("row_version int64", None),
        ("RowVersion binary =bytes", None),
        ("run_id string", None),
        ("amount int64", None),
    ],
)
def test_restatement_column(others: str, column: str | None):
    assert (
        proposed_settings(schema(f"COBID int32, {others}", "", indexes=("COBID",))).get("restatement_column") == column
    )


# Reasons and risks


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (schema("COBID int32", rows=1_200), "estimated 1,200 rows"),
        (schema("COBID int32", rows=0), "no row estimate (empty, or never analysed)"),
        (
            schema("COBID int32 =integer, id int64", "COBID id"),
            "COBID (integer) is a usual name for a reporting day; an index starts with it",
        ),
        (schema("COBID int32, id int64", "id COBID"), "risk: no index starts with COBID: planning scans the table"),
        (schema("COBID int32 ?"), "the column may be null: rows without a value are copied, too, as one window"),
        (schema("COBID timestamp"), "risk: COBID has a time of day: each time becomes a partition value"),
        (schema("COBID string"), "risk: COBID is text: the newest value is the last one in text order"),
        (schema("period int32"), "period (int32) is a usual name for a day or period"),
        (schema("AsOfDate date, COBID int32"), "chosen over AsOfDate, which also fits"),
        (schema("COBID int32, updated_at timestamp, LoadId int64"), "chosen over updated_at, which also fits"),
        (schema("COBID int32"), "risk: no column shows restatements: only row counts are compared"),
        (
            schema("COBID int32, LoadId string =uuid"),
            "risk: no column shows restatements (LoadId is uuid, which need not grow): only row counts are compared",
        ),
        (
            schema("COBID int32, LoadId int64 ?"),
            "risk: LoadId is nullable: rows without it are only counted",
        ),
        (
            schema("COBID int32, LastModified date"),
            "risk: LastModified has no time of day: a second restatement on the same day is not noticed",
        ),
        (
            schema("COBID int32, created_at timestamp"),
            "risk: created_at changes when rows are inserted, not when they are updated",
        ),
        (
            schema("COBID int32, LoadId int64", indexes=("COBID",)),
            "risk: no index contains COBID and LoadId: planning reads the rows of the look-back",
        ),
        (schema("COBID int32, id int64", "COBID id"), "keys: findings name a row by the primary key, COBID, id"),
        (schema("COBID int32, id int64", unique=("COBID id",)), "no primary key: COBID, id is unique and never null"),
        (schema("COBID int32, a int64, b int64", unique=("b", "a")), "chosen over b, also a unique key"),
        (
            schema("COBID int32, id int64 ?", unique=("COBID id",)),
            "the unique key COBID, id is not used: id is nullable",
        ),
        (
            schema("COBID int32"),
            "risk: no key: findings name a row by its first columns, which several rows may share",
        ),
        (
            schema("COBID int32, LastModified timestamp, IsLatest bool"),
            "it could also be scd2: cursor LastModified, flag IsLatest; a reporting day takes precedence",
        ),
        (
            schema("LoadDate date, LastModified timestamp, IsLatest bool"),
            "LoadDate could also partition it: signs of versions take precedence",
        ),
        (
            schema("id int64, LastModified timestamp ?, IsLatest bool"),
            "risk: LastModified is nullable: rows without it are never read",
        ),
        (
            schema("id int64, LastModified timestamp, IsLatest bool", "id LastModified"),
            "risk: no index starts with LastModified: every run scans the table",
        ),
        (
            schema("id int64, modified_on date, IsLatest bool"),
            "risk: modified_on has no time of day: the newest day is read again at every run",
        ),
        (
            schema("id int64, valid_from timestamp, LastModified timestamp, IsLatest bool"),
            "chosen over valid_from, which also fits",
        ),
        (
            schema("id int64, LastModified timestamp, IsLatest bool ?"),
            "risk: IsLatest is nullable: null is neither current nor superseded",
        ),
        (
            schema("id int64, LastModified timestamp, IsLatest string"),
            "risk: IsLatest is not a boolean: the catalog does not say which text means current",
        ),
        (
            schema("id int64, LastModified timestamp, IsLatest bool", "id"),
            "risk: id is unique by itself: either the table has no history, or id numbers the versions",
        ),
        (
            schema("sk int64 !, LastModified timestamp, IsLatest bool", "sk"),
            "risk: sk numbers the versions and no other key was found: fill in the columns that identify an entity",
        ),
        (
            schema("id int64, LastModified timestamp, IsLatest bool"),
            "risk: no key: fill in the columns that identify an entity",
        ),
        (schema("code string", "code", rows=1_200), "estimated 1,200 rows: compared as a whole"),
        (
            schema("code string", "code", rows=0),
            "no row estimate (empty, or never analysed), assumed to be small: compared as a whole",
        ),
        (schema("code string", "code", rows=9), "risk: rows that the source deletes stay in the target"),
        (schema("code string", rows=9), "risk: no key: a change replaces the whole table, and findings name no row"),
        (schema("DateKey int32", "DateKey", rows=9), "DateKey is not a partition column: one row per value"),
        (schema("COBID float64", rows=9), "COBID is not a partition column: type float64"),
        (
            schema("id int64, IsLatest bool", "id", rows=9),
            "IsLatest flags the current version, but no column has the time of change",
        ),
        (
            schema("id int64, updated_at timestamp", "id"),
            "risk: no index starts with it: every run scans the table",
        ),
        (schema("id int64"), "estimated 2,000,000 rows: assumed too large to compare as a whole"),
    ],
)
def test_reasons_and_risks(found: TableSchema, words: str):
    assert words in reasons(found)


@pytest.mark.parametrize(
    ("found", "column"),
    [
        (schema("cob_id int32, COBID int32"), "cob_id"),
        (schema("cob_id int32 ?, COBID int32"), "COBID"),
        (schema("cob_id int32, COBID int32 ?", indexes=("COBID",)), "COBID"),
        (schema("as_of_date date, reporting_date date ?", indexes=("as_of_date",)), "reporting_date"),
    ],
)
def test_tie_is_decided_by_name_index_nulls_and_position(found: TableSchema, column: str):
    assert proposed_settings(found)["partition_column"] == column
    assert any(words.startswith("chosen over ") for words in reasons(found))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (
            schema("id int64, updated_at timestamp", "id", indexes=("updated_at",)),
            {"changes": "hybrid", "timestamp_column": "updated_at", "id_column": "id", "keys": ("id",)},
        ),
        (
            schema("a string, b int64, changed_at timestamp", "a b"),
            {"changes": "timestamp", "timestamp_column": "changed_at", "keys": ("a", "b")},
        ),
        (schema("id int64 !, words string", "id"), {"changes": "sequence", "sequence_column": "id", "load": "append"}),
    ],
)
def test_large_table_with_a_cursor_is_incremental(found: TableSchema, wanted: dict[str, object]):
    assert detected(found).kind == "incremental"
    assert proposed_settings(found) == wanted


def test_keys_do_not_depend_on_the_order_of_the_catalog():
    first = schema("COBID int32, a int64, b int64", unique=("COBID b", "COBID a"))
    second = schema("COBID int32, a int64, b int64", unique=("COBID a", "COBID b"))
    assert detected(first) == detected(second)


# The file


def file_of(*proposals: Proposal) -> str:
    return as_yaml(proposals, "postgresql://prod/a", "postgresql://uat/b", "./lake", "public")


def loaded(text: str, folder: Path) -> Project:
    path = folder / "tidegate.yml"
    path.write_text(text, encoding="utf-8")
    return load_project(path, {})


def uncommented(text: str) -> dict[str, dict[str, object]]:
    """The commented blocks, as somebody makes them blocks again."""
    lines = [line.removeprefix("  # ") for line in text.partition("An example")[2].splitlines()[2:]]
    return yaml.safe_load("\n".join(lines)) or {}


def test_the_file_as_a_user_reads_it():
    trades = schema("COBID int32 =integer, id int64 =bigint, LoadId int64 =bigint", "COBID id", rows=1_200_000)
    customers = schema(
        "id int64 =bigint, LastModified timestamp, IsLatest bool", "id LastModified", indexes=("LastModified",)
    )
    currencies = schema("code string =char(3), name string =text", "code", rows=180)
    events = schema("id int64 =bigint", "id")
    prices = schema("sk int64 !, valid_from date, valid_to date ?, is_active bool", "sk", indexes=("valid_from",))
    table_schemas = {
        "events": events,
        "currencies": currencies,
        "customers": customers,
        "prices": prices,
        "trades": trades,
    }
    found = [detected(replace(table, name=TableName("public", name))) for name, table in table_schemas.items()]
    assert file_of(*found) == (
        """\
# Proposed by `tidegate init` from the catalog. Check each table, then run: tidegate plan

source: 'postgresql://prod/a'
target: 'postgresql://uat/b'
lake: './lake'

tables:

  trades:
    # estimated 1,200,000 rows
    kind: partition
    # COBID (integer) is a usual name for a reporting day; an index starts with it
    partition_column: COBID
    # LoadId (bigint) shows a restatement even when the row count is the same
    # risk: no index contains COBID and LoadId: planning reads the rows of the look-back
    restatement_column: LoadId
    # keys: findings name a row by the primary key, COBID, id
    # the first run copies every value; with 10 it would take the newest ten and leave the older ones out
    initial_load_count: all

  customers:
    # estimated 2,000,000 rows; cursor LastModified, flag IsLatest
    kind: scd2
    # id, LastModified is the primary key; without its version columns it identifies the entity
    business_keys: [id]
    # LastModified (timestamp) is the time of change of a version
    cursor_column: LastModified
    # IsLatest (bool) flags the current version
    flag_column: IsLatest
    # the first run copies every version; `window` with `initial_load_days: 30` would leave older ones out, """
        """`latest+window` all but the current of them
    initial_load: full

  # prices:
  #   # a comment until you fill in `business_keys`, the columns that identify an entity
  #   # estimated 2,000,000 rows; cursor valid_from, flag is_active, end valid_to
  #   kind: scd2
  #   # risk: sk numbers the versions and no other key was found: fill in the columns that identify an entity
  #   business_keys: []
  #   # the cursor is not a part of the key that identifies a version
  #   version_key: [sk]
  #   # valid_from (date) is the time of change of a version
  #   # risk: valid_from has no time of day: the newest day is read again at every run
  #   cursor_column: valid_from
  #   # is_active (bool) flags the current version
  #   flag_column: is_active
  #   # valid_to is written when a version is superseded: it is not part of the content of a version
  #   # risk: in the target valid_to keeps the value that it had when the version was read
  #   ignore_columns: [valid_to]
  #   # the first run copies every version; `window` with `initial_load_days: 30` would leave older ones out, """
        """`latest+window` all but the current of them
  #   initial_load: full

  currencies:
    # estimated 180 rows: compared as a whole
    kind: static
    # code is the primary key
    primary_keys: [code]
    # risk: rows that the source deletes stay in the target
    merge_strategy: upsert

  # events: not proposed; estimated 2,000,000 rows: assumed too large to compare as a whole; """
        """no partition column was recognised; no flag or end date of versions was recognised; """
        """no key with a time of the last change was recognised
"""
    )


def test_file_without_a_complete_table_is_refused(tmp_path):
    text = file_of(detected(schema("code string", "code")))
    with pytest.raises(ConfigError) as refusal:
        loaded(text, tmp_path)
    assert "`tables` is missing" in str(refusal.value)
    assert "# No table here can run yet. An example of one that can:" in text


@pytest.mark.parametrize(
    ("found", "missing"),
    [
        (schema("id int64, LastModified timestamp, IsLatest bool", "id LastModified"), ""),
        (
            schema("id int64, LastModified timestamp, IsLatest bool"),
            "`business_keys`, the columns that identify an entity",
        ),
        (
            schema("id int64, LastModified timestamp, IsLatest string", "id LastModified"),
            "`current_value` and `superseded_value`, the values of IsLatest",
        ),
    ],
)
def test_incomplete_table_is_a_comment(found: TableSchema, missing: str, tmp_path):
    text = file_of(detected(found), detected(replace(schema("COBID int32"), name=TableName("public", "day"))))
    assert set(loaded(text, tmp_path).tables) == ({"day"} if missing else {"day", "t"})
    assert (f"  #   # a comment until you fill in {missing}\n" in text) == bool(missing)


def test_commented_table_without_hashes_is_a_table():
    (block,) = uncommented(file_of(detected(schema("id int64, LastModified timestamp, IsLatest bool")))).values()
    assert (block["kind"], block["business_keys"], block["cursor_column"]) == ("scd2", [], "LastModified")


HOSTILE = [
    "it's",
    'a "quoted" name',
    "key: value",
    "line\nbreak",
    "a\r\n  kind: static",
    "x\n# y",
    "next\x85line\u2028and\u2029paragraph",
    "tab\there",
    "bell\x07",
    "\ufeffmark",
    "\u202etxet",
    "🌊 tide 👩‍👩‍👧",
    "\U0001fae9",
    "- dash",
    "-",
    "# hash",
    "x # hash",
    "&anchor",
    "*alias",
    "!tag",
    "%directive",
    "@at",
    "`tick`",
    "? question",
    "{flow}",
    "[flow]",
    "a, b",
    "| block",
    "> folded",
    "<<",
    "=",
    "~",
    "null",
    "True",
    "no",
    "123",
    "1e3",
    "0x1F",
    "2024-01-01",
    "---",
    "...",
    " led",
    "trailed ",
    "back\\slash",
    "back\\\nslash",
    "${HOME}",
    "$${HOME}",
    "$$${",
    "${",
    "a.b",
    '"',
    '""',
    "'",
    "Größe",
    "源表",
]


def assert_survives(name: str, folder: Path) -> None:
    """A table, a schema, columns and types of this name, as every kind: the file says what the catalog said."""
    table = TableName(name, name)
    named = Column(name, f"type {name}", "int64", nullable=False)
    day = replace(column("COBID int32"), type=f"type {name}")
    moment, flag = column("LastModified timestamp"), column("IsLatest bool")
    partition = replace(schema("COBID int32"), name=table, columns=(day, named), unique_keys=(("COBID", name),))
    scd2 = TableSchema(TableName(f"{name} scd2", name), (named, moment, flag), primary_key=(name, "LastModified"))
    static = TableSchema(TableName(f"{name} static", name), (named,), primary_key=(name,))
    none = TableSchema(TableName(f"{name} none", name), (named,), row_estimate=LARGE, partitioned_by=name)

    project = loaded(file_of(*map(detected, (none, static, scd2, partition))), folder)

    days, versions, whole = project.tables.values()
    assert [(table.source_table, table.target_table) for table in (days, versions, whole)] == [
        (found, found) for found in (table, scd2.name, static.name)
    ]
    assert (days.partition_column, days.keys) == ("COBID", ("COBID", name))
    assert (versions.business_keys, whole.primary_keys) == ((name,), (name,))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_survives(name: str, tmp_path):
    assert_survives(name, tmp_path)


KNOWN_NAMES = {word for words in vars(column_names).values() if isinstance(words, tuple) for word in words}


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40))
@example("\U000e0001" * 40)
@example("CHANGEDAT")
@example("static")
def test_any_name_survives(tmp_path_factory, name: str):
    # A name that tells of something makes other kinds of these tables.
    if name != "dbo" and column_names.plain(name) not in KNOWN_NAMES:
        assert_survives(name, tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("name", HOSTILE)
def test_partition_column_with_odd_name_is_found_and_loads(name: str, tmp_path):
    """Punctuation does not count for what a name tells, so it may stand around one that does."""
    odd = "".join(letter for letter in name if not letter.isalnum()) + "COBID"
    found = TableSchema(TableName("public", "t"), (Column(odd, "integer", "int32"),), indexes=((odd,),))
    assert loaded(file_of(detected(found)), tmp_path).tables["t"].partition_column == odd


def test_no_line_of_the_file_leaves_its_comment():
    bad = "x\nsource: evil\r\x85\u2028\u2029tables: {}"
    found = TableSchema(TableName("public", bad), (Column(bad, bad, "int64"),), partitioned_by=bad, row_estimate=LARGE)
    after = file_of(detected(found)).partition("tables:\n")[2]
    assert [line for line in after.splitlines() if line.strip() and not re.match(r" +# ", line)] == []


# From a session


class Catalog:
    """A source that has a catalog and nothing else: any other question fails the test."""

    default_schema = "public"

    def __init__(self, *table_schemas: TableSchema) -> None:
        self._schemas = {found.name: found for found in table_schemas}
        self.value_kind = kind_of

    def tables(self) -> list[TableName]:
        return [*self._schemas, TableName("public", "dropped_meanwhile")]

    def table_schemas(self, names: list[TableName]) -> dict[TableName, TableSchema]:
        return {name: self._schemas[name] for name in names if name in self._schemas}


def proposed(catalog: Catalog, *patterns: str) -> dict[str, str]:
    return {str(proposal.table): proposal.kind for proposal in propose(catalog, catalog, patterns)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("patterns", "tables"),
    [
        ((), {"public.trades": "partition", "ref.codes": "static"}),
        (("TRADES",), {"public.trades": "partition"}),
        (("ref.*",), {"ref.codes": "static"}),
        (("nothing",), {}),
    ],
)
def test_only_the_catalog_is_asked(patterns: tuple[str, ...], tables: dict[str, str]):
    trades = replace(schema("COBID int32, id int64", "COBID id"), name=TableName("public", "trades"))
    codes = replace(schema("code string", "code", rows=9), name=TableName("ref", "codes"))
    assert proposed(Catalog(trades, codes), *patterns) == tables


# What the rows say of a proposed business key


class Rows(Catalog):
    """A source that also counts the values with several current rows, by the columns of the key."""

    def __init__(self, found: TableSchema, several: dict[str, int | Exception]) -> None:
        super().__init__(found)
        self.several = several

    def query(self, statement: Sql) -> list[tuple[object]]:
        asked = (
            render(statement, PostgresqlDialect()).partition("GROUP BY ")[2].partition(" HAVING")[0].replace('"', "")
        )
        answer = self.several[asked]
        if isinstance(answer, Exception):
            raise answer
        return [(answer,)]


PRODUCTS = schema(
    "product_code string, version int32, LastModified timestamp, IsLatest bool", "product_code version LastModified"
)


def of_products(several: dict[str, int | Exception]) -> Proposal:
    source = Rows(PRODUCTS, several)
    (proposal,) = propose(source, source)  # type: ignore[arg-type]
    return proposal


def test_a_key_with_one_current_row_is_proposed_as_it_was():
    assert of_products({"product_code": 0}) == detected(PRODUCTS)


def test_a_key_with_several_current_rows_is_widened():
    proposal = of_products({"product_code": 40, "product_code, version": 0})
    (key,) = (setting for setting in proposal.settings if setting.name == "business_keys")
    assert (key.value, proposal.can_run) == (("product_code", "version"), True)
    assert key.why[-1] == "40 values of (product_code) have several current rows in the source: so columns were added"


def test_without_a_wider_key_the_whole_table_is_compared():
    proposal = of_products({"product_code": 1, "product_code, version": 1})
    assert (proposal.kind, proposal.can_run) == ("static", True)
    assert proposal.instead is not None
    assert proposal.instead.missing.startswith(
        "`business_keys`, the columns that identify an entity: 1 value of (product_code) have several"
    )


def test_a_source_that_does_not_answer_leaves_a_risk():
    proposal = of_products({"product_code": DatabaseError("The query took too long.", "", "")})
    (key,) = (setting for setting in proposal.settings if setting.name == "business_keys")
    assert (key.value, proposal.can_run) == (("product_code",), True)
    assert key.why[-1].startswith("risk: not checked whether it has one current row at most: The query took")


# What the rows say of a column that would divide them


class Nulls(Catalog):
    """A source that also counts the rows without a value, and knows what the server sets at every change."""

    def __init__(self, found: TableSchema, without: dict[str, int], server_sets: frozenset[str] = frozenset()) -> None:
        super().__init__(found)
        self.without, self.server_sets = without, server_sets

    def query(self, statement: Sql) -> list[tuple[object]]:
        asked = render(statement, PostgresqlDialect()).partition("WHERE ")[2].partition(" IS NULL")[0].replace('"', "")
        return [(self.without.get(asked, 0),)]

    def columns_set_at_changes(self, table: TableName) -> frozenset[str]:
        return self.server_sets


def of_nulls(found: TableSchema, without: dict[str, int], *server_sets: str) -> Proposal:
    source = Nulls(found, without, frozenset(server_sets))
    (proposal,) = propose(source, source)  # type: ignore[arg-type]
    return proposal


@pytest.mark.parametrize(
    ("found", "column", "kind", "otherwise"),
    [
        (schema("id int64, updated_at timestamp ?", "id"), "updated_at", "incremental", "static"),
        (schema("id int64, LastModified timestamp ?, IsLatest bool", "", ("id",)), "LastModified", "scd2", "static"),
    ],
)
def test_a_column_with_nulls_does_not_divide(found: TableSchema, column: str, kind: str, otherwise: str):
    assert of_nulls(found, {column: 0}).kind in (kind, "static")
    proposal = of_nulls(found, {column: 120})
    assert (proposal.kind, proposal.can_run) == (otherwise, True)
    assert proposal.instead is not None and proposal.instead.kind == kind
    assert f"120 rows of the source without {column} would not be copied" in proposal.instead.missing


def test_rows_without_a_partition_value_are_a_window():
    proposal = of_nulls(schema("cob_id int32 ?, id int64", "id"), {"cob_id": 120})

    values = {setting.name: setting.value for setting in proposal.settings}
    assert (proposal.kind, values["values"], proposal.instead) == ("partition", {"nulls": "load"}, None)


TOUCHED = schema("id int64, note string, touched timestamp", "id", indexes=("touched",))


def test_a_time_that_the_server_sets_tells_what_changed():
    proposal = of_nulls(TOUCHED, {}, "touched")
    values = {setting.name: setting.value for setting in proposal.settings}
    assert (proposal.kind, proposal.can_run, values["timestamp_column"]) == ("incremental", True, "touched")


@pytest.mark.parametrize(
    ("found", "server_sets"),
    [
        (replace(TOUCHED, indexes=()), ("touched",)),  # every run would scan the table
        (replace(TOUCHED, primary_key=()), ("touched",)),
        (schema("id int64, touched timestamp ?", "id", indexes=("touched",)), ("touched",)),
        (TOUCHED, ()),
    ],
)
def test_without_proof_of_changes_every_row_is_compared(found: TableSchema, server_sets: tuple[str, ...]):
    proposal = of_nulls(found, {"touched": 0}, *server_sets)
    assert (proposal.kind, proposal.can_run) == ("static", True)


def test_an_indexed_time_is_a_comment_with_its_risk():
    proposal = of_nulls(TOUCHED, {})
    assert proposal.instead is not None and not proposal.instead.can_run
    text = as_yaml([proposal], "a", "b", "c", "public")
    assert "#   timestamp_column: touched" in text
    assert "where an update does not move it, the target keeps the old row" in text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (TableName("dbo", "trades"), "its name would mean another table in this file"),
        (TableName("\U000e0001" * 60, "\U000e0001" * 60), "its name is too long for a key of this file"),
    ],
)
def test_a_name_that_the_file_cannot_hold_is_not_proposed(name: TableName, reason: str):
    found = replace(schema("COBID int32, id int64", "COBID id"), name=name)
    (proposal,) = propose(Catalog(found), Catalog(found))  # type: ignore[arg-type]
    assert (proposal.kind, proposal.reasons, proposal.can_run) == ("", (reason,), False)

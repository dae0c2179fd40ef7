"""Detection and proposal: of which kind a shape is, what is said about it, and that the file loads with any name."""

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
from tidegate.model.columns import Column, Shape
from tidegate.model.names import TableName
from tidegate.model.values import Kind
from tidegate.ops.detection import MOST_STATIC_ROWS, Proposal, detect, telling_names
from tidegate.ops.proposal import as_yaml, propose
from tidegate.sql.text import Sql, render

LARGE = 2_000_000
ORDERED = {
    "int16": Kind.INTEGER,
    "int32": Kind.INTEGER,
    "int64": Kind.INTEGER,
    "decimal(8,0)": Kind.DECIMAL,
    "decimal(18,2)": Kind.DECIMAL,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMP,
    "string": Kind.TEXT,
    "bool": Kind.TEXT,
    "binary": Kind.TEXT,
}


def kind_of(column: Column) -> Kind | None:
    return ORDERED.get(column.rests_as)


def column(spelled: str) -> Column:
    """`name type`, with `?` when it is nullable, `!` when the server fills it in, `=t` for how its server calls it."""
    name, rests_as, *facts = spelled.split()
    declared = next((fact[1:] for fact in facts if fact[0] == "="), rests_as)
    return Column(name, declared, rests_as, nullable="?" in facts, identity="!" in facts)


def shape(
    columns: str, key: str = "", unique: tuple[str, ...] = (), indexes: tuple[str, ...] = (), rows: int = LARGE
) -> Shape:
    return Shape(
        TableName("public", "t"),
        tuple(column(one) for one in columns.split(", ")),
        primary_key=tuple(key.split()),
        unique_keys=tuple(tuple(one.split()) for one in unique),
        indexes=tuple(tuple(one.split()) for one in indexes),
        row_estimate=rows,
    )


def detected(found: Shape) -> Proposal:
    return detect(found, kind_of)


def written(found: Shape) -> dict[str, object]:
    return {setting.name: setting.value for setting in detected(found).settings if setting.value is not None}


def said(found: Shape) -> list[str]:
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
        ("id int64, updated_at timestamp, is_active bool", "id", LARGE, ""),
        ("id int64, valid_from date, valid_to date", "id", LARGE, ""),
        ("id int64, IsLatest bool", "id", LARGE, ""),
        ("id int64, LastModified string, IsLatest bool", "id", LARGE, ""),
        ("id int64, LastModified timestamp, IsLatest float64", "id", LARGE, ""),
        # By size.
        ("code string, name string", "code", 1_200, "static"),
        ("code string, name string", "", MOST_STATIC_ROWS, "static"),
        ("code string, name string", "code", 0, "static"),
        ("code string, name string", "code", MOST_STATIC_ROWS + 1, ""),
    ],
)
def test_kind(columns: str, key: str, rows: int, kind: str):
    assert detected(shape(columns, key, rows=rows)).kind == kind


def test_a_table_that_the_server_partitions_is_not_small_for_want_of_an_estimate():
    found = replace(shape("id int64, booked date", "id", rows=0), partitioned_by="RANGE (booked)")
    assert detected(found).kind == ""
    assert "the server partitions it by RANGE (booked)" in said(found)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (replace(shape("COBID int32"), readable=False), "the login may see it, but not its rows"),
        (replace(shape("COBID int32"), columns=()), "it has no columns"),
    ],
)
def test_what_cannot_be_read_is_not_proposed(found: Shape, reason: str):
    assert (detected(found).kind, said(found)) == ("", [reason])


# Settings


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            shape("COBID int32, id int64, LoadId int64, amount decimal(18,2)", "COBID id"),
            {"partition_column": "COBID", "restatement_column": "LoadId", "initial_load_count": 10},
        ),
        (
            shape("COBID int32, a int64, b int64 ?, c int64, d int64", unique=("a b", "COBID c d", "COBID a")),
            {"partition_column": "COBID", "keys": ("COBID", "a"), "initial_load_count": 10},
        ),
        (
            shape("customer_id int64, LastModified timestamp, IsLatest bool", "customer_id LastModified"),
            {
                "business_keys": ("customer_id",),
                "mark_column": "LastModified",
                "flag_column": "IsLatest",
                "initial_load_days": 30,
            },
        ),
        (
            shape("code string, version int32, LastModified timestamp, IsLatest bool", "code version"),
            {
                "business_keys": ("code",),
                "version_key": ("code", "version"),
                "mark_column": "LastModified",
                "flag_column": "IsLatest",
                "initial_load_days": 30,
            },
        ),
        (
            shape(
                "sk int64 !, country string, id int64, valid_from date, is_current bool",
                "sk",
                unique=("country id valid_from",),
            ),
            {
                "business_keys": ("country", "id"),
                "mark_column": "valid_from",
                "flag_column": "is_current",
                "initial_load_days": 30,
            },
        ),
        (
            shape("sk int64 !, id int64, updated_at timestamp, is_current bool", "sk"),
            {
                "business_keys": (),
                "version_key": ("sk",),
                "mark_column": "updated_at",
                "flag_column": "is_current",
                "initial_load_days": 30,
            },
        ),
        (
            shape("id int64, valid_from timestamp, valid_to timestamp ?", "id valid_from"),
            {"business_keys": ("id",), "mark_column": "valid_from", "outside": ("valid_to",), "initial_load_days": 30},
        ),
        # Whatever the key numbers, it names a row that is updated in place.
        (
            shape("id int64, LastModified timestamp, IsLatest bool", "id"),
            {
                "business_keys": ("id",),
                "version_key": ("id",),
                "mark_column": "LastModified",
                "flag_column": "IsLatest",
                "initial_load_days": 30,
            },
        ),
        (
            shape("code string, name string", "code", rows=180),
            {"primary_keys": ("code",), "merge_strategy": "upsert"},
        ),
        (
            shape("id int64 ?, code string", unique=("id", "code"), rows=180),
            {"primary_keys": ("code",), "merge_strategy": "upsert"},
        ),
        (shape("code string ?", unique=("code",), rows=180), {"merge_strategy": "replace"}),
    ],
)
def test_settings(found: Shape, expected: dict[str, object]):
    assert written(found) == expected


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
    assert written(shape(f"COBID int32, {others}", "", indexes=("COBID",))).get("restatement_column") == column


# Reasons and risks


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (shape("COBID int32", rows=1_200), "estimated 1,200 rows"),
        (shape("COBID int32", rows=0), "no row estimate (empty, or never analysed)"),
        (
            shape("COBID int32 =integer, id int64", "COBID id"),
            "COBID (integer) is a usual name for a reporting day; an index starts with it",
        ),
        (shape("COBID int32, id int64", "id COBID"), "risk: no index starts with COBID: planning scans the table"),
        (shape("COBID int32 ?"), "risk: COBID is nullable: rows without it are counted and not copied"),
        (shape("COBID timestamp"), "risk: COBID has a time of day: every time is a value of its own"),
        (shape("COBID string"), "risk: COBID is text: the newest values are the last ones by spelling"),
        (shape("period int32"), "period (int32) is a usual name for a day or period"),
        (shape("AsOfDate date, COBID int32"), "chosen before AsOfDate, which would fit as well"),
        (shape("COBID int32, updated_at timestamp, LoadId int64"), "chosen before updated_at, which would fit as well"),
        (shape("COBID int32"), "risk: no column tells of restatements: only counts are watched"),
        (
            shape("COBID int32, LoadId string =uuid"),
            "risk: no column tells of restatements (LoadId is uuid, which need not grow): only counts are watched",
        ),
        (
            shape("COBID int32, LoadId int64 ?"),
            "risk: LoadId is nullable: rows without it are watched by their count alone",
        ),
        (
            shape("COBID int32, LastModified date"),
            "risk: LastModified has no time of day: a second restatement on one day goes unseen",
        ),
        (
            shape("COBID int32, created_at timestamp"),
            "risk: created_at moves when rows are inserted, not when they are updated",
        ),
        (
            shape("COBID int32, LoadId int64", indexes=("COBID",)),
            "risk: no index holds COBID and LoadId: planning reads rows of the look-back",
        ),
        (shape("COBID int32, id int64", "COBID id"), "keys: findings name a row by the primary key, COBID, id"),
        (shape("COBID int32, id int64", unique=("COBID id",)), "no primary key: COBID, id is unique and never null"),
        (shape("COBID int32, a int64, b int64", unique=("b", "a")), "chosen before b, a unique key as well"),
        (
            shape("COBID int32, id int64 ?", unique=("COBID id",)),
            "the unique key COBID, id is not used: id is nullable",
        ),
        (
            shape("COBID int32"),
            "risk: no key: findings name a row by its first columns, which several rows may share",
        ),
        (
            shape("COBID int32, LastModified timestamp, IsLatest bool"),
            "it may be scd2 as well: mark LastModified, flag IsLatest; a reporting day is believed first",
        ),
        (
            shape("LoadDate date, LastModified timestamp, IsLatest bool"),
            "LoadDate could partition it as well: signs of versions are believed first",
        ),
        (
            shape("id int64, LastModified timestamp ?, IsLatest bool"),
            "risk: LastModified is nullable: rows without it would never be seen",
        ),
        (
            shape("id int64, LastModified timestamp, IsLatest bool", "id LastModified"),
            "risk: no index starts with LastModified: every run scans the table",
        ),
        (
            shape("id int64, modified_on date, IsLatest bool"),
            "risk: modified_on has no time of day: the newest day is read again at every run",
        ),
        (
            shape("id int64, valid_from timestamp, LastModified timestamp, IsLatest bool"),
            "chosen before valid_from, which would fit as well",
        ),
        (
            shape("id int64, LastModified timestamp, IsLatest bool ?"),
            "risk: IsLatest is nullable: null is neither latest nor superseded",
        ),
        (
            shape("id int64, LastModified timestamp, IsLatest string"),
            "risk: IsLatest is no truth value: which text means yes is not in the catalog",
        ),
        (
            shape("id int64, LastModified timestamp, IsLatest bool", "id"),
            "risk: id is unique by itself: either it holds no history, or id numbers the versions",
        ),
        (
            shape("sk int64 !, LastModified timestamp, IsLatest bool", "sk"),
            "risk: sk numbers the versions and no other key was found: fill in what names the entity",
        ),
        (
            shape("id int64, LastModified timestamp, IsLatest bool"),
            "risk: no key: fill in what names the entity",
        ),
        (shape("code string", "code", rows=1_200), "estimated 1,200 rows: read whole at each change"),
        (
            shape("code string", "code", rows=0),
            "no row estimate (empty, or never analysed), taken for small: read whole at each change",
        ),
        (shape("code string", "code", rows=9), "risk: rows that the source deletes stay in the target"),
        (shape("code string", rows=9), "risk: no key: a change replaces the whole table, and findings name no row"),
        (shape("DateKey int32", "DateKey", rows=9), "DateKey is no partition column: one row per value"),
        (shape("COBID float64", rows=9), "COBID is no partition column: type float64"),
        (
            shape("id int64, IsLatest bool", "id", rows=9),
            "IsLatest is a flag of versions, but no column tells when a row changed",
        ),
        (
            shape("id int64, updated_at timestamp", "id"),
            "updated_at and the key id would suit kind incremental, not in this version",
        ),
        (shape("id int64"), "estimated 2,000,000 rows: taken for too large to be read whole at each change"),
    ],
)
def test_reasons_and_risks(found: Shape, words: str):
    assert words in said(found)


@pytest.mark.parametrize(
    ("found", "column"),
    [
        (shape("cob_id int32, COBID int32"), "cob_id"),
        (shape("cob_id int32 ?, COBID int32"), "COBID"),
        (shape("cob_id int32, COBID int32 ?", indexes=("COBID",)), "COBID"),
        (shape("as_of_date date, reporting_date date ?", indexes=("as_of_date",)), "reporting_date"),
    ],
)
def test_ties_are_settled_by_name_then_index_then_nulls_then_place(found: Shape, column: str):
    assert written(found)["partition_column"] == column
    assert any(words.startswith("chosen before ") for words in said(found))


def test_keys_do_not_depend_on_the_order_of_the_catalog():
    one = shape("COBID int32, a int64, b int64", unique=("COBID b", "COBID a"))
    other = shape("COBID int32, a int64, b int64", unique=("COBID a", "COBID b"))
    assert detected(one) == detected(other)


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
    trades = shape("COBID int32 =integer, id int64 =bigint, LoadId int64 =bigint", "COBID id", rows=1_200_000)
    customers = shape(
        "id int64 =bigint, LastModified timestamp, IsLatest bool", "id LastModified", indexes=("LastModified",)
    )
    currencies = shape("code string =char(3), name string =text", "code", rows=180)
    events = shape("id int64 =bigint", "id")
    prices = shape("sk int64 !, valid_from date, valid_to date ?, is_active bool", "sk", indexes=("valid_from",))
    shapes = {"events": events, "currencies": currencies, "customers": customers, "prices": prices, "trades": trades}
    found = [detected(replace(one, name=TableName("public", name))) for name, one in shapes.items()]
    assert file_of(*found) == (
        """\
# Proposed by `tidegate init` from the catalog. Look at each table, then: tidegate plan

source: 'postgresql://prod/a'
target: 'postgresql://uat/b'
lake: './lake'

tables:

  trades:
    # estimated 1,200,000 rows
    kind: partition
    # COBID (integer) is a usual name for a reporting day; an index starts with it
    partition_column: COBID
    # LoadId (bigint) tells of a restatement even when the row count stays
    # risk: no index holds COBID and LoadId: planning reads rows of the look-back
    restatement_column: LoadId
    # keys: findings name a row by the primary key, COBID, id
    # the first run takes the newest ten values and sets the scope
    initial_load_count: 10

  customers:
    # estimated 2,000,000 rows; mark LastModified, flag IsLatest
    kind: scd2
    # id, LastModified is the primary key; without its version columns it names the entity
    business_keys: [id]
    # LastModified (timestamp) tells when a version came
    mark_column: LastModified
    # IsLatest (bool) marks the version that holds
    flag_column: IsLatest
    # risk: entities that did not change in these days are not in the first run; """
        """`initial_load: latest+window` takes what holds of them
    initial_load_days: 30

  # prices:
  #   # a comment until somebody fills in `business_keys`, what names an entity
  #   # estimated 2,000,000 rows; mark valid_from, flag is_active, end valid_to
  #   kind: scd2
  #   # risk: sk numbers the versions and no other key was found: fill in what names the entity
  #   business_keys: []
  #   # the mark is no part of the key that names a version
  #   version_key: [sk]
  #   # valid_from (date) tells when a version came
  #   # risk: valid_from has no time of day: the newest day is read again at every run
  #   mark_column: valid_from
  #   # is_active (bool) marks the version that holds
  #   flag_column: is_active
  #   # valid_to is written when a version is superseded: it is no part of what a version says
  #   # risk: in the target valid_to stays as it was when the version was read
  #   outside: [valid_to]
  #   # risk: entities that did not change in these days are not in the first run; """
        """`initial_load: latest+window` takes what holds of them
  #   initial_load_days: 30

  currencies:
    # estimated 180 rows: read whole at each change
    kind: static
    # code is the primary key
    primary_keys: [code]
    # risk: rows that the source deletes stay in the target
    merge_strategy: upsert

  # events: not proposed; estimated 2,000,000 rows: taken for too large to be read whole at each change; """
        """no partition column was recognised; no flag or validity of versions was recognised
"""
    )


def test_a_file_without_a_table_that_runs_is_refused_for_that_alone(tmp_path):
    text = file_of(detected(shape("code string", "code")))
    with pytest.raises(ConfigError) as refusal:
        loaded(text, tmp_path)
    assert "`tables` is missing" in str(refusal.value)
    assert "# No table can run as it stands here. An example of one that does:" in text


@pytest.mark.parametrize(
    ("found", "lacks"),
    [
        (shape("id int64, LastModified timestamp, IsLatest bool", "id LastModified"), ""),
        (shape("id int64, LastModified timestamp, IsLatest bool"), "`business_keys`, what names an entity"),
        (
            shape("id int64, LastModified timestamp, IsLatest string", "id LastModified"),
            "`latest_value` and `superseded_value`, what IsLatest says",
        ),
    ],
)
def test_what_a_person_has_to_fill_in_stays_a_comment(found: Shape, lacks: str, tmp_path):
    text = file_of(detected(found), detected(replace(shape("COBID int32"), name=TableName("public", "day"))))
    assert set(loaded(text, tmp_path).tables) == ({"day"} if lacks else {"day", "t"})
    assert (f"  #   # a comment until somebody fills in {lacks}\n" in text) == bool(lacks)


def test_a_comment_is_a_block_again_without_its_signs():
    (block,) = uncommented(file_of(detected(shape("id int64, LastModified timestamp, IsLatest bool")))).values()
    assert (block["kind"], block["business_keys"], block["mark_column"]) == ("scd2", [], "LastModified")


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
    partition = replace(shape("COBID int32"), name=table, columns=(day, named), unique_keys=(("COBID", name),))
    scd2 = Shape(TableName(f"{name} scd2", name), (named, moment, flag), primary_key=(name, "LastModified"))
    static = Shape(TableName(f"{name} static", name), (named,), primary_key=(name,))
    none = Shape(TableName(f"{name} none", name), (named,), row_estimate=LARGE, partitioned_by=name)

    project = loaded(file_of(*map(detected, (none, static, scd2, partition))), folder)

    days, versions, whole = project.tables.values()
    assert [(one.source_table, one.target_table) for one in (days, versions, whole)] == [
        (found, found) for found in (table, scd2.name, static.name)
    ]
    assert (days.partition_column, days.keys) == ("COBID", ("COBID", name))
    assert (versions.business_keys, whole.primary_keys) == ((name,), (name,))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_survives(name: str, tmp_path):
    assert_survives(name, tmp_path)


TELLING = {word for words in vars(telling_names).values() if isinstance(words, tuple) for word in words}


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40))
@example("\U000e0001" * 40)
@example("CHANGEDAT")
@example("static")
def test_any_name_survives(tmp_path_factory, name: str):
    # A name that tells of something makes other kinds of these tables.
    if name != "dbo" and telling_names.plain(name) not in TELLING:
        assert_survives(name, tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_partition_column_of_a_hostile_spelling_is_found_and_loads(name: str, tmp_path):
    """Punctuation does not count for what a name tells, so it may stand around one that does."""
    odd = "".join(letter for letter in name if not letter.isalnum()) + "COBID"
    found = Shape(TableName("public", "t"), (Column(odd, "integer", "int32"),), indexes=((odd,),))
    assert loaded(file_of(detected(found)), tmp_path).tables["t"].partition_column == odd


def test_no_line_of_the_file_leaves_its_comment():
    bad = "x\nsource: evil\r\x85\u2028\u2029tables: {}"
    found = Shape(TableName("public", bad), (Column(bad, bad, "int64"),), partitioned_by=bad, row_estimate=LARGE)
    after = file_of(detected(found)).partition("tables:\n")[2]
    assert [line for line in after.splitlines() if line.strip() and not re.match(r" +# ", line)] == []


# From a session


class Catalog:
    """A source that has a catalog and nothing else: any other question fails the test."""

    default_schema = "public"

    def __init__(self, *shapes: Shape) -> None:
        self._shapes = {found.name: found for found in shapes}
        self.partition_kind = kind_of

    def tables(self) -> list[TableName]:
        return [*self._shapes, TableName("public", "dropped_meanwhile")]

    def shapes(self, names: list[TableName]) -> dict[TableName, Shape]:
        return {name: self._shapes[name] for name in names if name in self._shapes}


def proposed(catalog: Catalog, *patterns: str) -> dict[str, str]:
    return {str(one.table): one.kind for one in propose(catalog, catalog, patterns)}  # type: ignore[arg-type]


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
    trades = replace(shape("COBID int32, id int64", "COBID id"), name=TableName("public", "trades"))
    codes = replace(shape("code string", "code", rows=9), name=TableName("ref", "codes"))
    assert proposed(Catalog(trades, codes), *patterns) == tables


# What the rows say of a proposed business key


class Rows(Catalog):
    """A source that also counts the values with several current rows, by the columns of the key."""

    def __init__(self, found: Shape, several: dict[str, int | Exception]) -> None:
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


PRODUCTS = shape(
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
    assert (key.value, proposal.runs) == (("product_code", "version"), True)
    assert key.why[-1] == "40 values of (product_code) have several current rows in the source: so it is wider"


def test_without_a_wider_key_a_person_fills_it_in():
    proposal = of_products({"product_code": 1, "product_code, version": 1})
    assert not proposal.runs
    assert proposal.lacks.startswith("`business_keys`, what names an entity: 1 value of (product_code) have several")


def test_a_source_that_does_not_answer_leaves_a_risk():
    proposal = of_products({"product_code": DatabaseError("The query took too long.", "", "")})
    (key,) = (setting for setting in proposal.settings if setting.name == "business_keys")
    assert (key.value, proposal.runs) == (("product_code",), True)
    assert key.why[-1].startswith("risk: whether it has one current row at most could not be asked: The query took")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (TableName("dbo", "trades"), "its name would mean another table in this file"),
        (TableName("\U000e0001" * 60, "\U000e0001" * 60), "its name is too long for a key of this file"),
    ],
)
def test_a_name_that_the_file_cannot_hold_is_not_proposed(name: TableName, reason: str):
    found = replace(shape("COBID int32, id int64", "COBID id"), name=name)
    (proposal,) = propose(Catalog(found), Catalog(found))  # type: ignore[arg-type]
    assert (proposal.kind, proposal.reasons, proposal.runs) == ("", (reason,), False)

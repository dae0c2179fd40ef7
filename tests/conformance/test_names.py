"""Unusual names and partition values in statements, in the ledger and as files of the lake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from psycopg import sql

from conformance.conftest import Pair, public
from conformance.servers.postgresql import Server
from kit.one_process import OneProcess
from kit.witness import Witness, differences
from tidegate import Tidegate
from tidegate.model.report import RunReport

pytestmark = pytest.mark.postgres

HOSTILE = [
    "select",
    "UPPER",
    "Mixed Case",
    " in front and behind ",
    'say "hi"',
    "it's",
    "[brackets]",
    "{braces} {} {0}",
    "100% %s %(x)s",
    "a.b",
    "..",
    ".",
    ".hidden",
    "a/b\\c",
    "~tilde~",
    "%2F",
    "$1 ${HOME}",
    "semi;colon--",
    "line\nbreak\ttab",
    "Élan Ünder",
    "🙂 emoji 👩‍👩‍👧",
    "x" * 63,
    "é" * 31,
    "seek",
    "value",
    "held",
]


@dataclass(frozen=True)
class Odd:
    """A table of three names: its schema, its own, and its partition column's, which also begins the other column's."""

    schema: str
    table: str
    column: str

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.table)

    @property
    def columns(self) -> dict[str, str]:
        return {self.column: "integer", "the other": "text"}

    @property
    def written(self) -> str:
        """As a user writes it in the configuration, where `${` begins a variable."""
        parts = ('"' + part.replace('"', '""') + '"' for part in (self.schema, self.table))
        return ".".join(parts).replace("${", "$${")


def fill(pair: Pair, tables: list[Odd]) -> None:
    for odd in tables:
        pair.source.do(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(odd.schema)))
        pair.source.create(odd.identifier, odd.columns)
        pair.source.insert(odd.identifier, odd.columns, [["1", odd.table], ["1", None], ["2", odd.column]])


def project(pair: Pair, lake: Path, tables: list[Odd], spark: object = None) -> Tidegate:
    named = {
        f"table {number}": {
            "kind": "partition",
            "partition_column": odd.column.replace("${", "$${"),
            "source_table": odd.written,
            "target_table": odd.written,
        }
        for number, odd in enumerate(tables)
    }
    return Tidegate(
        source=pair.source.url,
        target=pair.target.url,
        lake=lake,
        tables=named,
        spark=spark or OneProcess(),  # type: ignore[arg-type]
    )


def unequal(pair: Pair, tables: list[Odd]) -> list[str]:
    return [text for odd in tables for text in differences(pair.source, pair.target, odd.identifier, odd.columns)]


def drop(pair: Pair, tables: list[Odd]) -> None:
    for side in (pair.source, pair.target):
        for schema in {odd.schema for odd in tables}:
            side.do(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def steps(report: RunReport) -> list[str]:
    return [f"{step.step} {step.value}" for step in report.steps]


# Names


def test_hostile_names_survive(pair: Pair, tmp_path: Path):
    """Schemas, tables and columns with quotes, spaces, slashes or reserved words are copied, and files stay in the
    lake."""
    turned = [HOSTILE[place:] + HOSTILE[:place] for place in (0, 1, 2)]
    tables = [Odd(*names) for names in zip(*turned, strict=True)]
    fill(pair, tables)
    tidegate = project(pair, tmp_path, tables)

    report = tidegate.run()

    assert (report.outcome, report.rows_loaded) == ("done", 3 * len(tables))
    assert unequal(pair, tables) == []
    assert [path for path in tmp_path.rglob("*.parquet") if tmp_path / "organized" not in path.parents] == []
    assert tidegate.run().outcome == "nothing to do"
    drop(pair, tables)


NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00$"), min_size=1, max_size=20
) | st.text("ab\"'.%{}[]/\\_~ ", min_size=1, max_size=12)


def test_random_names_survive(pair: Pair, tmp_path_factory: pytest.TempPathFactory):
    """Schemas, tables and columns with random names are copied, and a second run does nothing."""

    @settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(
            st.builds(Odd, NAMES, NAMES, NAMES), min_size=4, max_size=4, unique_by=lambda odd: (odd.schema, odd.table)
        )
    )
    def pass_(tables: list[Odd]) -> None:
        names = [name for odd in tables for name in (odd.schema, odd.table, odd.column)]
        assume(all(len(name.encode()) <= 63 for name in names))
        assume(not any(odd.schema.startswith("pg_") or odd.schema in ("public", "dbo", "tidegate") for odd in tables))
        assume(
            not any(odd.column in ("the other", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid") for odd in tables)
        )
        drop(pair, tables)
        fill(pair, tables)
        tidegate = project(pair, tmp_path_factory.mktemp("lake"), tables)

        assert tidegate.run().rows_loaded == 3 * len(tables)
        assert unequal(pair, tables) == []
        assert tidegate.run().outcome == "nothing to do"
        drop(pair, tables)
        pair.target.do("TRUNCATE tidegate.ledger, tidegate.scopes")

    pass_()


@pytest.mark.parametrize(
    "tables",
    [
        [Odd("s1", "orders", "c"), Odd("s1", "Orders", "c"), Odd("s1", "ORDERS", "c")],
        [Odd("a.b", "c", "x"), Odd("a", "b.c", "x")],
        [Odd("s2", "a/b", "c"), Odd("s2", "a%2Fb", "c"), Odd("s2", "a_b", "c")],
        [Odd(".", "t", "c"), Odd("..", "t", "c"), Odd("%2E", "t", "c"), Odd("organized", "t", "c")],
        [Odd("s3", "t", "a_b"), Odd("s3", "t_a", "b")],
        [Odd("s4", "x" * 62 + "1", "y" * 62 + "1"), Odd("s4", "x" * 62 + "2", "y" * 62 + "2")],
        [Odd("s5", "é", "c"), Odd("s5", "e\u0301", "c")],
    ],
    ids=["case", "dots", "slashes", "folders", "underscores", "endless", "accents"],
)
def test_similar_names_stay_separate(tables: list[Odd], pair: Pair, tmp_path: Path):
    """Tables whose names differ in case, dots, slashes or accents get separate files and rows."""
    fill(pair, tables)

    report = project(pair, tmp_path, tables).run()

    assert report.rows_loaded == 3 * len(tables)
    assert unequal(pair, tables) == []
    assert len(list(tmp_path.rglob("*.parquet"))) == 2 * len(tables)
    drop(pair, tables)


def test_escaped_variable_syntax_in_a_name(pair: Pair, tmp_path: Path):
    """A name that contains `${` several times works when it is escaped in the configuration."""
    tables = [Odd("s6", "${a ${b", "c")]
    fill(pair, tables)
    project(pair, tmp_path, tables).run()
    assert unequal(pair, tables) == []


def test_name_in_another_case_is_found(pair: Pair, tmp_path: Path):
    """A configured name in another case is used when exactly one table matches."""
    table = pair.name()
    pair.source.create(public(table.upper()), {"CobId": "integer"})
    pair.source.insert(public(table.upper()), {"CobId": "integer"}, [["1"]])

    report = pair.tidegate(tmp_path, table, partition_column="cobid").run()

    assert steps(report) == ["change schema ", "extract 1", "load 1"]


def test_ambiguous_case_is_refused(pair: Pair, tmp_path: Path):
    """When two tables match a name in another case, neither is used and the plan fails."""
    table = pair.name()
    pair.source.create(public(f"{table}_X"), {"cobid": "integer"})
    pair.source.create(public(f"{table.upper()}_x"), {"cobid": "integer"})

    ((_, problem),) = pair.tidegate(tmp_path, f"{table}_x").plan().failures

    assert problem.startswith(f"{table}_x: the source has no table public.{table}_x")


def test_names_ignore_the_database_collation(server: Server, gaps: Callable[[str], None], tmp_path: Path):
    """A database may fold É to é. Names with these letters are still separate tables."""
    builtin = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' TEMPLATE template0"
    options = builtin if server.version >= 17 else "LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8' TEMPLATE template0"
    with ExitStack() as stack:
        try:
            urls = [stack.enter_context(server.database(options)) for _ in range(2)]
        except psycopg.errors.WrongObjectType:
            gaps(f"a collation that knows letters: {server.name} has none")
        pair = Pair(server, *(stack.enter_context(Witness(url)) for url in urls))
        assert pair.source.ask("SELECT lower('É' COLLATE \"default\")") == [("é",)]
        tables = [Odd("ÉCOLE", "ÉLÈVE", "ÉTÉ"), Odd("école", "élève", "été")]
        fill(pair, tables)

        project(pair, tmp_path, tables).run()

        assert unequal(pair, tables) == []


# Partition values


LONG = "long " * 30
KINDS: dict[str, list[str]] = {
    "smallint": ["-32768", "0", "32767"],
    "integer": ["-1", "0", "20240131", "2147483647"],
    "bigint": ["-9223372036854775808", "-1", "9223372036854775807"],
    "oid": ["0", "4294967295"],
    "numeric(10,2)": ["-0.01", "0.00", "1.50", "99999999.99"],
    "numeric": ["-1e20", "0.00001", "1.5", "10", "1e30"],
    "numeric(38,0)": ["-99999999999999999999999999999999999999", "99999999999999999999999999999999999999"],
    "character(8)": ["", "20240131", "AB", "a b", "é/🙂"],
    "character varying(200)": [
        "",
        "\n",
        " ",
        '"q"',
        "%2F",
        "..",
        "../../x",
        "A",
        "NULL",
        "\\.",
        "a",
        "a/b",
        "a_b",
        "it's",
        LONG,
        f"{LONG}2",
        "{}",
        "~",
        "é🙂",
    ],
    "text": ["202401", "202402", "20240201"],
    "name": ["a", "b"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "boolean": ["false", "true"],
    "date": ["-infinity", "0044-03-15 BC", "0001-01-01", "2024-01-31", "9999-12-31", "5874897-12-31", "infinity"],
    "timestamp without time zone": [
        "-infinity",
        "0044-03-15 10:00:00 BC",
        "2024-01-31 00:00:00",
        "2024-01-31 10:30:00.000001",
        "infinity",
    ],
    "timestamp(0) without time zone": ["2024-01-31 00:00:00", "2024-01-31 10:30:00"],
    "timestamp with time zone": [
        "-infinity",
        "0044-03-15 10:00:00+00 BC",
        "2024-03-10 06:59:59.5+00",
        "2024-03-10 07:30:00+00",
        "infinity",
    ],
    "time without time zone": ["00:00:00", "23:59:59.999999", "24:00:00"],
    "bytea": ["\\x", "\\x00", "\\xff00"],
    "public.mood": [" ", 'it\'s "so" so, \\', "sad", "🙂"],
    "public.short": ["", "a", "b"],
    "public.shorter": ["a", "b"],
    "public.cents": ["-0.01", "9", "10"],
}
"""Types of partition columns, with values in the order in which Tidegate counts them."""


@pytest.fixture
def by_kind(pair: Pair) -> Iterator[dict[str, str]]:
    """A table of each kind, with one row of every value and an index. Gives the name of each."""
    tables = {kind: pair.name() for kind in KINDS}
    for kind, table in tables.items():
        pair.source.create(public(table), {"cobid": kind, "id": "integer"})
        pair.source.do(f"CREATE INDEX index_{table} ON {table} (cobid)")
        pair.source.insert(public(table), {"cobid": kind, "id": "integer"}, [[value, "1"] for value in KINDS[kind]])
    yield tables
    for table in tables.values():
        pair.source.do(f"DROP TABLE {table}")


def of_kinds(pair: Pair, lake: Path, by_kind: dict[str, str], **settings: object) -> Tidegate:
    configured = {"kind": "partition", "partition_column": "cobid", **settings}
    return Tidegate(
        source=pair.source.url,
        target=pair.target.url,
        lake=lake,
        tables={
            f"by {kind}": {**configured, "source_table": name, "target_table": name} for kind, name in by_kind.items()
        },
        spark=OneProcess(),  # type: ignore[arg-type]
    )


def test_partition_values_of_every_type_are_distinct(pair: Pair, by_kind: dict[str, str], tmp_path: Path):
    """Source, target, ledger and file names agree on each partition value, run after run, with and without an index."""
    tidegate = of_kinds(pair, tmp_path, by_kind, initial_load_count=100, look_back=100)

    first = tidegate.run()
    again = tidegate.run()
    for kind, table in by_kind.items():
        pair.source.do(f"DROP INDEX index_{table}")
        pair.source.insert(public(table), {"cobid": kind, "id": "integer"}, [[KINDS[kind][1], "2"]])
    restated = tidegate.run()

    loaded = Counter(step.table for step in first.steps if (step.step, step.outcome, step.rows) == ("load", "done", 1))
    assert loaded == {f"by {kind}": len(values) for kind, values in KINDS.items()}
    assert steps(again) == []
    reloaded = {step.table for step in restated.steps if (step.step, step.outcome, step.rows) == ("load", "done", 2)}
    assert (reloaded, len(restated.steps)) == ({f"by {kind}" for kind in KINDS}, 2 * len(KINDS))
    for kind, table in by_kind.items():
        assert differences(pair.source, pair.target, public(table), {"cobid": kind, "id": "integer"}) == []
    assert tidegate.verify().outcome == "equal"


def test_newest_value_follows_the_type_order(pair: Pair, by_kind: dict[str, str], tmp_path: Path):
    """The newest partition value is the greatest one in the order of its type."""
    plan = of_kinds(pair, tmp_path, by_kind, initial_load_count=1).plan()

    floors = {one.table.removeprefix("by "): str(one.scope.floor) for one in plan.tables}
    assert list(floors) == list(KINDS)
    for kind, table in by_kind.items():
        newest = sql.SQL("SELECT id FROM {} WHERE cobid = CAST({} AS {}) AND cobid = CAST({} AS {})").format(
            public(table), sql.Literal(floors[kind]), sql.SQL(kind), sql.Literal(KINDS[kind][-1]), sql.SQL(kind)
        )
        assert pair.source.ask(newest) == [(1,)], f"{kind}: {floors[kind]}"


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
RANDOM: dict[str, st.SearchStrategy[str]] = {
    "integer": st.integers(-(2**31), 2**31 - 1).map(str),
    "bigint": st.integers(-(2**63), -1).map(str),
    "numeric": st.decimals(allow_nan=False, allow_infinity=False).map(lambda number: f"{number:f}"[:60].rstrip(".")),
    "character(8)": st.text("ab/\\.%~_é🙂", max_size=8),
    "character varying": TEXTS | st.text("ab/\\.%~_ ", max_size=6),
    "date": st.dates().map(str),
    "timestamp without time zone": st.datetimes().map(str),
    "timestamp with time zone": st.datetimes(timezones=st.just(UTC)).map(str),
    "uuid": st.uuids().map(str),
}


def test_random_partition_values_survive(pair: Pair, tmp_path_factory: pytest.TempPathFactory):
    """Random partition values of each type are loaded, and a second run does nothing."""
    by_kind = {kind: pair.name() for kind in RANDOM}
    for kind, table in by_kind.items():
        pair.source.create(public(table), {"cobid": kind})

    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.fixed_dictionaries({kind: st.lists(values, min_size=3, max_size=3) for kind, values in RANDOM.items()}))
    def travel(rows: dict[str, list[str]]) -> None:
        for kind, table in by_kind.items():
            pair.source.do(f"TRUNCATE {table}")
            pair.source.insert(public(table), {"cobid": kind}, [[value] for value in rows[kind]])
        tidegate = of_kinds(pair, tmp_path_factory.mktemp("lake"), by_kind)

        assert tidegate.run().rows_loaded == 3 * len(RANDOM)
        assert steps(tidegate.run()) == []
        for kind, table in by_kind.items():
            assert differences(pair.source, pair.target, public(table), {"cobid": kind}) == []
            pair.target.do(f"DROP TABLE {table}")
        pair.target.do("TRUNCATE tidegate.ledger, tidegate.scopes")

    travel()


def test_equal_decimals_are_one_partition_value(pair: Pair, tmp_path: Path):
    """`numeric` keeps trailing zeros. 1.5 and 1.50 are one partition value, also in the ledger and the lake."""
    table, columns = pair.name(), {"cobid": "numeric", "id": "integer"}
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, [["1.5", "1"], ["1.50", "2"]])
    tidegate = pair.tidegate(tmp_path, table)

    first = tidegate.run()
    pair.source.do(f"UPDATE {table} SET cobid = 1.500, id = id + 1; INSERT INTO {table} VALUES (1.50000, 9)")  # noqa: S608
    second = tidegate.run()

    assert steps(first)[1:] == ["extract 1.5", "load 1.5"]
    assert steps(second) == ["extract 1.5", "load 1.5"]
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    assert differences(pair.source, pair.target, public(table), columns) == []


def test_null_partition_values_are_reported(pair: Pair, tmp_path: Path):
    """Rows with a null partition value are counted in the report and not copied."""
    table, columns = pair.name(), {"cobid": "integer", "id": "integer"}
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, [["1", "1"], [None, "2"], [None, "3"]])

    report = pair.tidegate(tmp_path, table).run()

    assert [finding.what for finding in report.findings] == ["2 rows have no partition value and are not copied"]
    assert pair.target.ask(f"SELECT cobid, id FROM {table}") == [(1, 1)]  # noqa: S608


def refused(tidegate: Tidegate) -> str:
    ((_, problem),) = tidegate.plan().failures
    return problem


def test_nan_as_a_partition_value_is_refused(pair: Pair, tmp_path: Path):
    """NaN as a partition value is refused, and the message names the table."""
    table = pair.name()
    pair.source.create(public(table), {"cobid": "numeric"})
    pair.source.insert(public(table), {"cobid": "numeric"}, [["1"], ["NaN"]])
    assert refused(pair.tidegate(tmp_path, table)).startswith(
        f"{table}: public.{table} has rows whose cobid cannot be a partition value: 'NaN' is not a finite number."
    )


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        ("integer", "bigint", "7", "3000000000"),
        ("character varying(4)", "character varying(8)", "2024", "2024-01"),
    ],
)
def test_widened_partition_column_is_loaded(before: str, after: str, old: str, new: str, pair: Pair, tmp_path: Path):
    """The partition column becomes wider. The old type would cut `2024-01` to `2024` and delete another value's
    rows."""
    table, columns = pair.name(), {"cobid": before, "id": "integer"}
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, [[old, "1"]])
    tidegate = pair.tidegate(tmp_path, table, proof="count")
    tidegate.run()

    pair.source.do(sql.SQL("ALTER TABLE {} ALTER COLUMN cobid TYPE {}").format(public(table), sql.SQL(after)))
    pair.source.insert(public(table), {"cobid": after, "id": "integer"}, [[new, "2"]])
    tidegate.run()

    assert differences(pair.source, pair.target, public(table), {"cobid": after, "id": "integer"}) == []

"""Every PostgreSQL type with values that are easily lost, copied by the real engine and compared by a plain driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from conformance.conftest import Pair, public
from conformance.servers.postgresql import ARROW, ENDS, FAMILIES, SETUP, STRINGS, Absent, Sample, Server, running
from kit.copies import Copier
from kit.witness import Witness, differences
from tidegate.errors import RunFailed
from tidegate.interfaces import BatchSize
from tidegate.model.names import TableName

pytestmark = pytest.mark.postgres

PLAIN, ODD, ENDINGS = 1, 2, 3
"""The partition values: what Arrow can hold; what rests as text; what COPY could take for the end of its data."""

Rows = list[list[str | None]]


def columns_of(samples: list[Sample]) -> dict[str, str]:
    """Each column is called as its type, so that a difference says which type it is."""
    named = {f"{sample.type} #{place}": sample.type for place, sample in enumerate(samples)}
    return {"cobid": "integer", "note": "text", **named}


def seen_as(samples: list[Sample]) -> dict[str, str]:
    return {f"{sample.type} #{place}": sample.seen_as for place, sample in enumerate(samples) if sample.seen_as}


def rows_of(samples: list[Sample]) -> Rows:
    """In each partition every value of every column occurs, and a null where it may be."""
    rows: Rows = []
    for cobid in (PLAIN, ODD, ENDINGS):
        notes = list(ENDS) if cobid == ENDINGS else ["plain", None]
        cells = [notes, *(_cells(sample, odd=cobid == ODD) for sample in samples)]
        many = max(map(len, cells))
        repeated = [list(islice(cycle(column), many)) for column in cells]
        rows += [[str(cobid), *row] for row in zip(*repeated, strict=True)]
    return rows


def _cells(sample: Sample, *, odd: bool) -> list[str | None]:
    nothing: list[str | None] = [] if sample.type == "public.cents" else [None]
    return [*sample.values, *(sample.odd if odd else ()), *nothing]


def extracted(lake: Path, table: str, value: object) -> Path:
    return lake / "organized" / f"cobid_{value}" / f"{table}_cobid_{value}.parquet"


def text_columns(lake: Path, table: str, value: object) -> list[str]:
    """Which columns a file carries as text, by its own footer."""
    facts: dict[str, Any] = json.loads(pq.read_metadata(extracted(lake, table, value)).metadata[b"tidegate"])
    return sorted(facts["text_columns"])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_value_survives(
    family: str, pair: Pair, samples_here: Callable[[tuple[Sample, ...]], list[Sample]], tmp_path: Path
):
    """Each value of each type arrives unchanged. Values that Arrow cannot hold are stored as text in the lake."""
    samples = samples_here(FAMILIES[family])
    table, columns = pair.name(), columns_of(samples)
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, rows_of(samples))
    tidegate = pair.tidegate(tmp_path, table)

    report = tidegate.run()

    assert report.outcome == "done"
    assert differences(pair.source, pair.target, public(table), columns, seen_as(samples)) == []
    odd = sorted(name for name, sample in zip(list(columns)[2:], samples, strict=True) if sample.odd)
    found = {value: text_columns(tmp_path, table, value) for value in (PLAIN, ODD, ENDINGS)}
    assert found == {PLAIN: [], ODD: odd, ENDINGS: []}
    assert tidegate.verify().outcome == "equal"


def test_lake_files_have_the_expected_types(pair: Pair, tmp_path: Path):
    """Each PostgreSQL type is stored in the lake as the documented Arrow type, with its original name as metadata."""
    samples = [sample for family in FAMILIES.values() for sample in family if not sample.missing_on(pair.server)]
    first = {sample.type: sample.values[0] for sample in reversed(samples) if sample.type in ARROW}
    table, columns = pair.name(), {"cobid": "integer", **{f"a {kind}": kind for kind in first}}
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, [["1", *first.values()]])

    pair.tidegate(tmp_path, table).run()

    found = pq.read_schema(extracted(tmp_path, table, 1))
    assert {kind: str(found.field(f"a {kind}").type) for kind in first} == {kind: ARROW[kind] for kind in first}
    named = {kind: found.field(f"a {kind}").metadata[b"tidegate.type"].decode() for kind in first}
    assert named == {kind: kind for kind in first}


def test_lake_files_are_plain_parquet(pair: Pair, tmp_path: Path):
    """A file of the lake can be read with pyarrow alone."""
    table, columns = pair.name(), {"cobid": "integer", "note": "text", "price": "numeric(18,2)", "at": "date"}
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, [["1", "é", "1.50", "2024-02-29"], ["1", None, None, None]])

    pair.tidegate(tmp_path, table).run()

    assert pq.ParquetFile(extracted(tmp_path, table, 1)).read().to_pylist() == [
        {"cobid": 1, "note": "é", "price": Decimal("1.50"), "at": date(2024, 2, 29)},
        {"cobid": 1, "note": None, "price": None, "at": None},
    ]


def test_column_can_be_stored_as_text(pair: Pair, tmp_path: Path):
    """With `columns: {price: text}`, the column is stored as text in the lake and arrives unchanged."""
    table, columns = pair.name(), {"cobid": "integer", "price": "numeric(18,2)"}
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, [["1", "1.50"], ["1", "NaN"]])

    pair.tidegate(tmp_path, table, columns={"price": "text"}).run()

    assert text_columns(tmp_path, table, 1) == ["price"]
    assert differences(pair.source, pair.target, public(table), columns) == []
    assert pair.tidegate(tmp_path, table, columns={"price": "text"}).run().outcome == "nothing to do"


# Between versions

TORTURED = "it's a t{ab}le [100%]\\ 🙂"


@pytest.fixture(scope="module")
def two_versions() -> Iterator[tuple[Server, Server] | Absent]:
    with ExitStack() as stack:
        try:
            yield stack.enter_context(running("embedded 16")), stack.enter_context(running("embedded 18"))
        except Absent as absence:
            yield absence


@pytest.mark.parametrize(
    ("upwards", "with_spark"),
    [
        pytest.param(True, True, marks=pytest.mark.spark, id="16 to 18, on Spark"),
        pytest.param(False, False, id="18 to 16"),
    ],
)
def test_every_type_survives_across_server_versions(
    upwards: bool,
    with_spark: bool,
    two_versions: tuple[Server, Server] | Absent,
    gaps: Callable[[str], None],
    request: pytest.FixtureRequest,
    tmp_path: Path,
):
    """Values of every type arrive unchanged between PostgreSQL 16 and 18, in both directions."""
    if isinstance(two_versions, Absent):
        gaps(str(two_versions))
    old, new = two_versions
    samples = [_short(sample) for family in FAMILIES.values() for sample in family if not sample.missing_on(old)]
    columns = columns_of(samples)
    with ExitStack() as stack:
        servers = (old, new) if upwards else (new, old)
        source, target = (stack.enter_context(Witness(stack.enter_context(one.database()))) for one in servers)
        for statement in SETUP:
            source.do(statement)
            target.do(statement)
        source.create(public(TORTURED), columns)
        source.insert(public(TORTURED), columns, rows_of(samples))
        spark = request.getfixturevalue("spark") if with_spark else None

        report = Pair(servers[0], source, target).tidegate(tmp_path, TORTURED, spark=spark).run()

        assert report.rows_loaded == len(rows_of(samples))
        assert differences(source, target, public(TORTURED), columns, seen_as(samples)) == []


def _short(sample: Sample) -> Sample:
    """Without its longest values: this slice is read once more for every column that turns into text."""
    return replace(sample, values=tuple(value for value in sample.values if len(value) < 5_000))


# Batches


NUMBERED = [[str(number), text] for number, text in enumerate(STRINGS[:30])]


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        (BatchSize(), [30]),
        (BatchSize(rows=1), [1] * 30),
        (BatchSize(rows=7), [7, 7, 7, 7, 2]),
        (BatchSize(rows=15), [15, 15]),
        (BatchSize(bytes=1), [1] * 30),
        (BatchSize(rows=2, bytes=10**9), [2] * 15),
    ],
    ids=["by default", "one row", "seven rows", "an even number", "one byte", "rows before bytes"],
)
def test_any_batch_size_copies_the_same_rows(size: BatchSize, sizes: list[int], pair: Pair, copier: Copier):
    """Limits of rows and bytes change the batches, not the copied rows."""
    table, columns = pair.name(), {"id": "integer", "note": "text"}
    both_create(pair, table, columns, NUMBERED)

    assert copier.copy(TableName("public", table), size) == sizes
    assert differences(pair.source, pair.target, public(table), columns) == []


@pytest.mark.parametrize(
    ("limit", "sizes"),
    [(1_000, [1, 1, 2]), (5_000_000, [4]), (1_000_001, [1, 1, 2])],
    ids=["tiny", "vast", "just enough"],
)
def test_oversized_row_gets_its_own_batch(limit: int, sizes: list[int], pair: Pair, copier: Copier):
    """A row larger than the byte limit becomes its own batch."""
    table, columns = pair.name(), {"note": "text"}
    both_create(pair, table, columns, [["x" * 1_000_000], ["y" * 1_000_000 + "\n"], ["z"], [None]])

    assert copier.copy(TableName("public", table), BatchSize(bytes=limit)) == sizes
    assert differences(pair.source, pair.target, public(table), columns) == []


@pytest.mark.parametrize(
    "settings", [{"batch_rows": 1}, {"batch_rows": 7}, {"batch_bytes": 64}, {"batch_rows": 10_000}], ids=str
)
def test_batch_settings_change_neither_rows_nor_hash(settings: dict[str, int], pair: Pair, tmp_path: Path):
    """`batch_rows` and `batch_bytes` change neither the rows nor the result of `verify`."""
    table, columns = pair.name(), {"cobid": "integer", "id": "integer", "note": "text"}
    pair.source.create(public(table), columns)
    pair.source.insert(public(table), columns, [["1", *row] for row in NUMBERED])

    pair.tidegate(tmp_path, table, **settings).run()

    assert differences(pair.source, pair.target, public(table), columns) == []
    assert pair.tidegate(tmp_path, table, batch_rows=3).verify().outcome == "equal"


@pytest.mark.parametrize("kind", ["integer", "text", "boolean", "bytea", "date", "numeric(10,2)", "jsonb", "integer[]"])
def test_single_column_of_nulls_survives(kind: str, pair: Pair, copier: Copier):
    """A row whose only value is null, which is an empty line in CSV, arrives."""
    table, columns = pair.name(), {"x": kind}
    both_create(pair, table, columns, [[None]] * 5)

    assert copier.copy(TableName("public", table), BatchSize(rows=2)) == [2, 2, 1]
    assert pair.target.ask(f"SELECT count(*), count(x) FROM {table}") == [(5, 0)]  # noqa: S608


@pytest.mark.parametrize("values", [["", None, ""], ["\\.", None, "\\."], ["\n", "", None], ["\ufeff", None]], ids=repr)
def test_empty_text_and_null_stay_distinct(values: list[str | None], pair: Pair, copier: Copier):
    """In a single column, empty texts, line breaks and nulls stay distinct."""
    table, columns = pair.name(), {"x": "text"}
    both_create(pair, table, columns, [[value] for value in values])

    copier.copy(TableName("public", table))

    assert differences(pair.source, pair.target, public(table), columns) == []


def test_empty_table_copies_no_batch(pair: Pair, copier: Copier):
    """Copying a table without rows produces no batch."""
    table = pair.name()
    both_create(pair, table, {"x": "text"}, [])
    assert copier.copy(TableName("public", table)) == []


def test_run_on_an_empty_table_creates_nothing(pair: Pair, tmp_path: Path):
    """A run on a table without rows does nothing and creates no target table."""
    table = pair.name()
    pair.source.create(public(table), {"cobid": "integer"})

    report = pair.tidegate(tmp_path, table).run()

    assert report.outcome == "nothing to do"
    assert pair.target.ask("SELECT to_regclass(%s)", f"public.{table}") == [(None,)]


def test_two_hundred_columns_survive(pair: Pair, tmp_path: Path):
    """A table with 200 columns arrives unchanged."""
    kinds = ("integer", "text", "numeric(18,2)", "timestamp with time zone", "bytea")
    table = pair.name()
    columns = {"cobid": "integer", **{f"c{place}": kinds[place % 5] for place in range(200)}}
    pair.source.create(public(table), columns)
    cells = {"integer": "7", "text": 'a,"b"', "numeric(18,2)": "1.50", "bytea": "\\x00ff"}
    row = [cells.get(kind, "2024-01-31 10:00:00+00") for kind in list(columns.values())[1:]]
    pair.source.insert(public(table), columns, [["1", *row], ["1", *[None] * 200]])

    pair.tidegate(tmp_path, table).run()

    assert differences(pair.source, pair.target, public(table), columns) == []


# Encodings


LATIN = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
BYTES = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"


def test_latin1_source_keeps_its_letters(server: Server, tmp_path: Path):
    """Texts and names of a LATIN1 source arrive in a UTF-8 target."""
    with ExitStack() as stack:
        source = stack.enter_context(Witness(stack.enter_context(server.database(LATIN))))
        target = stack.enter_context(Witness(stack.enter_context(server.database())))
        columns = {"cobid": "integer", "nöte": "text"}
        source.create(public("täble"), columns)
        source.insert(public("täble"), columns, [["1", "Ærø ÿ"], ["1", "plain"]])

        Pair(server, source, target).tidegate(tmp_path, "täble").run()

        assert target.ask('SELECT "nöte" FROM "täble" ORDER BY 1') == [("plain",), ("Ærø ÿ",)]


def test_unencodable_text_is_refused(server: Server, tmp_path: Path):
    """When the target's encoding lacks a character, the load is rolled back as a whole."""
    with ExitStack() as stack:
        source = stack.enter_context(Witness(stack.enter_context(server.database())))
        target = stack.enter_context(Witness(stack.enter_context(server.database(LATIN))))
        columns = {"cobid": "integer", "note": "text"}
        source.create(public("t"), columns)
        source.insert(public("t"), columns, [["1", "Ærø"], ["1", "🙂"]])

        with pytest.raises(RunFailed, match="no equivalent in encoding"):
            Pair(server, source, target).tidegate(tmp_path, "t").run()

        assert target.ask("SELECT count(*) FROM t") == [(0,)]


def test_invalid_bytes_are_refused(server: Server, tmp_path: Path):
    """Bytes that are not valid text are refused with the server's own message."""
    with ExitStack() as stack:
        url = stack.enter_context(server.database(BYTES))
        target = stack.enter_context(Witness(stack.enter_context(server.database())))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET client_encoding = 'SQL_ASCII'; SET standard_conforming_strings = on")
            connection.execute("CREATE TABLE public.t (cobid integer, note text)")
            connection.execute(b"INSERT INTO public.t VALUES (1, E'caf\\xe9')")
        source = stack.enter_context(Witness(url))

        with pytest.raises(RunFailed, match='invalid byte sequence for encoding "UTF8": 0xe9'):
            Pair(server, source, target).tidegate(tmp_path, "t").run()

        assert target.ask("SELECT count(*) FROM t") == [(0,)]


# Partition columns


def test_unordered_type_is_refused_as_partition_column(pair: Pair, tmp_path: Path):
    """Texts of these types sort differently from their values, so the newest values cannot be found. They are
    refused."""
    kinds = [
        "real",
        "double precision",
        "money",
        "interval",
        "json",
        "jsonb",
        "inet",
        "integer[]",
        "point",
        "public.pair",
    ]
    kinds += [sample.type for sample in FAMILIES["citext"] if not sample.missing_on(pair.server)]
    for kind in kinds:
        table = pair.name()
        pair.source.create(public(table), {"cobid": kind})

        plan = pair.tidegate(tmp_path, table).plan()

        ((_, problem),) = plan.failures
        assert problem.startswith(f"{table}: cobid is {kind}, whose values have no exact order to partition by."), kind


def test_nondeterministic_collation_is_refused(pair: Pair, gaps: Callable[[str], None], tmp_path: Path):
    """A partition column whose collation treats different texts as equal is refused."""
    if "icu" not in pair.server.abilities:
        gaps(f"collations that ignore case: {pair.server.name} has no icu")
    table = pair.name()
    pair.source.do("CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    pair.source.create(public(table), {"cobid": "text COLLATE any_case"})

    ((_, problem),) = pair.tidegate(tmp_path, table).plan().failures

    assert problem.startswith(f"{table}: cobid is text, whose values have no exact order to partition by.")


def both_create(pair: Pair, table: str, columns: dict[str, str], rows: Rows) -> None:
    pair.source.create(public(table), columns)
    pair.target.create(public(table), columns)
    if rows:
        pair.source.insert(public(table), columns, rows)

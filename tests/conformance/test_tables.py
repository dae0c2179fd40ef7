"""Tables that are not plain tables, on either side: what the catalog says of them, and that their rows arrive."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.conftest import Pair, public
from kit.copies import Copier, database_at
from kit.witness import differences
from tidegate import Tidegate
from tidegate.errors import RunFailed
from tidegate.interfaces import BatchSize, ReadRequest
from tidegate.model.names import TableName
from tidegate.runs.kinds.partition import looking

pytestmark = pytest.mark.postgres

COLUMNS = {"cobid": "integer", "id": "integer", "note": "text"}
ROWS = (
    "SELECT day AS cobid, number AS id, 'row ' || number AS note"
    " FROM generate_series(1, 2) AS day, generate_series(1, 3) AS number"
)


@pytest.mark.parametrize(
    "made",
    [
        "CREATE UNLOGGED TABLE {name} AS {rows}",
        "CREATE VIEW {name} AS {rows}",
        "CREATE MATERIALIZED VIEW {name} AS {rows}",
        "CREATE TABLE {name} (cobid int, id int, note text) PARTITION BY LIST (cobid);"
        "CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES IN (1);"
        "CREATE TABLE {name}_2 PARTITION OF {name} DEFAULT; INSERT INTO {name} {rows}",
        "CREATE TABLE {name} (cobid int, id int, note text); CREATE TABLE {name}_2 () INHERITS ({name});"
        "INSERT INTO {name}_2 {rows}",
        "CREATE TABLE {name} (cobid int, id int, note text GENERATED ALWAYS AS ('row ' || id) STORED);"
        "INSERT INTO {name} (cobid, id) SELECT cobid, id FROM ({rows}) AS r",
        "CREATE TABLE {name} (gone int, cobid int, id int GENERATED ALWAYS AS IDENTITY, note text);"
        "ALTER TABLE {name} DROP COLUMN gone;"
        "INSERT INTO {name} (cobid, note) SELECT cobid, note FROM ({rows}) AS r",
    ],
    ids=["unlogged", "view", "materialised view", "partitioned", "inherited", "computed column", "dropped column"],
)
def test_a_source_of_any_sort_is_read(made: str, pair: Pair, tmp_path: Path):
    table = pair.name()
    pair.source.do(made.format(name=table, rows=ROWS))

    report = pair.tidegate(tmp_path, table).run()

    assert report.rows_loaded == 6
    assert differences(pair.source, pair.target, public(table), COLUMNS) == []


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE {name} (cobid int, id int, note text) PARTITION BY LIST (cobid);"
        "CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES IN (1);"
        "CREATE TABLE {name}_2 PARTITION OF {name} DEFAULT",
        "CREATE TABLE {name} (note text, own text, id int, cobid int)",
        "CREATE TABLE {name} (cobid int, id int GENERATED ALWAYS AS IDENTITY, note text)",
        "CREATE TABLE {name} (cobid bigint, id bigint, note text, at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE {name} (cobid int, id int, note text, PRIMARY KEY (id, cobid))",
        "CREATE TABLE {name} (cobid int, id int, note text); CREATE INDEX ON {name} USING hash (cobid)",
    ],
    ids=["partitioned", "another order", "identity", "wider", "another key", "hash index"],
)
def test_a_target_that_is_there_already_is_loaded(made: str, pair: Pair, tmp_path: Path):
    table = pair.name()
    pair.source.create(public(table), COLUMNS)
    pair.source.do(f"INSERT INTO {table} {ROWS}")
    pair.target.do(made.format(name=table))
    tidegate = pair.tidegate(tmp_path, table)

    report = tidegate.run()

    assert report.rows_loaded == 6
    rows = f"SELECT cobid::text, id::text, note FROM {table} ORDER BY 1, 2"  # noqa: S608
    assert pair.target.ask(rows) == pair.source.ask(rows)
    assert tidegate.run().outcome == "nothing to do"


def test_only_an_index_that_can_tell_the_next_value_counts(pair: Pair):
    table = pair.name()
    pair.source.do(
        f"CREATE TABLE {table} (a int PRIMARY KEY, b int, c int, d int, e int, f text, g int, h int);"
        f"CREATE INDEX ON {table} USING hash (b); CREATE INDEX ON {table} USING brin (c);"
        f"CREATE INDEX ON {table} (d) WHERE d > 0; CREATE INDEX ON {table} (e DESC, a);"
        f"CREATE INDEX ON {table} (lower(f)); CREATE UNIQUE INDEX ON {table} (g) INCLUDE (h)"
    )
    with database_at(pair.source.url).connect("test", read_only=True) as session:
        shape = session.shapes([TableName("public", table)])[TableName("public", table)]

    assert [column.name for column in shape.columns if shape.indexed(column.name)] == ["a", "e", "g"]
    assert shape.primary_key == ("a",)


def test_what_guards_a_target_is_seen(pair: Pair):
    table = pair.name()
    pair.target.do(
        f"CREATE TABLE {table} (id int PRIMARY KEY); CREATE TABLE {table}_lines (id int REFERENCES {table});"
        f"CREATE FUNCTION f_{table}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
        f"CREATE TRIGGER stamp BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION f_{table}();"
        f"CREATE TRIGGER off BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION f_{table}();"
        f"ALTER TABLE {table} DISABLE TRIGGER off"
    )
    with database_at(pair.target.url).connect("test", read_only=True) as session:
        shape = session.shapes([TableName("public", table)])[TableName("public", table)]

    assert (shape.triggers, shape.referenced_by) == (("stamp",), (f"public.{table}_lines",))


def test_values_that_are_counted_some_at_a_time_are_all_counted(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(looking, "MOST_IN_A_STATEMENT", 2)
    table = pair.name()
    pair.source.do(f"CREATE TABLE {table} AS SELECT day AS cobid, day AS id FROM generate_series(1, 5) AS day")  # noqa: S608
    tidegate = pair.tidegate(tmp_path, table, look_back=5)

    assert loaded(tidegate) == ["1", "2", "3", "4", "5"]
    assert loaded(tidegate) == []
    pair.source.do(f"INSERT INTO {table} SELECT cobid, id + 1 FROM {table}")  # noqa: S608
    assert loaded(tidegate) == ["1", "2", "3", "4", "5"]
    pair.target.do(f"DELETE FROM {table} WHERE cobid = id")  # noqa: S608
    assert loaded(tidegate) == ["1", "2", "3", "4", "5"]

    assert tidegate.verify().outcome == "equal"
    assert tidegate.run().outcome == "nothing to do"


def loaded(tidegate: Tidegate) -> list[str]:
    """The values that a run loads."""
    return sorted(step.value for step in tidegate.run().steps if step.step == "load")


def test_a_read_that_breaks_off_half_way_is_no_shorter_table(pair: Pair, tmp_path: Path):
    """The rows that came before the error are whole, and must not pass for all of them."""
    table = pair.name()
    pair.source.do(
        f"CREATE VIEW {table} AS SELECT 1 AS cobid, number, 1 / (number - 5000) AS x"  # noqa: S608
        " FROM generate_series(1, 5000) AS number"
    )

    with pytest.raises(RunFailed, match="division by zero"):
        pair.tidegate(tmp_path, table, batch_rows=100).run()

    assert list(tmp_path.rglob("*.parquet")) == []
    assert pair.target.ask(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608


def test_a_write_that_the_server_refuses_half_way_leaves_what_was_there(pair: Pair, tmp_path: Path):
    table, columns = pair.name(), {"cobid": "integer", "id": "integer"}
    pair.source.create(public(table), columns)
    pair.source.do(f"INSERT INTO {table} SELECT 1, number FROM generate_series(1, 5000) AS number")  # noqa: S608
    pair.target.create(public(table), columns, more="CHECK (id < 4990)")

    with pytest.raises(RunFailed, match="violates check constraint"):
        pair.tidegate(tmp_path, table, batch_rows=100).run()

    assert pair.target.ask(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608
    pair.target.do(f"ALTER TABLE {table} DROP CONSTRAINT {table}_id_check")
    assert pair.tidegate(tmp_path, table).run().rows_loaded == 5000


@pytest.mark.parametrize("note", ["text NOT NULL", "varchar(5) NOT NULL", "text NOT NULL DEFAULT 'none'"])
def test_a_null_that_the_target_does_not_take_is_refused_by_its_column(note: str, pair: Pair, tmp_path: Path):
    table = pair.name()
    pair.source.create(public(table), COLUMNS)
    pair.source.do(f"INSERT INTO {table} VALUES (1, 1, 'a longer note'), (2, 1, 'another'), (2, 2, NULL)")  # noqa: S608
    pair.target.do(f"CREATE TABLE {table} (cobid int, id int, note {note})")

    with pytest.raises(RunFailed) as failed:
        pair.tidegate(tmp_path, table).run()

    ((_, why),) = failed.value.report.failures  # type: ignore[attr-defined]
    assert why == (
        f"public.{table}: column note came with a null, which the target's column does not take.\n"
        "The load was rolled back; the target keeps what it had.\n"
        "Allow nulls in note of the target and run again, or correct the source's rows and `run --reload`."
    )
    assert pair.target.ask(f"SELECT cobid, note FROM {table}") == [(1, "a longer note")]  # noqa: S608
    pair.source.do(f"UPDATE {table} SET note = 'corrected' WHERE note IS NULL")  # noqa: S608
    assert pair.tidegate(tmp_path, table).run(reload=True).rows_loaded == 3


def test_a_session_goes_on_after_a_read_that_was_given_up(pair: Pair, copier: Copier):
    table = pair.name()
    pair.source.do(f"CREATE VIEW {table} AS SELECT number FROM generate_series(1, 5000) AS number")  # noqa: S608
    name = TableName("public", table)
    shape = copier.reading.shapes([name])[name]

    reading = copier.reading.read(ReadRequest(name, shape.columns, batch=BatchSize(rows=10)))
    first = next(reading)
    reading.close()  # type: ignore[attr-defined]

    assert first.num_rows == 10
    whole = copier.reading.read(ReadRequest(name, shape.columns))
    assert sum(batch.num_rows for batch in whole) == 5000

"""PostgreSQL tables other than plain ones, as source and target: catalog facts and copied rows."""

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
def test_views_and_special_tables_are_read(made: str, pair: Pair, tmp_path: Path):
    """Views, partitioned, inherited and unlogged tables and generated columns are read from the source."""
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
def test_existing_targets_are_loaded(made: str, pair: Pair, tmp_path: Path):
    """Existing targets with partitions, another column order, identity or wider types are loaded."""
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


def test_only_usable_indexes_count(pair: Pair):
    """Only an index that can find the next value counts: no hash, BRIN, partial or expression index."""
    table = pair.name()
    pair.source.do(
        f"CREATE TABLE {table} (a int PRIMARY KEY, b int, c int, d int, e int, f text, g int, h int);"
        f"CREATE INDEX ON {table} USING hash (b); CREATE INDEX ON {table} USING brin (c);"
        f"CREATE INDEX ON {table} (d) WHERE d > 0; CREATE INDEX ON {table} (e DESC, a);"
        f"CREATE INDEX ON {table} (lower(f)); CREATE UNIQUE INDEX ON {table} (g) INCLUDE (h)"
    )
    with database_at(pair.source.url).connect("test", read_only=True) as session:
        shape = session.table_schemas([TableName("public", table)])[TableName("public", table)]

    assert [column.name for column in shape.columns if shape.has_index_on(column.name)] == ["a", "e", "g"]
    assert shape.primary_key == ("a",)


def test_triggers_and_references_are_reported(pair: Pair):
    """The catalog reports enabled triggers and foreign keys that refer to the table."""
    table = pair.name()
    pair.target.do(
        f"CREATE TABLE {table} (id int PRIMARY KEY); CREATE TABLE {table}_lines (id int REFERENCES {table});"
        f"CREATE FUNCTION f_{table}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
        f"CREATE TRIGGER stamp BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION f_{table}();"
        f"CREATE TRIGGER off BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION f_{table}();"
        f"ALTER TABLE {table} DISABLE TRIGGER off"
    )
    with database_at(pair.target.url).connect("test", read_only=True) as session:
        shape = session.table_schemas([TableName("public", table)])[TableName("public", table)]

    assert (shape.triggers, shape.referenced_by) == (("stamp",), (f"public.{table}_lines",))


def test_values_counted_in_chunks_are_complete(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """When values are counted in several statements, no value is missed by loading, restating or healing."""
    monkeypatch.setattr("tidegate.changes.partition.inspect.MOST_IN_A_STATEMENT", 2)
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


def test_failed_read_publishes_no_file(pair: Pair, tmp_path: Path):
    """When reading fails after some rows, those rows are not published as a complete file."""
    table = pair.name()
    pair.source.do(
        f"CREATE VIEW {table} AS SELECT 1 AS cobid, number, 1 / (number - 5000) AS x"  # noqa: S608
        " FROM generate_series(1, 5000) AS number"
    )

    with pytest.raises(RunFailed, match="division by zero"):
        pair.tidegate(tmp_path, table, batch_rows=100).run()

    assert list(tmp_path.rglob("*.parquet")) == []
    assert pair.target.ask(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608


def test_failed_load_keeps_the_target(pair: Pair, tmp_path: Path):
    """When the server refuses a row, the load is rolled back, and the next run loads all rows."""
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
def test_null_in_a_not_null_column_is_refused(note: str, pair: Pair, tmp_path: Path):
    """When a target column is NOT NULL and the source has a null, the load fails with the column's name and a
    remedy."""
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


def test_session_works_after_an_abandoned_read(pair: Pair, copier: Copier):
    """When the caller stops reading rows early, the session can read again."""
    table = pair.name()
    pair.source.do(f"CREATE VIEW {table} AS SELECT number FROM generate_series(1, 5000) AS number")  # noqa: S608
    name = TableName("public", table)
    shape = copier.reading.table_schemas([name])[name]

    reading = copier.reading.read(ReadRequest(name, shape.columns, batch=BatchSize(rows=10)))
    first = next(reading)
    reading.close()  # type: ignore[attr-defined]

    assert first.num_rows == 10
    whole = copier.reading.read(ReadRequest(name, shape.columns))
    assert sum(batch.num_rows for batch in whole) == 5000

"""Statements that only Redshift gets."""

from __future__ import annotations

from typing import cast

import pyarrow as pa

from sql.statements import COBID, CODE, ODD, Statement, column
from tidegate.databases.redshift import Redshift
from tidegate.errors import Unsupported
from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.stored_files import StoredFile
from tidegate.model.types import Type
from tidegate.sql.text import raw

AT = column("at", Type("instant", 6))
HOUR = column("hour", Type("time", 6))
PAID = column("paid", Type("bool"))
FLAG = column("flag", Type("int16"))


def _declared(session: Session, name: str) -> list[str]:
    """Send the DDL of a numbered table with a distribution."""
    database = cast(Redshift, session.database)
    columns = [database.declare(each) for each in (COBID, CODE)]
    plain = [database.render(each) for each in database.create_table(ODD, columns, ["cobid"], "code")]
    for statement in database.laid_out(database.numbered(plain, ODD, "sk"), ODD, name, ["code", "cobid"]):
        session.execute(raw(statement))
    return plain


def _copied(session: Session) -> None:
    """Load rows of which COPY takes every type as it is, by files that are there already."""
    columns = [session.database.declare(each) for each in (COBID, CODE, AT, PAID, FLAG)]
    batch = pa.record_batch(
        [
            pa.array([1], pa.int32()),
            pa.array(["a"]),
            pa.array([0], pa.timestamp("us", "UTC")),
            pa.array([1], pa.int16()),
            pa.array([True]),
        ],
        names=["cobid", "code", "at", "paid", "flag"],
    )
    there = [StoredFile("s3://bucket/incremental/a_1.parquet", 4711)]
    with session.bulk_insert(ODD, columns, lambda: iter([batch]), lambda: there) as insert, session.transaction():
        insert()


def _converted(session: Session) -> None:
    """Load rows with a time of day, which COPY does not take."""
    columns = [session.database.declare(each) for each in (COBID, HOUR)]
    batch = pa.record_batch([pa.array([1], pa.int32()), pa.array([1], pa.time64("us"))], names=["cobid", "hour"])
    with session.bulk_insert(ODD, columns, lambda: iter([batch])) as insert, session.transaction():
        insert()


REDSHIFT = {
    "schema_add_surrogate": Statement(
        lambda session: session.database.add_surrogate(ODD, "version number"), raises=Unsupported
    ),
    "open": Statement(None),
    "table_with_distribution_key": Statement(lambda session: _declared(session, "code")),
    "table_on_all_nodes": Statement(lambda session: _declared(session, "ALL")),
    "copy_of_files_that_are_there": Statement(
        _copied,
        answers={
            "SELECT 1 FROM pg_class": [(1,)],
            "FORMAT_TYPE": [("sales", ODD.name, 1, True, "cobid", "integer", True, "")],
            "PG_GET_CONSTRAINTDEF": [("sales", ODD.name, "PRIMARY KEY (cobid)")],
        },
    ),
    "copy_of_times": Statement(_converted),
    "read_bool_as_number": Statement(
        lambda session: list(session.read(ReadRequest(ODD, (session.database.declare(PAID).read_like(FLAG),))))
    ),
}

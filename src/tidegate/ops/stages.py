"""Staging tables that no live run owns: found, and dropped on request. Users' tables are never touched."""

from __future__ import annotations

from fnmatch import fnmatchcase

from tidegate.errors import DatabaseError, Locked, MissingObject
from tidegate.interfaces.session import Session
from tidegate.model.health import Staging
from tidegate.model.names import TableName
from tidegate.model.stages import StageRecord
from tidegate.runs.run import Pipeline
from tidegate.runs.stages import drop_stage
from tidegate.state.ledger import Ledger
from tidegate.state.stages import Stages


def orphans(pipeline: Pipeline, pattern: str = "*") -> list[TableName]:
    """Return staging tables that no live run owns: the lock of their table is free."""
    with pipeline.target.connect("partitions") as session:
        if not Ledger(session).exists():
            return []
        return [record.name for record in _orphans(session, pattern)]


def staging(session: Session) -> list[Staging]:
    """Return all tables that switches made, with their space. Where this login may not ask, the space is not known."""
    records = Stages(session).records()
    orphaned = {record.name for record in _orphans(session, "*")}
    return [
        Staging(
            str(record.name), record.table, record.purpose, record.at, _space(session, record), record.name in orphaned
        )
        for record in records
    ]


def _space(session: Session, record: StageRecord) -> int | None:
    question = session.database.space(record.name)
    if question is None:
        return None
    try:
        answer = session.query(question)
    except DatabaseError:
        return None
    return int(str(answer[0][0])) if answer and answer[0][0] is not None else None


def drop_orphans(pipeline: Pipeline, pattern: str = "*") -> list[TableName]:
    """Drop staging tables that no live run owns, and return them."""
    with pipeline.target.connect("partitions") as session:
        if not Ledger(session).exists():
            return []
        dropped = []
        for record in _orphans(session, pattern):
            drop_stage(session, record)
            dropped.append(record.name)
        return dropped


def drop_staging_table(pipeline: Pipeline, name: TableName) -> None:
    """Drop a staging table of ours. Raises MissingObject for any other table: users' tables are never dropped."""
    with pipeline.target.connect("partitions") as session:
        records = Stages(session).records() if Ledger(session).exists() else []
        wanted = name.within(pipeline.target.default_schema)
        known = [record for record in records if record.name == wanted]
        if not known:
            raise MissingObject(
                f"{wanted} is no staging table of Tidegate.",
                "Nothing was dropped.",
                "Drop tables of your own by the means of the database.",
            )
        if not _is_free(session, known[0].table):
            raise Locked(f"A run holds {known[0].table}.", "Nothing was dropped.", "Wait for it to end.")
        drop_stage(session, known[0])


def _orphans(session: Session, pattern: str) -> list[StageRecord]:
    records = [record for record in Stages(session).records() if not record.is_kept]
    found = [record for record in records if fnmatchcase(record.name.name.lower(), pattern.lower())]
    free = {table: _is_free(session, table) for table in {record.table for record in found}}
    return [record for record in found if free[record.table]]


def _is_free(session: Session, table: str) -> bool:
    """Return whether no run holds the table. The lock that tells is kept until the session ends."""
    try:
        return session.try_lock(f"tidegate table {table}")
    except DatabaseError:
        return False

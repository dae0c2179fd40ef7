"""The book of stages and archives: a table of ours in the target, which says what such a table is for.

A stage is written down before it is created, and crossed out after it was dropped. So a run that is killed leaves no
table that nobody knows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tidegate.interfaces import Session
from tidegate.model.names import TableName
from tidegate.model.stages import StageRecord
from tidegate.sql.text import Literal, sql
from tidegate.state.ledger import own


@dataclass(frozen=True)
class Stages:
    """The book as one session sees it. Joins an open transaction."""

    session: Session

    def add(self, record: StageRecord) -> None:
        values = [
            Literal(str(record.name)),
            Literal(record.table),
            Literal(record.partition),
            Literal(record.purpose),
            Literal(record.run),
            Literal(record.details()),
            Literal(self.session.now()),
        ]
        self.session.execute(
            sql(
                "INSERT INTO {stages} (name, table_name, partition_name, purpose, run, details, at) VALUES ({values})",
                stages=own(self.session, "stages"),
                values=values,
            )
        )

    def remove(self, name: TableName) -> None:
        self.session.execute(
            sql("DELETE FROM {stages} WHERE name = {name}", stages=own(self.session, "stages"), name=Literal(str(name)))
        )

    def replace(self, record: StageRecord) -> None:
        self.remove(record.name)
        self.add(record)

    def records(self, table: str = "") -> list[StageRecord]:
        """Return the records of a table, or of all, oldest first."""
        stages = own(self.session, "stages")
        question = sql(
            "SELECT name, table_name, partition_name, purpose, run, details, at FROM {stages}", stages=stages
        )
        if table:
            question = sql("{all} WHERE table_name = {table}", all=question, table=Literal(table))
        rows = self.session.query(sql("{found} ORDER BY at, name", found=question))
        return [_record(*map(str, row)) for row in rows]


def _record(name: str, table: str, partition: str, purpose: str, run: str, details: str, at: str) -> StageRecord:
    known = json.loads(details)
    return StageRecord(
        TableName.parse(name), table, partition, purpose, run, tuple(known["windows"].items()), known["whole"], at
    )

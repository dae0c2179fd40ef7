"""Notes: what earlier commands found, in a table of our own in the target. A note that is lost costs time, not rows.

| topic                  | name                | tells                                                             |
| ---------------------- | ------------------- | ----------------------------------------------------------------- |
| `alerts of {outlet}`   | condition and table | an alert that was sent there, and when                            |
| `rotating check`       | table of the ledger | where the next slice begins that is compared                      |
| `content`              | table of the ledger | marks of both sides of a static table when they were read as equal |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.interfaces import Session
from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.sql.text import Literal, Name, sql
from tidegate.state.ledger import own

TABLE = "notes"


def _column(name: str, holds: Type) -> Column:
    return Column(name, str(holds), holds.storage_type, nullable=False, logical_type=holds)


_COLUMNS = [
    _column("topic", Type("string", 64)),
    _column("name", Type("string", 300)),
    _column("content", Type("string")),
    _column("at", Type("string", 40)),
]


@dataclass(frozen=True)
class Notes:
    """The notes as one session sees them."""

    session: Session

    @property
    def _table(self) -> Name:
        return own(self.session, TABLE)

    def exist(self) -> bool:
        name = self.session.database.own_table(TABLE)
        return name in self.session.existing_tables([name])

    def create(self) -> None:
        """Create the table where it is missing. Two calls at once are settled by a lock."""
        database = self.session.database
        with self.session.transaction():
            self.session.lock_in_transaction("tidegate notes")
            if self.exist():
                return
            columns = [database.declare(column) for column in _COLUMNS]
            for statement in database.create_table(database.own_table(TABLE), columns, ("topic", "name"), ""):
                self.session.execute(statement)

    def of(self, topic: str) -> dict[str, Any]:
        """Return the notes of a topic by name."""
        rows = self.session.query(
            sql("SELECT name, content FROM {notes} WHERE topic = {topic}", notes=self._table, topic=Literal(topic))
        )
        return {str(name): json.loads(str(content)) for name, content in rows}

    def one(self, topic: str, name: str) -> Any:
        """Return a note; None where there is none, or no table for notes yet."""
        return self.of(topic).get(name) if self.exist() else None

    def update(self, topic: str, changes: Mapping[str, Any]) -> None:
        """Write notes of a topic by name, in one transaction; None takes a note away."""
        with self.session.transaction():
            self.session.lock_in_transaction("tidegate notes")
            for name, content in changes.items():
                self.session.execute(
                    sql(
                        "DELETE FROM {notes} WHERE topic = {topic} AND name = {name}",
                        notes=self._table,
                        topic=Literal(topic),
                        name=Literal(name),
                    )
                )
                if content is not None:
                    values = [Literal(topic), Literal(name), Literal(json.dumps(content)), Literal(self.session.now())]
                    self.session.execute(
                        sql(
                            "INSERT INTO {notes} (topic, name, content, at) VALUES ({values})",
                            notes=self._table,
                            values=values,
                        )
                    )

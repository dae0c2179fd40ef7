"""The register of snapshots: one row per snapshot in the snapshot table, written in the transaction of its rows.

The rows of the snapshot table are the truth. A register that was lost is written anew from them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from tidegate.interfaces import Database, Session
from tidegate.model.names import TableName
from tidegate.model.snapshots import ARCHIVED, REMOVED, TABLE_ONLY, Snapshot
from tidegate.model.types import Type
from tidegate.snapshots.layout import REGISTER, portable
from tidegate.sql import snapshots as statements
from tidegate.sql.text import Literal, Sql

COLUMNS = (
    portable("snapshot_table", Type("string", 128), nullable=False),
    portable("customer_filter", Type("string", 255), nullable=False),
    portable("batch_id", Type("string", 36), nullable=False),
    portable("snapshot_date", Type("string", 40), nullable=False),
    portable("row_total", Type("int64"), nullable=False),
    portable("content_hash", Type("string", 64), nullable=False),
    portable("columns", Type("string"), nullable=False),
    portable("archive_id", Type("int64")),
    portable("state", Type("string", 20), nullable=False),
)
KEY = ("snapshot_table", "customer_filter", "batch_id")


def register_statements(database: Database) -> list[Sql]:
    """Return the DDL of the register."""
    declared = [database.declare(column) for column in COLUMNS]
    return database.create_table(database.own_table(REGISTER), declared, KEY, "")


@dataclass(frozen=True)
class Register:
    """The register as one session sees it, for one snapshot table."""

    session: Session
    table: TableName

    @property
    def name(self) -> TableName:
        return self.session.database.own_table(REGISTER)

    def snapshots(self, customer_filter: str | None = None) -> list[Snapshot]:
        """Return the snapshots of a filter, or of all filters, the newest first."""
        stored = None if customer_filter is None else self._stored(customer_filter)
        return self._read(statements.register_find(self.name, str(self.table), stored))

    def find(self, customer_filter: str, batch_id: str) -> Snapshot | None:
        found = self._read(
            statements.register_find(self.name, str(self.table), self._stored(customer_filter), batch_id)
        )
        return found[0] if found else None

    def newest(self, customer_filter: str) -> Snapshot | None:
        found = self._read(statements.register_newest(self.name, str(self.table), self._stored(customer_filter)))
        return found[0] if found else None

    def add(self, snapshot: Snapshot) -> None:
        """Write a snapshot down. Joins an open transaction; a second one of the same batch fails."""
        values = [
            *map(Literal, self._key(snapshot)),
            Literal(snapshot.snapshot_date),
            Literal(snapshot.rows),
            Literal(snapshot.content_hash),
            Literal(json.dumps(dict(snapshot.columns))),
            Literal(snapshot.archive_id),
            Literal(snapshot.state),
        ]
        self.session.execute(statements.register_insert(self.name, values))

    def set_archive(self, snapshot: Snapshot, archive_id: int | None) -> Snapshot:
        """Write down which archive a snapshot has; None if retention removed it. Joins an open transaction."""
        state = REMOVED if archive_id is None else ARCHIVED
        self.session.execute(statements.register_archive(self.name, self._key(snapshot), archive_id, state))
        return replace(snapshot, archive_id=archive_id, state=state)

    def remove(self, snapshot: Snapshot) -> None:
        self.session.execute(statements.register_delete(self.name, self._key(snapshot)))

    def rebuild(self) -> list[Snapshot]:
        """Write down the snapshots that the table has and the register does not. Return them. Reads all rows."""
        known = {(snapshot.customer_filter, snapshot.batch_id) for snapshot in self.snapshots()}
        found = []
        for customer_filter, batch_id, date, archive_id, rows in self.session.query(
            statements.snapshots_in(self.table)
        ):
            name = self.session.database.dialect.decode_key(str(customer_filter))
            if batch_id is None or (name, str(batch_id).lower()) in known:
                continue
            number = None if archive_id is None else int(str(archive_id))
            state = TABLE_ONLY if number is None else ARCHIVED
            found.append(
                Snapshot(name, str(batch_id).lower(), _date(str(date)), int(str(rows)), archive_id=number, state=state)
            )
        for snapshot in found:
            self.add(snapshot)
        return found

    def _stored(self, customer_filter: str) -> str:
        return self.session.database.dialect.encode_key(customer_filter)

    def _key(self, snapshot: Snapshot) -> tuple[str, str, str]:
        return str(self.table), self._stored(snapshot.customer_filter), snapshot.batch_id

    def _read(self, statement: Sql) -> list[Snapshot]:
        return [
            Snapshot(
                customer_filter=self.session.database.dialect.decode_key(str(name)),
                batch_id=str(batch),
                snapshot_date=str(date),
                rows=int(str(rows)),
                content_hash=str(content),
                columns=json.loads(str(columns)),
                archive_id=None if archive is None else int(str(archive)),
                state=str(state),
            )
            for name, batch, date, rows, content, columns, archive, state in self.session.query(statement)
        ]


def _date(text: str) -> str:
    """Return a date of the server with six digits after the second, as the register sorts them."""
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction[:6]:0<6}"

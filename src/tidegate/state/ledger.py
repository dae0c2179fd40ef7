"""The ledger: tables of our own in the target, written in the same transaction as the rows that they speak of.

| table                | holds                                                                  |
| -------------------- | ---------------------------------------------------------------------- |
| `tidegate.target`    | one row: which database this ledger belongs to                         |
| `tidegate.scopes`    | one row per table: what we are responsible for                         |
| `tidegate.ledger`    | one row per (table, window, generation): rows, hash, run, time         |
| `tidegate.runs`      | one row per run: its report as JSON                                    |
| `tidegate.locks`     | who took the lock of a table last; the lock itself is the server's     |
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tidegate.errors import ForeignTarget
from tidegate.interfaces import Session
from tidegate.model.evidence import LedgerEntry
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.sql.text import Literal, Name, Sql, sql

SCHEMA = "tidegate"
TARGET, SCOPES, LEDGER, RUNS, LOCKS = (
    Name((SCHEMA, table)) for table in ("target", "scopes", "ledger", "runs", "locks")
)
VERSION = 1

_CREATE = [
    sql("CREATE SCHEMA IF NOT EXISTS {schema}", schema=Name.of(SCHEMA)),
    sql(
        "CREATE TABLE IF NOT EXISTS {target} (\n"
        "  identity varchar(200) PRIMARY KEY, version int NOT NULL, at varchar(40) NOT NULL)",
        target=TARGET,
    ),
    sql(
        "CREATE TABLE IF NOT EXISTS {scopes} (table_name varchar(300) PRIMARY KEY, scope text NOT NULL)",
        scopes=SCOPES,
    ),
    sql(
        "CREATE TABLE IF NOT EXISTS {ledger} (\n"
        "  table_name varchar(300) NOT NULL, value_text varchar(400) NOT NULL, generation int NOT NULL,\n"
        "  kind varchar(20) NOT NULL, row_total bigint NOT NULL, hash varchar(64) NOT NULL,\n"
        "  text_columns text NOT NULL, newest text, columns text NOT NULL, columns_id varchar(64) NOT NULL,\n"
        "  stamp varchar(80) NOT NULL, run varchar(64) NOT NULL, at varchar(40) NOT NULL,\n"
        "  PRIMARY KEY (table_name, value_text, generation))",
        ledger=LEDGER,
    ),
    sql(
        "CREATE TABLE IF NOT EXISTS {runs} (\n"
        "  run varchar(64) PRIMARY KEY, at varchar(40) NOT NULL, report text NOT NULL)",
        runs=RUNS,
    ),
    sql(
        "CREATE TABLE IF NOT EXISTS {locks} (\n"
        "  table_name varchar(300) PRIMARY KEY, run varchar(64) NOT NULL, holder varchar(200) NOT NULL,\n"
        "  since varchar(40) NOT NULL)",
        locks=LOCKS,
    ),
]


@dataclass(frozen=True)
class Ledger:
    """The ledger as one session sees it. Nothing is remembered between calls."""

    session: Session

    def exists(self) -> bool:
        return bool(self.session.shapes([TableName(SCHEMA, "ledger")]))

    def create(self) -> None:
        """Idempotent. Two first runs at once are settled by the lock that the transaction takes."""
        with self.session.transaction():
            self.session.lock_in_transaction("tidegate ledger")
            for statement in _CREATE:
                self.session.execute(statement)
            if not self.session.query(sql("SELECT identity FROM {target}", target=TARGET)):
                self._claim()

    def _claim(self) -> None:
        values = [Literal(self.session.identity()), Literal(VERSION), Literal(self.session.now())]
        self.session.execute(
            sql("INSERT INTO {target} (identity, version, at) VALUES ({values})", target=TARGET, values=values)
        )

    def require_own(self) -> None:
        """Refuse a ledger that was written for another database: a restored or copied target."""
        known = [row[0] for row in self.session.query(sql("SELECT identity FROM {target}", target=TARGET))]
        if known and self.session.identity() not in known:
            raise ForeignTarget(
                "The ledger in this target was written for another database: the target was restored or copied.",
                "Nothing was read or written; the ledger is not trusted.",
                "`tidegate adopt` takes over what the target holds; `tidegate run --reload` loads its scope again.",
            )

    def disown(self) -> None:
        """Forget what a foreign ledger says, and make it this database's own. Joins an open transaction."""
        for table in (LEDGER, TARGET, LOCKS):
            self.session.execute(sql("DELETE FROM {table}", table=table))
        self._claim()

    # Entries

    def entries(self, table: str) -> dict[str, LedgerEntry]:
        """The newest entry of each value."""
        rows = self.session.query(
            sql(
                "SELECT l.value_text, l.generation, l.kind, l.row_total, l.hash, l.text_columns, l.newest,"
                " l.columns, l.columns_id, l.stamp, l.run, l.at\n"
                "FROM {ledger} AS l\n"
                "JOIN (SELECT value_text, max(generation) AS generation FROM {ledger} WHERE table_name = {table}\n"
                "      GROUP BY value_text) AS newest\n"
                "  ON newest.value_text = l.value_text AND newest.generation = l.generation\n"
                "WHERE l.table_name = {table}",
                ledger=LEDGER,
                table=Literal(table),
            )
        )
        return {str(value): _entry(*rest) for value, *rest in rows}

    def newest(self, table: str, value: str) -> LedgerEntry | None:
        rows = self.session.query(
            sql(
                "SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at\n"
                "FROM {ledger} WHERE table_name = {table} AND value_text = {value} ORDER BY generation DESC",
                ledger=LEDGER,
                table=Literal(table),
                value=Literal(value),
            )
        )
        return _entry(*rows[0]) if rows else None

    def record(self, table: str, value: str, entry: LedgerEntry) -> None:
        """Add an entry, with the server's time. Joins an open transaction; a second one of its generation fails."""
        values = [
            Literal(table),
            Literal(value),
            Literal(entry.generation),
            Literal(entry.kind),
            Literal(entry.rows),
            Literal(entry.hash),
            Literal(json.dumps(entry.text_columns)),
            Literal(entry.newest),
            Literal(json.dumps(entry.columns)),
            Literal(entry.columns_id),
            Literal(entry.stamp),
            Literal(entry.run),
            Literal(self.session.now()),
        ]
        self.session.execute(
            sql(
                "INSERT INTO {ledger} (table_name, value_text, generation, kind, row_total, hash, text_columns, newest,"
                " columns, columns_id, stamp, run, at) VALUES ({values})",
                ledger=LEDGER,
                values=values,
            )
        )

    def restamp(self, table: str, value: str, entry: LedgerEntry) -> None:
        """The same rows now rest in another file: remember its stamp, so that its footer need not be read again."""
        self.session.execute(
            sql(
                "UPDATE {ledger}\n"
                "SET stamp = {stamp}, newest = {newest}, columns = {columns}, columns_id = {columns_id}\n"
                "WHERE table_name = {table} AND value_text = {value} AND generation = {generation}",
                ledger=LEDGER,
                stamp=Literal(entry.stamp),
                newest=Literal(entry.newest),
                columns=Literal(json.dumps(entry.columns)),
                columns_id=Literal(entry.columns_id),
                table=Literal(table),
                value=Literal(value),
                generation=Literal(entry.generation),
            )
        )

    # Scope

    def scope(self, table: str) -> Scope | None:
        rows = self.session.query(
            sql("SELECT scope FROM {scopes} WHERE table_name = {table}", scopes=SCOPES, table=Literal(table))
        )
        return Scope.from_json(str(rows[0][0])) if rows else None

    def declare(self, table: str, scope: Scope) -> None:
        with self.session.transaction():
            self.session.lock_in_transaction(f"tidegate scope {table}")
            self.session.execute(
                sql("DELETE FROM {scopes} WHERE table_name = {table}", scopes=SCOPES, table=Literal(table))
            )
            values = [Literal(table), Literal(scope.to_json())]
            self.session.execute(
                sql("INSERT INTO {scopes} (table_name, scope) VALUES ({values})", scopes=SCOPES, values=values)
            )

    # Runs

    def keep_report(self, run: str, report: dict[str, Any]) -> None:
        """Ordered by the server's clock: those of the machines that run us may jump."""
        values = [Literal(run), Literal(self.session.now()), Literal(json.dumps(report))]
        self.session.execute(sql("INSERT INTO {runs} (run, at, report) VALUES ({values})", runs=RUNS, values=values))

    def reports(self, last: int) -> list[dict[str, Any]]:
        """Newest first."""
        rows = self.session.query(
            sql(
                "SELECT report FROM {runs} ORDER BY at DESC LIMIT {last}",
                runs=RUNS,
                last=Literal(last),
            )
        )
        return [json.loads(str(row[0])) for row in rows]

    def forget_reports(self, keep: int) -> int:
        """Delete all but the newest; how many were deleted."""
        statement: Sql = sql(
            "DELETE FROM {runs} WHERE run NOT IN (SELECT run FROM {runs} ORDER BY at DESC LIMIT {keep})",
            runs=RUNS,
            keep=Literal(keep),
        )
        return self.session.execute(statement)


def _entry(
    generation: Any, kind: Any, rows: Any, hash_: Any, text_columns: Any, newest: Any, *rest: Any
) -> LedgerEntry:
    columns, columns_id, stamp, run, at = rest
    return LedgerEntry(
        generation=generation,
        kind=kind,
        rows=rows,
        hash=hash_,
        text_columns=tuple(json.loads(text_columns)),
        newest=newest,
        columns=tuple(json.loads(columns)),
        columns_id=columns_id,
        stamp=stamp,
        run=run,
        at=at,
    )

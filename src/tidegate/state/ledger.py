"""The ledger: tables of our own in the target, written in the same transaction as the rows that they speak of.

| table    | holds                                                                  |
| -------- | ---------------------------------------------------------------------- |
| `target` | one row: which database this ledger belongs to                         |
| `scopes` | one row per table: what we are responsible for                         |
| `ledger` | one row per (table, window, generation): rows, hash, run, time         |
| `runs`   | one row per run: its report as JSON                                    |
| `locks`  | who took the lock of a table last; the lock itself is the server's     |
| `stages` | tables beside a target that a switch of partitions made (`stages.py`)  |

They stand in a schema `tidegate`, or where a database has none, under names that begin so. They are created as every
table of a target is: from columns in words of no database.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.errors import ForeignTarget, Unsupported
from tidegate.interfaces import Session
from tidegate.model.columns import Column
from tidegate.model.scope import Scope
from tidegate.model.state import LedgerEntry
from tidegate.model.tokens import Remembered, Token, ledger_from_version_1
from tidegate.model.types import Type
from tidegate.sql.text import Dialect, First, Literal, Name, sql

_PACKED = "zlib:"
VERSION = 2
"""Version 1 kept tokens as plain text. `upgrade` rewrites such rows in place; until then they are read as they are."""


def _column(name: str, holds: Type, *, nullable: bool = False) -> Column:
    return Column(name, str(holds), holds.storage_type, nullable=nullable, logical_type=holds)


_NAME, _VALUE, _LONG = Type("string", 300), Type("string", 400), Type("string")
_ID, _WORD, _TIME, _NUMBER = Type("string", 64), Type("string", 20), Type("string", 40), Type("int32")
_WHO = Type("string", 200)

# In the order of their creation: where DDL cannot be undone, a ledger that is there says that all of them are.
_TABLES: dict[str, tuple[tuple[str, ...], list[Column]]] = {
    "target": (("owner",), [_column("owner", _WHO), _column("version", _NUMBER), _column("at", _TIME)]),
    "scopes": (("table_name",), [_column("table_name", _NAME), _column("scope", _LONG)]),
    "runs": (("run",), [_column("run", _ID), _column("at", _TIME), _column("report", _LONG)]),
    "locks": (
        ("table_name",),
        [_column("table_name", _NAME), _column("run", _ID), _column("holder", _WHO), _column("since", _TIME)],
    ),
    "stages": (
        ("name",),
        [
            _column("name", _NAME),
            _column("table_name", _NAME),
            _column("partition_name", _NAME),
            _column("purpose", _WORD),
            _column("run", _ID),
            _column("details", _LONG),
            _column("at", _TIME),
        ],
    ),
    "ledger": (
        ("table_name", "value_text", "generation"),
        [
            _column("table_name", _NAME),
            _column("value_text", _VALUE),
            _column("generation", _NUMBER),
            _column("kind", _WORD),
            _column("row_total", Type("int64")),
            _column("hash", _ID),
            _column("text_columns", _LONG),
            _column("newest", _LONG, nullable=True),
            _column("columns", _LONG),
            _column("columns_id", _ID),
            _column("stamp", Type("string", 80)),
            _column("run", _ID),
            _column("at", _TIME),
        ],
    ),
}


def own(session: Session, table: str) -> Name:
    """A table of ours, in the database of this session."""
    return Name.of(session.database.own_table(table))


SELECTED = "*"
"""No table has this name: under it the ledger keeps which tables the patterns of a project selected."""


@dataclass(frozen=True)
class Ledger:
    """The ledger as one session sees it. Nothing is remembered between calls."""

    session: Session

    def exists(self) -> bool:
        """Return whether all tables of the ledger are there: somebody may have dropped one of them."""
        names = {self.session.database.own_table(table) for table in _TABLES}
        return names <= self.session.existing_tables(sorted(names))

    def create(self) -> None:
        """Create the tables that are missing. Idempotent. Two first runs at once are settled by the lock that the
        transaction takes."""
        database = self.session.database
        with self.session.transaction():
            self.session.lock_in_transaction("tidegate ledger")
            there = self.session.existing_tables([database.own_table(table) for table in _TABLES])
            for table, (key, columns) in _TABLES.items():
                name = database.own_table(table)
                if name not in there:
                    for statement in database.create_table(name, [database.declare(one) for one in columns], key, ""):
                        self.session.execute(statement)
                # Entries that are there without an owner may belong to another database: nobody claims them unasked.
                if table == "target" and database.own_table("ledger") not in there and not self._owners():
                    self._write_down(self.session.known_identities())

    def _owners(self) -> dict[str, int]:
        """Return the databases that this ledger was written for, each with the version that wrote it down."""
        rows = self.session.query(sql("SELECT owner, version FROM {target}", target=self._of("target")))
        return {str(owner): int(str(version)) for owner, version in rows}

    def _of(self, table: str) -> Name:
        return own(self.session, table)

    @property
    def _dialect(self) -> Dialect:
        return self.session.database.dialect

    def _write_down(self, owners: Iterable[str]) -> None:
        for owner in owners:
            self.session.execute(
                sql(
                    "INSERT INTO {target} (owner, version, at) VALUES ({values})",
                    target=self._of("target"),
                    values=[Literal(owner), Literal(VERSION), Literal(self.session.now())],
                )
            )

    def require_own(self) -> None:
        """Raise ForeignTarget for a ledger of another database (a restored or copied target), Unsupported for a ledger
        that a newer Tidegate wrote."""
        self._unknown_identities(self._owners())

    def claim(self) -> None:
        """Do what `require_own` does, upgrade a ledger of version 1, and write down new identities of this database."""
        owners = self._owners()
        if self._unknown_identities(owners) or min(owners.values()) < VERSION:
            with self.session.transaction():
                self.session.lock_in_transaction("tidegate ledger")
                owners = self._owners()
                if min(owners.values()) < VERSION:
                    self._upgrade()
                self._write_down(self._unknown_identities(owners))

    def _upgrade(self) -> None:
        """Rewrite the tokens of version 1. Joins an open transaction, so a killed upgrade leaves version 1."""
        rows = self.session.query(
            sql("SELECT table_name, value_text, generation, newest FROM {ledger}", ledger=self._of("ledger"))
        )
        for table, value, generation, text in rows:
            window = self._dialect.decode_key(str(value))
            self.session.execute(
                sql(
                    "UPDATE {ledger} SET newest = {newest}\n"
                    "WHERE table_name = {table} AND value_text = {value} AND generation = {generation}",
                    ledger=self._of("ledger"),
                    newest=Literal(_stored(_remembered(None if text is None else str(text), window))),
                    table=Literal(str(table)),
                    value=Literal(str(value)),
                    generation=Literal(int(str(generation))),
                )
            )
        self.session.execute(
            sql("UPDATE {target} SET version = {version}", target=self._of("target"), version=Literal(VERSION))
        )

    def _unknown_identities(self, owners: Mapping[str, int]) -> list[str]:
        own = self.session.known_identities()
        if max(owners.values(), default=VERSION) > VERSION:
            raise Unsupported(
                f"The ledger in this target is of version {max(owners.values())}; this Tidegate knows {VERSION}.",
                "Nothing was read or written.",
                "Use the newer version of Tidegate that wrote it.",
            )
        if not {*own} & {*owners}:
            raise ForeignTarget(
                "The ledger in this target was written for another database: the target was restored or copied.",
                "Nothing was read or written; the ledger is not trusted.",
                "`tidegate adopt` takes over what the target holds; `tidegate run --reload` loads its scope again.",
            )
        return [identity for identity in own if identity not in owners]

    def disown(self, *, locks: bool = True) -> None:
        """Forget what a foreign ledger says, and make it this database's own. Joins an open transaction.

        `locks` is off for whoever has taken the locks of its tables before."""
        for table in ("ledger", "target", *(("locks",) if locks else ())):
            self.session.execute(sql("DELETE FROM {table}", table=self._of(table)))
        self._write_down(self.session.known_identities())

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
                ledger=self._of("ledger"),
                table=Literal(table),
            )
        )
        windows = [(self._dialect.decode_key(str(value)), rest) for value, *rest in rows]
        return {window: _entry(window, *rest) for window, rest in windows}

    def newest(self, table: str, value: str) -> LedgerEntry | None:
        return next(iter(self.generations(table, value)), None)

    def generations(self, table: str, value: str) -> list[LedgerEntry]:
        """Return all entries of a window, the newest first."""
        rows = self.session.query(
            sql(
                "SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at\n"
                "FROM {ledger} WHERE table_name = {table} AND value_text = {value} ORDER BY generation DESC",
                ledger=self._of("ledger"),
                table=Literal(table),
                value=Literal(self._dialect.encode_key(value)),
            )
        )
        return [_entry(value, *row) for row in rows]

    def record(self, table: str, value: str, entry: LedgerEntry) -> None:
        """Add an entry, with the server's time. Joins an open transaction; a second one of its generation fails."""
        values = [
            Literal(table),
            Literal(self._dialect.encode_key(value)),
            Literal(entry.generation),
            Literal(entry.kind),
            Literal(entry.rows),
            Literal(entry.hash),
            Literal(json.dumps(entry.text_columns)),
            Literal(_stored(entry)),
            Literal(_columns_as_json(entry)),
            Literal(entry.columns_id),
            Literal(entry.etag),
            Literal(entry.run),
            Literal(self.session.now()),
        ]
        self.session.execute(
            sql(
                "INSERT INTO {ledger} (table_name, value_text, generation, kind, row_total, hash, text_columns, newest,"
                " columns, columns_id, stamp, run, at) VALUES ({values})",
                ledger=self._of("ledger"),
                values=values,
            )
        )

    def update_etag(self, table: str, value: str, entry: LedgerEntry) -> None:
        """The same rows now rest in another file: remember its stamp, so that its footer need not be read again."""
        self.session.execute(
            sql(
                "UPDATE {ledger}\n"
                "SET stamp = {stamp}, newest = {newest}, columns = {columns}, columns_id = {columns_id}\n"
                "WHERE table_name = {table} AND value_text = {value} AND generation = {generation}",
                ledger=self._of("ledger"),
                stamp=Literal(entry.etag),
                newest=Literal(_stored(entry)),
                columns=Literal(_columns_as_json(entry)),
                columns_id=Literal(entry.columns_id),
                table=Literal(table),
                value=Literal(self._dialect.encode_key(value)),
                generation=Literal(entry.generation),
            )
        )

    # Scope

    def scope(self, table: str) -> Scope | None:
        rows = self.session.query(
            sql(
                "SELECT scope FROM {scopes} WHERE table_name = {table}", scopes=self._of("scopes"), table=Literal(table)
            )
        )
        return Scope.from_json(str(rows[0][0])) if rows else None

    def scopes(self) -> dict[str, Scope]:
        """Return the scope of every table, and under `SELECTED` the list of tables that patterns selected."""
        rows = self.session.query(sql("SELECT table_name, scope FROM {scopes}", scopes=self._of("scopes")))
        return {str(table): Scope.from_json(str(scope)) for table, scope in rows}

    def declare(self, table: str, scope: Scope) -> None:
        """Write the scope of a table, in a transaction of its own."""
        with self.session.transaction():
            self.declare_in_transaction(table, scope)

    def declare_in_transaction(self, table: str, scope: Scope) -> None:
        """Write the scope of a table. Joins an open transaction."""
        self.session.lock_in_transaction(f"tidegate scope {table}")
        self.session.execute(
            sql("DELETE FROM {scopes} WHERE table_name = {table}", scopes=self._of("scopes"), table=Literal(table))
        )
        values = [Literal(table), Literal(scope.to_json())]
        self.session.execute(
            sql("INSERT INTO {scopes} (table_name, scope) VALUES ({values})", scopes=self._of("scopes"), values=values)
        )

    # Runs

    def keep_report(self, run: str, report: dict[str, Any]) -> None:
        """Ordered by the server's clock: those of the machines that run us may jump."""
        text = _fitting(json.dumps(report), self._dialect.longest_text)
        values = [Literal(run), Literal(self.session.now()), Literal(text)]
        self.session.execute(
            sql("INSERT INTO {runs} (run, at, report) VALUES ({values})", runs=self._of("runs"), values=values)
        )

    def reports(self, last: int) -> list[dict[str, Any]]:
        """Newest first."""
        ordered = sql("SELECT report FROM {runs} ORDER BY at DESC", runs=self._of("runs"))
        rows = self.session.query(sql("{first}", first=First(ordered, last)))
        return [json.loads(_unpacked(str(row[0]))) for row in rows]

    def newest_runs(self, last: int) -> list[str]:
        """Return the runs whose reports were kept last, the newest first."""
        ordered = sql("SELECT run FROM {runs} ORDER BY at DESC", runs=self._of("runs"))
        return [str(run) for (run,) in self.session.query(sql("{first}", first=First(ordered, last)))]

    def forget_reports(self, keep: int) -> int:
        """Delete all but the newest; how many were deleted."""
        rows = self.session.query(sql("SELECT run FROM {runs} ORDER BY at DESC", runs=self._of("runs")))
        for (run,) in rows[keep:]:
            self.session.execute(
                sql("DELETE FROM {runs} WHERE run = {run}", runs=self._of("runs"), run=Literal(str(run)))
            )
        return len(rows[keep:])


def _fitting(report: str, longest: int | None) -> str:
    """Return a report as text of at most so many bytes: packed where it is longer, without its parts where even that
    is too long."""
    if longest is None or len(report.encode()) <= longest:
        return report
    packed = _PACKED + base64.b64encode(zlib.compress(report.encode(), 9)).decode()
    if len(packed) <= longest:
        return packed
    known = json.loads(report)
    return json.dumps({name: value for name, value in known.items() if not isinstance(value, list | dict)})


def _unpacked(text: str) -> str:
    packed = text.removeprefix(_PACKED)
    return text if packed == text else zlib.decompress(base64.b64decode(packed)).decode()


def _stored(entry: LedgerEntry | Remembered) -> str:
    """Return the token and what the target held after the load, as the column `newest` keeps them."""
    return json.dumps(
        {
            "version": VERSION,
            "token": entry.token and entry.token.to_dict(),
            "target_rows": entry.target_rows,
            "target_hash": entry.target_hash,
        }
    )


def _remembered(text: str | None, window: str) -> Remembered:
    """Return what `_stored` wrote, or what version 1 did."""
    stored: dict[str, Any] = json.loads(text) if text is not None and text.startswith('{"version"') else {}
    if not stored:
        return ledger_from_version_1(text, window)
    token = stored["token"]
    return Remembered(token and Token.from_dict(token), stored["target_rows"], stored["target_hash"])


def _columns_as_json(entry: LedgerEntry) -> str:
    """Each column with its type in the lake, in order; the names alone where the types are not known."""
    if not entry.storage_types:
        return json.dumps(entry.columns)
    return json.dumps(dict(zip(entry.columns, entry.storage_types, strict=True)))


def _entry(
    window: str, generation: Any, kind: Any, rows: Any, hash_: Any, text_columns: Any, newest: Any, *rest: Any
) -> LedgerEntry:
    columns, columns_id, etag, run, at = rest
    named, remembered = json.loads(columns), _remembered(newest, window)
    return LedgerEntry(
        generation=generation,
        kind=kind,
        rows=rows,
        hash=hash_,
        text_columns=tuple(json.loads(text_columns)),
        columns=tuple(named),
        columns_id=columns_id,
        storage_types=tuple(named.values()) if isinstance(named, dict) else (),
        token=remembered.token,
        target_rows=remembered.target_rows,
        target_hash=remembered.target_hash,
        etag=etag,
        run=run,
        at=at,
    )

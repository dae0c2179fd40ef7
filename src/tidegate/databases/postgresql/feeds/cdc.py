"""Logical decoding as a change feed: one slot and one publication per project, read through SQL functions.

Facts that shape this file
 * `pg_logical_slot_peek_binary_changes` returns whole transactions in the order of their commits, and moves nothing. A
   slot sends transactions whose commit record begins at its `confirmed_flush_lsn` or later. So windows are
   [after, upto) of the begin of commit records.
 * A transaction is in the log a moment before others see its rows. So before rows are read again by their key, the
   transactions that were decoded are looked for in `pg_current_snapshot()`.
 * A slot decodes with the catalog of the time. So the publication must be there before the slot, and a table is added
   to a publication under a lock that waits for the transactions that write to it.
 * One session at a time can use a slot; others are refused, and wait.
 * A slot whose log the server removed (`max_slot_wal_keep_size`) has the `wal_status` lost, and is of no use any more.
 * On a standby (16 and later) rows are visible as soon as their commit was replayed, but `pg_current_snapshot()` does
   not know which transactions are open.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.databases.postgresql.feeds.partitions import PARTITIONS, files_of, untold
from tidegate.errors import DatabaseError, FeedLost, MissingObject, Transient
from tidegate.interfaces.feed import Feed, FeedHealth, FeedState, FeedTable, Problem
from tidegate.interfaces.requests import BatchSize
from tidegate.interfaces.session import Session
from tidegate.model.feeds import Position
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Part, Sql, raw, sql

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = BatchSize(20_000, 8 * 2**20)
_MOST_WAITS, _LONGEST_WAIT = 600, 60.0
_MIB = 2**20


@dataclass(frozen=True)
class LogicalDecoding(Feed):
    """The slot and the publication of a project."""

    label = "logical decoding"
    keeps_place = True

    name: str
    """What slot and publication are called."""

    @property
    def id(self) -> str:
        return f"slot {self.name}"

    # What the server says

    def _facts(self, session: Session, table: TableName) -> dict[str, Any]:
        """Return what the catalog says of the slot, the publication and the table."""
        question = sql(
            "SELECT CAST(json_build_object("
            "'wal_level', current_setting('wal_level'),"
            "'standby', pg_is_in_recovery(),"
            "'version', CAST(current_setting('server_version_num') AS integer),"
            "'now', CAST(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
            " ELSE pg_current_wal_flush_lsn() END AS text),"
            "'may', (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user),"
            "'user', current_user, 'database', current_database(),"
            "'keep', CAST((SELECT setting FROM pg_settings WHERE name = 'max_slot_wal_keep_size') AS bigint),"
            "'slots', (SELECT count(*) FROM pg_replication_slots),"
            "'most_slots', CAST(current_setting('max_replication_slots') AS integer),"
            "'slot', (SELECT to_json(s) FROM pg_replication_slots AS s WHERE slot_name = {name}),"
            "'waiting', (SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE"
            " pg_current_wal_lsn() END, restart_lsn) FROM pg_replication_slots WHERE slot_name = {name}),"
            "'publication', (SELECT to_json(p) FROM pg_publication AS p WHERE pubname = {name}),"
            "'member', (SELECT to_json(r) FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid"
            " WHERE p.pubname = {name} AND r.prrelid = c.oid),"
            "'published', EXISTS (SELECT 1 FROM pg_publication_tables WHERE pubname = {name} AND schemaname = n.nspname"
            " AND tablename = c.relname),"
            "'oid', CAST(c.oid AS bigint), 'kind', c.relkind, 'persistence', c.relpersistence,"
            "'identity', c.relreplident,"
            "'identity_key', (SELECT json_agg(a.attname) FROM pg_index AS i JOIN pg_attribute AS a"
            " ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indrelid = c.oid"
            " AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END),"
            "'stored_apart', (SELECT json_agg(a.attname) FROM pg_attribute AS a WHERE a.attrelid = c.oid"
            " AND a.attnum > 0 AND NOT a.attisdropped AND a.attlen = -1 AND a.attstorage IN ('x', 'e')),"
            "'partitions', {partitions},"
            "'generated', (SELECT json_agg(a.attname) FROM pg_attribute AS a WHERE a.attrelid = c.oid"
            " AND NOT a.attisdropped AND a.attgenerated <> '')"
            ") AS text) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
            " WHERE n.nspname = {schema} AND c.relname = {table}",
            name=Literal(self.name),
            partitions=raw(PARTITIONS),
            schema=Literal(table.schema),
            table=Literal(table.name),
        )
        rows = session.query(question)
        if not rows:
            raise MissingObject(f"The source has no table {table}.", "Nothing was read.")
        facts: dict[str, Any] = json.loads(str(rows[0][0]))
        return facts

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        return self._problems(session, table, self._facts(session, table.name))

    def _problems(self, session: Session, table: FeedTable, facts: dict[str, Any]) -> list[Problem]:
        found = []
        if facts["wal_level"] != "logical":
            change = "ALTER SYSTEM SET wal_level = logical; -- then restart the server"
            found.append(Problem(f"wal_level is {facts['wal_level']}, logical decoding needs `logical`", (change,)))
        if not facts["may"]:
            grant = self._text(session, sql("ALTER ROLE {user} REPLICATION", user=Name.of(facts["user"])))
            found.append(Problem(f"the login {facts['user']} may not use replication slots", (grant,)))
        if facts["standby"] and facts["version"] < 160_000:
            found.append(Problem("a standby has logical decoding from PostgreSQL 16 on: read from the primary"))
        found += self._problems_of_slot(facts)
        found += self._problems_of_table(session, table, facts)
        return found

    def _problems_of_slot(self, facts: dict[str, Any]) -> list[Problem]:
        slot = facts["slot"]
        if slot is None:
            return [Problem(f"there is no replication slot {self.name}", ("-- tidegate feed create",))]
        if slot["plugin"] != "pgoutput" or slot["database"] != facts["database"]:
            what = f"the slot {self.name} is of {slot['plugin'] or 'physical replication'} in {slot['database']}"
            return [Problem(f"{what}: choose another `feed_name`")]
        return []

    def _problems_of_table(self, session: Session, table: FeedTable, facts: dict[str, Any]) -> list[Problem]:
        publication, name, found = facts["publication"], Name.of(table.name), list[Problem]()
        mends = ("-- tidegate feed create",)
        if facts["standby"]:
            mends = (f"-- on the primary: {self._text(session, self._published(name))}",)
        if publication is None:
            return [Problem(f"there is no publication {self.name}", mends)]
        if not facts["published"]:
            return [Problem(f"{table.name} is not part of the publication {self.name}", mends)]
        lacks = [what for what in ("insert", "update", "delete", "truncate") if not publication[f"pub{what}"]]
        if lacks:
            all_of_them = sql(
                "ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate')", name=Name.of(self.name)
            )
            text = f"the publication {self.name} leaves out {', '.join(lacks)}"
            found.append(Problem(text, (self._text(session, all_of_them),)))
        if facts["kind"] == "p" and not publication["pubviaroot"]:
            root = sql("ALTER PUBLICATION {name} SET (publish_via_partition_root = true)", name=Name.of(self.name))
            text = f"changes of partitions of {table.name} come under the names of the partitions"
            found.append(Problem(text, (self._text(session, root),)))
        member = facts["member"] or {}
        if member.get("prqual") or member.get("prattrs"):
            found.append(Problem(f"the publication {self.name} has a row filter or a list of columns for {table.name}"))
        if facts["persistence"] != "p":
            found.append(Problem(f"{table.name} is unlogged or temporary: its changes are in no log"))
        full = self._text(session, sql("ALTER TABLE {table} REPLICA IDENTITY FULL", table=name))
        keys = [key.name for key in table.keys]
        if facts["identity"] != "f" and not set(keys) <= set(facts["identity_key"] or ()):
            what = {"n": "NOTHING", "d": "DEFAULT", "i": "an index"}[facts["identity"]]
            text = f"deletes of {table.name} come without the key ({', '.join(keys)}): its replica identity is {what}"
            found.append(Problem(text, (full,)))
        if table.images:
            generated = [column.name for column in table.columns if column.name in (facts["generated"] or ())]
            if generated and facts["version"] < 180_000:
                found.append(Problem(f"the log has no generated columns ({', '.join(generated)}): use `mode: keys`"))
        return found

    def _published(self, tables: Part | Sequence[Part]) -> Sql:
        return sql(
            "CREATE PUBLICATION {name} FOR TABLE {tables} WITH (publish_via_partition_root = true)",
            name=Name.of(self.name),
            tables=tables,
        )

    def _text(self, session: Session, statement: Sql) -> str:
        return f"{session.database.render(statement)};"

    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        facts = self._facts(session, table.name)
        slot = facts["slot"]
        detail = self._detail(session, facts)
        now = Position(_order(facts["now"]), detail)
        confirmed = _order(slot["confirmed_flush_lsn"] or slot["restart_lsn"] or "0/0")
        first = Position(confirmed, detail)
        notices, warnings = self._retention(facts)
        lost = self._lost(facts, after, confirmed, detail)
        if slot["wal_status"] == "lost" or slot.get("invalidation_reason"):
            lost = lost or f"the server gave up the slot {self.name}; `tidegate feed create` makes a new one"
            raise FeedLost(
                f"{table.name}: {lost}.",
                "Nothing was read; the target keeps what it had.",
                "`tidegate feed drop` and `tidegate feed create`, then `tidegate run --resync`, which reads the whole"
                " table again.",
            )
        if after is None or lost:
            return FeedState(now, first, None, lost, notices=notices, warnings=warnings)
        why = untold(table.name, facts["partitions"], json.loads(after.detail).get("partitions") or {})
        if now.order <= after.order:
            return FeedState(now, first, 0, untold=why, notices=notices, warnings=warnings)
        changes, truncates = self._count(session, facts["oid"], after.order, now.order, snapshot)
        return FeedState(now, first, changes, "", bool(truncates), why, notices, warnings)

    def _detail(self, session: Session, facts: dict[str, Any]) -> str:
        member = facts["member"] or {}
        files = files_of(facts["partitions"])
        place = {"oid": facts["oid"], "member": member.get("oid"), "source": session.identity()}
        return json.dumps({**place, "partitions": files} if files else place)

    def _lost(self, facts: dict[str, Any], after: Position | None, confirmed: str, detail: str) -> str:
        if after is None:
            return ""
        was, now = json.loads(after.detail), json.loads(detail)
        if was["source"].split("/")[0] != now["source"].split("/")[0]:
            return "the source is another server"
        if was["oid"] != now["oid"]:
            return "the table was replaced by another of its name"
        if was["member"] != now["member"]:
            return f"the table had left the publication {self.name}"
        if _order(facts["now"]) < after.order:
            return "the source was restored to an earlier state"
        if confirmed > after.order:
            return f"the slot {self.name} was moved on to {_lsn(confirmed)}, or dropped and made again"
        return ""

    def _retention(self, facts: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what people should know of the log that the server keeps for the slot, and what is urgent."""
        waiting, keep, status = int(facts["waiting"] or 0), facts["keep"], facts["slot"]["wal_status"]
        kept = f"the server keeps {_size(waiting)} of log for the slot {self.name}"
        if keep is None or keep < 0:
            text = f"{kept}, and max_slot_wal_keep_size does not bound it"
            return ((text,), ()) if waiting < 1024 * _MIB else ((), (f"{text}: it can fill the server's disk",))
        bound = keep * _MIB
        left = facts["slot"].get("safe_wal_size")
        text = f"{kept}, of {_size(bound)} at most"
        if left is not None:
            text += f"; it is lost after {_size(max(int(left), 0))} more"
        urgent = status in ("unreserved", "extended") or waiting > bound // 2
        return ((), (f"{text}: run soon",)) if urgent else ((text,), ())

    def _peeked(self, upto: str) -> Sql:
        return sql(
            "pg_logical_slot_peek_binary_changes({slot}, {upto}, NULL, 'proto_version', '1', 'publication_names',"
            " {publication})",
            slot=Literal(self.name),
            upto=Literal(_lsn(upto), "pg_lsn"),
            publication=Literal('"' + self.name.replace('"', '""') + '"'),
        )

    def _count(self, session: Session, oid: int, after: str, upto: str, snapshot: str) -> tuple[int, int]:
        """Return how many changes and truncates of a table there are. The server counts; nothing is transferred."""
        own = Literal("\\x" + oid.to_bytes(4, "big").hex(), "bytea")
        seen = sql("")
        if snapshot:
            epoch = "CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)"
            full = sql(
                "(" + epoch + " >> 32 << 32) + CAST(CAST(xid AS text) AS bigint)"
                " - CASE WHEN CAST(CAST(xid AS text) AS bigint) > " + epoch + " % 4294967296 THEN 4294967296 ELSE 0 END"
            )
            seen = sql(
                " AND NOT pg_visible_in_snapshot(CAST(CAST({full} AS text) AS xid8), {snapshot})",
                full=full,
                snapshot=Literal(snapshot, "pg_snapshot"),
            )
        question = sql(
            "WITH told AS MATERIALIZED (SELECT xid, data, get_byte(data, 0) AS kind FROM {peeked}),\n"
            "wanted AS (SELECT xid FROM told WHERE kind = 66"
            " AND encode(substring(data from 2 for 8), 'hex') >= lower({after})"
            " AND encode(substring(data from 2 for 8), 'hex') < lower({upto}){seen})\n"
            "SELECT count(CASE WHEN kind IN (73, 85, 68) AND substring(data from 2 for 4) = {own} THEN 1 END),"
            " count(CASE WHEN kind = 84 AND position({own} in substring(data from 7)) > 0 THEN 1 END)\n"
            "FROM told WHERE kind IN (73, 85, 68, 84) AND xid IN (SELECT xid FROM wanted)",
            peeked=self._peeked(upto),
            after=Literal(after),
            upto=Literal(upto),
            seen=seen,
            own=own,
        )
        [(changes, truncates)] = self._alone(lambda: session.query(question))
        return int(str(changes)), int(str(truncates))

    def _alone(self, ask: Any) -> Any:
        """Ask again while another session uses the slot."""
        for attempt in range(_MOST_WAITS):
            try:
                return ask()
            except DatabaseError as problem:
                if "is active for PID" not in str(problem) or attempt == _MOST_WAITS - 1:
                    raise
                time.sleep(0.1)
        raise AssertionError("the last attempt raises")

    # Rows

    def snapshot_query(self) -> Sql:
        return sql("SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE CAST(pg_current_snapshot() AS text) END")

    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        from tidegate.databases.postgresql.feeds.pgoutput import ChangeDecoder, SnapshotIds
        from tidegate.databases.postgresql.session import PostgresqlSession

        assert isinstance(session, PostgresqlSession)
        at_begin = str(session.query(self.snapshot_query())[0][0])
        decoder = ChangeDecoder(
            table,
            int(json.loads(after.detail)["oid"]),
            int(after.order, 16),
            int(upto.order, 16),
            SnapshotIds.parse(snapshot) if snapshot else None,
            watched=SnapshotIds.parse(at_begin) if at_begin else None,
        )
        query = sql("SELECT data FROM {peeked}", peeked=self._peeked(upto.order))
        first, blocks = self._alone(lambda: _started(session.copied(query, _BLOCK)))
        if first is not None:
            yield from decoder.decode(_chained(first, blocks))
        return frozenset(decoder.seen)

    def wait_for(self, session: Session, seen: object) -> None:
        from tidegate.databases.postgresql.feeds.pgoutput import SnapshotIds

        assert isinstance(seen, frozenset)
        until = time.monotonic() + _LONGEST_WAIT
        while seen:
            current = SnapshotIds.parse(str(session.query(self.snapshot_query())[0][0]))
            seen = frozenset(xid for xid in seen if not current.sees(xid))
            if seen and time.monotonic() > until:
                raise Transient(
                    "A transaction is in the log, and its rows cannot be seen yet: a synchronous standby may be away.",
                    "Nothing was published; the target keeps what it had.",
                    "Run again when the standby answers.",
                )
            if seen:
                time.sleep(0.01)

    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        """Move the slot to the smallest position of all its tables."""
        least = min((position.order for position in positions.values()), default="")
        rows = session.query(
            sql(
                "SELECT CAST(confirmed_flush_lsn AS text) FROM pg_replication_slots WHERE slot_name = {name}",
                name=Literal(self.name),
            )
        )
        if not rows or not least or rows[0][0] is None or _order(str(rows[0][0])) >= least:
            return
        advance = sql(
            "SELECT CAST(end_lsn AS text) FROM pg_replication_slot_advance({name}, {least})",
            name=Literal(self.name),
            least=Literal(_lsn(least), "pg_lsn"),
        )
        self._alone(lambda: session.query(advance))

    # For people

    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        facts = self._facts(session, table.name)
        problems, slot = self._problems(session, table, facts), facts["slot"]
        shown: dict[str, str] = {"newest position": facts["now"]}
        if slot is not None:
            shown["read up to"] = "nothing yet" if after is None else _lsn(after.order)
            if after is not None:
                behind = max(int(_order(facts["now"]), 16) - int(after.order, 16), 0)
                shown["behind"] = f"{_size(behind)} of log"
            shown["log that the server keeps for the slot"] = _size(int(facts["waiting"] or 0))
            shown["state of that log (wal_status)"] = str(slot["wal_status"])
            keep = facts["keep"]
            shown["max_slot_wal_keep_size"] = "no bound" if keep is None or keep < 0 else _size(keep * _MIB)
            if slot["active"]:
                shown["in use by"] = f"server process {slot['active_pid']}"
            shown["slots"] = f"{facts['slots']} of {facts['most_slots']}"
            if slot["wal_status"] == "lost" or slot.get("invalidation_reason"):
                text = f"the server gave up the slot {self.name}"
                problems.append(
                    Problem(text, ("-- tidegate feed drop", "-- tidegate feed create", "-- tidegate run --resync"))
                )
            else:
                problems += [Problem(text, severity="warning") for text in self._retention(facts)[1]]
                lost = self._lost(
                    facts, after, _order(slot["confirmed_flush_lsn"] or "0/0"), self._detail(session, facts)
                )
                if lost:
                    problems.append(Problem(lost, ("-- tidegate run --resync",)))
        wide = [name for name in facts["stored_apart"] or () if name in {column.name for column in table.columns}]
        if table.images and facts["identity"] != "f" and wide:
            full = self._text(session, sql("ALTER TABLE {table} REPLICA IDENTITY FULL", table=Name.of(table.name)))
            text = f"large values that do not change are not in the log ({', '.join(wide)})"
            problems.append(Problem(text, (full,), "warning"))
        alive = slot is not None and not any(problem.severity == "error" for problem in problems)
        return FeedHealth(self.id, alive, shown, tuple(problems))

    # Commands

    def create(self, session: Session, tables: Sequence[TableName]) -> list[Sql]:
        name = Name.of(self.name)
        facts = {table: self._facts(session, table) for table in tables}
        any_facts = next(iter(facts.values()))
        statements: list[Sql] = []
        missing = [table for table in tables if not facts[table]["published"]]
        # On a standby the publication is the primary's affair: it is replayed here.
        if not any_facts["standby"] and (any_facts["publication"] is None or missing):
            statements.append(sql("BEGIN"))
            # Writers that began before would be decoded with a catalog in which the table is not published.
            statements += [sql("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE", table=Name.of(one)) for one in missing]
            listed: list[Part] = [sql("{table}", table=Name.of(table)) for table in missing]
            if any_facts["publication"] is None:
                statements.append(self._published(listed))
            else:
                statements.append(sql("ALTER PUBLICATION {name} ADD TABLE {tables}", name=name, tables=listed))
            statements.append(sql("COMMIT"))
        if any_facts["slot"] is None:
            statements.append(
                sql("SELECT pg_create_logical_replication_slot({name}, 'pgoutput')", name=Literal(self.name))
            )
        return statements

    def drop(self, session: Session, tables: Sequence[TableName]) -> list[Sql]:
        facts = self._facts(session, tables[0])
        statements: list[Sql] = []
        if facts["slot"] is not None:
            statements.append(sql("SELECT pg_drop_replication_slot({name})", name=Literal(self.name)))
        if facts["publication"] is not None and not facts["standby"]:
            statements.append(sql("DROP PUBLICATION {name}", name=Name.of(self.name)))
        return statements


def _started(blocks: Generator[Any, None, None]) -> tuple[Any, Generator[Any, None, None]]:
    """Return the first block and the others: the server refuses a slot that is in use before it sends anything."""
    return next(blocks, None), blocks


def _chained(first: Any, rest: Generator[Any, None, None]) -> Generator[Any, None, None]:
    yield first
    yield from rest


def _order(lsn: str) -> str:
    """Return a position of the log as text that compares like it: `0/16B3748` is `00000000016B3748`."""
    upper, lower = lsn.split("/")
    return f"{int(upper, 16):08X}{int(lower, 16):08X}"


def _lsn(order: str) -> str:
    return f"{int(order[:8], 16):X}/{int(order[8:], 16):X}"


def _size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count = count / 1024  # type: ignore[assignment]
    raise AssertionError("GiB is the last unit")

"""Triggers of MySQL and MariaDB as a change feed.

Facts that shape this file
 * There are row triggers only, and a statement per row: a bulk change costs an insert per row.
 * A number is given to a row of the log when it is inserted, and shown when its transaction commits. So numbers are
   missing for a while, and for ever after a rollback. A missing number is carried on until no transaction has it: rows
   that are not committed yet are visible to READ UNCOMMITTED.
 * Between the moment when a number is drawn and the one when its row is there is no time to speak of. A missing number
   is still carried for five minutes before it counts as rolled back.
 * TRUNCATE, and the actions of foreign keys, fire no trigger.
 * A trigger runs with the rights of the login that made it: who writes to the table needs no right on the log.
"""

from __future__ import annotations

import json
import time
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidegate.databases._trigger_feed import Installed, TriggerFeed, log_of
from tidegate.databases.mysql.dialect import DIALECT
from tidegate.interfaces.session import Session
from tidegate.model.columns import TableSchema
from tidegate.model.feeds import Position
from tidegate.model.names import TableName
from tidegate.sql.text import Dialect, Literal, Name, Part, SameValue, Sql, names, raw, sql

_CARRIED = 300
"""For how many seconds a number that no transaction has is carried on."""
_MOST_GAPS = 200
_STEP = 10_000
Gap = tuple[int, int, int]
"""The first and the last number that are missing, and when that was noticed."""


@dataclass(frozen=True)
class MysqlTriggers(TriggerFeed):
    """Three row triggers per table."""

    dialect: ClassVar[Dialect] = DIALECT
    bypassed_by: ClassVar[str] = "TRUNCATE, changes of partitions, and what foreign keys cascade"

    def log_table(self, table: TableName) -> TableName:
        return TableName(table.schema, f"tidegate_{self.stem(table)}")

    def create_log(self, schema: TableSchema) -> list[Sql]:
        key = self.key_of(schema)
        columns: list[Part] = [
            sql("{name} {type} NOT NULL", name=Name.of(name), type=raw(column.type))
            for name, column in zip(self.logged_names(key), key, strict=True)
        ]
        return [
            sql(
                "CREATE TABLE {log} (number bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,"
                " operation char(1) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, changed_at datetime(6) NOT NULL,"
                " {columns}) ENGINE = InnoDB COMMENT = {comment}",
                log=Name.of(self.log_table(schema.name)),
                columns=columns,
                comment=Literal(f"tidegate {uuid.uuid4().hex}"),
            )
        ]

    def triggers(self, schema: TableSchema) -> dict[str, list[Sql]]:
        key = self.key_of(schema)
        changed: list[Part] = [
            SameValue(Name(("OLD", column.name)), Name(("NEW", column.name)), column.type) for column in key
        ]
        same = changed[0]
        for part in changed[1:]:
            same = sql("{before} AND {part}", before=same, part=part)
        bodies = {
            "INSERT": self._insert(schema, "I", "NEW"),
            "UPDATE": sql(
                "BEGIN\n  IF NOT ({same}) THEN {old}; END IF;\n  {new};\nEND",
                same=same,
                old=self._insert(schema, "D", "OLD"),
                new=self._insert(schema, "U", "NEW"),
            ),
            "DELETE": self._insert(schema, "D", "OLD"),
        }
        made = {}
        for event, body in bodies.items():
            name = f"{self.trigger_name(schema, body)}_{event[0].lower()}"
            made[name] = [
                sql(
                    "CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW {body}",
                    name=Name((schema.name.schema, name)),
                    event=raw(event),
                    table=Name.of(schema.name),
                    body=body,
                )
            ]
        return made

    def _insert(self, schema: TableSchema, letter: str, image: str) -> Sql:
        key = self.key_of(schema)
        return sql(
            "INSERT INTO {log} (operation, changed_at, {columns}) VALUES ({letter}, UTC_TIMESTAMP(6), {values})",
            log=Name.of(self.log_table(schema.name)),
            columns=names(self.logged_names(key)),
            letter=Literal(letter),
            values=[Name((image, column.name)) for column in key],
        )

    def drop_trigger(self, table: TableName, name: str) -> list[Sql]:
        return [sql("DROP TRIGGER {name}", name=Name((table.schema, name)))]

    def drop_log(self, table: TableName) -> list[Sql]:
        return [sql("DROP TABLE {log}", log=Name.of(self.log_table(table)))]

    def installed(self, session: Session, table: TableName) -> Installed:
        log = self.log_table(table)
        found = session.query(
            sql(
                "SELECT TABLE_COMMENT FROM information_schema.TABLES"
                " WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {log}",
                schema=Literal(log.schema),
                log=Literal(log.name),
            )
        )
        triggers = session.query(
            sql(
                "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS"
                " WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {table}",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
        )
        ours = {str(name): True for (name,) in triggers if self._is_ours(str(name), table)}
        return Installed(str(found[0][0]).split()[-1] if found and found[0][0] else "", ours)

    # Reading

    def bounds(self, session: Session, table: TableName, log: str, after: Position | None) -> Position:
        name, now = self.log_table(table), int(time.time())
        same_log = after is not None and log_of(after) == log
        low, gaps = _read(after) if same_log and after is not None else (0, [])
        # In this order: what is open when the greatest number is asked for is still open, or committed, afterwards.
        high = int(str(session.query(sql("SELECT COALESCE(MAX(number), 0) FROM {log}", log=Name.of(name)))[0][0]))
        high = max(high, low)
        gaps = [*gaps, *_gaps(session, name, low, high, now)] if same_log else _gaps(session, name, 0, high, now)
        gaps = _open_gaps(session, name, gaps, now)
        missing = sum(last - first + 1 for first, last, _ in gaps)
        written = ",".join(f"{first}-{last}@{seen}" for first, last, seen in gaps)
        return Position(f"{high - missing:020d}", f"{log} {high} {written}".rstrip())

    def between(self, after: Position, upto: Position) -> Sql:
        low, carried = _read(after)
        high, _ = _read(upto)
        found = sql("number > {low} AND number <= {high}", low=Literal(low), high=Literal(high))
        for first, last, _ in carried:
            found = sql(
                "{found} OR number BETWEEN {first} AND {last}", found=found, first=Literal(first), last=Literal(last)
            )
        return sql("({found})", found=found)

    def since(self, after: Position) -> Sql:
        low, carried = _read(after)
        found = sql("number > {low}", low=Literal(low))
        return sql("({found} OR {inside})", found=found, inside=_inside(carried)) if carried else found

    def remove(self, session: Session, log: TableName, upto: Position) -> None:
        """Each row is sought by its number: a range, or a scan, would wait for rows that are not committed yet."""
        high, gaps = _read(upto)
        kept = sql("number <= {high}", high=Literal(high))
        for first, last, _ in gaps:
            kept = sql(
                "{kept} AND number NOT BETWEEN {first} AND {last}", kept=kept, first=Literal(first), last=Literal(last)
            )
        some = sql(
            "SELECT number FROM {log} WHERE {kept} ORDER BY number LIMIT {step}",
            log=Name.of(log),
            kept=kept,
            step=Literal(_STEP),
        )
        while numbers := [int(str(number)) for (number,) in session.query(some)]:
            session.execute(
                sql(
                    "DELETE t FROM JSON_TABLE({numbers}, '$[*]' COLUMNS (number bigint unsigned PATH '$')) AS s"
                    " STRAIGHT_JOIN {log} AS t ON t.number = s.number",
                    numbers=Literal(json.dumps(numbers)),
                    log=Name.of(log),
                )
            )
            if len(numbers) < _STEP:
                return


def _read(position: Position) -> tuple[int, list[Gap]]:
    """Return the greatest number of a position, and the numbers that were missing below it."""
    _, high, *written = position.detail.split(" ")
    gaps = []
    for text in written[0].split(",") if written else []:
        numbers, _, seen = text.partition("@")
        first, _, last = numbers.partition("-")
        gaps.append((int(first), int(last), int(seen)))
    return int(high), gaps


def _gaps(session: Session, log: TableName, low: int, high: int, now: int) -> list[Gap]:
    """Return the numbers that are missing after `low`, up to `high`."""
    found = session.query(
        sql(
            "SELECT previous + 1, number - 1 FROM"
            " (SELECT number, COALESCE(LAG(number) OVER (ORDER BY number), {low}) AS previous"
            " FROM {log} WHERE number > {low} AND number <= {high}) AS numbered WHERE number > previous + 1",
            log=Name.of(log),
            low=Literal(low),
            high=Literal(high),
        )
    )
    return [(int(str(first)), int(str(last)), now) for first, last in found]


def _open_gaps(session: Session, log: TableName, gaps: Sequence[Gap], now: int) -> list[Gap]:
    """Return the numbers that are missing still, and that a transaction may still fill."""
    if not gaps:
        return []
    numbers = sql("SELECT number FROM {log} WHERE {inside} ORDER BY number", log=Name.of(log), inside=_inside(gaps))
    committed = [int(str(number)) for (number,) in session.query(numbers)]
    missing = [gap for before in gaps for gap in _without(before, committed)]
    session.execute(sql("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"))
    try:
        written = [int(str(number)) for (number,) in session.query(numbers)]
    finally:
        session.execute(sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))
    few = len(missing) <= _MOST_GAPS
    return [
        (first, last, seen)
        for first, last, seen in missing
        if (few and now - seen < _CARRIED) or bisect_left(written, first) < bisect_right(written, last)
    ]


def _without(gap: Gap, numbers: Sequence[int]) -> Iterator[Gap]:
    """Yield what is left of a gap without these numbers, which are sorted."""
    first, last, seen = gap
    for number in numbers[bisect_left(numbers, first) : bisect_right(numbers, last)]:
        if number > first:
            yield first, number - 1, seen
        first = number + 1
    if first <= last:
        yield first, last, seen


def _inside(gaps: Sequence[Gap]) -> Sql:
    first, last, _ = gaps[0]
    found = sql("number BETWEEN {first} AND {last}", first=Literal(first), last=Literal(last))
    for first, last, _ in gaps[1:]:
        found = sql(
            "{found} OR number BETWEEN {first} AND {last}", found=found, first=Literal(first), last=Literal(last)
        )
    return found

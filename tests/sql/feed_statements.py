"""The statements of change feeds: those that read rows again by their keys, and those of each database's feeds."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from sql.statements import COBID, ENTRY, NOTE, ODD, Statement, column, own, read
from tidegate.databases.postgresql.feeds.cdc import LogicalDecoding
from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.feed import FeedTable
from tidegate.loads._feed_replay import take_back
from tidegate.loads._feed_version_writes import FeedVersionTask
from tidegate.model.feeds import Position
from tidegate.model.types import Type
from tidegate.model.windows import WHOLE_TABLE
from tidegate.sql.keys import has_key
from tidegate.sql.text import raw
from tidegate.state.events import delete_events

SNAPSHOT = "700:705:701,703"
SLOT = {
    "plugin": "pgoutput",
    "database": "none",
    "confirmed_flush_lsn": "0/100",
    "restart_lsn": "0/80",
    "wal_status": "reserved",
    "active": False,
}
FACTS: dict[str, Any] = {
    "wal_level": "replica",
    "standby": False,
    "version": 170_000,
    "now": "0/16B3748",
    "may": False,
    "user": "me",
    "database": "none",
    "keep": 100,
    "slots": 1,
    "most_slots": 10,
    "slot": SLOT,
    "waiting": 4711,
    "oid": 16_384,
    "publication": {"pubviaroot": False},
    "member": {"oid": 16_400},
    "published": True,
    "kind": "p",
    "persistence": "p",
    "identity": "n",
    "identity_key": None,
    "stored_apart": None,
    "generated": None,
    "partitions": None,
}
FACTS["publication"].update(dict.fromkeys(("pubinsert", "pubupdate", "pubdelete", "pubtruncate"), False))
LIVE = {**FACTS, "wal_level": "logical", "may": True}


def _answers(facts: dict[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    return {
        "json_build_object": [(json.dumps(facts),)],
        "WITH told": [(3, 0)],
        "pg_is_in_recovery() THEN ''": [(SNAPSHOT,)],
        "CAST(confirmed_flush_lsn AS text)": [("0/100",)],
    }


def feed_table(session: Session) -> FeedTable:
    columns = own(session, COBID, NOTE)
    return FeedTable(ODD, columns, columns[:1])


def keys(session: Session) -> None:
    """Rows that are read again by their keys: of one column, and of two."""
    cobid, note = own(session, COBID, NOTE)
    batch = pa.record_batch({"a": pa.array([7, 8, 9], pa.int32()), "b": pa.array(["it's", "x", "y"])})
    read(session, cobid, note, rows=has_key([cobid], batch))
    read(session, cobid, note, rows=has_key([cobid, note], batch))


def _state(session: Session) -> None:
    feed, table = LogicalDecoding("tidegate_shop"), feed_table(session)
    detail = json.dumps({"oid": 16_384, "member": 16_400, "source": "1/2"})
    feed.state(session, table, Position("0000000000000100", detail), SNAPSHOT)
    feed.state(session, table, Position("0000000000000100", detail), "")


def _read(session: Session) -> None:
    feed, table = LogicalDecoding("tidegate_shop"), feed_table(session)
    after = Position("0000000000000100", json.dumps({"oid": 16_384}))
    for _ in feed.read(session, table, after, Position("00000000016B3748"), ""):
        raise AssertionError("there are no changes")


def _create(session: Session) -> None:
    for statement in LogicalDecoding("tidegate_shop").create(session, [ODD]):
        session.execute(statement)


def _drop(session: Session) -> None:
    for statement in LogicalDecoding("tidegate_shop").drop(session, [ODD]):
        session.execute(statement)


def _problems(session: Session) -> None:
    for problem in LogicalDecoding("tidegate_shop").health(session, feed_table(session), None).problems:
        for statement in problem.statements:
            if not statement.startswith("--"):  # a comment names a command of Tidegate's
                session.execute(raw(statement.removesuffix(";")))


def rewound(session: Session) -> None:
    """What later windows of a change feed made of a table of versions is taken back."""
    key, start, end = own(session, COBID, column("start", Type("timestamp", 6)), column("end", Type("timestamp", 6)))
    [flag] = own(session, column("is current", Type("bool")))
    request = ReadRequest(ODD, (key,))
    task = FeedVersionTask(
        *("orders", request, WHOLE_TABLE, ENTRY), keys=(key.name,), start=start, end=end, flag=flag, closes=True
    )
    for statement in take_back(task, "2024-01-31 10:00:00.000001"):
        session.execute(statement)


def forget(session: Session) -> None:
    """Events that are kept no longer."""
    session.execute(delete_events(session.database.own_table("cdc_events"), "it's", "2024-01-31T10:00:00"))


SHARED_FEEDS = {
    "keys_of_changes": Statement(keys),
    "feed_versions_taken_back": Statement(rewound),
    "events_forget": Statement(forget),
}
POSTGRESQL_FEEDS = {
    "feed_cdc_state": Statement(_state, answers=_answers(LIVE)),
    "feed_cdc_read": Statement(_read, answers=_answers(LIVE)),
    "feed_cdc_confirm": Statement(
        lambda session: LogicalDecoding("tidegate_shop").confirm(session, {ODD: Position("00000000016B3748")}),
        answers=_answers(LIVE),
    ),
    "feed_cdc_create": Statement(
        _create, answers=_answers({**LIVE, "publication": None, "slot": None, "published": False})
    ),
    "feed_cdc_add_table": Statement(_create, answers=_answers({**LIVE, "published": False})),
    "feed_cdc_drop": Statement(_drop, answers=_answers(LIVE)),
    "feed_cdc_problems": Statement(_problems, answers=_answers(FACTS)),
}

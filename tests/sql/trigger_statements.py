"""The statements of the change feeds besides logical decoding: triggers, Change Tracking and CDC tables."""

from __future__ import annotations

from collections.abc import Callable

from sql.statements import COBID, CODE, NOTE, ODD, Statement
from tidegate.databases._trigger_feed import Installed, TriggerFeed
from tidegate.databases.mysql.binlog import stream
from tidegate.databases.mysql.binlog.position import LogPosition
from tidegate.databases.mysql.feeds import cdc
from tidegate.databases.mysql.feeds.triggers import MysqlTriggers
from tidegate.databases.postgresql.feeds.triggers import PostgresqlTriggers
from tidegate.databases.sqlserver.feeds.cdc import CdcTables
from tidegate.databases.sqlserver.feeds.change_tracking import ChangeTracking
from tidegate.databases.sqlserver.feeds.triggers import SqlServerTriggers
from tidegate.interfaces import Session
from tidegate.interfaces.feed import FeedTable
from tidegate.model.columns import TableSchema
from tidegate.model.feeds import Position
from tidegate.sql.text import raw

PROJECT = "tidegate_uat"
LSN, LATER = "0x0000002a000001f80003", "0x0000002a000001f90001"
TRACKED = [(41, 7, "1-245", 1, 1, 1, 1, 2, "DAYS", 1)]
"""What a server answers of a tracked table: version 41, valid from 7 on, kept for two days."""
CAPTURED = [("sales_orders", LSN, LSN, name) for name in ("cobid", "code", 'it\'s a "note"')]


def _schema(session: Session, *, partitioned: bool = False) -> TableSchema:
    columns = tuple(session.database.declare(column) for column in (COBID, CODE, NOTE))
    return TableSchema(ODD, columns, (COBID.name, CODE.name), partitioned_by="LIST" if partitioned else "")


def _table(session: Session, *, images: bool) -> FeedTable:
    schema = _schema(session)
    return FeedTable(schema.name, schema.columns, schema.columns[:2], images=images)


def _run(make: Callable[[TableSchema], list], **options: bool) -> Statement:  # type: ignore[type-arg]
    def call(session: Session) -> None:
        for statement in make(_schema(session, **options)):
            session.execute(statement)

    return Statement(call)


def _triggers(feed: TriggerFeed) -> dict[str, Statement]:
    name = "tidegate_odd"
    return {
        "feed_triggers_create_log": _run(feed.create_log),
        "feed_triggers_create": _run(lambda schema: [each for made in feed.triggers(schema).values() for each in made]),
        "feed_triggers_drop": _run(lambda schema: [*feed.drop_trigger(ODD, name), *feed.drop_log(ODD)]),
        "feed_triggers_installed": Statement(lambda session: feed.installed(session, ODD)),
    }


def _log(feed: TriggerFeed, after: str, upto: str) -> dict[str, Statement]:
    low, high = Position("1", after), Position("2", upto)
    return {
        "feed_triggers_count": Statement(
            lambda session: session.query(_count(feed, low, high)), answers={"count(*)": [(1,)], "COUNT": [(1,)]}
        ),
        "feed_triggers_told": Statement(lambda session: session.query(_told(feed, low)), answers={"COUNT": [(1,)]}),
        "feed_triggers_clean": Statement(
            lambda session: feed.remove(session, feed.log_table(ODD), high), answers={"ORDER BY number LIMIT": [(1,)]}
        ),
    }


def _count(feed: TriggerFeed, low: Position, high: Position):  # type: ignore[no-untyped-def]
    from tidegate.sql.contents import count_rows

    return count_rows(feed.log_table(ODD), feed.between(low, high))


def _told(feed: TriggerFeed, low: Position):  # type: ignore[no-untyped-def]
    from tidegate.sql.contents import count_rows

    return count_rows(feed.log_table(ODD), feed.since(low))


POSTGRESQL = {
    **_triggers(PostgresqlTriggers(PROJECT)),
    **_log(PostgresqlTriggers(PROJECT), "7 100:110:105", "7 112:120:115"),
    "feed_triggers_bounds": Statement(
        lambda session: PostgresqlTriggers(PROJECT).bounds(session, ODD, "7", None),
        answers={"pg_current_snapshot": [("100:110:105", None)]},
    ),
    "feed_triggers_heirs": Statement(lambda session: PostgresqlTriggers(PROJECT)._heirs(session, ODD)),
    "feed_triggers_create_per_row": _run(
        lambda schema: PostgresqlTriggers(PROJECT)._missing(schema, Installed()), partitioned=True
    ),
}
MARIADB = "10.11.6-MariaDB"
PLACE = LogPosition("binlog.000007", 4711, gtid="0-7-4711")
OF_MYSQL = LogPosition(gtid="3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77")


def _setup(session: Session) -> None:
    for start in (PLACE, LogPosition("binlog.000007", 4711)):
        for statement in stream.setup(start, mariadb=True):
            session.query(statement)


def _mend(session: Session) -> None:
    table = FeedTable(ODD, (), (), images=True)
    wrong = dict.fromkeys(("binlog_format", "binlog_row_metadata", "binlog_row_image"), "MINIMAL")
    wrong |= {"log_bin_compress": "ON", "binlog_transaction_compression": "ON", "binlog_row_value_options": "PARTIAL"}
    for problem in cdc._wrong_settings(wrong, table):
        session.query(raw(problem.statements[0].partition(";")[0]))


BINARY_LOG = {
    "feed_binlog_setup": Statement(_setup),
    "feed_binlog_mend": Statement(_mend),
    "feed_binlog_end_of_mariadb": Statement(
        lambda session: cdc._end_of_log(session),
        server=MARIADB,
        answers={"SHOW MASTER": [("binlog.000007", "4711", "", "")], "BINLOG_GTID_POS": [("0-7-4711",)]},
    ),
    "feed_binlog_end_of_mysql_8_4": Statement(
        lambda session: cdc._end_of_log(session),
        answers={"SHOW BINARY LOG STATUS": [("binlog.000007", "4711", "", "", OF_MYSQL.gtid)]},
    ),
    "feed_binlog_files": Statement(
        lambda session: cdc._files(session), answers={"SHOW BINARY LOGS": [("binlog.000007", "4711")]}
    ),
    "feed_binlog_settings": Statement(lambda session: cdc._settings(session)),
    "feed_binlog_rights": Statement(lambda session: list(cdc._missing_rights(session))),
    "feed_binlog_purged_of_mariadb": Statement(
        lambda session: cdc._purged(session, PLACE.gtid),
        server=MARIADB,
        answers={
            "gtid_binlog_pos": [("0-7-5000",)],
            "SHOW BINARY LOGS": [("binlog.000007", "4711")],
            "BINLOG_GTID_POS": [("0-7-1",)],
        },
    ),
    "feed_binlog_purged_of_mysql": Statement(
        lambda session: cdc._purged(session, OF_MYSQL.gtid), answers={"GTID_SUBSET": [(1, 1)]}
    ),
    "feed_binlog_sees_of_mariadb": Statement(
        lambda session: cdc._sees(session, PLACE),
        server=MARIADB,
        answers={"GROUP_CONCAT": [("binlog.000007:4711",)]},
    ),
    "feed_binlog_sees_of_mysql": Statement(
        lambda session: cdc._sees(session, OF_MYSQL), answers={"GTID_SUBSET": [(1,)]}
    ),
}
MYSQL = {
    **_triggers(MysqlTriggers(PROJECT)),
    **_log(MysqlTriggers(PROJECT), "1 100 95-96@1", "1 200 150-150@1"),
    **BINARY_LOG,
    "feed_triggers_bounds": Statement(
        lambda session: MysqlTriggers(PROJECT).bounds(session, ODD, "1", Position("1", "1 100 95-96@1")),
        answers={"MAX(number)": [(200,)], "LAG(number)": [(150, 151)], "ORDER BY number": [(95,)]},
    ),
}
SQLSERVER = {
    **_triggers(SqlServerTriggers(PROJECT)),
    **_log(SqlServerTriggers(PROJECT), "7-2024 2001", "7-2024 2050"),
    "feed_triggers_bounds": Statement(
        lambda session: SqlServerTriggers(PROJECT).bounds(session, ODD, "7", None),
        answers={"MIN_ACTIVE_ROWVERSION": [(2050,)]},
    ),
    "feed_change_tracking_state": Statement(
        lambda session: ChangeTracking().state(
            session, _table(session, images=False), Position(f"{40:020d}", "1-245 40 1"), ""
        ),
        answers={"CHANGE_TRACKING_CURRENT_VERSION": TRACKED, "COUNT_BIG": [(1,)]},
    ),
    "feed_change_tracking_read": Statement(
        lambda session: list(
            ChangeTracking().read(
                session, _table(session, images=False), Position("", "1-245 40 1"), Position("", "1-245 41 2"), ""
            )
        ),
        answers={"CHANGE_TRACKING_CURRENT_VERSION": TRACKED},
    ),
    "feed_change_tracking_create": Statement(
        lambda session: [session.execute(one) for one in ChangeTracking().create(session, [ODD])]
    ),
    "feed_change_tracking_drop": Statement(
        lambda session: [session.execute(one) for one in ChangeTracking().drop(session, [ODD])]
    ),
    "feed_cdc_state": Statement(
        lambda session: CdcTables().state(session, _table(session, images=False), Position("", f"{LSN} 1"), ""),
        answers={"fn_cdc_get_max_lsn": [(LATER,)], "cdc.change_tables": CAPTURED, "COUNT_BIG": [(1,)]},
    ),
    **{
        f"feed_cdc_read_{mode}": Statement(
            lambda session, images=images: list(  # type: ignore[misc]
                CdcTables().read(
                    session, _table(session, images=images), Position("", f"{LSN} 1"), Position("", f"{LATER} 2"), ""
                )
            ),
            answers={"cdc.change_tables": CAPTURED},
        )
        for mode, images in (("keys", False), ("images", True))
    },
    "feed_cdc_problems": Statement(
        lambda session: CdcTables().problems(session, _table(session, images=False)),
        answers={"is_cdc_enabled": [(1,)], "cdc.change_tables": CAPTURED},
    ),
    "feed_cdc_health": Statement(
        lambda session: CdcTables().health(session, _table(session, images=False), Position("", f"{LSN} 1")),
        answers={"is_cdc_enabled": [(1,)], "cdc.change_tables": CAPTURED, "max_lsn": [(LATER,)], "latency": [(3,)]},
    ),
    "feed_cdc_nothing_new": Statement(
        lambda session: CdcTables().state(session, _table(session, images=False), Position("", f"{LSN} 1"), ""),
        answers={"fn_cdc_get_max_lsn": [(LSN,)], "cdc.change_tables": CAPTURED, "SELECT 0": [(0,)]},
    ),
    "feed_triggers_enable": Statement(
        lambda session: session.execute(SqlServerTriggers(PROJECT).enable(ODD, "tidegate_odd"))
    ),
    "feed_cdc_create": Statement(lambda session: [session.execute(one) for one in CdcTables().create(session, [ODD])]),
    "feed_cdc_drop": Statement(lambda session: [session.execute(one) for one in CdcTables().drop(session, [ODD])]),
}

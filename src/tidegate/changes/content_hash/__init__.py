"""Content hash: a table is compared as a whole, in source, lake and target, and moves when its content differs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from tidegate.changes.content_hash.inspect import inspect_table, request_of_source, request_of_target
from tidegate.changes.content_hash.plan import extracted_content, plan
from tidegate.changes.content_hash.read import ContentReader, ReadContent, state_with
from tidegate.changes.content_hash.status import status
from tidegate.errors import ConfigError, Unsupported
from tidegate.interfaces.change import Change, ChangeColumns, Extraction, LoadNeeds, Sessions
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.plan import Extract, Labels, Notice, Request, Step
from tidegate.model.receipt import Receipt
from tidegate.model.scope import Scope
from tidegate.model.state import LedgerEntry, TableState
from tidegate.model.status import TableStatus
from tidegate.model.tokens import ContentToken
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE
from tidegate.settings import Columns, Settings, TableSettings, Text
from tidegate.sql.contents import checksum
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, named_column
from tidegate.tables.planned import PlannedTable


class ContentSettings(Settings):
    """A small table of reference data that is compared as a whole, and moved when it changed."""

    change_detection_method: Literal["hash", "checksum"] = "hash"
    """How a change is seen: by a `hash` of every row, or by a `checksum` of the server's, cheaper and weaker."""
    hash_columns: Columns | None = None
    """Only these columns, and those of the key, tell a change. All, when it is left out."""
    pre_check: Text | None = None
    """What is asked before any row is read: `server`, what PostgreSQL and MySQL tell of the last change of a table; or
    the name of a column with the time of a row's last change: its greatest value, and the number of rows. Where the
    answer is as it was, no rows are read."""

    @property
    def asks_mark_of_server(self) -> bool:
        return self.pre_check == "server"


class _ContentTable(TableSettings, ContentSettings):
    """The settings of a table with this change."""


@dataclass(frozen=True)
class ContentChange(Change[TableState]):
    """The change of one table that is compared as a whole."""

    name = "content_hash"
    Settings = ContentSettings
    loads = ("merge", "replace")
    takes_transform = True
    why_no_target_retention = "the target is compared with the whole source, and rows that were removed would come back"

    table: FoundTable
    settings: _ContentTable
    hashed: tuple[str, ...]
    """The columns that tell a change."""
    deletes: bool
    """Whether rows leave the target that the source does not have."""
    keys: tuple[str, ...] = ()
    """What names a row, as the load knows it."""
    modified: Column | None = None
    """The column whose greatest value is asked before rows are read."""

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> ContentChange:
        names = settings.hash_columns or ()
        chosen = [named_column(settings, table.source, name, "hash_columns").name for name in names]
        computed = [name for name in chosen if name not in {column.name for column in table.columns}]
        if computed:
            raise Unsupported(
                f"{settings.name}: {', '.join(computed)} cannot tell a change: the target computes it, and no copy"
                " comes.",
                UNTOUCHED,
                "Leave it out of `hash_columns`.",
            )
        # Which rows there are always counts.
        hashed = tuple(dict.fromkeys((*needs.keys, *chosen))) if chosen else ()
        if settings.change_detection_method == "checksum":
            notice = Notice("changes are seen by the server's checksum, which can miss one")
            table = replace(table, notices=(*table.notices, notice))
        mark = None
        if settings.pre_check and not settings.asks_mark_of_server:
            mark = named_column(settings, table.source, settings.pre_check, "pre_check")
        return cls(
            table, settings, hashed or tuple(column.name for column in table.columns), needs.deletes, needs.keys, mark
        )

    @property
    def naming_keys(self) -> tuple[str, ...]:
        """Return the columns that name a row in a message."""
        return self.table.naming_keys(self.keys)

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(self.table.lake_name, Layout.WHOLE, "static")

    @property
    def divided_by(self) -> str:
        return "content"

    @property
    def labels(self) -> Labels:
        return Labels(window="the whole table", scope_name="the whole table")

    @property
    def hashed_columns(self) -> list[Column]:
        by_name = {column.name: column for column in self.table.source.columns}
        return [by_name[name] for name in self.hashed]

    @property
    def asks_server(self) -> bool:
        """Return whether the server's own checksum tells a change."""
        return self.settings.change_detection_method == "checksum"

    def value(self, text: object) -> Value:
        if text == WHOLE_TABLE.text:
            return WHOLE_TABLE
        raise ConfigError(
            f"{self.table.key}: a static table has no values; it is always compared as a whole.",
            UNTOUCHED,
            "`tidegate run --reload` extracts and loads it again.",
        )

    def inspect(self, sessions: Sessions, *, count_all: bool) -> TableState:
        return inspect_table(self, sessions)

    def plan(self, state: TableState, request: Request) -> tuple[Scope, list[Step]]:
        return plan(self.settings, state, request, deletes=self.deletes)

    def reading(self, source: Database, target: Database, state: TableState) -> ReadContent:
        request = request_of_target(self, state.ledger.get(WHOLE_TABLE))
        wanted = request_of_source(self, state.lake.get(WHOLE_TABLE), state.ledger.get(WHOLE_TABLE))
        return ReadContent(
            ContentReader(source, wanted, self.naming_keys),
            ContentReader(target, request) if request is not None and WHOLE_TABLE in state.target else None,
            extracted_content(state),
        )

    def with_reading(self, state: TableState, result: tuple[Receipt, Receipt | None]) -> TableState:
        return state_with(state, *result)

    def extraction(self, state: TableState, scope: Scope, step: Extract) -> Extraction:
        total = checksum(self.table.source.name, self.hashed_columns)
        return Extraction(
            self.table.from_source(None),
            ContentToken(mark=state.mark),
            fingerprint=total if self.asks_server else None,
            watched=() if self.asks_server else self.hashed,
            unchanged=None if self.table.source.reads_consistently else total,
        )

    def remembered(self, state: TableState) -> dict[Value, LedgerEntry]:
        """Return the ledger entry with the newest answer to `pre_check`, where the rows turned out to be equal."""
        entry, file = state.ledger.get(WHOLE_TABLE), state.lake.get(WHOLE_TABLE)
        token = entry.token if entry is not None else None
        if entry is None or file is None or file.token is None or not isinstance(token, ContentToken):
            return {}
        seen = ContentToken(state.source[WHOLE_TABLE].newest, state.mark)
        is_equal = seen.content == file.token.fingerprint == token.content
        return {WHOLE_TABLE: replace(entry, token=seen)} if state.mark and is_equal and token != seen else {}

    def source_request(self, window: Value) -> ReadRequest:
        return self.table.from_source(None)

    def target_request(self, window: Value) -> ReadRequest:
        return self.table.from_target(None)

    def status(self, planned: PlannedTable, state: TableState) -> TableStatus:
        return status(planned, state, self)

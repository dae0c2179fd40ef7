"""An example plug-in: a change that notices new data by the number of rows.

A package installs it with an entry point in `pyproject.toml`:

    [project.entry-points."tidegate.changes"]
    row_count = "plugin_change:RowCount"

A table chooses it in `tidegate.yml`. The setting `count_tolerance` belongs to this change:

    tables:
      sensors: {kind: static, changes: row_count, load: merge, count_tolerance: 10}

The whole table is one window. It is extracted when the number of rows in the source differs from the number that the
newest lake entry remembers. A changed value in an existing row is not noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tidegate.errors import ConfigError
from tidegate.interfaces.change import Change, ChangeColumns, Extraction, LoadNeeds, Sessions
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.names import TableName
from tidegate.model.plan import DAILY, RELOAD, Extract, Labels, Load, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LedgerEntry, SourceValue, TableState
from tidegate.model.tokens import Token
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE
from tidegate.settings import CountFromZero, Settings
from tidegate.sql.contents import count_rows
from tidegate.tables.found import Catalogs, FoundTable


class RowCountSettings(Settings):
    """The settings of a table that is compared by its number of rows."""

    count_tolerance: CountFromZero = 0
    """How many rows may come or go before the table is extracted again."""


@dataclass(frozen=True)
class RowCountToken(Token):
    """What ledger and lake remember: how many rows the source had when the table was extracted."""

    tag: ClassVar[str] = "row_count"

    rows: int | None = None

    @property
    def fingerprint(self) -> str | None:
        return None if self.rows is None else str(self.rows)

    def read(self, fingerprint: str | None, read_at: str) -> RowCountToken:
        return RowCountToken(None if fingerprint is None else int(fingerprint))

    def fields(self) -> dict[str, Any]:
        return {"rows": self.rows}

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> RowCountToken:
        return cls(fields["rows"])


@dataclass(frozen=True)
class RowCount(Change[TableState]):
    """Extracts a whole table when its number of rows changed."""

    name = "row_count"
    Settings = RowCountSettings
    loads = ("merge", "replace", "append_log")

    table: FoundTable
    settings: Any
    """The settings of the table: those that every table has, and `RowCountSettings`."""

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> RowCount:
        return cls(table, settings)

    # Names

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(self.table.lake_name, Layout.WHOLE, "row_count")

    @property
    def divided_by(self) -> str:
        return "number of rows"

    @property
    def labels(self) -> Labels:
        return Labels(window="the whole table", scope_name="the whole table")

    def value(self, text: object) -> Value:
        if text == WHOLE_TABLE.text:
            return WHOLE_TABLE
        raise ConfigError(
            f"{self.table.key}: the table is one window and has no values.",
            "Nothing was read or written.",
            "`tidegate run --reload` extracts and loads the whole table.",
        )

    # Inspect: three counts, whatever the size of the table

    def inspect(self, sessions: Sessions, *, count_all: bool) -> TableState:
        table = self.table
        ledger = sessions.ledger.entries(table.ledger_name) if sessions.ledger else {}
        found = sessions.lake.entries(self.lake_table, ledger)
        copies = sessions.scope_copies(self.lake_table, table.ledger_name)
        in_source, in_target = sessions.both(
            lambda: _count(sessions.source, table.source.name),
            lambda: None if table.target is None else _count(sessions.target, table.target_name),
        )
        loaded, entry = ledger.get(WHOLE_TABLE.text), found.by_window.get(WHOLE_TABLE.text)
        return TableState(
            source={WHOLE_TABLE: SourceValue(in_source, str(in_source))},
            lake={} if entry is None else {WHOLE_TABLE: entry},
            target={} if in_target is None else {WHOLE_TABLE: in_target},
            ledger={} if loaded is None else {WHOLE_TABLE: loaded},
            scope=copies.known,
            scope_copies=copies,
            is_ours=loaded is not None or copies.known is not None,
            columns_id=table.columns_id,
            storage_types=table.storage_types,
            target_lacks=table.target_lacks,
            superseded=found.superseded,
        )

    # Plan: decide from the state alone

    def plan(self, state: TableState, request: Request) -> tuple[Scope, list[Step]]:
        is_asked = request.reload_all or WHOLE_TABLE in (request.reload or ())
        why = RELOAD if is_asked else self._why_extract(state)
        rows = state.source[WHOLE_TABLE].rows
        steps: list[Step] = [Extract(WHOLE_TABLE, why, rows)] if why else []
        load = self._load(state, why, is_asked=is_asked)
        if load is not None:
            steps.append(load)
        return Scope(WHOLE_TABLE), [*steps, *self._removals(state, request, extracts=bool(why))]

    def _why_extract(self, state: TableState) -> str:
        """Return why the table must be extracted; an empty text when the newest lake entry is good."""
        entry = state.lake.get(WHOLE_TABLE)
        if entry is None:
            return "missing in the lake" if _active(state) else "new in the source"
        if entry.broken:
            return f"its lake entry cannot be used: {entry.broken}"
        if state.has_other_columns(entry):
            return "it was extracted with other columns"
        rows = state.source[WHOLE_TABLE].rows
        extracted = entry.token.rows if isinstance(entry.token, RowCountToken) else None
        if rows is not None and extracted is not None and abs(rows - extracted) <= self.settings.count_tolerance:
            return ""
        return f"the source has {rows:,} rows, {extracted or 0:,} were extracted"

    def _load(self, state: TableState, why: str, *, is_asked: bool) -> Load | None:
        last, loaded, entry = state.ledger.get(WHOLE_TABLE), _active(state), state.lake.get(WHOLE_TABLE)
        generation, rows = last.generation + 1 if last else 1, state.source[WHOLE_TABLE].rows
        if loaded is None:
            why = why or "in the lake, not in the target"
            return Load(WHOLE_TABLE, why, generation, rows, compare_first=WHOLE_TABLE in state.target)
        held = state.target.get(WHOLE_TABLE) or 0
        if loaded.target_rows is not None and held < loaded.target_rows:
            return Load(WHOLE_TABLE, f"the target holds {held:,} of {loaded.target_rows:,} rows", generation, rows)
        if why:
            return Load(WHOLE_TABLE, why, generation, rows, unless_hash="" if is_asked else loaded.hash)
        if entry is not None and entry.hash != loaded.hash:
            return Load(WHOLE_TABLE, "newer in the lake than in the target", generation, rows)
        return None

    def _removals(self, state: TableState, request: Request, *, extracts: bool) -> list[Step]:
        """Return the step that removes older lake entries, where `retain: {lake: N}` asks for it."""
        kept, older, entry = self.settings.retain.lake, state.superseded, state.lake.get(WHOLE_TABLE)
        if kept is None or request != DAILY:
            return []
        if extracts and entry is not None:  # the entry that comes makes this one an older entry
            older = (*older, entry.id)
        removed = older[: max(len(older) + 1 - kept, 0)]
        why = f"beyond `retain: lake: {kept}`"
        return [Remove(WHOLE_TABLE, "lake", why, entries=removed)] if removed else []

    # Extract

    def extraction(self, state: TableState, scope: Scope, step: Extract) -> Extraction:
        count = count_rows(self.table.source.name)
        return Extraction(
            self.table.from_source(None),
            RowCountToken(),
            fingerprint=count,
            unchanged=None if self.table.source.reads_consistently else count,
        )

    def source_request(self, window: Value) -> ReadRequest:
        return self.table.from_source(None)

    def target_request(self, window: Value) -> ReadRequest:
        return self.table.from_target(None)


def _active(state: TableState) -> LedgerEntry | None:
    """Return the ledger entry of the table if the target should hold its rows now."""
    entry = state.ledger.get(WHOLE_TABLE)
    return entry if entry is not None and entry.is_active else None


def _count(session: Session, table: TableName) -> int:
    return int(str(session.query(count_rows(table))[0][0]))

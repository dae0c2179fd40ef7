"""Partition values: rows belong to values of one column (a business date, a period); each value moves as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from tidegate.changes.partition.coverage import coverage_of
from tidegate.changes.partition.inspect import inspect_table
from tidegate.changes.partition.plan import newest_values, plan, settled_values
from tidegate.errors import ConfigError, Unsupported
from tidegate.interfaces.change import Change, ChangeColumns, Extraction, LoadNeeds, Sessions
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.columns import Column, TableSchema
from tidegate.model.coverage import Coverage
from tidegate.model.plan import Extract, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import TableState
from tidegate.model.tokens import PartitionToken
from tidegate.model.values import Value, ValueKind
from tidegate.settings import CountFromZero, CountOrAll, ScalarText, Settings, TableSettings, Text, wrong
from tidegate.sql.contents import checksum
from tidegate.sql.partitions import greatest_of_value, has_value
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, named_column


class Values(Settings):
    """Which partition values count: from and to are included; `exclude` keeps sentinels out."""

    from_: ScalarText | None = Field(default=None, alias="from")
    """The smallest value that counts, included."""
    to: ScalarText | None = None
    """The greatest value that counts, included."""
    exclude: tuple[ScalarText, ...] = ()
    """Values that do not count, such as 0, -1 or 99991231."""
    nulls: Literal["refuse", "load", "exclude"] = "refuse"
    """What a null in the partition column means: `refuse`, `verify` fails while there are such rows; `load`, they are
    one window, which is compared on every run; or `exclude`, they are left out on purpose."""

    @model_validator(mode="after")
    def _in_order(self) -> Values:
        first, last = _comparable(self.from_), _comparable(self.to)
        if first and last and len(first) == len(last) and first > last:
            raise wrong(f"must go upwards: from {self.from_} to {self.to} holds nothing")
        return self


def _comparable(text: str | None) -> tuple[int, ...]:
    """Return numbers for a whole number or a date; nothing where the order is the server's."""
    if text and re.fullmatch(r"-?[0-9]+", text):
        return (int(text),)
    if text and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return tuple(map(int, text.split("-")))
    return ()


def _transform(given: Any) -> Any:
    text = re.sub(r"\s", "", str(given).lower())
    if re.fullmatch(r"identity|years|months|days|hours|truncate\([1-9][0-9]*\)|none", text) is None:
        raise wrong("must be identity, years, months, days, hours, none, or a width such as truncate(4)")
    return text


class PartitionSettings(Settings):
    """A table that is kept in sync one partition value at a time."""

    partition_column: Text
    """The column whose values are kept in sync, each as a whole."""
    initial_load_count: CountOrAll = 10
    """How many of the newest values the first run takes, or `all`. This sets the scope."""
    look_back: CountFromZero = 5
    """How many of the newest values are compared with the source on every run."""
    hold_back: CountFromZero = 0
    """How many of the newest values are left alone because they may still grow."""
    ready_query: Text | None = None
    """A query on the source that returns the values which are complete; others wait."""
    values: Values = Values()
    """Which values count at all; keeps sentinels out."""
    restatement: Literal["count", "hash"] = "count"
    """How a loaded value inside the look-back is compared: by `count`, or by `hash`, which reads its rows."""
    lake_partition: Annotated[str, BeforeValidator(_transform)] = "identity"
    """How a new Iceberg table in the lake is partitioned by the column: `identity`, `years`, `months`, `days`, `hours`,
    `truncate(4)`, or `none`. A table that is there keeps what it has."""
    restatement_column: Text | None = None
    """A column whose greatest value moves when a value is loaded again: a load id, a time of change."""


class _PartitionTable(TableSettings, PartitionSettings):
    """The settings of a table with this change."""


MANY_ROWS = 100_000
"""A scan of fewer rows costs less than it is worth to say."""


@dataclass(frozen=True)
class PartitionChange(Change[TableState]):
    """The change of one partition table."""

    name = "partition"
    Settings = PartitionSettings
    loads = ("replace_partition", "switch_partition")
    why_no_target_retention = ""
    takes_transform = True

    table: FoundTable
    settings: _PartitionTable
    column: Column
    target_column: Column
    kind: ValueKind

    @classmethod
    def columns(cls, settings: Any, source: TableSchema, catalogs: Catalogs) -> ChangeColumns:
        column = named_column(settings, source, settings.partition_column, "partition_column")
        _require_exact_maximum(settings, source, catalogs.source.database)
        return ChangeColumns(by=column, keep_types=(column.name,), index=column)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> PartitionChange:
        column, target_db = _required(columns.by), catalogs.target.database
        kind = catalogs.source.database.value_kind(column)
        if kind is None:
            raise Unsupported(
                f"{settings.name}: {column.name} is {column.type}, whose values have no exact order to partition by.",
                UNTOUCHED,
                "Choose a column of an integer, decimal, date, timestamp or text type.",
            )
        in_target = next((one for one in table.target_columns if one.name == column.name), target_db.declare(column))
        if target_db.value_kind(in_target) is not kind:
            raise Unsupported(
                f"{settings.name}: {column.name} is {column.type} in the source and {in_target.type} in the target,"
                " whose values have another order.",
                UNTOUCHED,
                "Give the target's column a type of the same sort, or partition by another column.",
            )
        return cls(_with_cost(table, column), settings, column, in_target, kind)

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(
            self.table.lake_name, Layout.VALUES, self.settings.partition_column, self.settings.lake_partition
        )

    @property
    def divided_by(self) -> str:
        return self.settings.partition_column

    @property
    def loads_nulls(self) -> bool:
        """Return whether rows without a value are a window of their own."""
        return self.settings.values.nulls == "load"

    @property
    def restatement_column(self) -> Column | None:
        """Return the restatement column as the catalog spells it; None when none is named."""
        name = self.settings.restatement_column
        return self.table.source.column(name) if name else None

    def value(self, text: object) -> Value:
        # A text column may hold the word itself: there the null value has only its long name.
        if text == "null" and self.loads_nulls and self.kind is not ValueKind.TEXT:
            return Value.null(self.kind)
        try:
            return Value.of(text, self.kind)
        except ValueError as problem:
            raise ConfigError(
                f"{self.table.key}: {problem}.", UNTOUCHED, f"{self.column.name} is {self.column.type}."
            ) from None

    def inspect(self, sessions: Sessions, *, count_all: bool) -> TableState:
        return inspect_table(self, sessions, count_all=count_all)

    def plan(self, state: TableState, request: Request) -> tuple[Scope, list[Step]]:
        return plan(self.settings, state, request)

    def coverage(self, state: TableState, scope: Scope) -> Coverage:
        return coverage_of(self.settings, state, scope)

    def extraction(self, state: TableState, scope: Scope, step: Extract) -> Extraction:
        if step.origin == "target":
            entry = state.ledger[step.value]
            # What the source no longer has can be compared only in the columns that it had.
            request = self.table.as_loaded(self.target_request(step.value), entry)
            return Extraction(request, PartitionToken(), from_target=True, proven_by=entry.hash)
        table, watched = self.table.source.name, self.restatement_column
        return Extraction(
            self.source_request(step.value),
            PartitionToken(),
            fingerprint=greatest_of_value(table, self.column, step.value, watched) if watched else None,
            # A count would not show a restatement in place.
            unchanged=None
            if self.table.source.reads_consistently
            else checksum(table, self.table.extracted_columns, has_value(self.column, step.value)),
            fixed=(self.column.name,),
        )

    def expected_windows(self, state: TableState, scope: Scope) -> list[Value]:
        """Return what is in scope, known to the ledger or ready in the source, and inside of the retention."""
        active = {value for value, entry in state.ledger.items() if entry.is_active}
        settled = settled_values(self.settings, state.source, state.ready)
        known = sorted(value for value in {*active, *settled} if scope.covers(value))
        return newest_values(known, self.settings.retain.target)

    def source_request(self, window: Value) -> ReadRequest:
        return self.table.from_source(has_value(self.column, window))

    def target_request(self, window: Value) -> ReadRequest:
        return self.table.from_target(has_value(self.target_column, window))


def _with_cost(table: FoundTable, column: Column) -> FoundTable:
    """Return the table with a warning where nothing leads to the rows of a value, and scans are not cheap."""
    source = table.source
    is_found = source.has_index_on(column.name) or column.name in source.partitioned_by
    if is_found or source.row_estimate < MANY_ROWS:
        return table
    text = (
        f"no index of the source starts with {column.name}: each plan reads about {source.row_estimate:,} rows, and so"
        " does each value that is extracted or verified"
    )
    return replace(table, notices=(*table.notices, Notice(text, severity="warning")))


def _required(column: Column | None) -> Column:
    assert column is not None
    return column


def _require_exact_maximum(settings: Any, source: TableSchema, database: Database) -> None:
    if settings.restatement_column is None:
        return
    watched = named_column(settings, source, settings.restatement_column, "restatement_column")
    if database.value_kind(watched) is None:
        raise Unsupported(
            f"{settings.name}: {watched.name} is {watched.type}, whose greatest value cannot be told exactly.",
            UNTOUCHED,
            "Watch a column of an integer, decimal, date, timestamp or text type, or use `restatement: hash`.",
        )

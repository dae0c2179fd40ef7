"""The settings of each kind of table.

A further kind is a model with `kind`, added to `Table` and to `TABLE_KINDS` at the end of this file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from tidegate.config.words import (
    BATCH_BYTES,
    BATCH_ROWS,
    Columns,
    Count,
    CountFromZero,
    Duration,
    Name,
    ScalarText,
    Settings,
    Size,
    Text,
    wrong,
)


class Values(Settings):
    """Which partition values count: from and to are included; `exclude` keeps sentinels out."""

    from_: ScalarText | None = Field(default=None, alias="from")
    """The smallest value that counts, included."""
    to: ScalarText | None = None
    """The greatest value that counts, included."""
    exclude: tuple[ScalarText, ...] = ()
    """Values that do not count, such as 0, -1 or 99991231."""
    nulls: Literal["refuse", "exclude"] = "refuse"
    """Rows without a value are never copied. `verify` ends with exit code 3 when there are any (`refuse`), or counts
    them in a note, because they are left out on purpose (`exclude`)."""

    @model_validator(mode="after")
    def _in_order(self) -> Values:
        first, last = _comparable(self.from_), _comparable(self.to)
        if first and last and len(first) == len(last) and first > last:
            raise wrong(f"must go upwards: from {self.from_} to {self.to} holds nothing")
        return self


def _comparable(text: str | None) -> tuple[int, ...]:
    """Numbers, for a whole number or a date; nothing where the order is the server's."""
    if text and re.fullmatch(r"-?[0-9]+", text):
        return (int(text),)
    if text and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return tuple(map(int, text.split("-")))
    return ()


class Retain(Settings):
    """How many of the newest values are kept. None keeps all."""

    target: Count | None = None
    """How many of the newest values the target keeps; older ones are removed by plan."""
    lake: Count | None = None
    """How many of the newest values keep their file."""


class TableSettings(Settings):
    """What every kind of table has."""

    filled_in: ClassVar[frozenset[str]] = frozenset({"name"})

    name: Text
    source_table: Name
    """Its name in the source, when it is not the key; `schema.table` where it is outside of the default schema."""
    target_table: Name
    """Its name in the target, likewise."""
    on_target_change: Literal["report", "restore", "keep"] = "report"
    """What happens to rows that somebody changed or added in the target: `report`, `restore` or `keep`."""
    max_apply_rows: Count | None = None
    """How many rows one transaction may bring to the target. A plan that needs more is refused."""
    columns: Mapping[str, Literal["text"]] = {}
    """Columns that rest as exact text: `{amount: text}`."""
    batch_rows: Count = BATCH_ROWS
    """Rows of one Arrow batch, at most."""
    batch_bytes: Size = BATCH_BYTES
    """Bytes of one Arrow batch, at most."""

    @model_validator(mode="before")
    @classmethod
    def _named_like_the_key(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        key = given.get("name")
        tables = {side: given.get(side) or key for side in ("source_table", "target_table")}
        return {**given, **tables}


class PartitionTable(TableSettings):
    """A table that is kept in step one partition value at a time."""

    kind: Literal["partition"] = "partition"
    """The kind of table."""
    partition_column: Text
    """The column whose values are kept in step, each as a whole."""
    initial_load_count: Count = 10
    """How many of the newest values the first run takes. This sets the scope."""
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
    restatement_column: Text | None = None
    """A column whose greatest value moves when a value is loaded again: a load id, a time of change."""
    retain: Retain = Retain()
    """How many values target and lake keep. All, when it is left out."""
    proof: Literal["hash", "count"] = "hash"
    """How equality is proved: `hash` of every row, or `count`."""
    keys: Columns | None = None
    """Columns that name a row in findings; the primary key when it is left out."""


class StaticTable(TableSettings):
    """A small table of reference data that is compared as a whole, and moved when it changed."""

    kind: Literal["static"] = "static"
    """The kind of table."""
    primary_keys: Columns | None = None
    """What names a row. The source's primary key, or a unique key without nulls, when it is left out."""
    merge_strategy: Literal["upsert", "replace"] | None = None
    """`upsert` writes the rows that differ, `replace` the whole table; without a key it can only be replaced."""
    allow_deletes: bool = False
    """Whether `upsert` deletes what the source no longer has. `replace` always does."""
    change_detection_method: Literal["hash", "checksum"] = "hash"
    """How a change is seen: by a `hash` of every row, or by a `checksum` of the server's, cheaper and weaker."""
    hash_columns: Columns | None = None
    """Only these columns, and those of the key, tell a change. All, when it is left out."""


class Scd2Table(TableSettings):
    """A table of versions: each row says of a business key how it was from its mark on. The source keeps them, or they
    are made here of a plain source."""

    kind: Literal["scd2"] = "scd2"
    """The kind of table."""
    versions: Literal["source", "made"] = "source"
    """Where versions come from: the `source` has them, or they are `made` of what it says now."""
    business_keys: Columns | None = None
    """What names an entity. A key of the catalog, less the mark, when it is left out."""
    mark_column: Text | None = None
    """The column that tells when a version came, and grows with change: `LastModified`. Where versions are made it may
    be left out: then the whole source is compared, and a version begins when it was read."""
    flag_column: Text | None = None
    """The column that says which version holds: `IsLatest`, where there is one; `is_current`, where they are made."""
    latest_value: ScalarText = "1"
    """What the flag says of the version that holds, where it is a text: `Y` for instance."""
    superseded_value: ScalarText = "0"
    """What it says of all others, likewise."""
    flags: Literal["source", "recompute"] | None = None
    """Whose flags count: those of the `source`, or ours, by the newest mark of each key (`recompute`)."""
    start_column: Text = "start_date"
    """Where versions are made: the target's column for their start."""
    end_column: Text | None = None
    """The column for the end of a version, which is the start of the next; `end_date` where versions are made."""
    surrogate_key: Text | None = None
    """Where versions are made: a column that numbers them, which the target fills in by itself."""
    outside: tuple[Text, ...] = ()
    """Columns that the source changes in place and that make no version: no part of a version's content."""
    version_key: Columns | None = None
    """What names a version, where the source updates versions in place; the business key and the mark otherwise."""
    deletes: Literal["ignore", "close"] = "ignore"
    """What becomes of entities that left the source: nothing, or they are closed. Then all keys of the source
    are read in every run, and compared."""
    tombstone_column: Text | None = None
    """A column that says of a version that its entity is gone: such a version never holds."""
    initial_load: Literal["window", "latest+window", "full"] = "window"
    """What the first run takes: the last days, with the versions that hold whatever their age, or all."""
    initial_load_days: Count = 30
    """How many days that window has, on the source's clock."""
    look_back: Duration | None = None
    """How far before the mark reading starts: seconds, or `10 minutes`, which is the default for times."""
    batch_size: Count | None = None
    """How many rows one transaction may bring. All of a file, when it is left out."""

    @model_validator(mode="after")
    def _of_one_mind(self) -> Scd2Table:
        if self.versions == "made" and (self.flags or self.version_key):
            raise wrong("makes its own versions: leave out `flags` and `version_key`")
        return self


# A further kind is added to both; those that are coming are refused by name.
Table: TypeAlias = PartitionTable | Scd2Table | StaticTable
TABLE_KINDS: dict[str, type[Table]] = {"partition": PartitionTable, "scd2": Scd2Table, "static": StaticTable}
COMING_KINDS = ("incremental",)

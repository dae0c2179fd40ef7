"""Describe the columns of a table of versions (SCD type 2) by their role."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import ValueProblem
from tidegate.hashing.differences import Mask
from tidegate.model.values import ValueKind


@dataclass(frozen=True)
class Scd2Columns:
    """The columns of a table of versions by role, and the values of its current flag."""

    keys: tuple[str, ...]
    """The business key: it identifies an entity."""
    cursor: str
    """The column that orders the versions of a key, such as `ValidFrom`."""
    version_key: tuple[str, ...]
    """The columns that identify a version: the business key and the cursor, or the version's own key."""
    flag: str | None
    """The column that marks the current version, such as `IsCurrent`."""
    ignored: tuple[str, ...]
    """Columns that are not part of the content: flag, end, and what is configured to be ignored."""
    current_value: str
    """The flag of a current version, such as `1` or `Y`."""
    superseded_value: str
    """The flag of any other version, such as `0` or `N`."""
    end: str | None = None
    """The column with the end of a version, such as `ValidTo`. Null means that the version is open."""
    time_columns: tuple[str, ...] = ()
    """Content columns that only contain a time. Versions that differ in nothing else have the same state."""
    tombstone: str | None = None
    """The column that marks a version as the deletion of its entity."""
    cursor_kind: ValueKind = ValueKind.TEXT
    """How to order cursor values that are read as text."""

    def current_flags(self, batch: pa.RecordBatch) -> Mask:
        """Return which rows are marked as current. A null means that the row is not; without a flag column none is."""
        if self.flag is None:
            return np.zeros(batch.num_rows, bool)
        return np.asarray(self._parse_flags(batch.column(self.flag)))

    def tombstones(self, batch: pa.RecordBatch) -> Mask:
        """Return which rows are tombstones: they mark the deletion of their entity."""
        if self.tombstone is None:
            return np.zeros(batch.num_rows, bool)
        values = batch.column(self.tombstone)
        # `current_value` and `superseded_value` also apply to a tombstone column of text. In a column of numbers the
        # values are 1 and 0, even if the flag column has `Y` and `N`.
        columns = self if pa.types.is_string(values.type) else replace(self, current_value="1", superseded_value="0")
        return np.asarray(columns._parse_flags(values))

    def format_flags(self, is_current: Mask, type_: pa.DataType) -> pa.Array:
        """Return the values to write into the flag column."""
        return pc.if_else(pa.array(is_current), self._flag_value(True, type_), self._flag_value(False, type_))

    def _parse_flags(self, values: pa.Array) -> pa.Array:
        if pa.types.is_boolean(values.type):
            return pc.fill_null(values, False)
        yes, no = (pc.fill_null(pc.equal(values, self._flag_value(flag, values.type)), False) for flag in (True, False))
        unknown = values.filter(pc.invert(pc.or_(pc.or_(yes, no), values.is_null())))
        if len(unknown):
            raise ValueProblem(
                f"A flag is {str(unknown[0])!r}: neither {self.current_value!r} nor {self.superseded_value!r}.",
                "Nothing was loaded; the target keeps what it had.",
                "Correct `current_value` and `superseded_value`, or these rows.",
            )
        return yes

    def _flag_value(self, is_current: bool, type_: pa.DataType) -> pa.Scalar:
        if pa.types.is_boolean(type_):
            return pa.scalar(is_current)
        text = self.current_value if is_current else self.superseded_value
        return pa.scalar(text).cast(type_)

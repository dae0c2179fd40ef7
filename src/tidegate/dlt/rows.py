"""The rows of lake entries as dlt takes them: Arrow tables of one schema, each row with its window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.dlt.dispositions import WINDOW
from tidegate.errors import Unsupported, ValueProblem
from tidegate.hashing.arrow import arrow_type
from tidegate.model.state import LakeEntry, types_when_extracted
from tidegate.runs.lake_rows import LakeRows

if TYPE_CHECKING:
    import pyarrow as pa

_UNTOUCHED = "Nothing of this table was delivered."


def columns_of(rows: LakeRows) -> dict[str, str]:
    """Return the columns of all entries together, each with its type in the lake. Raises ValueProblem where two entries
    keep a column in two types: a column of the destination has one."""
    found: dict[str, str] = {}
    for window, entry in rows.entries:
        for name, storage_type in types_of(entry).items():
            if found.setdefault(name, storage_type) != storage_type:
                raise ValueProblem(
                    f"{rows.key}: the lake has {name} as {found[name]} and, in {window}, as {storage_type}.",
                    _UNTOUCHED,
                    f"Write `columns: {{{name}: text}}` for this table and run `tidegate run --reload {rows.key}`.",
                )
    return found


def types_of(entry: LakeEntry) -> dict[str, str]:
    """Return the columns of an entry in their order, each with its type there."""
    types = types_when_extracted(entry)
    return {name: "text" if name in entry.text_columns else types[name] for name in entry.columns}


def schema_of(columns: dict[str, str], keys: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of the rows that are handed over. The window and keys are never null, as dlt knows."""
    import pyarrow as pa

    fields = [pa.field(name, arrow_type(kind), nullable=name not in keys) for name, kind in columns.items()]
    return pa.schema([*fields, pa.field(WINDOW, pa.string(), nullable=False)])


def require_distinct_names(key: str, spelled: dict[str, str]) -> None:
    """Raise Unsupported for two columns that dlt spells alike: the rows of one would be lost."""
    seen: dict[str, str] = {}
    for name, theirs in spelled.items():
        first = seen.setdefault(theirs, name)
        if first != name:
            raise Unsupported(
                f"{key}: dlt calls the columns {first} and {name} both {theirs}.",
                _UNTOUCHED,
                "Choose another naming convention of dlt, or rename a column in a view of the source.",
            )


def tables(rows: LakeRows, windows: Sequence[tuple[str, LakeEntry]], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of entries. Columns that an entry lacks are null. An empty table comes first, so that columns are
    created although no row comes."""
    import pyarrow as pa

    yield schema.empty_table()
    for window, entry in windows:
        for batch in rows.batches(entry):
            have = set(batch.schema.names)
            columns = [
                batch.column(field.name).cast(field.type)
                if field.name in have
                else pa.array([window] * len(batch), field.type)
                if field.name == WINDOW
                else pa.nulls(len(batch), field.type)
                for field in schema
            ]
            yield pa.Table.from_arrays(columns, schema=schema)

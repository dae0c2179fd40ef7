"""The rows of a window of changes: which of several rows of a key counts, and which came late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import ValueProblem
from tidegate.interfaces.load import Batches, LoadTask, LogRules, proved_columns
from tidegate.model.cursors import Cursor
from tidegate.model.tokens import IncrementalWindow

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Mask


@dataclass(frozen=True)
class WindowRules:
    """How the rows of a window of changes are applied."""

    cursor: Cursor
    tie_breaker: str | None
    duplicates: str
    """`latest`: of several rows of a key the newest counts. `refuse`: several rows of a key are an error."""
    late: str
    """What happens to rows from below the watermark: `merge`, `report` or `quarantine`."""
    compares_keys: bool = False
    """Rows leave the target whose key the source no longer has."""
    tells_deletes: bool = False
    """A change feed told which keys changed: those without a row are gone."""
    target_rows: int | None = None
    """How many rows the target had when the load was planned; None where that is not known."""


def log_rules_of(keys: Sequence[str], rules: WindowRules) -> LogRules:
    """Return which rows of a log make the state of a table whose windows are applied so."""
    cursor = rules.cursor if rules.cursor.is_extracted else None
    return LogRules(tuple(keys), cursor, rules.tie_breaker, rules.compares_keys, rules.tells_deletes)


def chosen_rows(task: LoadTask, rules: WindowRules, keys: Sequence[str], batches: Batches) -> Mask:
    """Return which row of each key counts, where some key has several rows.

    Equal rows are one row. Of different rows the one with the greatest cursor counts, then the greatest tie breaker,
    then the greatest hash, so that every run decides alike."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from tidegate.hashing.arrow import arrow_schema
    from tidegate.hashing.differences import hash_content

    schema = arrow_schema(task.columns(keys), task.request.text_columns)
    content = hash_content(proved_columns(task, batches)(), schema, keys)
    words = {
        f"{side}{word}": pa.array(hashes[:, word])
        for side, hashes in (("key", content.key_hashes), ("row", content.row_hashes))
        for word in range(2)
    }
    table = pa.table({**words, **_newness(rules, batches)})
    by = ["key0", "key1", *table.column_names[4:], "row0", "row1"]
    order = np.asarray(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in by]))
    ordered, rows = content.key_hashes[order], content.row_hashes[order]
    is_last = np.ones(len(order), bool)
    is_last[:-1] = (ordered[1:] != ordered[:-1]).any(axis=1)
    differs = ~is_last[:-1] & (rows[1:] != rows[:-1]).any(axis=1)
    if rules.duplicates == "refuse" and differs.any():
        raise _refused(task, keys, content.key_examples(np.sort(order[:-1][differs])))
    mask = np.zeros(len(order), bool)
    mask[order[is_last]] = True
    return mask


def _newness(rules: WindowRules, batches: Batches) -> dict[str, pa.ChunkedArray]:
    """Return what orders rows of a key: the cursor, then the tie breaker."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not rules.cursor.is_extracted:
        return {}
    names = [*rules.cursor.names, *([rules.tie_breaker] if rules.tie_breaker else [])]
    parts = [batch.select(list(dict.fromkeys(names))) for batch in batches()]
    if not parts:
        return {}
    table = pa.Table.from_batches(parts)
    found = {"cursor": cursor_values(rules.cursor, table)}
    if rules.tie_breaker is not None:
        found["tie"] = table[rules.tie_breaker]
    # A row without a value is older than all that have one.
    return {
        name: values
        for word, ordered in found.items()
        for name, values in ((f"has {word}", pc.is_valid(ordered)), (word, ordered))
    }


def cursor_values(cursor: Cursor, table: pa.Table) -> pa.ChunkedArray:
    """Return the cursor value of each row."""
    import pyarrow.compute as pc

    columns = [table[name] for name in cursor.names]
    if len(columns) == 1:
        return columns[0]
    return pc.max_element_wise(*columns) if cursor.combined == "greatest" else pc.coalesce(*columns)


def late_rows(task: LoadTask, rules: WindowRules, batches: Batches) -> Mask | None:
    """Return which rows lie below the watermark that was reached before; None where there was none."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    window = task.entry.token
    reached = window.reached if isinstance(window, IncrementalWindow) and rules.cursor.is_extracted else None
    parts = [batch.select(list(rules.cursor.names)) for batch in batches()] if reached is not None else []
    if reached is None or not parts:
        return None
    values = cursor_values(rules.cursor, pa.Table.from_batches(parts))
    try:
        bound = pa.scalar(reached.native, pa.string()).cast(values.type) if isinstance(reached.native, str) else None
        bound = pa.scalar(reached.native, values.type) if bound is None else bound
    except pa.ArrowException:  # infinity, or a year BC: the column came as text
        return None
    return np.asarray(pc.fill_null(pc.less(values, bound), False))


def _refused(task: LoadTask, keys: Sequence[str], examples: list[str]) -> ValueProblem:
    return ValueProblem(
        f"{task.table}: several rows of the window have the same key ({', '.join(keys)}): {'; '.join(examples)}.",
        "Nothing was loaded; the target keeps what it had.",
        "Name other `keys`, correct these rows, or use `duplicates: latest`, by which the newest row counts.",
    )

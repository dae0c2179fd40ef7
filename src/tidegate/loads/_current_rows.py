"""Refuse versions that cannot be loaded: without a value of their key, or several current ones of one key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from tidegate.buckets.assign import ROWS_PER_BUCKET, in_buckets
from tidegate.buckets.spill import Spill
from tidegate.errors import ValueProblem
from tidegate.history.version_task import VersionTask
from tidegate.interfaces.load import Batches
from tidegate.model.names import pluralize

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.history.versions import Versions

MANY_BUCKETS = 80
"""How many parts rows are divided into where their number is not known: enough for 20 million."""


def versions_of(task: VersionTask, batches: Iterator[pa.RecordBatch]) -> Versions:
    """Return the rows of these batches as hashes."""
    from tidegate.hashing.arrow import arrow_schema
    from tidegate.history.versions import hash_versions

    return hash_versions(batches, arrow_schema(task.request.columns, task.request.text_columns), task.scd2_columns)


def require_names(task: VersionTask, batch: Versions) -> None:
    """Raise ValueProblem for a version without a value of its key."""
    columns = task.scd2_columns
    examples = batch.null_examples([*columns.keys, *columns.version_key])
    if examples:
        key = ", ".join(columns.keys)
        raise ValueProblem(
            f"{task.table}: versions without a value for {key}: {'; '.join(examples)}.",
            "Nothing was loaded; the target keeps what it had.",
            "Correct these rows in the source, or name other `business_keys`.",
        )


def require_one_current_row(task: VersionTask, batches: Batches) -> None:
    """Raise ValueProblem, as below, for rows that were read and are not yet published in the lake.

    A file with such rows would be refused by every later load, also when the source has cleared its flags since."""

    def current() -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches():
            yield batch.filter(pa.array(task.scd2_columns.current_flags(batch)))

    if task.trusts_flags:
        count, examples = _several_current(task, current)
        if count:
            again = "; if it has cleared them since, run again"
            raise _several(task, count, examples, _wider_key(task, current), again)


def refuse_several_current(task: VersionTask, batch: Versions, batches: Batches) -> None:
    """Raise ValueProblem for a business key under which the source itself has several current rows.

    Only one of them can be current in the target: to clear the flags of the others in silence would lose entities."""
    from tidegate.history.findings import several_current

    positions = several_current(batch)
    if len(positions):
        examples = batch.examples(positions, task.keys)
        raise _several(task, len(positions), examples, _wider_key(task, batches))


def _several(
    task: VersionTask, count: int, examples: Sequence[str], wider: tuple[str, ...], again: str = ""
) -> ValueProblem:
    shown = "; ".join(examples) + ("; ..." if count > len(examples) else "")
    cure = f"[{', '.join(wider)}]" if wider else "the columns that name one entity"
    return ValueProblem(
        f"{task.table}: the source has several current rows for {pluralize(count, 'value')} of the business key"
        f" ({', '.join(task.keys)}), such as {shown}.",
        "Nothing was loaded; the target keeps what it had.",
        f"Set `business_keys` to {cure}, if each of these rows is an entity of its own. Set `flags: recompute`, if the"
        f" source clears the flags of old versions late or never{again}.",
    )


def _wider_key(task: VersionTask, batches: Batches) -> tuple[str, ...]:
    """Return the first wider key of the catalog under which no two rows are current; empty when there is none."""
    known = {column.name for column in task.request.columns}
    for key in task.wider_keys:
        if set(key) <= known and not _several_current(replace(task, keys=key), batches)[0]:
            return key
    return ()


def _several_current(task: VersionTask, batches: Batches) -> tuple[int, list[str]]:
    """Return how many keys have several current rows, and examples. Many rows are divided by their keys."""
    from tidegate.hashing.differences import EXAMPLES
    from tidegate.history.findings import several_current

    count = 0
    examples: list[str] = []
    for versions in _by_key(task, batches()):
        positions = several_current(versions)
        count += len(positions)
        examples += versions.examples(positions, task.keys)
    return count, examples[:EXAMPLES]


def _by_key(task: VersionTask, batches: Iterator[pa.RecordBatch]) -> Iterator[Versions]:
    """Yield all rows: at once where they are few, else in parts with all rows of some keys."""
    from tidegate.hashing.arrow import arrow_schema
    from tidegate.history.blocks import as_table, as_versions

    columns = task.scd2_columns
    first: list[pa.RecordBatch] = []
    while sum(batch.num_rows for batch in first) <= ROWS_PER_BUCKET:
        batch = next(batches, None)
        if batch is None:
            yield versions_of(task, iter(first))
            return
        first.append(batch)
    schema = arrow_schema(task.request.columns, task.request.text_columns)
    tables = (as_table(versions_of(task, iter([batch])), columns) for batch in chain(first, batches))
    with Spill() as spill:
        for bucket, block in in_buckets(tables, MANY_BUCKETS):
            spill.add(bucket, 0, block)
        for bucket in spill.buckets():
            yield as_versions(list(spill.blocks(0, bucket)), schema, columns)

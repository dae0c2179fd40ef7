"""Take rows with a column as text, where the target holds values that Arrow has no room for (NaN, infinity)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.buckets.spill import Spill
from tidegate.errors import NotNative
from tidegate.history.version_task import VersionTask
from tidegate.interfaces.load import Batches
from tidegate.interfaces.session import Session
from tidegate.model.names import staged_name

if TYPE_CHECKING:
    pass


def with_text_column(
    session: Session, task: VersionTask, rows: Batches, stages: ExitStack, met: NotNative
) -> tuple[VersionTask, Batches]:
    """Return the task and its rows with that column as text, too: hashes compare only what was read alike.

    Raises the problem again for a column that is ordered or understood: a text would be taken for something else."""
    columns = task.scd2_columns
    fixed = (columns.cursor, columns.end, columns.flag, columns.tombstone, *task.request.text_columns)
    if met.column in fixed:
        raise met
    task = replace(task, request=task.request.with_text((met.column,)))
    return task, _as_the_server_writes(session, task, rows, stages)


def _as_the_server_writes(session: Session, task: VersionTask, rows: Batches, stages: ExitStack) -> Batches:
    """Return the same rows with some columns as text. They are kept: a stage may be read in another order each time."""
    request, columns = task.request, task.written_columns
    names = {column.name: staged_name(place) for place, column in enumerate(columns)}
    in_order = (batch.select(list(names)) for batch in rows())
    staged = replace(
        request,
        table=stages.enter_context(session.staging_table(request.table, columns, in_order)),
        columns=tuple(replace(column, name=names[column.name]) for column in columns),
        text_columns=tuple(names[name] for name in request.text_columns if name in names),
        rows=None,
    )
    kept = stages.enter_context(Spill())
    for batch in session.read(staged):
        kept.add(0, 0, batch.rename_columns(list(names)))
    return lambda: kept.blocks(0)

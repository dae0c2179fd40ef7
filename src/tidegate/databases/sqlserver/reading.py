"""Rows out of an answer of the server, batch by batch.

Facts that shape this file
 * Whoever closes an answer that was not heard to its end interrupts the server, and with XACT_ABORT that ends the
   transaction: what came after it would be committed statement by statement.
 * How large rows are is known when some of them were seen.
 * Half of a character, which UTF-16 writes in two units, can stand in an nvarchar. The driver makes U+FFFD of it, a
   character that may stand there as well: the server is asked which it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.databases.sqlserver.rows import decoded, with_replacement
from tidegate.databases.sqlserver.statements import count_replacements
from tidegate.errors import TidegateError, ValueProblem
from tidegate.interfaces import ReadRequest
from tidegate.rows.arrow import arrow_schema

if TYPE_CHECKING:
    from tidegate.databases.sqlserver.session import SqlServerSession

_FIRST_FETCH = 256


def batches(session: SqlServerSession, cursor: Any, request: ReadRequest) -> Iterator[pa.RecordBatch]:
    """Raises NotNative, and ValueProblem for half of a character."""
    schema = arrow_schema(request.columns, request.text_columns)
    rows, replaced = min(_FIRST_FETCH, request.batch.rows), [0] * len(request.columns)
    try:
        while (batch := cursor.arrow_batch(rows)).num_rows:
            ready = decoded(batch, request.columns, schema)
            replaced = list(map(sum, zip(replaced, with_replacement(ready, request.columns), strict=True)))
            yield ready
            per_row = max(batch.nbytes // batch.num_rows, 1)
            rows = max(min(request.batch.bytes // per_row, request.batch.rows), 1)
    except (TidegateError, GeneratorExit):
        if session.is_in_transaction:
            _hear_out(session, cursor, rows)
        raise
    if any(replaced):
        _require_whole_characters(session, request, replaced)


def _hear_out(session: SqlServerSession, cursor: Any, rows: int) -> None:
    """Raises what the server says at the end: its transaction is gone then, and nothing may be written without one."""
    with session.translated():
        while cursor.arrow_batch(rows).num_rows:
            pass


def _require_whole_characters(session: SqlServerSession, request: ReadRequest, seen: Sequence[int]) -> None:
    met = [(column, count) for column, count in zip(request.columns, seen, strict=True) if count]
    there: Any = session.query(count_replacements(request, [column for column, _ in met]))[0]
    halved = [column.name for (column, count), known in zip(met, there, strict=True) if count > known]
    if halved:
        raise ValueProblem(
            f"{request.table}: {', '.join(halved)} holds half of a character (a surrogate without its partner), which"
            " no text outside of SQL Server can.",
            "Nothing was loaded from these rows.",
            "Correct these texts, or read a view that leaves the half out (`source_table`).",
        )

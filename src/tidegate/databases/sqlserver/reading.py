"""Reading the rows of a query, batch by batch.

Facts that shape this file
 * Closing a result before its end interrupts the server, and with XACT_ABORT that ends the transaction. Statements
   after it would be committed one by one. So inside a transaction a result is read to its end.
 * The size of a row is known only after some rows were read.
 * An nvarchar can hold half of a character (an unpaired surrogate). The driver replaces it by U+FFFD, which can also be
   a real character of the text: the server is asked which it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.databases.sqlserver.rows import decoded, with_replacement
from tidegate.databases.sqlserver.statements import count_replacements
from tidegate.errors import TidegateError, ValueProblem
from tidegate.hashing.arrow import arrow_schema
from tidegate.interfaces import ReadRequest

if TYPE_CHECKING:
    from tidegate.databases.sqlserver.session import SqlServerSession

_FIRST_FETCH = 256


def batches(session: SqlServerSession, cursor: Any, request: ReadRequest) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a result. Raises NotNative, and ValueProblem for half of a character."""
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
            _read_to_end(session, cursor, rows)
        raise
    if any(replaced):
        _require_whole_characters(session, request, replaced)


def _read_to_end(session: SqlServerSession, cursor: Any, rows: int) -> None:
    """Read the rest of a result. Raises the server's error at its end: the transaction is gone then."""
    with session.translated():
        while cursor.arrow_batch(rows).num_rows:
            pass


def _require_whole_characters(session: SqlServerSession, request: ReadRequest, seen: Sequence[int]) -> None:
    suspects = [(column, count) for column, count in zip(request.columns, seen, strict=True) if count]
    real_counts: Any = session.query(count_replacements(request, [column for column, _ in suspects]))[0]
    broken = [column.name for (column, count), real in zip(suspects, real_counts, strict=True) if count > real]
    if broken:
        raise ValueProblem(
            f"{request.table}: {', '.join(broken)} holds half of a character (an unpaired surrogate), which no text"
            " outside of SQL Server can hold.",
            "Nothing was loaded from these rows.",
            "Correct these texts, or read a view without them (`source_table`).",
        )

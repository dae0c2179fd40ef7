"""Receipts of rows in a database: read and forgotten batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from tidegate.errors import NotNative, ValueProblem
from tidegate.hashing.refused_rows import row_that_does_not_fit
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.receipt import Receipt

Result = TypeVar("Result")


class Counter(Protocol):
    """Whoever counts rows on their way."""

    def add(self, rows: int) -> None: ...


def read_receipt(session: Session, request: ReadRequest, progress: Counter | None = None) -> Receipt:
    """Return count and hash of the rows. Raises NotNative for a value that its Arrow type cannot hold."""
    from tidegate.hashing.rows import ReceiptBuilder

    receipts = ReceiptBuilder()
    for batch in session.read(request):
        receipts.add(batch)
        if progress is not None:
            progress.add(batch.num_rows)
    return receipts.receipt()


def receipt_of(session: Session, request: ReadRequest, keys: Sequence[str] = ()) -> Receipt:
    """Return count and hash of the rows, with a column as text where extracting it would read it as text.

    `keys` name a row in an error."""
    row_of = partial(row_that_does_not_fit, session, request, keys)
    return with_text_where_needed(request, lambda readable: read_receipt(session, readable), row_of)


def with_text_where_needed(
    request: ReadRequest, work: Callable[[ReadRequest], Result], row_of: Callable[[str], str] = lambda name: ""
) -> Result:
    """Do the work, again with a column as canonical text when it holds a value that Arrow has no room for (NaN).

    `row_of` returns the key of the row with such a value in a column, for a message; empty where it is not known."""
    while True:
        try:
            return work(request)
        except NotNative as problem:
            if problem.column in request.text_columns:
                raise
            _require_free_type(request, problem.column, row_of)
            request = request.with_text((problem.column,))


def _require_free_type(request: ReadRequest, name: str, row_of: Callable[[str], str]) -> None:
    """Raise ValueProblem for a column whose type the configuration chose: its values are never read as text."""
    column = next((column for column in request.columns if column.name == name), None)
    if column is not None and column.type_is_chosen:
        row = row_of(name)
        raise ValueProblem(
            f"{request.table}: column {name} has a value that {column.logical_type} cannot hold exactly."
            + (f" The row: {row}." if row else ""),
            "Nothing was published, and the target keeps what it had.",
            f"Choose a larger type for {name} in `columns`, or correct the value in the source.",
        )


def answer_as_text(answer: tuple[object, ...]) -> str | None:
    """Return the answer to a question as one text: of several columns all of them."""
    if len(answer) > 1:
        return " ".join(map(str, answer))
    return None if answer[0] is None else str(answer[0])

"""Find the row that a message speaks of, by its key. Values of other columns are shown on request alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import row_name

if TYPE_CHECKING:
    import pyarrow as pa

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?")
_DATE = re.compile(r"(?!0000)\d{4}-(?!00)\d\d-(?!00)\d\d")
_CUT = "..."


def row_with(
    batches: Iterable[pa.RecordBatch], keys: Sequence[str], column: str, text: str, *, shows_values: bool = False
) -> str:
    """Return the key of the first row in which a column has this text, as a server shows it: long ones are cut.

    With `shows_values`, the value as well."""
    start = text.removesuffix(_CUT)
    is_it = start.__eq__ if start == text else lambda value: value.startswith(start)
    return _first(batches, keys, column, is_it, shows_values)


def row_with_null(batch: pa.RecordBatch, keys: Sequence[str], column: str) -> str:
    """Return the key of the first row of a batch in which a column is null; empty without a key."""
    if not keys or not set(keys) <= set(batch.schema.names):
        return ""
    position = batch.column(column).is_null().index(True).as_py()
    return _key(batch, keys, position)


def row_that_does_not_fit(session: Session, request: ReadRequest, keys: Sequence[str], name: str) -> str:
    """Return the key of the first row whose value its column's type cannot hold; empty where that is not known.

    Reads the key and this column, as text. Only called when the value was met."""
    column = next((each for each in request.columns if each.name == name), None)
    fits = _test_of(column) if column is not None else None
    if fits is None or not keys or not {*keys} <= {each.name for each in request.columns}:
        return ""
    chosen = tuple(each for each in request.columns if each.name in {*keys, name})
    narrow = replace(request, columns=chosen, text_columns=()).with_text((name,))
    return _first(session.read(narrow), keys, name, lambda value: not fits(value), request.shows_values)


def _test_of(column: Column) -> Callable[[str], bool] | None:
    """Return whether a text is a value of the column's type; None for types of which the text tells too little."""
    kind = column.logical_type
    if kind.family == "decimal" and kind.size is not None:
        digits, scale = kind.size, kind.scale
        return lambda text: _is_decimal(text, digits, scale)
    if kind.family in ("time", "clock"):
        return lambda text: _TIME.fullmatch(text) is not None
    return (lambda text: _DATE.fullmatch(text) is not None) if kind.family == "date" else None


def _is_decimal(text: str, digits: int, scale: int) -> bool:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return False
    if not value.is_finite():
        return False
    # Zeros at the end are no digits: 1.50 fits one digit behind the point.
    exponent = value.normalize().as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= scale and (not value or value.adjusted() < digits - scale)


def _first(
    batches: Iterable[pa.RecordBatch],
    keys: Sequence[str],
    column: str,
    is_it: Callable[[str], bool],
    shows_values: bool,
) -> str:
    import pyarrow as pa

    for batch in batches:
        for position, value in enumerate(batch.column(column).cast(pa.string()).to_pylist()):
            if value is not None and is_it(value):
                return _key(batch, [*keys, column] if shows_values else keys, position)
    return ""


def _key(batch: pa.RecordBatch, keys: Sequence[str], position: int) -> str:
    return row_name(batch.select(list(keys)).slice(position, 1).to_pylist()[0])

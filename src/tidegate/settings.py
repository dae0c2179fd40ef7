"""Types of settings (counts, sizes, durations, names), and the base of every group of settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from tidegate.model.names import TableName

KIB, MIB, GIB = 2**10, 2**20, 2**30
BATCH_ROWS = 10_000
BATCH_BYTES = 16 * MIB
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": KIB, "mib": MIB, "gib": GIB}

_SPANS = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86_400}


def wrong(words: str, remedy: str = "Correct the value.", unsupported: bool = False) -> PydanticCustomError:
    """Return the error of a wrong setting. `words` follow its name in the message, and must contain no secret."""
    kind = "unsupported" if unsupported else "refused"
    return PydanticCustomError(kind, "{words}", {"words": words, "remedy": remedy})


def _whole_number(value: Any) -> Any:
    # Python takes True for 1, but `batch_rows: true` is a mistake.
    if isinstance(value, bool) or not re.fullmatch(r"[+-]?[0-9][0-9_]*", str(value)):
        raise wrong("must be a whole number")
    return int(value)


def _duration(value: Any) -> Any:
    """Return seconds, from a number or from `90 seconds`, `10 minutes`, `2 hours`, `1 day`."""
    match = re.fullmatch(r"([0-9]+)\s*([a-z]*)", str(value).strip().lower())
    if isinstance(value, bool) or match is None or match[2].removesuffix("s") not in _SPANS:
        raise wrong("must be a number of seconds, or a time such as 10 minutes")
    return int(match[1]) * _SPANS[match[2].removesuffix("s")]


def _share(value: Any) -> Any:
    if isinstance(value, bool):
        raise wrong("must be a number from 0 to 1")
    return value


def _size(value: Any) -> Any:
    """Return bytes, from a number or from `16MB` (10^6), `64 MiB` (2^20)."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", str(value).strip().lower())
    if isinstance(value, bool) or match is None or match[2] not in _UNITS:
        raise wrong("must be a number of bytes, as in 16777216, 16MB or 64 MiB")
    return int(Decimal(match[1]) * _UNITS[match[2]])


def _text_of_scalar(value: Any) -> Any:
    match value:
        case bool():
            pass
        case str():
            return value
        case datetime():
            return value.isoformat(sep=" ")
        case int() | Decimal() | date():
            return str(value)
    raise wrong("must be a number, a date or a text")


def text_of_option(value: Any) -> Any:
    """Return `true` for True and a number as its text, as Spark options are written."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
    return value


def _table_name(value: Any) -> TableName:
    if isinstance(value, TableName):
        return value
    try:
        name = TableName.parse(value)
    except (TypeError, ValueError):
        raise wrong('must be a table\'s name, as in orders, sales.orders or sales."odd.name"') from None
    if not name.name or str(value).startswith('"".'):
        raise wrong("must not have an empty part")
    return name


Text = Annotated[str, Field(min_length=1)]
ScalarText = Annotated[str, BeforeValidator(_text_of_scalar)]
Count = Annotated[int, BeforeValidator(_whole_number), Field(ge=1)]
CountFromZero = Annotated[int, BeforeValidator(_whole_number), Field(ge=0)]
Size = Annotated[int, BeforeValidator(_size), Field(ge=1)]
Duration = Annotated[int, BeforeValidator(_duration), Field(ge=0)]
Share = Annotated[float, BeforeValidator(_share), Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[TableName, PlainValidator(_table_name)]
Columns = Annotated[tuple[Text, ...], Field(min_length=1)]


class Settings(BaseModel):
    """A frozen group of settings. Unknown keys are errors; a key without a value keeps its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    # Fields that the reader fills in: users may not write them.
    filled_in: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the keys that a user may write here."""
        fields = cls.model_fields.items()
        return sorted(field.alias or name for name, field in fields if name not in cls.filled_in)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        fields = {field.alias or name: field.annotation for name, field in cls.model_fields.items()}
        droppable = {name for name, kind in fields.items() if type(None) not in get_args(kind)}
        return {key: value for key, value in given.items() if value is not None or key not in droppable}

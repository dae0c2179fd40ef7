"""Types of settings (counts, sizes, durations), the base of every group of settings, and what every table has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, field_validator, model_validator
from pydantic_core import PydanticCustomError

from tidegate.model.names import TableName
from tidegate.model.types import chosen_type

KIB, MIB, GIB = 2**10, 2**20, 2**30
BATCH_ROWS = 10_000
BATCH_BYTES = 16 * MIB
SPLIT_ROWS = 500_000
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": KIB, "mib": MIB, "gib": GIB}

_SPANS = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_SHORT_SPANS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def wrong(words: str, remedy: str = "Correct the value.", unsupported: bool = False) -> PydanticCustomError:
    """Return the error of a wrong setting. `words` follow its name in the message, and must contain no secret."""
    kind = "unsupported" if unsupported else "refused"
    return PydanticCustomError(kind, "{words}", {"words": words, "remedy": remedy})


def _required(value: Any) -> Any:
    if value is None:
        raise wrong("must be a whole number or `all`")
    return value


def _whole_number(value: Any) -> Any:
    # Python takes True for 1, but `batch_rows: true` is a mistake.
    if isinstance(value, bool) or not re.fullmatch(r"[+-]?[0-9][0-9_]*", str(value)):
        raise wrong("must be a whole number")
    return int(value)


def _duration(value: Any) -> Any:
    """Return seconds, from a number or from `90 seconds`, `10 minutes`, `30m`, `2 hours`, `1 day`."""
    match = re.fullmatch(r"([0-9]+)\s*([a-z]*)", str(value).strip().lower())
    unit = match[2] if match else ""
    span = _SHORT_SPANS.get(unit) or _SPANS.get(unit.removesuffix("s"))
    if isinstance(value, bool) or match is None or span is None:
        raise wrong("must be a number of seconds, or a time such as 10 minutes")
    return int(match[1]) * span


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


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def text_of_option(value: Any) -> Any:
    """Return `true` for True and a number as its text, as Spark options are written."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
    return value


IN_LAKE = "lake:"
"""How the name of a target in the lake begins: no table of a database is meant."""


def in_lake(given: Any) -> Any:
    """Return the name by which ledger and lock know a target in the lake."""
    name = str(given)
    return given if IN_LAKE in name else TableName("", f"{IN_LAKE}{name}")


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
CountOrAll = Annotated[Count | None, BeforeValidator(lambda value: None if value == "all" else _required(value))]
"""A number, or `all`, which is None here."""
CountFromZero = Annotated[int, BeforeValidator(_whole_number), Field(ge=0)]
Size = Annotated[int, BeforeValidator(_size), Field(ge=1)]
Duration = Annotated[int, BeforeValidator(_duration), Field(ge=0)]
Share = Annotated[float, BeforeValidator(_share), Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[TableName, PlainValidator(_table_name)]
Columns = Annotated[tuple[Text, ...], Field(min_length=1)]
Names = Annotated[tuple[Text, ...], BeforeValidator(_one_or_more), Field(min_length=1)]


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


class Retain(Settings):
    """How much is kept. All, when it is left out."""

    target: Count | None = None
    """How many of the newest values the target keeps; older ones are removed by plan. Only where no row is in two
    windows, as in partition tables: elsewhere it is refused, with the reason."""
    lake: Count | None = None
    """How many of the newest entries of a table the lake keeps."""


class ColumnSettings(Settings):
    """What is chosen for one column: a type alone, `false`, or these settings."""

    copied: bool = True
    """Whether the column is copied. `columns: {secret: false}` leaves it out."""
    name: Text | None = None
    """Its name in the target, when that is another one. Settings such as `keys` use this name."""
    type: Text | None = None
    """`text` keeps the values as exact text. `decimal(19,4)` or `varchar(40)` is the type in the target: each value is
    checked, and one that does not fit is an error."""
    invalid_values: Literal["refuse", "null", "text"] | None = None
    """What happens to values that other databases do not have, such as zero dates, NaN and the error value of an enum:
    `refuse`, `null`, or `text`, which makes the column one of texts. They are counted."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        if given is False:
            return {"copied": False}
        if isinstance(given, str):
            return {"type": given}
        if isinstance(given, Mapping) and "invalid_values" in given and given["invalid_values"] is None:
            return {**given, "invalid_values": "null"}  # YAML reads the word null as nothing
        if not isinstance(given, Mapping):
            raise wrong("must be a type, `false`, or a mapping such as {name: customer}")
        return given

    @field_validator("type")
    @classmethod
    def _known_type(cls, given: str | None) -> str | None:
        if given is not None and given != "text" and chosen_type(given) is None:
            raise wrong("must be `text`, or a type such as decimal(19,4) or varchar(40)")
        return given


def _expectation(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise wrong("must be `empty`, `rows`, `same`, a value, or a comparison such as `>= 1`")
    return str(value).strip()


class Rule(Settings):
    """A rule of your own, asked with every verification: a query and what it must answer."""

    sql: Text
    """The query, in the words of the database that answers. Its first column counts."""
    expect: Annotated[str, BeforeValidator(_expectation)] = "empty"
    """What it must answer: `empty` (no row), `rows` (at least one), a value, a comparison such as `>= 1`, or `same`:
    the same answer from source and target."""
    severity: Literal["error", "warning", "note"] = "error"
    """What it means when it does not: an error ends `verify` with exit code 3."""
    side: Literal["target", "source"] = "target"
    """Who answers."""
    name: str = ""
    """What the report calls the rule."""


class CreateSettings(Settings):
    """What the source has and the target lacks, created on request: these settings, or `true` for all of them."""

    types: bool = False
    """Enums, domains and composite types; same kind of database alone. Without it, columns of an enum or a composite
    type become text, and those of a domain get the type that it is made of."""
    indexes: bool = False
    """Indexes and unique constraints."""
    foreign_keys: bool = False
    """Foreign keys, after the loads: the server checks every row. The table that they refer to must be copied too."""
    defaults: bool = False
    """Defaults of columns."""
    comments: bool = False
    """Comments of tables and columns."""

    @model_validator(mode="before")
    @classmethod
    def _all_at_once(cls, given: Any) -> Any:
        return dict.fromkeys(cls.model_fields, given) if isinstance(given, bool) else given

    @property
    def follows_loads(self) -> bool:
        """Return whether something is created once the rows are there."""
        return self.indexes or self.foreign_keys or self.defaults or self.comments


class TableSettings(Settings):
    """What every table has."""

    filled_in: ClassVar[frozenset[str]] = frozenset({"name", "decided", "shows_values"})

    name: Text
    decided: str = ""
    shows_values: bool = False
    kind: Text
    """A preset of a change and a load: `partition`, `scd2`, `static` or `incremental`. `auto`, or no kind at all, lets
    Tidegate decide from the catalog, once: ledger and lake remember what was decided."""
    changes: Text | None = None
    """How the table knows what moved, instead of the kind's own change."""
    load: Text | None = None
    """How rows are applied to the target, instead of the kind's own load."""
    check: Names | None = None
    """How `verify` compares both sides, instead of the check of the load: one name, or a list of them."""
    checks: tuple[Rule, ...] = ()
    """Rules of your own that `verify` asks: `[{sql: "SELECT id FROM sales WHERE amount < 0", expect: empty}]`."""
    source_table: Name
    """Its name in the source, when it is not the key; `schema.table` where it is outside of the default schema."""
    target_table: Name
    """Its name in the target, likewise."""
    target: Literal["database", "lake"] = "database"
    """Where the rows go: into a table of the target database, or into a table of the lake that is kept by merging
    (`lake`): for incremental tables in an Iceberg or Delta lake. The ledger and the lock stay in the database."""
    lake_table: Name | None = None
    """Its name in the lake, when it is not that of the source."""
    transform: Text | None = None
    """What becomes of each row between lake and target: a select list of Spark SQL, such as
    `* EXCEPT (name), sha2(name, 256) AS name`, or a function from DataFrame to DataFrame, such as
    `package.module:function`. It keeps the columns and the number of rows. For every table but versions."""
    on_target_change: Literal["report", "restore", "keep"] = "report"
    """What happens to rows that somebody changed or added in the target: `report`, `restore` or `keep`."""
    retain: Retain = Retain()
    """How many values target and lake keep. All, when it is left out."""
    create: CreateSettings = CreateSettings()
    """What the target gets besides the table and its key: `{types, indexes, foreign_keys, defaults, comments}`, each
    `true` or `false`, or `true` for all. The plan shows the DDL."""
    triggers: Literal["fire", "bypass", "refuse"] = "fire"
    """What happens to triggers of the target while rows are loaded. They `fire`, and a load whose rows they change is
    refused by its proof. Or they do not (`bypass`), where the database and the login allow it. Or a table that has some
    is not loaded (`refuse`)."""
    max_apply_rows: Count | None = None
    """How many rows one transaction may bring to the target. A plan that needs more is refused."""
    where: Text | None = None
    """A condition for the rows that are copied, in SQL of the source: `region = 'EU'`. It is part of the scope: other
    rows are neither copied nor compared. After a change of it `tidegate run --reload` is needed."""
    only_columns: Columns | None = None
    """The columns of the source that are copied. All, when it is left out."""
    columns: Mapping[str, ColumnSettings] = {}
    """Settings of single columns, by their names in the source: `{amount: text, price: "decimal(19,4)", secret: false,
    cust: {name: customer}}`."""
    invalid_values: Literal["refuse", "null", "text"] | None = None
    """What happens to invalid values of every column that is in no key, where `columns` says nothing else: `refuse`,
    `null` or `text`."""
    distribution: Text | None = None
    """How a new target table of Redshift lies on its nodes: `auto`, `even`, `all`, or the column of the DISTKEY."""
    sort_keys: Names | None = None
    """The SORTKEY of a new target table of Redshift, instead of the column that it is looked for by."""
    batch_rows: Count = BATCH_ROWS
    """Rows of one Arrow batch, at most."""
    batch_bytes: Size = BATCH_BYTES
    """Bytes of one Arrow batch, at most."""
    split_rows: Count = SPLIT_ROWS
    """Rows that one task reads: a window of twice as many or more is divided among several tasks."""

    @property
    def text_columns(self) -> frozenset[str]:
        """Return the columns that are kept as exact text, by their names in the target."""
        return frozenset(chosen.name or name for name, chosen in self.columns.items() if chosen.type == "text")

    @model_validator(mode="before")
    @classmethod
    def _named_like_the_key(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        key = given.get("name")
        tables = {side: given.get(side) or key for side in ("source_table", "target_table")}
        if "invalid_values" in given and given["invalid_values"] is None:
            tables["invalid_values"] = "null"  # YAML reads the word null as nothing
        if given.get("target") == "lake":
            tables["target_table"] = in_lake(tables["target_table"])
        return {**given, **tables}

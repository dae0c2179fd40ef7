"""The settings of a project, as frozen models: what may be written, what it defaults to, what is refused.

A further kind of table is a model with `kind`, added to `Table` and to `TABLE_KINDS` at the end of this file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tidegate.config.secrets import Redactor
from tidegate.model.connection import Connection, is_secret_name
from tidegate.model.names import TableName

KIB, MIB, GIB = 2**10, 2**20, 2**30
BATCH_ROWS = 10_000
BATCH_BYTES = 16 * MIB
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": KIB, "mib": MIB, "gib": GIB}

_SPANS = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86_400}


def wrong(words: str, remedy: str = "Correct the value.", unsupported: bool = False) -> PydanticCustomError:
    """What is wrong with a setting: `words` follow its name, and name no secret."""
    kind = "unsupported" if unsupported else "refused"
    return PydanticCustomError(kind, "{words}", {"words": words, "remedy": remedy})


def _whole_number(value: Any) -> Any:
    # Python counts True as 1, and YAML's `yes` is no number of rows.
    if isinstance(value, bool) or not re.fullmatch(r"[+-]?[0-9][0-9_]*", str(value)):
        raise wrong("must be a whole number")
    return int(value)


def _duration(value: Any) -> Any:
    """Seconds, from a number or from `90 seconds`, `10 minutes`, `2 hours`, `1 day`."""
    match = re.fullmatch(r"([0-9]+)\s*([a-z]*)", str(value).strip().lower())
    if isinstance(value, bool) or match is None or match[2].removesuffix("s") not in _SPANS:
        raise wrong("must be a number of seconds, or a time such as 10 minutes")
    return int(match[1]) * _SPANS[match[2].removesuffix("s")]


def _share(value: Any) -> Any:
    if isinstance(value, bool):
        raise wrong("must be a number from 0 to 1")
    return value


def _size(value: Any) -> Any:
    """Bytes, from a number or from `16MB` (10^6), `64 MiB` (2^20)."""
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


def _text_of_option(value: Any) -> Any:
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
    """Frozen; unknown keys are errors; a key without a value keeps its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    # Fields that the reader fills in, so that no user may.
    filled_in: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def setting_names(cls) -> list[str]:
        """What a user may write here."""
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


class Values(Settings):
    """Which partition values count: from and to are included; `exclude` keeps sentinels out."""

    from_: ScalarText | None = Field(default=None, alias="from")
    """The smallest value that counts, included."""
    to: ScalarText | None = None
    """The greatest value that counts, included."""
    exclude: tuple[ScalarText, ...] = ()
    """Values that do not count, such as 0, -1 or 99991231."""

    @model_validator(mode="after")
    def _in_order(self) -> Values:
        first, last = _comparable(self.from_), _comparable(self.to)
        if first and last and len(first) == len(last) and first > last:
            raise wrong(f"must go upwards: from {self.from_} to {self.to} holds nothing")
        return self


def _comparable(text: str | None) -> tuple[int, ...]:
    """Numbers, for a whole number or a date; nothing where the order is the server's."""
    if text and re.fullmatch(r"-?[0-9]+", text):
        return (int(text),)
    if text and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return tuple(map(int, text.split("-")))
    return ()


class Retain(Settings):
    """How many of the newest values are kept. None keeps all."""

    target: Count | None = None
    """How many of the newest values the target keeps; older ones are removed by plan."""
    lake: Count | None = None
    """How many of the newest values keep their file."""


class Lake(Settings):
    """A folder of Parquet files. A relative path starts at the configuration's folder."""

    format: Literal["parquet"] = "parquet"
    """Only `parquet` so far."""
    path: Path
    """A folder; a relative one starts at the folder of the configuration file."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, (str, Path)) else given

    @field_validator("format", mode="before")
    @classmethod
    def _only_parquet(cls, value: Any) -> Any:
        if isinstance(value, str) and value != "parquet":
            raise wrong(f"asks for `{value}`: only `parquet` is available so far", unsupported=True)
        return value

    @field_validator("path", mode="before")
    @classmethod
    def _local_path(cls, value: Any, seen: ValidationInfo) -> Any:
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", str(value))
        if scheme:
            raise wrong(f"starts with `{scheme[1]}:`. Only local or mounted paths so far", unsupported=True)
        if not isinstance(value, (str, Path)) or not str(value).strip():
            raise wrong("must be a path")
        return ((seen.context or {}).get("folder", Path()) / Path(value).expanduser()).absolute()


class SparkSettings(Settings):
    """Where Spark runs: a master that is started here, or a Spark Connect server that is there already."""

    master: Text | None = None
    """A Spark master; all cores of this machine when it is left out."""
    remote: Text | None = None
    """A Spark Connect server, as in `sc://host:15002`, instead of a master."""
    options: Mapping[str, Annotated[str, BeforeValidator(_text_of_option)]] = Field(default={}, repr=False)
    """Further Spark settings, by their own names."""
    from_rows: int = Field(default=2_000_000, ge=0)
    """How many rows a run must have to move before Spark is started on this machine: fewer are moved by this process
    in less time than a JVM takes to start. `0` for always; always, too, with a master, a remote or a session."""

    @model_validator(mode="after")
    def _one_of_both(self) -> SparkSettings:
        if self.remote and self.master:
            raise wrong("must have `master` or `remote`, not both")
        return self


class TableSettings(Settings):
    """What every kind of table has."""

    filled_in: ClassVar[frozenset[str]] = frozenset({"name"})

    name: Text
    source_table: Name
    """Its name in the source, when it is not the key; `schema.table` where it is outside of the default schema."""
    target_table: Name
    """Its name in the target, likewise."""
    on_target_change: Literal["report", "restore", "keep"] = "report"
    """What happens to rows that somebody changed or added in the target: `report`, `restore` or `keep`."""
    max_apply_rows: Count | None = None
    """How many rows one transaction may bring to the target. A plan that needs more is refused."""
    columns: Mapping[str, Literal["text"]] = {}
    """Columns that rest as exact text: `{amount: text}`."""
    batch_rows: Count = BATCH_ROWS
    """Rows of one Arrow batch, at most."""
    batch_bytes: Size = BATCH_BYTES
    """Bytes of one Arrow batch, at most."""

    @model_validator(mode="before")
    @classmethod
    def _named_like_the_key(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        key = given.get("name")
        tables = {side: given.get(side) or key for side in ("source_table", "target_table")}
        return {**given, **tables}


class PartitionTable(TableSettings):
    """A table that is kept in step one partition value at a time."""

    kind: Literal["partition"] = "partition"
    """The kind of table."""
    partition_column: Text
    """The column whose values are kept in step, each as a whole."""
    initial_load_count: Count = 10
    """How many of the newest values the first run takes. This sets the scope."""
    look_back: CountFromZero = 5
    """How many of the newest values are compared with the source on every run."""
    hold_back: CountFromZero = 0
    """How many of the newest values are left alone because they may still grow."""
    ready_query: Text | None = None
    """A query on the source that returns the values which are complete; others wait."""
    values: Values = Values()
    """Which values count at all; keeps sentinels out."""
    restatement: Literal["count", "hash"] = "count"
    """How a loaded value inside the look-back is compared: by `count`, or by `hash`, which reads its rows."""
    restatement_column: Text | None = None
    """A column whose greatest value moves when a value is loaded again: a load id, a time of change."""
    retain: Retain = Retain()
    """How many values target and lake keep. All, when it is left out."""
    proof: Literal["hash", "count"] = "hash"
    """How equality is proved: `hash` of every row, or `count`."""
    keys: Columns | None = None
    """Columns that name a row in findings; the primary key when it is left out."""


class StaticTable(TableSettings):
    """A small table of reference data that is compared as a whole, and moved when it changed."""

    kind: Literal["static"] = "static"
    """The kind of table."""
    primary_keys: Columns | None = None
    """What names a row. The source's primary key, or a unique key without nulls, when it is left out."""
    merge_strategy: Literal["upsert", "replace"] | None = None
    """`upsert` writes the rows that differ, `replace` the whole table; without a key it can only be replaced."""
    allow_deletes: bool = False
    """Whether `upsert` deletes what the source no longer has. `replace` always does."""
    change_detection_method: Literal["hash", "checksum"] = "hash"
    """How a change is seen: by a `hash` of every row, or by a `checksum` of the server's, cheaper and weaker."""
    hash_columns: Columns | None = None
    """Only these columns, and those of the key, tell a change. All, when it is left out."""


class Scd2Table(TableSettings):
    """A table of versions: each row says of a business key how it was from its mark on. The source keeps them, or they
    are made here of a plain source."""

    kind: Literal["scd2"] = "scd2"
    """The kind of table."""
    versions: Literal["source", "made"] = "source"
    """Where versions come from: the `source` has them, or they are `made` of what it says now."""
    business_keys: Columns | None = None
    """What names an entity. A key of the catalog, less the mark, when it is left out."""
    mark_column: Text | None = None
    """The column that tells when a version came, and grows with change: `LastModified`. Where versions are made it may
    be left out: then the whole source is compared, and a version begins when it was read."""
    flag_column: Text | None = None
    """The column that says which version holds: `IsLatest`, where there is one; `is_current`, where they are made."""
    latest_value: ScalarText = "1"
    """What the flag says of the version that holds, where it is a text: `Y` for instance."""
    superseded_value: ScalarText = "0"
    """What it says of all others, likewise."""
    flags: Literal["source", "recompute"] | None = None
    """Whose flags count: those of the `source`, or ours, by the newest mark of each key (`recompute`)."""
    start_column: Text = "start_date"
    """Where versions are made: the target's column for their start."""
    end_column: Text | None = None
    """The column for the end of a version, which is the start of the next; `end_date` where versions are made."""
    surrogate_key: Text | None = None
    """Where versions are made: a column that numbers them, which the target fills in by itself."""
    outside: tuple[Text, ...] = ()
    """Columns that the source changes in place and that make no version: no part of a version's content."""
    version_key: Columns | None = None
    """What names a version, where the source updates versions in place; the business key and the mark otherwise."""
    deletes: Literal["ignore", "close"] = "ignore"
    """What becomes of entities that left the source: nothing, or they are closed. Then all keys of the source
    are read in every run, and compared."""
    tombstone_column: Text | None = None
    """A column that says of a version that its entity is gone: such a version never holds."""
    initial_load: Literal["window", "latest+window", "full"] = "window"
    """What the first run takes: the last days, with the versions that hold whatever their age, or all."""
    initial_load_days: Count = 30
    """How many days that window has, on the source's clock."""
    look_back: Duration | None = None
    """How far before the mark reading starts: seconds, or `10 minutes`, which is the default for times."""
    batch_size: Count | None = None
    """How many rows one transaction may bring. All of a file, when it is left out."""

    @model_validator(mode="after")
    def _of_one_mind(self) -> Scd2Table:
        if self.versions == "made" and (self.flags or self.version_key):
            raise wrong("makes its own versions: leave out `flags` and `version_key`")
        return self


# A further kind is added to both; those that are coming are refused by name.
Table: TypeAlias = PartitionTable | Scd2Table | StaticTable
TABLE_KINDS: dict[str, type[Table]] = {"partition": PartitionTable, "scd2": Scd2Table, "static": StaticTable}
COMING_KINDS = ("incremental",)


class Project(Settings):
    """One source, one lake, one target, and the tables in step. `defaults` are in the tables already."""

    source: InstanceOf[Connection]
    """The database that is read, and only read."""
    lake: Lake
    """Where extracted values rest."""
    protected: tuple[Text, ...] = ()
    """Patterns of hosts and databases that must never be a target."""
    target: InstanceOf[Connection]
    """The database that is kept in step."""
    spark: SparkSettings = SparkSettings()
    """Where Spark runs."""
    batch_rows: Count = BATCH_ROWS
    """Rows of one Arrow batch, at most; also per table."""
    batch_bytes: Size = BATCH_BYTES
    """Bytes of one Arrow batch, at most; also per table."""
    max_connections: Count = 4
    """Connections that Tidegate opens to one server at a time."""
    query_timeout: Count | None = 300
    """Seconds after which a planning query gives up; `null` for none."""
    error_threshold: Share = 0.0
    """The share of tables that may fail before the run fails."""
    defaults: Mapping[str, Any] = {}
    """Settings for all tables; a table's own win."""
    tables: Annotated[Mapping[str, Table], Field(min_length=1)]
    """The tables, by name."""

    @classmethod
    def from_mapping(
        cls, settings: Mapping[str, Any], folder: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> Project:
        """Settings, defaults and errors as from a file; relative paths start at `folder`, or here."""
        # The reader knows the words for every error, and it needs the models of this file.
        from tidegate.config.reading import build_project

        return build_project(settings, folder or Path.cwd(), environ)

    def redactor(self) -> Redactor:
        """Knows every secret of this project: passwords, and Spark options with a secret's name."""
        hidden = [value for name, value in self.spark.options.items() if is_secret_name(name)]
        return Redactor.of(self.source, self.target, also=hidden)

    @field_validator("target")
    @classmethod
    def _safe_to_write(cls, target: Connection, seen: ValidationInfo) -> Connection:
        source = seen.data.get("source")
        if source and target.same_place_as(source):
            raise wrong(f"is the same database as `source`: {target.display}", "Name another target.")
        names = [*target.hosts, target.database, *(f"{host}/{target.database}" for host in target.hosts)]
        for pattern in seen.data.get("protected", ()):
            if any(fnmatchcase(name.lower(), pattern.lower()) for name in names):
                remedy = "Name another target, or take the pattern out of `protected`."
                raise wrong(f"is protected by the pattern `{pattern}`: {target.display}", remedy)
        return target

    @field_validator("tables")
    @classmethod
    def _one_writer_each(cls, tables: Mapping[str, Table]) -> Mapping[str, Table]:
        writers: dict[TableName, str] = {}
        for key, table in tables.items():
            name = table.target_table
            first = writers.setdefault(name.within(""), key)
            if first != key:
                raise wrong(f"must have one writer per target table: {first} and {key} both load {name}")
        return tables

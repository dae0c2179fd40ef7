"""The settings of a project as frozen models: which keys exist, their defaults, and which values are refused."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BeforeValidator, Field, InstanceOf, ValidationInfo, field_validator, model_validator

from tidegate import plugins
from tidegate.config.dlt import DltSettings
from tidegate.config.engine import EngineSettings, SparkSettings
from tidegate.config.logs import LogSettings
from tidegate.config.monitoring import MonitoringSettings
from tidegate.config.open_tables import OpenTables
from tidegate.config.secrets import Redactor
from tidegate.config.snapshots import SnapshotSettings
from tidegate.config.tables import ConfiguredTable
from tidegate.model.connection import Connection, canonical_host, is_secret_name
from tidegate.model.names import TableName
from tidegate.settings import BATCH_BYTES, BATCH_ROWS, Count, Settings, Share, Size, Text, text_of_option, wrong

_BUCKETS = ("s3", "s3a", "gs", "az", "abfs", "abfss")


class Lake(Settings):
    """Where extracted rows are kept, and how: a path alone, `iceberg:./lake`, or these settings."""

    format: Text = "parquet"
    """How the lake keeps its entries: `parquet`, `iceberg`, `delta`, or the name of a lake that a plug-in adds. `kind`
    means the same."""
    path: Path | str
    """A folder, where a relative one starts at the folder of the configuration file, or a prefix in object storage such
    as `s3://bucket/prefix`, `gs://bucket/prefix` or `abfss://container@account.dfs.core.windows.net/prefix`."""
    layout: Literal["organized", "schemas"] = "organized"
    """Where a Parquet lake keeps the entries of a table: in places by their values (`organized`), or below the database
    of the source and the schema of the target (`schemas`), so that several of each share one lake and never collide."""
    incremental_path: Text = "incremental"
    """The prefix of the layout `schemas`."""
    compression: Literal["zstd", "snappy", "gzip", "none"] | None = None
    """How files of a Parquet lake are compressed: `zstd` (the default), `snappy`, `gzip` or `none`."""
    store: Mapping[str, Annotated[str, BeforeValidator(text_of_option)]] = Field(default={}, repr=False)
    """Settings of the object store: `endpoint`, `region`, `path_style`, `access_key_id`, `secret_access_key`,
    `session_token`, `encryption` (`AES256`, `aws:kms`), `kms_key_id`, `ca_file`, `retries`, `timeout`, and any other
    setting of obstore by its name. Credentials that are left out come from the environment, the container or the
    machine."""

    catalog: Mapping[str, Annotated[str, BeforeValidator(text_of_option)]] = Field(default={}, repr=False)
    """Where Iceberg tables are named: an address such as `postgresql://…`, `https://…` (REST) or `sqlite:///…`, or a
    mapping with `uri` and further properties of pyiceberg's client, such as `token` or `credential`. Without it, a
    SQLite file in the warehouse, which must then be a folder."""

    @field_validator("catalog", mode="before")
    @classmethod
    def _from_address(cls, given: Any) -> Any:
        return {"uri": given} if isinstance(given, str) else given

    @property
    def secrets(self) -> list[str]:
        """Return what no message may show."""
        address = self.catalog.get("uri", "")
        known = [unquote(urlsplit(address).password or "")] if "://" in address else []
        named = [value for name, value in {**self.store, **self.catalog}.items() if is_secret_name(name)]
        return [*known, *named]

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, given: Any) -> Any:
        if isinstance(given, (str, Path)):
            return _short_form(str(given))
        if isinstance(given, Mapping) and "kind" in given and "format" not in given:
            return {"format" if key == "kind" else key: value for key, value in given.items()}
        return given

    @field_validator("format", mode="before")
    @classmethod
    def _installed_format(cls, value: Any) -> Any:
        if isinstance(value, str) and not plugins.is_installed("lakes", value):
            known = ", ".join(f"`{name}`" for name in plugins.names("lakes"))
            raise wrong(f"asks for `{value}`, which is not installed; installed: {known}", unsupported=True)
        return value

    @field_validator("incremental_path")
    @classmethod
    def _inside_of_the_lake(cls, given: str) -> str:
        levels = given.strip("/").split("/")
        if any(
            level in ("", ".", "..") or level.startswith("_") or not re.fullmatch(r"[\w.=-]+", level)
            for level in levels
        ):
            raise wrong("must be a prefix below the lake, as in incremental or exports/incremental")
        return "/".join(levels)

    @field_validator("path", mode="before")
    @classmethod
    def _local_path(cls, value: Any, seen: ValidationInfo) -> Any:
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", str(value))
        if scheme and scheme[1].lower() in _BUCKETS:
            return str(value)
        if scheme:
            known = ", ".join(f"`{name}:`" for name in _BUCKETS)
            raise wrong(f"starts with `{scheme[1]}:`. Known are local paths and {known}", unsupported=True)
        if not isinstance(value, (str, Path)) or not str(value).strip():
            raise wrong("must be a path")
        return ((seen.context or {}).get("folder", Path()) / Path(value).expanduser()).absolute()


def _short_form(text: str) -> dict[str, str]:
    """Return what `iceberg:./lake` or a path alone means. The name of a format is no scheme: no slash follows twice."""
    name, separator, path = text.partition(":")
    if separator and not path.startswith("//") and plugins.is_installed("lakes", name):
        return {"format": name, "path": path}
    return {"path": text}


class Project(Settings):
    """One source, one lake, one target, and the tables to keep in sync."""

    filled_in: ClassVar[frozenset[str]] = frozenset({"open_tables", "shows_values"})

    shows_values: bool = False
    source: InstanceOf[Connection]
    """The database that is read, and only read."""
    lake: Lake
    """Where extracted rows are kept."""
    protected: tuple[Text, ...] = ()
    """Patterns of hosts and databases that must never be a target."""
    target: InstanceOf[Connection]
    """The database that is kept in sync."""
    engine: EngineSettings = EngineSettings()
    """What moves the rows: `spark`, or `process` for threads of this process."""
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
    snapshots: SnapshotSettings | None = None
    """Snapshots of frames, for `tidegate snapshot`."""
    dlt: DltSettings | None = None
    """A destination of dlt that gets the entries of the lake, for `tidegate dlt`."""
    logging: LogSettings | None = None
    """Lines of log by the command line. None, when it is left out."""
    monitoring: MonitoringSettings = MonitoringSettings()
    """When `tidegate monitor` raises an alert, and where figures and alerts go."""
    schema_map: Mapping[str, str] = {}
    """Schemas of the target by those of the source: `{sales: public}`. Tables that name a `target_table` keep it."""
    watermark_mirrors: tuple[Literal["file", "table", "properties"], ...] = ()
    """Where a run also writes how far each table is synced, for other programs: `file` is `watermarks/{table}.json` in
    the lake, `table` a row of `tidegate.watermarks` in the target, `properties` a property of the Iceberg table. The
    ledger counts; a mirror that disagrees is a warning and is written again."""
    new_tables: Literal["report", "sync"] = "report"
    """What happens to tables that came to the source after the first run and that a pattern selects: `report` says so
    in plan and run, `sync` takes them."""
    open_tables: InstanceOf[OpenTables] | None = Field(default=None, repr=False)
    tables: Mapping[str, ConfiguredTable]
    """The tables, by name. A pattern such as `sales.*` stands for all tables that match; `false` leaves tables out."""

    @classmethod
    def from_mapping(
        cls, settings: Mapping[str, Any], folder: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> Project:
        """Return the project of these settings, read as a file is. Relative paths start at `folder`, else here."""
        # Imported late: the reader has the words of every error, and it imports the models of this file.
        from tidegate.config.reading import build_project

        return build_project(settings, folder or Path.cwd(), environ)

    def fingerprints(self, tables: Iterable[str]) -> dict[str, str]:
        """Return a short hash of the settings of each table, without those that have their defaults."""
        return {table: _fingerprint(self.tables[table]) for table in tables if table in self.tables}

    def redactor(self) -> Redactor:
        """Return a redactor of all secrets here: passwords, and Spark options whose name is that of a secret."""
        hidden = [value for name, value in self.spark.options.items() if is_secret_name(name)]
        hidden += self.lake.secrets
        hidden += [] if self.dlt is None else self.dlt.secrets
        hidden += self.monitoring.secrets
        places = [] if self.snapshots is None else [self.snapshots.database, self.snapshots.archive]
        return Redactor.of(self.source, self.target, *(place for place in places if place is not None), also=hidden)

    @field_validator("target")
    @classmethod
    def _safe_to_write(cls, target: Connection, seen: ValidationInfo) -> Connection:
        hosts = {*target.hosts, *map(canonical_host, target.hosts)}
        names = [*hosts, target.database, *(f"{host}/{target.database}" for host in hosts)]
        for pattern in seen.data.get("protected", ()):
            if any(fnmatchcase(name.lower(), pattern.lower()) for name in names):
                remedy = "Name another target, or take the pattern out of `protected`."
                raise wrong(f"is protected by the pattern `{pattern}`: {target.display}", remedy)
        return target

    @field_validator("watermark_mirrors")
    @classmethod
    def _lake_keeps_them(cls, mirrors: tuple[str, ...], seen: ValidationInfo) -> tuple[str, ...]:
        lake = seen.data.get("lake")
        if "properties" in mirrors and lake is not None and not plugins.lake(lake.format).has_table_properties:
            problem = f"asks for `properties`, and tables of a lake of the format `{lake.format}` have none"
            raise wrong(problem, "Use `lake: iceberg:...`, or `file`.", unsupported=True)
        return mirrors

    @field_validator("spark")
    @classmethod
    def _require_one_engine(cls, spark: SparkSettings, seen: ValidationInfo) -> SparkSettings:
        if seen.data.get("engine", EngineSettings()).name == "process" and (spark.master or spark.remote):
            raise wrong("has a master or a remote, which `engine: process` does not use", "Keep one of them.")
        return spark

    @field_validator("tables")
    @classmethod
    def _one_writer_each(
        cls, tables: Mapping[str, ConfiguredTable], seen: ValidationInfo
    ) -> Mapping[str, ConfiguredTable]:
        if not tables and seen.data.get("open_tables") is None:
            raise wrong("must not be empty")
        problem = two_writers(tables) or _kept_elsewhere(tables, seen.data.get("lake"))
        if problem:
            raise wrong(problem)
        source, target = seen.data.get("source"), seen.data.get("target")
        own = own_targets(tables, source, target) if source and target else ""
        if own:
            raise wrong(own, "Name another target, or load into another schema: `schema_map`, `target_table`.")
        divided = [key for key, table in tables.items() if getattr(table, "lake_partition", "identity") != "identity"]
        lake = seen.data.get("lake")
        if divided and lake is not None and not plugins.lake(lake.format).has_partition_specs:
            raise wrong(f"must not have `lake_partition` ({divided[0]}): a lake of the format `{lake.format}` has none")
        return tables


def _fingerprint(table: ConfiguredTable) -> str:
    fields = type(table).model_fields.items()
    settings = {name: getattr(table, name) for name, field in fields if getattr(table, name) != field.default}
    text = json.dumps(settings, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def own_targets(tables: Mapping[str, ConfiguredTable], source: Connection, target: Connection) -> str:
    """Return what is wrong where a table would be loaded into itself; empty where none would. Two schemas of one
    database may be source and target."""
    if not target.same_database_as(source):
        return ""
    default = plugins.database(target).default_schema
    # A name finds a table that differs in case alone.
    names = {str(table.source_table.within(default)).lower() for table in tables.values()}
    own = [key for key, table in tables.items() if str(table.target_table.within(default)).lower() in names]
    shown = ", ".join(own[:3])
    return (
        f"would load {shown} into a source; `target` is the same database as `source`: {target.display}" if own else ""
    )


def _kept_elsewhere(tables: Mapping[str, ConfiguredTable], lake: Lake | None) -> str:
    """Return what is wrong where a table is to be kept in a lake that keeps no targets; empty otherwise."""
    asking = [key for key, table in tables.items() if table.target == "lake"]
    if not asking or lake is None or plugins.lake(lake.format).keeps_targets:
        return ""
    return (
        f"must not have `target: lake` ({', '.join(asking[:3])}) with a lake of the format `{lake.format}`: use"
        " `lake: iceberg:...` or `lake: delta:...`"
    )


def two_writers(tables: Mapping[str, ConfiguredTable]) -> str:
    """Return what is wrong where two tables load the same target table; empty where none do."""
    writers: dict[TableName, str] = {}
    for key, table in tables.items():
        name = table.target_table
        first = writers.setdefault(name.within(""), key)
        if first != key:
            return f"must have one writer per target table: {first} and {key} both load {name}"
    return ""

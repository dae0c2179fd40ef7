"""The settings of a project as frozen models: which keys exist, their defaults, and which values are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, InstanceOf, ValidationInfo, field_validator, model_validator

from tidegate import plugins
from tidegate.config.secrets import Redactor
from tidegate.config.tables import TableSettings
from tidegate.model.connection import Connection, canonical_host, is_secret_name
from tidegate.model.names import TableName
from tidegate.settings import BATCH_BYTES, BATCH_ROWS, Count, Settings, Share, Size, Text, text_of_option, wrong


class Lake(Settings):
    """A folder of Parquet files. A relative path starts at the configuration's folder."""

    format: Text = "parquet"
    """How the lake keeps its entries: `parquet`, or the name of a lake that a plug-in adds."""
    path: Path
    """A folder; a relative one starts at the folder of the configuration file."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, (str, Path)) else given

    @field_validator("format", mode="before")
    @classmethod
    def _installed_format(cls, value: Any) -> Any:
        if isinstance(value, str) and not plugins.is_installed("lakes", value):
            known = ", ".join(f"`{name}`" for name in plugins.names("lakes"))
            raise wrong(f"asks for `{value}`, which is not installed; installed: {known}", unsupported=True)
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
    """Where Spark runs: a master that Tidegate starts, or a Spark Connect server that runs already."""

    master: Text | None = None
    """A Spark master; all cores of this machine when it is left out."""
    remote: Text | None = None
    """A Spark Connect server, as in `sc://host:15002`, instead of a master."""
    options: Mapping[str, Annotated[str, BeforeValidator(text_of_option)]] = Field(default={}, repr=False)
    """Further Spark settings, by their own names."""
    from_rows: int = Field(default=2_000_000, ge=0)
    """How many rows a run must have to move before Spark is started on this machine. Threads of this process move fewer
    rows in less time than a JVM takes to start, and so they move a single split of any size. `0`, a master, a remote
    or a session of your own: Spark moves all rows."""

    @model_validator(mode="after")
    def _require_one_address(self) -> Self:
        if self.remote and self.master:
            raise wrong("must have `master` or `remote`, not both")
        return self


class Project(Settings):
    """One source, one lake, one target, and the tables to keep in sync."""

    source: InstanceOf[Connection]
    """The database that is read, and only read."""
    lake: Lake
    """Where extracted rows are kept."""
    protected: tuple[Text, ...] = ()
    """Patterns of hosts and databases that must never be a target."""
    target: InstanceOf[Connection]
    """The database that is kept in sync."""
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
    tables: Annotated[Mapping[str, TableSettings], Field(min_length=1)]
    """The tables, by name."""

    @classmethod
    def from_mapping(
        cls, settings: Mapping[str, Any], folder: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> Project:
        """Return the project of these settings, read as a file is. Relative paths start at `folder`, else here."""
        # Imported late: the reader has the words of every error, and it imports the models of this file.
        from tidegate.config.reading import build_project

        return build_project(settings, folder or Path.cwd(), environ)

    def redactor(self) -> Redactor:
        """Return a redactor of all secrets here: passwords, and Spark options whose name is that of a secret."""
        hidden = [value for name, value in self.spark.options.items() if is_secret_name(name)]
        return Redactor.of(self.source, self.target, also=hidden)

    @field_validator("target")
    @classmethod
    def _safe_to_write(cls, target: Connection, seen: ValidationInfo) -> Connection:
        source = seen.data.get("source")
        if source and target.same_database_as(source):
            raise wrong(f"is the same database as `source`: {target.display}", "Name another target.")
        hosts = {*target.hosts, *map(canonical_host, target.hosts)}
        names = [*hosts, target.database, *(f"{host}/{target.database}" for host in hosts)]
        for pattern in seen.data.get("protected", ()):
            if any(fnmatchcase(name.lower(), pattern.lower()) for name in names):
                remedy = "Name another target, or take the pattern out of `protected`."
                raise wrong(f"is protected by the pattern `{pattern}`: {target.display}", remedy)
        return target

    @field_validator("tables")
    @classmethod
    def _one_writer_each(cls, tables: Mapping[str, TableSettings]) -> Mapping[str, TableSettings]:
        writers: dict[TableName, str] = {}
        for key, table in tables.items():
            name = table.target_table
            first = writers.setdefault(name.within(""), key)
            if first != key:
                raise wrong(f"must have one writer per target table: {first} and {key} both load {name}")
        return tables

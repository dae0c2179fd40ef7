"""Settings of snapshots: from `tidegate.yml`, from arguments, or from environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import InstanceOf

from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.errors import ConfigError
from tidegate.model.connection import Connection
from tidegate.settings import Columns, Count, Name, Settings, Text

DOCUMENTED_TABLE = "ORDERS_UNIFIED_SNAPSHOT"
DOCUMENTED_KEY = ("AAG ORDER NUMBER",)
DOCUMENTED_ATTRIBUTES = ("CUSTOMER NAME", "CUSTOMER STYLE")
KEEP_COUNT, RETENTION_DAYS = 2, 90
UNTOUCHED = "Nothing was read or written."


class SnapshotSettings(Settings):
    """Snapshots of frames: a table of hashes that finds changes, and an archive of the whole rows."""

    database: InstanceOf[Connection]
    """The database that has the snapshot table."""
    archive: InstanceOf[Connection] | None = None
    """The PostgreSQL database that has the archive. Without it, only the snapshot table is written."""
    table: Name
    """The snapshot table."""
    business_key: Columns
    """The columns that identify a row."""
    attributes: tuple[Text, ...] = ()
    """Further columns of the frame that the snapshot table shows to people."""
    ignore_columns: tuple[Text, ...] = ()
    """Columns whose changes do not matter: the row hash leaves them out. The archive has them."""
    keep: Count = KEEP_COUNT
    """How many snapshots of a filter the snapshot table keeps: the current one and those before it."""
    partition_by_filter: bool = False
    """A snapshot table that is created gets partitions by the hash of the filter, on PostgreSQL and MySQL: statements
    about one filter touch one partition. A table that exists stays as it is."""
    retention_days: Count = RETENTION_DAYS
    """How many days the archive keeps a snapshot."""


def snapshot_settings(
    *, database: Any = None, archive: Any = None, environ: Mapping[str, str] | None = None, **settings: Any
) -> SnapshotSettings:
    """Return settings from arguments; what is None comes from the environment.

    `archive=False` means: no archive, whatever the environment says."""
    variables = os.environ if environ is None else environ
    chosen = {name: value for name, value in settings.items() if value is not None}
    if "keep" not in chosen and variables.get("SNAPSHOT_KEEP_COUNT"):
        chosen["keep"] = variables["SNAPSHOT_KEEP_COUNT"]
    if "retention_days" not in chosen and variables.get("ARCHIVE_RETENTION_DAYS"):
        chosen["retention_days"] = variables["ARCHIVE_RETENTION_DAYS"]
    if "table" not in chosen and "business_key" not in chosen:
        chosen.setdefault("attributes", DOCUMENTED_ATTRIBUTES)
    chosen.setdefault("table", DOCUMENTED_TABLE)
    chosen.setdefault("business_key", DOCUMENTED_KEY)
    return _validated(
        database=_connection(database or variables.get("SNAPSHOT_DATABASE_URL"), variables),
        archive=None if archive is False else _archive(archive, variables),
        **chosen,
    )


def _validated(**settings: Any) -> SnapshotSettings:
    from pydantic import ValidationError

    try:
        return SnapshotSettings.model_validate(settings)
    except ValidationError as failure:
        [first, *_] = failure.errors(include_url=False, include_input=False)
        words = first.get("ctx", {}).get("words", first["msg"])
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"`{place}` of the snapshots: {words}.", UNTOUCHED, "Correct the value.") from None


def _connection(given: Any, variables: Mapping[str, str]) -> Connection:
    if isinstance(given, Connection):
        return given
    if not given:
        raise ConfigError(
            "No database for the snapshot table is named.", UNTOUCHED, "Pass its URL, or set SNAPSHOT_DATABASE_URL."
        )
    return parse_connection(str(given), Variables(variables), "database")


def _archive(given: Any, variables: Mapping[str, str]) -> Connection | None:
    """Return the archive: what is given, SNAPSHOT_ARCHIVE_URL, or KESTRA_POSTGRES_HOST and its companions."""
    if isinstance(given, Connection):
        return given
    url = given or variables.get("SNAPSHOT_ARCHIVE_URL")
    if url:
        return parse_connection(str(url), Variables(variables), "archive")
    parts = {name: variables.get(f"KESTRA_POSTGRES_{name}", "") for name in ("HOST", "PORT", "DB", "USER", "PASSWORD")}
    if not any(parts.values()):
        return None
    if parts["PORT"] and not parts["PORT"].isdigit():
        raise ConfigError("KESTRA_POSTGRES_PORT is not a number.", UNTOUCHED, "Correct the variable.")
    return Connection(
        kind="postgresql",
        host=parts["HOST"] or "localhost",
        port=int(parts["PORT"] or 5432),
        database=parts["DB"] or "kestra",
        user=parts["USER"] or "kestra",
        password=parts["PASSWORD"],
    )

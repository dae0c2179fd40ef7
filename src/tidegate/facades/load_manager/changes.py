"""Change data capture of the manager: where events come from, reading them, applying them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tidegate.api import Frames, Window
from tidegate.errors import ConfigError, MissingObject
from tidegate.facades.load_manager.settings import CDC, UNTOUCHED, names, one_of, require_known

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TYPES = ("log_based", "trigger_based", "api_based")
PIPELINE = "cdc"


class ChangeCapture:
    """The sources of events that were configured, by table. Their settings stand in INCREMENTAL_CONFIG as well."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._handed_in: dict[str, Any] = {}

    def configure(self, config: Mapping[str, Any]) -> dict[str, Any]:
        settings = _checked(config)
        table = str(settings["table"])
        keys, resync = self._require_key(settings), bool(settings.pop("resync", False))
        if "events" in settings:
            self._handed_in[table] = settings.pop("events")
        configured = {**settings, "primary_key": keys}
        if settings["cdc_type"] == "log_based":
            configured["feed_name"] = _feed_name(settings)
        self._frames.stream(PIPELINE, table).set_settings(configured)
        if settings["cdc_type"] == "log_based":
            done = self._frames.create_log(table, keys, configured["feed_name"], resync=resync)
            configured = {**configured, "statements": list(done)}
        return configured

    def _require_key(self, settings: Mapping[str, Any]) -> list[str]:
        """Return the key, as configured or as the catalog has it. A source behind an API is in no catalog."""
        schema = self._frames.table(str(settings["table"]))
        given = names(settings.get("primary_key") or ())
        if schema is None:
            if settings["cdc_type"] == "api_based" and given:
                return given
            raise MissingObject(f"There is no table {settings['table']}.", UNTOUCHED, "Check its name.")
        missing = [name for name in given if schema.column(name) is None]
        if missing or not (given or schema.primary_key):
            what = f"no column {', '.join(missing)}" if missing else "no primary key"
            raise ConfigError(f"{settings['table']} has {what}.", UNTOUCHED, "Name its key as `primary_key`.")
        return given or list(schema.primary_key)

    def read(self, config: Mapping[str, Any], after: Any) -> DataFrame:
        """Return the events after a position: handed in, of a table of events, or of CDC_EVENTS."""
        given = _checked(config)
        table = str(given["table"])
        settings = {**self._frames.stream(PIPELINE, table).settings(), **given}
        handed_in = settings.get("events", self._handed_in.get(table))
        if handed_in is not None:
            self._frames.keep_events(table, self._frames.event_rows(handed_in, after))
        if settings.get("event_table"):
            return self._of_event_table(settings, after)
        if settings["cdc_type"] == "log_based":
            keys = names(settings.get("primary_key") or self._require_key(settings))
            self._frames.keep_log_events(table, keys, _feed_name(settings))
        if settings.get("keep_days") is not None:
            oldest = datetime.now(UTC) - timedelta(days=float(settings["keep_days"]))
            self._frames.forget_events(table, oldest.isoformat(timespec="microseconds"))
        return self._frames.events(table, None if after is None else str(after))

    def _of_event_table(self, settings: Mapping[str, Any], after: Any) -> DataFrame:
        position = str(settings.get("position_column", "log_position"))
        operation = str(settings.get("operation_column", "operation"))
        found = self._frames.read(str(settings["event_table"]), Window((position,), after)).orderBy(position)
        renamed = {position: "log_position", operation: "operation"}
        return found.withColumnsRenamed({name: new for name, new in renamed.items() if name != new})

    def apply(self, target: str, given: Any, primary_key: str | Sequence[str] | None) -> Any:
        rows = self._frames.event_rows(given)
        keys, like = self._key_for(target, rows, primary_key)
        return self._frames.apply_events(target, rows, keys, like)

    def _key_for(self, target: str, rows: Any, primary_key: str | Sequence[str] | None) -> tuple[list[str], str | None]:
        """Return the key and the table whose types the events have: given, of the configured source, of the target."""
        sources = _sources(rows)
        configured = [self._frames.stream(PIPELINE, source).settings() for source in sources]
        like = sources[0] if len(sources) == 1 else None
        if primary_key:
            return names(primary_key), like
        for settings in configured:
            if settings.get("primary_key"):
                return names(settings["primary_key"]), like
        schema = self._frames.table(target)
        if schema is not None and schema.primary_key:
            return list(schema.primary_key), like
        raise ConfigError(
            f"What names a row of {target} is not known.", UNTOUCHED, "Pass `primary_key`, or configure the source."
        )


def _sources(rows: Any) -> list[str]:
    """Return the tables that events say they are of."""
    if hasattr(rows, "columns"):
        if "table_name" not in list(getattr(rows, "column_names", rows.columns)):
            return []
        if hasattr(rows, "sparkSession"):
            return [str(row[0]) for row in rows.select("table_name").distinct().collect()]
        column = rows["table_name"]
        values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        return sorted({str(value) for value in values})
    return sorted({str(row["table_name"]) for row in rows if isinstance(row, Mapping) and row.get("table_name")})


def _checked(config: Mapping[str, Any]) -> dict[str, Any]:
    require_known(config, CDC, "a source of events")
    one_of(config.get("cdc_type"), TYPES, "cdc_type")
    if not config.get("table"):
        raise ConfigError("The configuration names no table.", UNTOUCHED, "Set `table`.")
    return dict(config)


def _feed_name(settings: Mapping[str, Any]) -> str:
    """Return what slot and publication are called: a slot of its own for each table, since each is read by itself."""
    table = re.sub(r"[^a-z0-9_]+", "_", str(settings["table"]).lower())
    return str(settings.get("feed_name") or f"tidegate_events_{table}"[:60])

"""The settings of `dlt:`: where entries of the lake are delivered to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from tidegate.settings import Settings, Text


class DltSettings(Settings):
    """A destination of dlt, for `tidegate dlt`. dlt finds credentials as it always does: in the environment, as
    `DESTINATION__SNOWFLAKE__CREDENTIALS`, or in its `secrets.toml`."""

    destination: Text
    """Its name in dlt: `duckdb`, `filesystem`, `snowflake`, `bigquery`, or the path of a destination's class."""
    dataset: Text
    """The dataset: a schema of a database, a folder of files."""
    options: Mapping[str, Any] = Field(default={}, repr=False)
    """Arguments of the destination, as dlt names them: `{bucket_url: ./files}`, `{credentials: ${WAREHOUSE_URL}}`."""
    table_format: Literal["delta", "iceberg"] | None = None
    """What `filesystem` keeps its tables as. Parquet files, when it is left out."""
    dispositions: Mapping[str, Literal["replace", "append", "merge"]] = {}
    """How tables are written, by their names here, instead of the way that fits the table: `{orders: append}`."""
    pipeline: Text = "tidegate"
    """The name of the dlt pipeline. Several projects that deliver into one dataset need one name each."""
    folder: Text | None = None
    """Where dlt keeps its working files. Beside the lake if that is a folder, else where dlt has them."""

    @property
    def secrets(self) -> list[str]:
        """Return what must not be printed: every text of `options` that may hold credentials."""
        return list(_texts({name: value for name, value in self.options.items() if _may_be_secret(name)}))


def _may_be_secret(name: str) -> bool:
    return any(word in name.lower() for word in ("credential", "password", "secret", "token", "key"))


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    return [value] if isinstance(value, str) else []

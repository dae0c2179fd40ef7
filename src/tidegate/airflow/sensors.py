"""The sensor: waits until a table is fresh, in the target or in the source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from airflow.sdk import BaseSensorOperator

from tidegate.api import Tidegate
from tidegate.errors import ConfigError
from tidegate.model.health import TableHealth


class TidegateFreshSensor(BaseSensorOperator):
    """Waits until tables are fresh. Reads catalogs and the ledger; moves no row and starts no Spark.

    Args:
        config: the path of `tidegate.yml`.
        tables: names or patterns; none means all.
        value: the newest value that is waited for, as in `{{ ds_nodash }}`. Without it, a table is fresh when nothing
            is pending and no alert of it is critical or `late`.
        side: `target` waits for loaded values; `source` waits until there is something to load.
    """

    template_fields: Sequence[str] = ("config", "tables", "value")

    def __init__(
        self,
        *,
        config: str = "tidegate.yml",
        tables: Sequence[str] = (),
        value: object = None,
        side: Literal["target", "source"] = "target",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.config, self.tables, self.value, self.side = config, tables, value, side

    def poke(self, context: Any) -> bool:
        with Tidegate.from_file(Path(self.config)) as project:
            health = project.monitor(*self.tables)
        late = {alert.table for alert in health.alerts if alert.severity == "critical" or alert.condition == "late"}
        waiting = [table.table for table in health.tables if not self._is_fresh(table, late)]
        if waiting:
            self.log.info("not fresh yet: %s", ", ".join(waiting))
        return bool(health.tables) and not waiting

    def _is_fresh(self, table: TableHealth, late: set[str]) -> bool:
        if table.state == "failed" or "" in late:
            return False
        newest = table.newest_target if self.side == "target" else table.newest_source
        if self.value is not None:
            return bool(newest) and not _is_before(newest, str(self.value))
        if self.side == "source":
            return table.state == "pending"
        return table.state == "in sync" and table.table not in late


def _is_before(newest: str, wanted: str) -> bool:
    """Return whether a value comes before another: numbers by their size, dates and times by their text."""
    if newest.lstrip("-").isdigit() and wanted.lstrip("-").isdigit():
        return int(newest) < int(wanted)
    if newest.isdigit() != wanted.isdigit():
        raise ConfigError(f"{wanted!r} cannot be compared with {newest!r}, the newest value.", "Nothing was changed.")
    # 2024-08-15 is fresh where a time of that day is the newest.
    return newest[: len(wanted)] < wanted

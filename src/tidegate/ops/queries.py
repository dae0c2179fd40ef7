"""The queries with which rows are read from the source: those of the next run, and that of one strategy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate import plugins
from tidegate.config.kinds import DEFAULT_STRATEGY, DEFAULT_TIMESTAMP, STRATEGIES
from tidegate.errors import ConfigError
from tidegate.model.names import TableName
from tidegate.model.plan import Extract
from tidegate.runs.plan import planning
from tidegate.runs.run import Pipeline
from tidegate.sql.contents import select_rows
from tidegate.sql.text import Literal, Name, Sql, render, sql
from tidegate.tables.planned import PlannedTable

_FIRST_TIME = "1970-01-01 00:00:00"


def queries(pipeline: Pipeline, key: str) -> dict[str, str]:
    """Return the SELECT of each window that the next run would extract, by window. Reads no rows of them.

    Conditions are those that tasks send. Tasks also cast columns to the types that they read, and divide large windows.
    """
    with planning(pipeline) as planner:
        [planned] = planner.plan([key])
    if not isinstance(planned, PlannedTable):
        raise planned.problem
    found = {}
    for step in planned.steps(Extract):
        request = planned.table.change.extraction(planned.state, planned.plan.scope, step).request
        statement = select_rows(request.table, request.columns, request.rows)
        found[step.value.text] = pipeline.source.render(statement)
    return found


def get_incremental_query(table_config: Mapping[str, Any], watermark: object = None, database: str = "mysql") -> str:
    """Return the query that reads what came since a watermark, by the strategy of one entry of `conf/tables.yml`.

    `watermark` has `last_mysql_data_timestamp` and `last_processed_id`, as attributes or as keys. Names and values are
    quoted. A run reads a little more than that: it looks back, and waits for open transactions."""
    written = str(table_config.get("cdc_strategy") or DEFAULT_STRATEGY)
    strategy = STRATEGIES.get(written)
    if strategy is None or not table_config.get("name"):
        what = f"`cdc_strategy` is `{written}`" if strategy is None else "the entry has no `name`"
        raise ConfigError(
            f"{what}, so no query can be made.", "Nothing was read.", f"Strategies: {', '.join(STRATEGIES)}."
        )
    table = sql("SELECT * FROM {table}", table=Name.of(TableName.parse(str(table_config["name"]))))
    columns = {
        "time": str(table_config.get("cdc_timestamp_column") or DEFAULT_TIMESTAMP) if strategy.timestamp else "",
        "id": str(table_config.get("cdc_id_column") or "") if strategy.id else "",
    }
    found = _since(table, columns["time"], columns["id"], watermark)
    return render(found, plugins.database_class(database).dialect)


def _since(table: Sql, time: str, id_: str, watermark: object) -> Sql:
    last_time = Literal(str(_field_of(watermark, "last_mysql_data_timestamp") or _FIRST_TIME))
    processed = _field_of(watermark, "last_processed_id")
    last_id = Literal(processed if isinstance(processed, int) else str(processed) if processed is not None else 0)
    parts: dict[str, Any] = {
        "table": table,
        "time": Name.of(time),
        "id": Name.of(id_),
        "last_time": last_time,
        "last_id": last_id,
    }
    if time and id_:
        return sql(
            "{table} WHERE ({time} > {last_time}) OR ({time} = {last_time} AND {id} > {last_id}) ORDER BY {time}, {id}",
            **parts,
        )
    if time:
        return sql(
            "{table} WHERE {time} > {last_time} ORDER BY {time}", table=table, time=parts["time"], last_time=last_time
        )
    if id_:
        return sql("{table} WHERE {id} > {last_id} ORDER BY {id}", table=table, id=parts["id"], last_id=last_id)
    return table


def _field_of(watermark: object, name: str) -> Any:
    return watermark.get(name) if isinstance(watermark, Mapping) else getattr(watermark, name, None)

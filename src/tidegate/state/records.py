"""Read and write the rows of Tidegate's own tables. Every method joins an open transaction.

A load calls this with its session, so that watermark and metrics stand in the transaction of the rows they speak of.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidegate.interfaces.session import Session
from tidegate.model.records import Gap, LoadMetrics, Watermark, text_of, type_of, value_of
from tidegate.sql.text import First, Literal, Name, Sql, names, raw, sql
from tidegate.state.own_tables import TABLES, insert, own

PIPELINE = "tidegate"
"""The pipeline of rows that runs write. Their source is the table's name in `tidegate.yml`."""
_METRICS = tuple(TABLES["incremental_metrics"].types)
_GAPS = tuple(TABLES["data_gaps"].types)


@dataclass(frozen=True)
class Records:
    """The eight tables as one session sees them."""

    session: Session

    # Watermarks

    def watermark(self, pipeline_id: str, source_id: str, column: str | None = None) -> Watermark | None:
        """Return the watermark of one column; without a column, the one that was updated last."""
        found = self.watermarks(pipeline_id, source_id, column)
        return max(found, key=lambda watermark: watermark.updated_at, default=None)

    def watermarks(self, pipeline_id: str, source_id: str, column: str | None = None) -> list[Watermark]:
        where = {"pipeline_id": pipeline_id, "source_id": source_id}
        rows = self.session.query(
            sql(
                "SELECT watermark_column, watermark_value, value_type, strategy, updated_at, updated_by, reason,"
                " load_id FROM {watermarks} WHERE {rows}",
                watermarks=own(self.session, "watermarks"),
                rows=_equal(where if column is None else {**where, "watermark_column": column}),
            )
        )
        return [
            Watermark(
                pipeline_id,
                source_id,
                str(name),
                value_of(_text(value), str(kind)),
                str(strategy),
                str(at),
                str(by),
                _text(reason),
                _text(load),
            )
            for name, value, kind, strategy, at, by, reason, load in rows
        ]

    def set_watermark(self, watermark: Watermark) -> Watermark:
        """Replace the watermark of this column, with the server's time. Return it as it is from now on."""
        at, by = self.session.now(), watermark.updated_by or whoami()
        where = {
            "pipeline_id": watermark.pipeline_id,
            "source_id": watermark.source_id,
            "watermark_column": watermark.watermark_column,
        }
        self._delete("watermarks", where)
        row: dict[str, str | int | None] = {
            **where,
            "watermark_value": text_of(watermark.watermark_value),
            "value_type": type_of(watermark.watermark_value),
            "strategy": watermark.strategy,
            "load_id": watermark.load_id,
            "updated_at": at,
            "updated_by": by,
            "reason": watermark.reason,
        }
        self.session.execute(insert(self.session, "watermarks", row))
        return Watermark(**{**asdict(watermark), "updated_at": at, "updated_by": by})

    # Metrics

    def record_load(self, metrics: LoadMetrics) -> None:
        row = {**asdict(metrics), "finished_at": metrics.finished_at or self.session.now()}
        self.session.execute(insert(self.session, "incremental_metrics", row))

    def load(self, load_id: str) -> LoadMetrics | None:
        """Return what this load did; None when it was not committed."""
        found = self._loads({"load_id": load_id}, 1)
        return found[0] if found else None

    def loads(self, pipeline_id: str | None = None, source_id: str | None = None, last: int = 100) -> list[LoadMetrics]:
        """Return the newest loads first."""
        where = {"pipeline_id": pipeline_id, "source_id": source_id}
        return self._loads({name: value for name, value in where.items() if value is not None}, last)

    def _loads(self, where: Mapping[str, str], last: int) -> list[LoadMetrics]:
        ordered = sql(
            "SELECT {columns} FROM {metrics} WHERE {rows} ORDER BY finished_at DESC",
            columns=names(_METRICS),
            metrics=own(self.session, "incremental_metrics"),
            rows=_equal(where),
        )
        rows = self.session.query(sql("{first}", first=First(ordered, last)))
        return [LoadMetrics(**dict(zip(_METRICS, row, strict=True))) for row in rows]  # type: ignore[arg-type]

    # Gaps

    def record_gaps(
        self, pipeline_id: str, source_id: str, column: str, gaps: Mapping[str, Gap], *, is_all: bool = True
    ) -> int:
        """Add gaps that are not there yet, by their ids, and return how many that were. Where these are all gaps of
        the column, open ones that were not found again are settled."""
        where = {"pipeline_id": pipeline_id, "source_id": source_id, "watermark_column": column}
        known = {str(row["gap_id"]): str(row["status"]) for row in self.gaps(pipeline_id, source_id, column)}
        for gap_id in known.keys() - gaps.keys():
            if is_all and known[gap_id] == "open":
                self._settle(gap_id, "settled")
        for gap_id in gaps.keys() & known.keys():
            if known[gap_id] == "settled":
                self._settle(gap_id, "open")
        fresh = gaps.keys() - known.keys()
        for gap_id in sorted(fresh):
            row = {"gap_id": gap_id, **where, **asdict(gaps[gap_id]), "found_at": self.session.now()}
            self.session.execute(insert(self.session, "data_gaps", row))
        return len(fresh)

    def _settle(self, gap_id: str, status: str) -> None:
        self.session.execute(
            sql(
                "UPDATE {gaps} SET status = {status} WHERE gap_id = {gap}",
                gaps=own(self.session, "data_gaps"),
                status=Literal(status),
                gap=Literal(gap_id),
            )
        )

    def gaps(self, pipeline_id: str, source_id: str, column: str) -> list[dict[str, Any]]:
        rows = self.session.query(
            sql(
                "SELECT {columns} FROM {gaps} WHERE {rows}",
                columns=names(_GAPS),
                gaps=own(self.session, "data_gaps"),
                rows=_equal({"pipeline_id": pipeline_id, "source_id": source_id, "watermark_column": column}),
            )
        )
        return [dict(zip(_GAPS, row, strict=True)) for row in rows]

    # Settings of sources

    def settings(self, pipeline_id: str, source_id: str) -> dict[str, Any]:
        """Return the settings of a source; none when it has none."""
        rows = self.session.query(
            sql(
                "SELECT settings FROM {config} WHERE {rows}",
                config=own(self.session, "incremental_config"),
                rows=_equal({"pipeline_id": pipeline_id, "source_id": source_id}),
            )
        )
        found: dict[str, Any] = json.loads(str(rows[0][0])) if rows else {}
        return found

    def all_settings(self, pipeline_id: str) -> dict[str, dict[str, Any]]:
        """Return the settings of every source of a pipeline."""
        rows = self.session.query(
            sql(
                "SELECT source_id, settings FROM {config} WHERE {rows} ORDER BY source_id",
                config=own(self.session, "incremental_config"),
                rows=_equal({"pipeline_id": pipeline_id}),
            )
        )
        return {str(source): json.loads(str(settings)) for source, settings in rows}

    def set_settings(self, pipeline_id: str, source_id: str, settings: Mapping[str, Any]) -> None:
        where = {"pipeline_id": pipeline_id, "source_id": source_id}
        self._delete("incremental_config", where)
        row = {
            **where,
            "settings": json.dumps(dict(settings)),
            "updated_at": self.session.now(),
            "updated_by": whoami(),
        }
        self.session.execute(insert(self.session, "incremental_config", row))

    def _delete(self, table: str, where: Mapping[str, str]) -> None:
        statement = sql("DELETE FROM {table} WHERE {rows}", table=own(self.session, table), rows=_equal(where))
        self.session.execute(statement)


def _equal(where: Mapping[str, str]) -> Sql:
    conditions: Sequence[Sql] = [
        sql("{column} = {value}", column=Name.of(column), value=Literal(value)) for column, value in where.items()
    ]
    joined = raw("1 = 1")
    for number, condition in enumerate(conditions):
        joined = condition if not number else sql("{joined} AND {condition}", joined=joined, condition=condition)
    return joined


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def whoami() -> str:
    """Return the user of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

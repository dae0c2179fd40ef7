"""A shop in PostgreSQL: one table of each kind, a lake and a target. Threads of the process move its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from kit import sides
from tidegate import Tidegate
from tidegate.model.health import Snapshot

CREATE = """
CREATE TABLE sales (cob integer NOT NULL, id bigint NOT NULL, amount numeric(38,18), note text, at timestamp);
CREATE TABLE currencies (code char(3) PRIMARY KEY, name text, rate double precision, seen timestamptz);
CREATE TABLE "Orders" (id bigint PRIMARY KEY, item varchar(40), "unitPrice" numeric(12,2), raw bytea, open_from time,
  day date, updated_at timestamp);
INSERT INTO sales SELECT 20240101 + n % 3, n, n / 7.0, CASE WHEN n % 5 = 0 THEN NULL ELSE 'naïve ✓ ' || n END,
  timestamp '2024-01-01' + n * interval '1.000001 second' FROM generate_series(1, 300) AS n;
INSERT INTO currencies VALUES ('EUR', 'Euro', 1.1, '2024-01-01 00:00:00.123456+02'), ('JPY', NULL, 0.1, NULL);
INSERT INTO "Orders" SELECT n, 'tea', n * 1.25, decode('00ff', 'hex'), time '07:00:00.5', date '2024-02-29',
  timestamp '2024-01-31 10:00' + n * interval '1 second' FROM generate_series(1, 50) AS n
"""


@dataclass
class Shop:
    """`settings` are further keys of the configuration."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)

    def open(self) -> Shop:
        for statement in CREATE.split(";\n"):
            sides.do(self.source, statement)
        return self

    def configuration(self) -> dict[str, Any]:
        tables = {
            "sales": {"kind": "partition", "partition_column": "cob", "initial_load_count": "all"},
            "currencies": {"kind": "static", "allow_deletes": True},
            "Orders": {"kind": "incremental", "timestamp_column": "updated_at", "id_column": "id"},
        }
        places = {"source": self.source, "target": self.target, "lake": str(self.folder / "lake")}
        return {**places, "engine": "process", "tables": tables, **self.settings}

    def tidegate(self) -> Tidegate:
        return Tidegate(**self.configuration())

    def file(self) -> Path:
        """Write the configuration to a file for another process."""
        path = self.folder / "tidegate.yml"
        path.write_text(yaml.safe_dump(self.configuration()))
        return path

    def run(self) -> None:
        """Bring lake and target in sync."""
        self.tidegate().run()

    def in_source(self, statement: str) -> None:
        sides.do(self.source, statement)


def ago(shop: Shop, **span: float) -> None:
    """Move everything that the ledger knows of the past back by this time."""
    for run, text in sides.ask(shop.target, "SELECT run, report FROM tidegate.runs"):
        report = json.loads(text)
        report["started_at"] = (datetime.fromisoformat(report["started_at"]) - timedelta(**span)).isoformat()
        sides.do(shop.target, "UPDATE tidegate.runs SET report = %s WHERE run = %s", json.dumps(report), run)
    for table, value, generation, at in sides.ask(
        shop.target, "SELECT table_name, value_text, generation, at FROM tidegate.ledger"
    ):
        before = (datetime.fromisoformat(at) - timedelta(**span)).isoformat()
        statement = "UPDATE tidegate.ledger SET at = %s WHERE (table_name, value_text, generation) = (%s, %s, %s)"
        sides.do(shop.target, statement, before, table, value, generation)


def conditions(health: Snapshot) -> set[tuple[str, str, str]]:
    return {(alert.severity, alert.condition, alert.table) for alert in health.alerts}

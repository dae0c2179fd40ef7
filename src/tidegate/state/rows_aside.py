"""Rows that a load left out of the target, in Tidegate's own tables: late rows in quarantine, removed duplicates.

They are written in the transaction of the load, so a row is in the target or here, or in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from tidegate.interfaces.load import AsideRow
from tidegate.interfaces.session import Session
from tidegate.sql.text import IsOneOf, Literal, Name, sql
from tidegate.state import own_tables
from tidegate.state.own_tables import insert, own
from tidegate.state.records import PIPELINE

_AT_ONCE = 200
"""So many rows are looked up in one statement."""


@dataclass(frozen=True)
class Aside:
    """The rows of one table that are kept aside. Implements `RowsAside`."""

    session: Session
    source_id: str

    @property
    def is_there(self) -> bool:
        return own_tables.exist(self.session)

    def keep_late(self, rows: Iterable[AsideRow], column: str, reached: str) -> int:
        about = {
            "watermark_column": column,
            "watermark_value": reached,
            "reason": f"{column} lies below the watermark {reached}",
        }
        return self._keep("late_arriving_data", rows, about, is_named=True)

    def keep_duplicates(self, rows: Iterable[AsideRow], keys: Sequence[str], rule: str) -> int:
        return self._keep("duplicate_records", rows, {"key_columns": ", ".join(keys), "rule": rule})

    def late_hashes(self) -> frozenset[str]:
        """Return the hash of every row in quarantine."""
        rows = self.session.query(
            sql(
                "SELECT record_hash FROM {late} WHERE pipeline_id = {pipeline} AND source_id = {source}"
                " AND record_hash IS NOT NULL",
                late=own(self.session, "late_arriving_data"),
                pipeline=Literal(PIPELINE),
                source=Literal(self.source_id),
            )
        )
        return frozenset(str(row_hash) for (row_hash,) in rows)

    def _keep(self, table: str, rows: Iterable[AsideRow], about: Mapping[str, str], *, is_named: bool = False) -> int:
        now, where = self.session.now(), {"pipeline_id": PIPELINE, "source_id": self.source_id, **about}
        came = 0
        for some in _groups(rows):
            known = self._known(table, some)
            for identity, row in some.items():
                if identity in known:
                    continue
                named = {"record_key": row.key, "record_hash": row.hash} if is_named else {}
                cells = {"record_id": identity, **where, "record": row.record, **named, "found_at": now}
                self.session.execute(insert(self.session, table, cells))
                came += 1
        return came

    def _known(self, table: str, rows: Mapping[str, AsideRow]) -> set[str]:
        identities = tuple(Literal(identity) for identity in rows)
        found = self.session.query(
            sql(
                "SELECT record_id FROM {table} WHERE {is_one}",
                table=own(self.session, table),
                is_one=IsOneOf(Name.of("record_id"), identities),
            )
        )
        return {str(identity) for (identity,) in found}


def _groups(rows: Iterable[AsideRow]) -> Iterator[dict[str, AsideRow]]:
    coming = iter(rows)
    while some := {row.identity: row for row in islice(coming, _AT_ONCE)}:
        yield some

"""Prove a table of versions: every one of the scope is there as it is in the source, and the flags tell a history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.interfaces import Database, ReadRequest, Session
from tidegate.loads.scd2 import VersionLoad
from tidegate.runs.landing import with_text_where_needed
from tidegate.runs.retry import retried
from tidegate.spark.slices import Facts, Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.rows.versions import Versions

Found = tuple[str, str, str]


@dataclass(frozen=True)
class CompareVersions:
    """Reads both sides once, as hashes."""

    source: Database
    target: Database
    snapshot: str
    inside: ReadRequest
    """The source's versions of the scope, as far as they were loaded."""
    beyond: ReadRequest | None
    """Its later ones: what they supersede is not yet known to the target."""
    held: ReadRequest
    held_in_scope: ReadRequest
    form: VersionLoad
    recompute: bool
    text_columns: tuple[str, ...] = ()

    def move(self, attempt: str, progress: Progress) -> Facts:
        request = self.held.with_text(self.text_columns)
        return retried(lambda: with_text_where_needed(request, lambda seen: self._compare(seen.text_columns, progress)))

    def _compare(self, text_columns: tuple[str, ...], progress: Progress) -> Facts:
        from tidegate.rows.versions import findings, in_agreement

        def versions(session: Session, request: ReadRequest | None) -> Versions:
            return self._versions(session, request, text_columns, progress)

        with self.source.connect("prove", read_only=True) as session:
            session.use_snapshot(self.snapshot) if self.snapshot else session.export_snapshot()
            inside, beyond = versions(session, self.inside), versions(session, self.beyond)
        with self.target.connect("prove", read_only=True) as session:
            session.export_snapshot()
            held, in_scope = versions(session, self.held), versions(session, self.held_in_scope)
        flagged = self.form.flag is not None
        found: list[Found] = list(in_agreement(inside, beyond, held, in_scope))
        if flagged:
            found += findings(inside, beyond, held, recompute=self.recompute)
        sides = {"source": inside, "target": held}
        receipts = {name: {"rows": side.rows, "hash": side.receipt.hash} for name, side in sides.items()}
        return {**receipts, "findings": found, "text_columns": list(text_columns)}

    def _versions(
        self, session: Session, request: ReadRequest | None, text_columns: tuple[str, ...], progress: Progress
    ) -> Versions:
        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.versions import versions_of

        schema = arrow_schema(self.held.columns, text_columns)
        if request is None:
            return versions_of(iter(()), schema, self.form.form)

        def counted() -> Iterator[pa.RecordBatch]:
            for batch in session.read(request.with_text(text_columns)):
                progress.add(batch.num_rows)
                yield batch

        return versions_of(counted(), schema, self.form.form)

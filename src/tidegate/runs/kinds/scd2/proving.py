"""Prove a table of versions: every one of the scope is there as it is in the source, and the flags tell a history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tidegate.interfaces import Database, ReadRequest, Session
from tidegate.loads._unit import Batches
from tidegate.loads._version_load import VersionLoad
from tidegate.runs.landing import with_text_where_needed
from tidegate.runs.retry import retried
from tidegate.spark.slices import Facts
from tidegate.spark.worker import Progress, Worker

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
    floor: str | None
    """The mark that the scope begins at, where the target's marks can be compared with it."""
    form: VersionLoad
    text_columns: tuple[str, ...] = ()
    keys: ReadRequest | None = None
    """All keys of the source, where they tell what left."""
    landed: Batches | None = None
    """What names a version, of all that were ever landed."""
    besides: str = "error"
    """How grave it is that the target has more: a tester may keep what is his."""

    def move(self, worker: Worker) -> Facts:
        request = self.held.with_text(self.text_columns)
        return retried(lambda: with_text_where_needed(request, lambda seen: self._compare(seen.text_columns, worker)))

    def _compare(self, text_columns: tuple[str, ...], worker: Worker) -> Facts:
        progress = worker.progress

        def versions(session: Session, request: ReadRequest | None, *, made: bool = False) -> Versions:
            return self._versions(session, request, text_columns, progress, made=made)

        is_made = self.form.made is not None
        with worker.sessions.session(self.source, "prove", read_only=True) as session:
            session.use_snapshot(self.snapshot) if self.snapshot else session.export_snapshot()
            inside = versions(session, self.inside, made=is_made)
            beyond = versions(session, self.beyond, made=is_made)
            there = self._there(session, text_columns, progress)
        with worker.sessions.session(self.target, "prove", read_only=True) as session:
            session.export_snapshot()
            held = versions(session, self.held)
        sides = {"source": inside, "target": held}
        receipts = {name: {"rows": side.rows, "hash": side.receipt.hash} for name, side in sides.items()}
        found = list(self._found(inside, beyond, held, there, text_columns))
        return {**receipts, "findings": found, "text_columns": list(text_columns)}

    def _there(self, session: Session, text_columns: tuple[str, ...], progress: Progress) -> pa.Array | None:
        from tidegate.rows.versions import keys_in

        if self.keys is None:
            return None
        return keys_in(self._counted(session, self.keys.with_text(text_columns), progress), self.form.keys).unique()

    def _landed(self, text_columns: tuple[str, ...]) -> pa.Array | None:
        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.versions import groups_landed

        if self.landed is None:
            return None
        return groups_landed(self.landed(), arrow_schema(self.held.columns, text_columns), self.form.form)

    def _found(
        self,
        inside: Versions,
        beyond: Versions,
        held: Versions,
        there: pa.Array | None,
        text_columns: tuple[str, ...],
    ) -> Iterator[Found]:
        import pyarrow as pa

        from tidegate.rows import histories
        from tidegate.rows.versions import keys_of

        form, flagged = self.form, self.form.flag is not None
        if form.made is not None:
            seen = pa.concat_arrays([keys_of(inside), keys_of(beyond)]) if there is None else there
            yield from histories.made_in_agreement(inside, held)
            yield from histories.still_holding(held, seen, "error" if form.closes_absent else "note", flagged=flagged)
            yield from histories.history(held)
            return
        in_scope, landed = self._in_scope(held), partial(self._landed, text_columns)
        yield from histories.in_agreement(inside, beyond, held, in_scope, there, landed, self.besides)
        if there is not None:
            yield from histories.still_holding(held, there, "error", flagged=flagged)
        if flagged:
            yield from histories.findings(inside, beyond, held, recompute=form.recompute)

    def _in_scope(self, held: Versions) -> Versions:
        import numpy as np
        import pyarrow.compute as pc

        from tidegate.rows.made import place_of

        floor = place_of(self.floor, held.marks.type, self.form.mark_kind)
        if floor is None:
            return held
        return held.where(np.asarray(pc.fill_null(pc.greater_equal(held.order, floor), False)))

    def _versions(
        self,
        session: Session,
        request: ReadRequest | None,
        text_columns: tuple[str, ...],
        progress: Progress,
        *,
        made: bool,
    ) -> Versions:
        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.versions import versions_of

        schema = arrow_schema(self.held.columns, text_columns)
        batches = self._counted(session, request.with_text(text_columns), progress) if request else iter(())
        return versions_of(self._made(batches) if made else batches, schema, self.form.form)

    def _counted(self, session: Session, request: ReadRequest, progress: Progress) -> Iterator[pa.RecordBatch]:
        for batch in session.read(request):
            progress.add(batch.num_rows)
            yield batch

    def _made(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the source says now, as versions; since when does not count here."""
        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.made import validity

        assert self.form.made is not None
        schema = arrow_schema(self.form.made.columns)
        for batch in batches:
            yield validity(batch, schema, self.form.made.mark, "1970-01-01T00:00:00")

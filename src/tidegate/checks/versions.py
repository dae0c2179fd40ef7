"""Versions: every version of the scope is in the target as it is in the source, and the flags tell one history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.checks._compare import comparison_of
from tidegate.hashing.receipts import with_text_where_needed
from tidegate.history.version_task import VersionLoad, VersionTask
from tidegate.interfaces.check import Check, Sides
from tidegate.interfaces.database import Database, ReadRequest, Session
from tidegate.interfaces.load import Batches
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding
from tidegate.model.values import Value
from tidegate.model.windows import ALL_VERSIONS
from tidegate.spark.worker import Progress, Worker
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.history.versions import Versions

Found = tuple[str, str, str]


@dataclass(frozen=True)
class VersionsCompared:
    """The receipts of both sides, and what was found: check, text and severity of each finding."""

    source: Receipt
    target: Receipt
    findings: tuple[Found, ...]


class VersionsCheck(Check):
    """Compares all versions of a table at once."""

    name = "versions"

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        if not planned.state.ledger:
            return [], [Finding(planned.key, "scope", "nothing was loaded yet: there is no scope to verify")]
        return [ALL_VERSIONS], []

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> CompareVersions:
        table, scope = planned.table, planned.plan.scope
        load = table.load
        assert isinstance(load, VersionLoad)
        rows = table.change.loaded_rows(planned.state, scope)
        assert rows.newest is not None
        log = partial(sides.lake.read_log, table.lake_table, load.extracted_names, table.found.batch)
        return CompareVersions(
            source=sides.source,
            target=sides.target,
            snapshot=sides.snapshot.name,
            inside=rows.inside,
            beyond=rows.later,
            held=table.found.from_target(None),
            floor=scope.floor.text if scope.floor is not None and load.orders_target else None,
            form=replace(load.template, window=window),
            text_columns=rows.newest.text_columns,
            keys=rows.keys,
            extracted=log if load.cursor is not None else None,
            besides=_severity_of_extra(planned),
        )

    def evaluate(
        self, planned: PlannedTable, window: Value, result: VersionsCompared
    ) -> tuple[Comparison, list[Finding]]:
        comparison = comparison_of(planned, window, result.source, result.target)
        if not any(severity == "error" for _, _, severity in result.findings):
            comparison = replace(comparison, contained=True)
        findings = [
            Finding(planned.key, check, what, window.text, severity) for check, what, severity in result.findings
        ]
        return comparison, findings


def _severity_of_extra(planned: PlannedTable) -> str:
    """Return how grave it is that the target has more versions. Where lake entries were removed, such a version may
    have been extracted once and purged from the source since: nobody can tell, so it is no error."""
    if planned.table.found.settings.on_target_change == "keep":
        return "note"
    return "error" if planned.state.has_whole_log else "warning"


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
    """The cursor that the scope begins at, where the target's cursors can be compared with it."""
    form: VersionTask
    text_columns: tuple[str, ...] = ()
    keys: ReadRequest | None = None
    """All keys of the source, where they tell what left."""
    extracted: Batches | None = None
    """What names a version, of all that were ever extracted."""
    besides: str = "error"
    """How grave it is that the target has more: a tester may keep what is his."""

    def run(self, worker: Worker) -> VersionsCompared:
        request = self.held.with_text(self.text_columns)
        return with_text_where_needed(request, lambda readable: self._compare(readable.text_columns, worker))

    def _compare(self, text_columns: tuple[str, ...], worker: Worker) -> VersionsCompared:
        progress = worker.progress

        def versions(session: Session, request: ReadRequest | None, *, made: bool = False) -> Versions:
            return self._versions(session, request, text_columns, progress, made=made)

        is_generated = self.form.generated is not None
        with worker.sessions.session(self.source, "verify", read_only=True) as session:
            session.use_snapshot(self.snapshot) if self.snapshot else session.export_snapshot()
            inside = versions(session, self.inside, made=is_generated)
            beyond = versions(session, self.beyond, made=is_generated)
            there = self._there(session, text_columns, progress)
        with worker.sessions.session(self.target, "verify", read_only=True) as session:
            session.export_snapshot()
            held = versions(session, self.held)
        found = tuple(self._found(inside, beyond, held, there, text_columns))
        return VersionsCompared(inside.receipt, held.receipt, found)

    def _there(self, session: Session, text_columns: tuple[str, ...], progress: Progress) -> pa.Array | None:
        from tidegate.history.keys import hash_keys

        if self.keys is None:
            return None
        return hash_keys(self._counted(session, self.keys.with_text(text_columns), progress), self.form.keys).unique()

    def _extracted(self, text_columns: tuple[str, ...]) -> pa.Array | None:
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.keys import hash_version_keys

        if self.extracted is None:
            return None
        return hash_version_keys(
            self.extracted(), arrow_schema(self.held.columns, text_columns), self.form.scd2_columns
        )

    def _found(
        self,
        inside: Versions,
        beyond: Versions,
        held: Versions,
        there: pa.Array | None,
        text_columns: tuple[str, ...],
    ) -> Iterator[Found]:
        import pyarrow as pa

        from tidegate.history import findings as histories
        from tidegate.history.keys import business_keys

        form, flagged = self.form, self.form.flag is not None
        if form.generated is not None:
            seen = pa.concat_arrays([business_keys(inside), business_keys(beyond)]) if there is None else there
            yield from histories.compare_generated_with_source(inside, held)
            yield from histories.check_deleted_keys(
                held, seen, "error" if form.closes_absent else "note", has_flag=flagged
            )
            yield from histories.check_history(held)
            return
        in_scope, extracted = self._in_scope(held), partial(self._extracted, text_columns)
        yield from histories.compare_with_source(inside, beyond, held, in_scope, there, extracted, self.besides)
        if there is not None:
            yield from histories.check_deleted_keys(held, there, "error", has_flag=flagged)
        if flagged:
            yield from histories.check_flags(inside, beyond, held, recompute_flags=form.recompute)

    def _in_scope(self, held: Versions) -> Versions:
        import numpy as np
        import pyarrow.compute as pc

        from tidegate.history.cursors import parse_sort_value

        floor = parse_sort_value(self.floor, held.cursor_values.type, self.form.cursor_kind)
        if floor is None:
            return held
        return held.filter(np.asarray(pc.fill_null(pc.greater_equal(held.sort_values, floor), False)))

    def _versions(
        self,
        session: Session,
        request: ReadRequest | None,
        text_columns: tuple[str, ...],
        progress: Progress,
        *,
        made: bool,
    ) -> Versions:
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.versions import hash_versions

        schema = arrow_schema(self.held.columns, text_columns)
        batches = self._counted(session, request.with_text(text_columns), progress) if request else iter(())
        return hash_versions(self._made(batches) if made else batches, schema, self.form.scd2_columns)

    def _counted(self, session: Session, request: ReadRequest, progress: Progress) -> Iterator[pa.RecordBatch]:
        for batch in session.read(request):
            progress.add(batch.num_rows)
            yield batch

    def _made(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the source says now, as versions; since when does not count here."""
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.generated import add_validity_columns

        assert self.form.generated is not None
        schema = arrow_schema(self.form.generated.columns)
        for batch in batches:
            yield add_validity_columns(batch, schema, self.form.generated.cursor, "1970-01-01T00:00:00")

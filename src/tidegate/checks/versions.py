"""Versions: every version of the scope is in the target as it is in the source, and the flags tell one history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tidegate.buckets.assign import buckets_for
from tidegate.buckets.exchange import Channels, Exchange
from tidegate.checks._compare import comparison_of
from tidegate.checks._version_rows import BEYOND, HELD, INSIDE, KEYS, LOG, LogReader, VersionReader, hashes_of
from tidegate.checks._windows import was_loaded
from tidegate.errors import NotNative, TidegateError
from tidegate.history.version_task import VersionLoad, VersionTask
from tidegate.interfaces.check import Check, Sides
from tidegate.interfaces.database import Database
from tidegate.interfaces.load import Batches
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding
from tidegate.model.values import Value
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.history.finding import HistoryFinding
    from tidegate.history.versions import Versions


@dataclass(frozen=True)
class VersionsCompared:
    """The receipts of both sides, and what was found."""

    source: Receipt
    target: Receipt
    findings: tuple[HistoryFinding, ...]
    wants_log: bool = False
    """Whether the target has versions of which the log of the lake may know."""
    is_comparable: bool = True
    """Whether the version keys of the log can be compared with those of the target."""


@dataclass(frozen=True)
class VersionsFound:
    """What one bucket tells."""

    findings: tuple[HistoryFinding, ...]
    asked_for_log: bool


class VersionsCheck(Check):
    """Compares all versions of a table at once."""

    name = "versions"
    loads = ("scd2",)

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        if not was_loaded(planned):
            return [], [Finding(planned.key, "scope", "nothing was loaded yet: there is no scope to verify")]
        return [min(planned.state.source)], []  # all of it, as one

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> CompareVersions:
        table, scope = planned.table, planned.plan.scope
        load = table.load
        assert isinstance(load, VersionLoad)
        rows = table.change.loaded_rows(planned.state, scope)
        names, keys = tuple(load.extracted_names), load.template.keys
        is_divided = set(keys) <= set(names)
        log = partial(sides.lake.read_log, table.lake_table, names, table.found.batch)
        return CompareVersions(
            source=sides.source,
            target=sides.target,
            snapshot=sides.snapshot.name,
            inside=rows.inside,
            beyond=rows.later,
            held=table.found.from_target(None),
            floor=scope.floor.text if scope.floor is not None and load.orders_target else None,
            form=replace(load.template, window=window),
            text_columns=rows.newest.text_columns if rows.newest is not None else (),
            keys=rows.keys,
            extracted=log if load.cursor is not None else None,
            extracted_names=names,
            besides=_severity_of_extra(planned),
            # A version key without the business key may go from one key to another: then rows are not divided.
            buckets=buckets_for(planned.state.target.get(window), versions=True) if is_divided else 1,
        )

    def evaluate(
        self, planned: PlannedTable, window: Value, result: VersionsCompared
    ) -> tuple[Comparison, list[Finding]]:
        comparison = comparison_of(planned, window, result.source, result.target)
        if not any(found.severity == "error" for found in result.findings):
            comparison = replace(comparison, contained=True)
        findings = [
            Finding(planned.key, found.kind.check, found.text, window.text, found.severity) for found in result.findings
        ]
        return comparison, findings


def _severity_of_extra(planned: PlannedTable) -> str:
    """Return how grave it is that the target has more versions. Where lake entries were removed, such a version may
    have been extracted once and purged from the source since: nobody can tell, so it is no error."""
    if planned.table.found.settings.on_target_change == "keep":
        return "note"
    return "error" if planned.state.has_whole_log else "warning"


@dataclass(frozen=True)
class CompareVersions(Exchange):
    """Reads both sides once, as hashes, in buckets of the business key."""

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
    """The version keys that were ever extracted, and the business keys."""
    extracted_names: tuple[str, ...] = ()
    """The columns of a version key, as the lake has them."""
    besides: str = "error"
    """How grave it is that the target has more: a tester may keep what is his."""
    buckets: int = 1
    reads_log: bool = False
    """Whether the version keys that were ever extracted are read. They are asked for where the target has more."""

    @property
    def readers(self) -> list[VersionReader | LogReader]:
        sides = {INSIDE: self.inside, **({BEYOND: self.beyond} if self.beyond is not None else {})}
        columns, text = self.held.columns, self.text_columns
        readers: list[VersionReader | LogReader] = [
            VersionReader(self.source, self.snapshot, sides, self.form, columns, text, self.keys),
            VersionReader(self.target, "", {HELD: self.held}, self.form, columns, text),
        ]
        if self.reads_log and self.extracted is not None:
            by_name = {column.name: column for column in columns}
            version_key = [by_name[name] for name in self.form.scd2_columns.version_key]
            readers.append(LogReader(self.extracted, self.extracted_names, self.form.keys, version_key, text))
        return readers

    def compare(self, rows: Channels) -> VersionsFound:
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.blocks import as_versions

        schema = arrow_schema(self.held.columns, self.text_columns)
        inside, beyond, held = (
            as_versions(rows.get(channel, ()), schema, self.form.scd2_columns) for channel in (INSIDE, BEYOND, HELD)
        )
        source_keys = hashes_of(rows.get(KEYS, ())) if self.keys is not None else None
        asked: list[bool] = []

        def extracted() -> pa.Array | None:
            asked.append(True)
            return hashes_of(rows.get(LOG, ())) if self.extracted is not None else None

        found = tuple(self._found(inside, beyond, held, source_keys, extracted))
        return VersionsFound(found, bool(asked))

    def combine(self, notes: Sequence[Any], compared: Sequence[VersionsFound]) -> VersionsCompared:
        from tidegate.history.finding import add_up

        found = tuple(add_up(finding for one in compared for finding in one.findings))
        wants_log = self.extracted is not None and any(one.asked_for_log for one in compared)
        is_comparable = len(notes) < 3 or notes[2]
        return VersionsCompared(notes[0][INSIDE], notes[1][HELD], found, wants_log, is_comparable)

    def after(self, problem: TidegateError) -> CompareVersions | None:
        """A column with a value that Arrow has no room for (NaN) is read as text, on both sides."""
        if not isinstance(problem, NotNative) or problem.column in self.text_columns:
            return None
        return replace(self, text_columns=(*self.text_columns, problem.column))

    def more(self, result: VersionsCompared) -> CompareVersions | None:
        if not result.is_comparable:
            return replace(self, extracted=None)  # nobody can tell what was extracted
        return replace(self, reads_log=True) if result.wants_log and not self.reads_log else None

    def _found(
        self,
        inside: Versions,
        beyond: Versions,
        held: Versions,
        source_keys: pa.Array | None,
        extracted: Callable[[], pa.Array | None],
    ) -> Iterator[HistoryFinding]:
        import pyarrow as pa

        from tidegate.history import findings as histories
        from tidegate.history.keys import business_keys

        form, flagged = self.form, self.form.flag is not None
        if form.generated is not None:
            both = pa.concat_arrays([business_keys(inside), business_keys(beyond)])
            seen = both if source_keys is None else source_keys
            yield from histories.compare_generated_with_source(inside, held)
            severity = "error" if form.closes_absent else "note"
            yield from histories.check_deleted_keys(held, seen, severity, has_flag=flagged)
            yield from histories.check_history(held)
            return
        in_scope = self._in_scope(held)
        yield from histories.compare_with_source(inside, beyond, held, in_scope, source_keys, extracted, self.besides)
        if source_keys is not None:
            yield from histories.check_deleted_keys(held, source_keys, "error", has_flag=flagged)
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

"""Look at a table of versions: how far lake and ledger reach, and what the source has from there on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

from tidegate.changes.mark import ALL, MarkEvidence, Window, as_counted
from tidegate.errors import Unsupported
from tidegate.interfaces import Session
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.evidence import LakeFile, LedgerEntry, SourceValue
from tidegate.model.scope import ScopeCopies
from tidegate.model.values import Kind, Value
from tidegate.runs.kinds.kind import Witnesses
from tidegate.runs.kinds.scd2.table import VersionTable
from tidegate.runs.landing import receipt_of, with_keys
from tidegate.runs.tables import UNTOUCHED
from tidegate.runs.together import both
from tidegate.sql import marks, partitions
from tidegate.sql.contents import count_rows

SECONDS_OF_A_DAY = 86_400


def look(table: VersionTable, at: Witnesses, *, count_all: bool = False) -> MarkEvidence:
    known = at.ledger.entries(table.ledger_name) if at.ledger else {}
    copies = at.scope_copies(table)
    entries = {Value.of(text, Kind.TEXT): entry for text, entry in known.items()}
    of_source = _as_a_whole if table.mark is None else _by_mark
    # To count a target takes longer than all else, so lake and source are looked at meanwhile.
    seen, held = both(
        lambda: of_source(table, at.source, _at_rest(table, at, entries, copies)), lambda: _held(table, at.target)
    )
    if count_all:
        seen = _with_older(table, at.source, seen)
    return seen if held is None else replace(seen, target={ALL: held}, held=held)


def _with_older(table: VersionTable, source: Session, seen: MarkEvidence) -> MarkEvidence:
    """Return the evidence with the number of versions that are older than the scope."""
    floor = seen.scope.floor if seen.scope is not None else seen.floor
    if table.mark is None or floor is None:
        return seen
    takes_current = _takes_older(table) and table.flag is not None and not table.is_made
    current = marks.is_latest(table.flag, table.settings.latest_value) if takes_current and table.flag else None
    question = marks.count_older(table.source.name, table.mark, floor, current)
    in_source, older = source.query(question)[0]
    return replace(seen, in_source=int(str(in_source)), older=int(str(older)))


def _at_rest(
    table: VersionTable, at: Witnesses, entries: dict[Value, LedgerEntry], copies: ScopeCopies
) -> MarkEvidence:
    """What lake and ledger say, before anybody looks at the source."""
    files = _files(table, at.lake)
    # What was adopted says nothing of how far the target reaches.
    loaded = {batch: entry for batch, entry in entries.items() if entry.kind == "loaded"}
    usable = {batch: _window(table, file.window, file) for batch, file in files.items() if not file.broken}
    return MarkEvidence(
        source={ALL: SourceValue()},
        lake=files,
        target={},
        ledger=entries,
        scope=copies.known,
        scope_copies=copies,
        is_ours=bool(entries) or copies.known is not None,
        columns_id=table.columns_id,
        storage_types=table.storage_types,
        target_lacks=table.target_lacks,
        in_lake={batch: window for batch, window in usable.items() if not window.is_given},
        in_ledger={batch: _window(table, entry.newest) for batch, entry in loaded.items()},
        given={batch: window for batch, window in usable.items() if window.is_given},
        next_batch=_next_batch([batch for batch in (*entries, *files) if batch != ALL]),
        collapses=table.is_made,
    )


def _held(table: VersionTable, target: Session) -> int | None:
    return None if table.target is None else _number(target.query(count_rows(table.target_name)))


def _by_mark(table: VersionTable, source: Session, seen: MarkEvidence) -> MarkEvidence:
    clock = _clock(table, source)
    if clock is not None and table.marks_of is Kind.INTEGER:  # row versions, which a database counts for itself
        seen = as_counted(seen, clock)
    floor = _floor(table, clock)
    last = max(seen.in_lake.items(), default=None)
    low = last[1].mark.less(table.look_back) if last is not None and last[1].mark is not None else floor
    newest, settled, rows = _newest(table, source, clock, low)
    text_columns, tail = seen.lake[last[0]].text_columns if last is not None else (), ""
    # Where there are later marks no content has to be compared to know that there is news.
    if last is not None and not _is_later(newest, last[1].upto):
        receipt = receipt_of(source, table.tail(low).with_text(text_columns))
        rows, tail = receipt.rows, receipt.as_text()
        if table.reads_keys:
            tail = with_keys(tail, receipt_of(source, table.all_keys.with_text(text_columns)))
    is_first = not seen.ledger and not seen.lake
    older, takes_older = _older_that_hold(table, source, floor) if is_first else 0, _takes_older(table)
    return replace(
        seen,
        nulls=_without_mark(table, source),
        newest=newest,
        settled=settled,
        # A number knows no clock: by the greatest of them.
        seen_at=(clock or settled) if table.reads_keys else None,
        tail=tail,
        floor=floor,
        rows=rows + older if takes_older else rows,
        left_out=0 if takes_older else older,
    )


def _is_later(newest: Value | None, than: Value | None) -> bool:
    return newest is not None and than is not None and newest > than


def _as_a_whole(table: VersionTable, source: Session, seen: MarkEvidence) -> MarkEvidence:
    last = max(seen.in_lake, default=None)
    text_columns = seen.lake[last].text_columns if last is not None else ()
    receipt = receipt_of(source, table.from_source(None).with_text(text_columns))
    return replace(seen, is_whole=True, newest=ALL, settled=ALL, tail=receipt.as_text(), rows=receipt.rows)


def _files(table: VersionTable, lake: ParquetLake) -> dict[Value, LakeFile]:
    found = {Value.of(at, Kind.TEXT): one.path for at, one in lake.scd_files(table.lake_table).items()}
    files = {at: lake.footer(path, table.lake_table, table.lake_column)[2] for at, path in found.items()}
    return {at: _with_its_keys(table, lake, at, file) for at, file in files.items()}


def _with_its_keys(table: VersionTable, lake: ParquetLake, at: Value, file: LakeFile) -> LakeFile:
    """A file that was read with all keys is of no use without them."""
    told = not file.broken and _window(table, file.window).seen_at is not None
    if not told or not table.reads_keys or lake.scd_keys_path(table.lake_table, at.text).exists():
        return file
    return replace(file, broken="the file with its keys is missing")


def _window(table: VersionTable, text: str | None, file: LakeFile | None = None) -> Window:
    window = Window.from_json(text or "{}", table.marks_of)
    if file is None:
        return window
    return replace(window, tail=file.newest or "", read_at=file.read_at)


def _clock(table: VersionTable, source: Session) -> Value | None:
    question = source.database.clock(table.source_mark)
    return None if question is None else Value.of(source.query(question)[0][0], table.marks_of)


def _newest(
    table: VersionTable, source: Session, clock: Value | None, low: Value | None
) -> tuple[Value | None, Value | None, int]:
    """The greatest mark, the greatest that does not lie in the future, and how many rows there are from `low` on."""
    indexed = table.source.indexed(table.source_mark.name)
    question = marks.newest(table.source.name, table.source_mark, clock, low, indexed=indexed)
    *texts, rows = source.query(question)[0]
    newest, settled = (None if text is None else _mark(table, text) for text in texts)
    return newest, settled, int(str(rows))


def _mark(table: VersionTable, text: object) -> Value:
    try:
        return Value.of(text, table.marks_of)
    except ValueError as problem:
        raise Unsupported(
            f"{table.key}: {table.source.name} has rows whose {table.source_mark.name} cannot be a mark: {problem}.",
            UNTOUCHED,
            "Correct these rows, or name another `mark_column`.",
        ) from None


def _floor(table: VersionTable, clock: Value | None) -> Value | None:
    """Where a first run begins: so many days back on the source's clock, or nowhere: what comes late with a mark before
    all others belongs to all of them too."""
    if table.settings.initial_load == "full" or clock is None or table.mark_kind not in (Kind.DATE, Kind.TIMESTAMP):
        return None
    return clock.less(table.settings.initial_load_days * SECONDS_OF_A_DAY)


def _without_mark(table: VersionTable, source: Session) -> int:
    mark = table.source_mark
    return _number(source.query(partitions.count_nulls(table.source.name, mark))) if mark.nullable else 0


def _takes_older(table: VersionTable) -> bool:
    return table.settings.initial_load == "latest+window"


def _older_that_hold(table: VersionTable, source: Session, floor: Value | None) -> int:
    if table.flag is None or floor is None or table.is_made:
        return 0
    older = marks.older_and_latest(table.source_mark, floor, table.flag, table.settings.latest_value)
    return _number(source.query(marks.count_between(table.source.name, older)))


def _next_batch(known: list[Value]) -> Value:
    """The time now, to the second, and later than every batch that is known."""
    now = Value.of(f"{datetime.now(timezone.utc):%Y-%m-%d-%H-%M-%S}", Kind.TEXT)
    last = max(known, default=None)
    return now if last is None or now > last else Value.of(f"{last.text}-1", Kind.TEXT)


def _number(answer: list[tuple[object, ...]]) -> int:
    return int(str(answer[0][0]))

"""Render the status of a table: one line for `status`, a heading and a small table for `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.model.status import TableStatus, ValueStatus, VersionsStatus, WholeStatus

_STATE_ORDER = ("proven", "adopted", "pending", "missing", "differs", "removed", "forgotten", "out of scope")


def in_one_line(table: TableStatus) -> str:
    """Return the line of `status`, without the name and the state of the table."""
    match table:
        case VersionsStatus():
            return f"scope {table.scope}; {_loaded_versions(table)}"
        case TableStatus(values=(WholeStatus() as whole,)):
            return f"{_contents_in_one_line(whole)}; {_last_load(whole)}"
    counts = {state: sum(value.state == state for value in table.values) for state in _STATE_ORDER}
    tally = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"scope {table.scope}; newest loaded {table.newest_loaded or 'none'}; values: {tally or 'none'}"


def heading(table: TableStatus) -> str:
    """Return the first line of `explain`."""
    if table.kind == "static":
        return f"{table.table}  compared as a whole  {table.state}"
    return f"{table.table}  by {table.partition_column}  scope {table.scope}  {table.state}"


def in_lines(table: TableStatus) -> Iterator[str]:
    """Yield the lines of `explain` below its heading."""
    match table:
        case VersionsStatus():
            yield from _batches(table)
        case TableStatus(values=(WholeStatus() as whole,)):
            yield from _contents(whole)
        case _:
            yield from _values(table)


# A table of versions


def _loaded_versions(table: VersionsStatus) -> str:
    """Return how far the table is loaded: `last_modified up to 2024-08-15 is loaded, from 2 batches; ...`."""
    versions = sum(value.target_rows or 0 for value in table.values)
    is_loaded = any(batch.generation for batch in table.batches) if table.is_whole else bool(table.watermark)
    if not is_loaded:
        in_target = f"; the target holds {versions:,} {table.unit}s" if versions else ""
        in_source = "" if table.is_whole else f"; the newest cursor value of the source is {table.newest or 'none'}"
        return f"nothing is loaded yet{in_target}{in_source}"
    batches = f"{len(table.batches):,} {'batch' if len(table.batches) == 1 else 'batches'}"
    loaded_at = max((value.loaded_at for value in table.values), default="")
    content = "the whole table" if table.is_whole else f"{table.partition_column} up to {table.watermark}"
    return (
        f"{content} is loaded, from {batches}; the target holds {versions:,} {table.unit}s;"
        f" last loaded {_time(loaded_at)}"
    )


def _batches(table: VersionsStatus) -> Iterator[str]:
    yield _loaded_versions(table)
    if table.watermark and table.newest != table.watermark:
        yield f"the newest {table.partition_column} of the source is {table.newest}"
    yield from (text for text in (table.watermark_set,) if text)
    yield from (f"open: {holder}" for holder in table.held_by)
    yield from (f"read again later: {gap}" for gap in table.gaps)
    if table.batches:
        yield f"{'batch':<21} {'from':<26} {'to':<26} {table.unit + 's':>10}  {'gen':>3}  state"
    for batch in table.batches:
        rows = "no file" if batch.rows is None else f"{batch.rows:,}"
        yield f"{batch.batch:<21} {batch.after:<26} {batch.upto:<26} {rows:>10}  {batch.generation:>3}  {batch.state}"
    yield from (f"    next: {text}" for value in table.values for text in value.next)


# A table that is compared as a whole


def _contents_in_one_line(whole: WholeStatus) -> str:
    """Return `3 rows in source, lake and target, content 3f2a91c0`, or the rows of each where they differ."""
    rows = {"source": whole.source_rows, "lake": whole.lake_rows, "target": whole.target_rows}
    hashes = (whole.source_hash, whole.lake_hash, whole.target_hash)
    if len({*rows.values()}) == 1 and len({*hashes}) == 1:
        return f"{whole.source_rows:,} rows in source, lake and target, content {hashes[0][:8] or 'not read'}"
    contents = zip(rows.items(), hashes, strict=True)
    more = ", which keeps rows that the source deleted" if whole.contained else ""
    return (
        ", ".join(f"{_rows(count)} rows in {place} ({hash_[:8] or '-'})" for (place, count), hash_ in contents) + more
    )


def _last_load(whole: WholeStatus) -> str:
    return f"last loaded {_time(whole.loaded_at)}" if whole.loaded_at else "never loaded"


def _contents(whole: WholeStatus) -> Iterator[str]:
    yield f"{'':<8} {'rows':>12}  content"
    for place in ("source", "lake", "target"):
        rows, content = getattr(whole, f"{place}_rows"), getattr(whole, f"{place}_hash")
        yield f"{place:<8} {_rows(rows):>12}  {content or '-'}"
    yield f"{whole.state}; {_last_load(whole)}" + (f", as generation {whole.generation}" if whole.generation else "")
    yield from (f"    next: {text}" for text in whole.next)


# A table that has values


def _values(table: TableStatus) -> Iterator[str]:
    yield f"{'value':<24} {'source':>12} {'lake':>12} {'target':>12}  {'gen':>3}  state"
    for value in table.values:
        yield _value(value)
        yield from (f"    next: {text}" for text in value.next)


def _value(value: ValueStatus) -> str:
    source, lake, target = map(_rows, (value.source_rows, value.lake_rows, value.target_rows))
    return f"{value.value:<24} {source:>12} {lake:>12} {target:>12}  {value.generation:>3}  {value.state}"


def _rows(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _time(iso: str) -> str:
    return iso[:19].replace("T", " ")

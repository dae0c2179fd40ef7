"""The standing of a table in words: one line for `status`, a small table for `explain`, as its kind asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.model.status import TableStatus, ValueStatus, VersionsStatus, WholeStatus

_STATE_ORDER = ("proven", "adopted", "pending", "missing", "differs", "removed", "forgotten", "out of scope")


def in_one_line(table: TableStatus) -> str:
    match table:
        case VersionsStatus():
            return f"scope {table.scope}; {_reach(table)}"
        case TableStatus(values=(WholeStatus() as whole,)):
            return f"{_places(whole)}; {_loaded(whole)}"
    counts = {state: sum(value.state == state for value in table.values) for state in _STATE_ORDER}
    summed = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"scope {table.scope}; newest loaded {table.newest_loaded or 'none'}; values: {summed or 'none'}"


def heading(table: TableStatus) -> str:
    if table.kind == "static":
        return f"{table.table}  compared as a whole  {table.state}"
    return f"{table.table}  by {table.partition_column}  scope {table.scope}  {table.state}"


def in_lines(table: TableStatus) -> Iterator[str]:
    match table:
        case VersionsStatus():
            yield from _batches(table)
        case TableStatus(values=(WholeStatus() as whole,)):
            yield from _contents(whole)
        case _:
            yield from _values(table)


# A table of versions


def _reach(table: VersionsStatus) -> str:
    held = sum(value.target_rows or 0 for value in table.values)
    is_loaded = any(one.generation for one in table.batches) if table.is_whole else bool(table.reaches)
    if not is_loaded:
        before = f"; the target holds {held:,} versions" if held else ""
        reach = "" if table.is_whole else f"; the source reaches {table.newest or 'nothing'}"
        return f"nothing is loaded yet{before}{reach}"
    batches = f"{len(table.batches):,} {'batch' if len(table.batches) == 1 else 'batches'}"
    loaded = max((value.loaded_at for value in table.values), default="")
    what = "its content" if table.is_whole else f"{table.partition_column} up to {table.reaches}"
    return f"{what} is loaded, from {batches}; the target holds {held:,} versions; last loaded {_moment(loaded)}"


def _batches(table: VersionsStatus) -> Iterator[str]:
    yield _reach(table)
    if table.reaches and table.newest != table.reaches:
        yield f"the newest {table.partition_column} of the source is {table.newest}"
    if table.batches:
        yield f"{'batch':<21} {'from':<26} {'to':<26} {'versions':>10}  {'gen':>3}  state"
    for one in table.batches:
        rows = "no file" if one.rows is None else f"{one.rows:,}"
        yield f"{one.batch:<21} {one.after:<26} {one.upto:<26} {rows:>10}  {one.generation:>3}  {one.state}"
    yield from (f"    next: {text}" for value in table.values for text in value.next)


# A table that is compared as a whole


def _places(whole: WholeStatus) -> str:
    rows = {"source": whole.source_rows, "lake": whole.lake_rows, "target": whole.target_rows}
    hashes = (whole.source_hash, whole.lake_hash, whole.target_hash)
    if len({*rows.values()}) == 1 and len({*hashes}) == 1:
        return f"{whole.source_rows:,} rows in source, lake and target, content {hashes[0][:8] or 'not read'}"
    told = zip(rows.items(), hashes, strict=True)
    more = ", which holds more by rule" if whole.contained else ""
    return ", ".join(f"{_rows(count)} rows in {place} ({hash_[:8] or '-'})" for (place, count), hash_ in told) + more


def _loaded(whole: WholeStatus) -> str:
    return f"last loaded {_moment(whole.loaded_at)}" if whole.loaded_at else "never loaded"


def _contents(whole: WholeStatus) -> Iterator[str]:
    yield f"{'':<8} {'rows':>12}  content"
    for place in ("source", "lake", "target"):
        rows, content = getattr(whole, f"{place}_rows"), getattr(whole, f"{place}_hash")
        yield f"{place:<8} {_rows(rows):>12}  {content or '-'}"
    yield f"{whole.state}; {_loaded(whole)}" + (f", as generation {whole.generation}" if whole.generation else "")
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


def _moment(iso: str) -> str:
    return iso[:19].replace("T", " ")

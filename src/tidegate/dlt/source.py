"""A source of dlt, made from tables of a project: the committed entries of the lake, only those that are new.

What was delivered is in dlt's own state of the resource, which dlt keeps in the destination beside the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.api import Tidegate
from tidegate.dlt.dispositions import Way, way_of
from tidegate.dlt.rows import columns_of, schema_of, tables
from tidegate.interfaces.lake import Layout
from tidegate.runs.lake_rows import LakeRows

if TYPE_CHECKING:
    from dlt.extract import DltSource

_STRATEGIES = ("delete-insert", "upsert")


def source(project: Tidegate | str | Path, *tables: str, name: str = "tidegate") -> DltSource:
    """Return a source of dlt with one resource for each table; without tables, for all.

    `project` is a `Tidegate` or the path of its configuration file. A resource has the write disposition that fits its
    table: rows that changed are merged by their key, a restated value replaces itself, a static table is replaced.
    `resource.apply_hints(...)` chooses another one. It reads what runs have extracted: `tidegate extract` or
    `tidegate run` comes first.
    """
    import dlt

    opened = project if isinstance(project, Tidegate) else Tidegate.from_file(project)
    found = [opened.lake_rows(key) for key in opened.keys(*tables)]

    @dlt.source(name=name)
    def lake() -> Iterator[Any]:
        for rows in found:
            yield _resource(rows)

    return lake()


def _resource(rows: LakeRows) -> Any:
    import dlt

    has_key = bool(rows.keys) or rows.table.layout is not Layout.LOG
    way = way_of(rows.key, rows.table.layout, rows.keys, None if has_key else "append", _STRATEGIES)

    def read() -> Iterator[Any]:
        delivered = dlt.current.resource_state().setdefault("delivered", {})
        new = [(window, entry) for window, entry in rows.entries if delivered.get(window) != entry.hash]
        if not new:
            return
        # No row of a window that became empty could replace its rows.
        is_whole = way.is_whole or any(not entry.rows and window in delivered for window, entry in new)
        hints = Way("replace").hints if is_whole else way.hints
        parts = tables(rows, list(rows.entries) if is_whole else new, schema_of(columns_of(rows), way.keys))
        yield dlt.mark.with_hints(next(parts), dlt.mark.make_hints(**hints))
        yield from parts
        delivered.update({window: entry.hash for window, entry in new})

    return dlt.resource(read, name=rows.name, **way.hints)

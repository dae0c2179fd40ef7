"""A static table, found in both catalogs: what names a row, and by which load it is kept in step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.changes.content_hash import WHOLE
from tidegate.config.tables import StaticTable
from tidegate.errors import ConfigError, Unsupported
from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column, Shape
from tidegate.model.plan import Notice
from tidegate.model.values import Value
from tidegate.runs.tables import UNTOUCHED, Catalogs, ResolvedTable, compared, named_column, source_shape


@dataclass(frozen=True)
class WholeTable(ResolvedTable):
    settings: StaticTable
    row_key: tuple[str, ...]
    """What names a row; empty when nothing does."""
    merges: bool
    """By its key, rows that differ alone; else as a whole."""
    deletes: bool
    rewrites: bool
    """Rows that change leave the target and come again, so that values of its other unique keys may change places."""
    hashed: tuple[str, ...]
    """The columns that tell a change."""

    @property
    def hashed_columns(self) -> list[Column]:
        by_name = {column.name: column for column in self.source.columns}
        return [by_name[name] for name in self.hashed]

    @property
    def lake_column(self) -> str:
        return "static"

    @property
    def windows(self) -> str:
        return "content"

    @property
    def row_keys(self) -> tuple[str, ...]:
        return self.row_key

    @property
    def replaces_rows(self) -> bool:
        return not self.merges

    def value(self, text: object) -> Value:
        if text == WHOLE.text:
            return WHOLE
        raise ConfigError(
            f"{self.key}: a static table has no values; it is always compared as a whole.",
            UNTOUCHED,
            "`tidegate run --reload` extracts and loads it again.",
        )

    def source_request(self, value: Value) -> ReadRequest:
        return self.from_source(None)

    def target_request(self, value: Value) -> ReadRequest:
        return self.from_target(None)


def resolve(settings: StaticTable, catalogs: Catalogs) -> WholeTable:
    shape = source_shape(settings, catalogs)
    key = _key(settings, shape)
    strategy = settings.merge_strategy or ("upsert" if key else "replace")
    deletes = strategy == "replace" or settings.allow_deletes
    found = compared(settings, shape, catalogs, deletes=deletes)
    travelling = {column.name for column in found.columns}
    if strategy == "upsert" and (not key or not set(key) <= travelling):
        raise Unsupported(
            f"{settings.name}: nothing names a row of {shape.name}, so single rows cannot be updated.",
            UNTOUCHED,
            "Name `primary_keys`, or use `merge_strategy: replace`.",
        )
    referenced = found.target is not None and bool(found.target.referenced_by)
    # What others refer to must not leave and come again, not even inside of a transaction.
    merges = strategy == "upsert" or (referenced and bool(key))
    chosen = [named_column(settings, shape, name, "hash_columns").name for name in settings.hash_columns or ()]
    computed = [name for name in chosen if name not in travelling]
    if computed:
        raise Unsupported(
            f"{settings.name}: {', '.join(computed)} cannot tell a change: the target computes it, and no copy comes.",
            UNTOUCHED,
            "Leave it out of `hash_columns`.",
        )
    # Which rows there are always counts.
    hashed = tuple(dict.fromkeys((*key, *chosen))) if chosen else ()
    return WholeTable.of(
        replace(found, notices=(*found.notices, *_notices(settings, key, merges, deletes))),
        settings=settings,
        row_key=key,
        merges=merges,
        deletes=deletes,
        rewrites=found.target is not None and not referenced and _may_change_places(found.target, key, travelling),
        hashed=hashed or tuple(column.name for column in found.columns),
    )


def _key(settings: StaticTable, shape: Shape) -> tuple[str, ...]:
    """As the source spells it: configured, the primary key, or a unique key that holds no nulls."""
    if settings.primary_keys:
        return tuple(named_column(settings, shape, name, "primary_keys").name for name in settings.primary_keys)
    required = {column.name for column in shape.columns if not column.nullable}
    candidates = [key for key in (shape.primary_key, *sorted(shape.unique_keys, key=len)) if key]
    return next((key for key in candidates if key == shape.primary_key or set(key) <= required), ())


def _may_change_places(target: Shape, key: tuple[str, ...], travelling: set[str]) -> bool:
    """Whether something else than the key is unique in the target, which has nothing of its own that would be lost."""
    others = [one for one in (target.primary_key, *target.unique_keys) if not set(one) <= set(key)]
    return bool(others) and all(column.name in travelling or column.generated for column in target.columns)


def _notices(settings: StaticTable, key: tuple[str, ...], merges: bool, deletes: bool) -> list[Notice]:
    notices = []
    if not key:
        notices.append(Notice("nothing names a row: every change replaces the whole table"))
    if merges and not deletes:
        notices.append(Notice("`allow_deletes` is off: rows that leave the source stay in the target"))
    if merges and settings.merge_strategy == "replace":
        notices.append(Notice("other tables refer to it: only rows that differ are written, instead of replacing all"))
    if settings.change_detection_method == "checksum":
        notices.append(Notice("changes are seen by the server's checksum, which can miss one"))
    return notices

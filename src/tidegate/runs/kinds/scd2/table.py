"""A table of versions, found in both catalogs: what names an entity, what marks a version, what says that it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.changes.mark import ALL
from tidegate.config.project import Scd2Table
from tidegate.errors import ConfigError, Unsupported
from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column, Shape
from tidegate.model.plan import Notice
from tidegate.model.values import Kind, Value
from tidegate.runs.tables import UNTOUCHED, Catalogs, ResolvedTable, compared, named_column, source_shape
from tidegate.sql import marks
from tidegate.sql.text import Sql

USUAL_FLAG = "IsLatest"
USUAL_LOOK_BACK = 600
MARK_KINDS = (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True)
class VersionTable(ResolvedTable):
    settings: Scd2Table
    business_keys: tuple[str, ...]
    mark: Column
    kind: Kind
    flag: Column | None
    version_key: tuple[str, ...]
    outside: tuple[str, ...]

    @property
    def lake_column(self) -> str:
        return "scd"

    @property
    def windows(self) -> str:
        return self.mark.name

    @property
    def row_keys(self) -> tuple[str, ...]:
        return (*self.business_keys, self.mark.name)

    @property
    def recompute(self) -> bool:
        return self.settings.flags == "recompute"

    @property
    def look_back(self) -> int:
        """Seconds for a time; for numbers, which the server orders, the newest one alone is read again."""
        if self.settings.look_back is not None:
            return self.settings.look_back
        return USUAL_LOOK_BACK if self.kind is Kind.TIMESTAMP else 0

    def value(self, text: object) -> Value:
        """A mark, as a user writes one."""
        if text == ALL.text:
            return ALL
        try:
            return Value.of(text, self.kind)
        except ValueError as problem:
            raise ConfigError(f"{self.key}: {problem}.", UNTOUCHED, f"{self.mark.name} is {self.mark.type}.") from None

    def source_rows(self, low: Value | None, high: Value | None, *, whole_scope: bool) -> Sql:
        """Rows of these marks; of the whole scope also those that hold, where the settings take them."""
        also = None
        if whole_scope and self.settings.initial_load == "latest+window" and self.flag is not None:
            also = marks.is_latest(self.flag, self.settings.latest_value)
        return marks.between(self.mark, low, high, also)

    def source_request(self, value: Value) -> ReadRequest:
        return self.from_source(None)

    def target_request(self, value: Value) -> ReadRequest:
        return self.from_target(None)


def resolve(settings: Scd2Table, catalogs: Catalogs) -> VersionTable:
    shape = source_shape(settings, catalogs)
    mark = named_column(settings, shape, settings.mark_column, "mark_column")
    kind = catalogs.source.database.partition_kind(mark)
    if kind not in MARK_KINDS:
        raise Unsupported(
            f"{settings.name}: {mark.name} is {mark.type}, which cannot be a mark.",
            UNTOUCHED,
            "Name a column of an integer, decimal, date or timestamp type as `mark_column`.",
        )
    flag = _flag(settings, shape)
    version_key = tuple(named_column(settings, shape, name, "version_key").name for name in settings.version_key or ())
    outside = tuple(named_column(settings, shape, name, "outside").name for name in settings.outside)
    keys = _business_keys(settings, shape, mark)
    known = {mark.name, *keys, *version_key, *outside, *((flag.name,) if flag else ())}
    found = compared(settings, shape, catalogs, mark, as_they_are=known, deletes=False)
    _require_them_to_travel(settings, found, known)
    return VersionTable.of(
        replace(found, notices=(*found.notices, *_notices(settings, shape, mark, flag))),
        settings=settings,
        business_keys=keys,
        mark=mark,
        kind=kind,
        flag=flag,
        version_key=version_key,
        outside=outside,
    )


def _flag(settings: Scd2Table, shape: Shape) -> Column | None:
    if settings.flag_column is not None:
        return named_column(settings, shape, settings.flag_column, "flag_column")
    usual = shape.column(USUAL_FLAG)
    if usual is None and settings.flags is not None:
        raise ConfigError(
            f"{settings.name}: `flags: {settings.flags}` needs to know which column says that a version holds.",
            UNTOUCHED,
            "Name it as `flag_column`.",
        )
    return usual


def _business_keys(settings: Scd2Table, shape: Shape, mark: Column) -> tuple[str, ...]:
    """As the source spells them: configured, or a key of the catalog less the mark."""
    if settings.business_keys:
        return tuple(named_column(settings, shape, name, "business_keys").name for name in settings.business_keys)
    for key in (shape.primary_key, *shape.unique_keys):
        entity = tuple(name for name in key if name != mark.name)
        if entity and entity != key:
            return entity
    raise ConfigError(
        f"{settings.name}: no key of {shape.name} holds {mark.name}, so what names an entity cannot be told.",
        UNTOUCHED,
        "Name it as `business_keys`.",
    )


def _require_them_to_travel(settings: Scd2Table, found: ResolvedTable, known: set[str]) -> None:
    missing = known - {column.name for column in found.columns}
    if missing:
        raise Unsupported(
            f"{settings.name}: the target computes {', '.join(sorted(missing))}, which versions are known by.",
            UNTOUCHED,
            "Make it an ordinary column in the target, or load into another table with `target_table`.",
        )


def _notices(settings: Scd2Table, shape: Shape, mark: Column, flag: Column | None) -> list[Notice]:
    notices = []
    if flag is None:
        notices.append(Notice("no column says which version holds: versions are copied, no flags are kept"))
    if not shape.indexed(mark.name):
        notices.append(Notice(f"no index of the source starts with {mark.name}: every run scans the table"))
    if settings.initial_load == "latest+window" and flag is None:
        notices.append(Notice("`latest+window` needs a flag column: only the window is taken", severity="warning"))
    return notices

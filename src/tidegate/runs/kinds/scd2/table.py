"""A table of versions, found in both catalogs: what names an entity, what marks a version, what says that it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from tidegate.changes.mark import ALL
from tidegate.config.tables import Scd2Table
from tidegate.errors import ConfigError, DriftStop, Unsupported
from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column, Shape
from tidegate.model.plan import Notice
from tidegate.model.types import Type
from tidegate.model.values import Kind, Value
from tidegate.runs.tables import UNTOUCHED, Catalogs, FoundTable, ResolvedTable, compared, named_column, source_shape
from tidegate.sql import marks
from tidegate.sql.text import Sql

USUAL_MARK, USUAL_FLAG = "LastModified", "IsLatest"
USUAL_CURRENT, USUAL_END = "is_current", "end_date"
USUAL_LOOK_BACK = 600
MARK_KINDS = (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True)
class VersionTable(ResolvedTable):
    settings: Scd2Table
    business_keys: tuple[str, ...]
    mark: Column | None
    """The source's column that it is read by; None where the whole source is compared."""
    mark_kind: Kind | None
    start: Column
    """Where a version begins: the mark, or a column that is made here."""
    flag: Column | None
    end: Column | None
    version_key: tuple[str, ...]
    outside: tuple[str, ...]
    tombstone: str | None
    made_names: tuple[str, ...]
    """Columns of the target that are made here."""
    sorts_alike: bool
    """Whether the target's column of the mark can be asked for marks. A row version arrives as mere bytes."""

    @property
    def lake_column(self) -> str:
        return "scd"

    @property
    def windows(self) -> str:
        return self.mark.name if self.mark else "content"

    @property
    def row_keys(self) -> tuple[str, ...]:
        return (*self.business_keys, self.start.name)

    @property
    def is_made(self) -> bool:
        return bool(self.made_names)

    @property
    def recompute(self) -> bool:
        return self.is_made or self.settings.flags == "recompute"

    @property
    def look_back(self) -> int:
        """Seconds for a time; for numbers, which the server orders, the newest one alone is read again."""
        if self.settings.look_back is not None:
            return self.settings.look_back
        return USUAL_LOOK_BACK if self.mark_kind is Kind.TIMESTAMP else 0

    @property
    def wider_keys(self) -> tuple[tuple[str, ...], ...]:
        """Keys of the source, less the mark, that hold the business key and more columns."""
        keys = (tuple(name for name in key if name != self.start.name) for key in self._keys_of_source)
        return tuple(key for key in keys if set(self.business_keys) < set(key))

    @property
    def _keys_of_source(self) -> tuple[tuple[str, ...], ...]:
        return (self.source.primary_key, *self.source.unique_keys)

    @property
    def kept_columns(self) -> tuple[Column, ...]:
        """The columns that the source has."""
        return tuple(column for column in self.columns if column.name not in self.made_names)

    @property
    def made_columns(self) -> tuple[Column, ...]:
        """Start, end and flag in the target, where they are made here."""
        return tuple(column for name in self.made_names for column in self.target_columns if column.name == name)

    @property
    def reads_keys(self) -> bool:
        """Rows that left cannot be seen by their mark: all keys are read besides."""
        return self.settings.deletes == "close" and self.mark is not None

    def tail(self, low: Value | None, high: Value | None = None) -> ReadRequest:
        """Of rows from a mark on, the columns in which a change shows, also one that moves no mark forward."""
        names = [*self.business_keys, *(one.name for one in (self.mark, self.flag, self.end) if one is not None)]
        names += [self.tombstone] if self.tombstone else []
        return self.from_source(marks.between(self.source_mark, low, high)).only(list(dict.fromkeys(names)))

    @property
    def all_keys(self) -> ReadRequest:
        return self.from_source(None).only(self.business_keys)

    @property
    def extracted_columns(self) -> tuple[Column, ...]:
        return self.kept_columns

    @property
    def source_mark(self) -> Column:
        assert self.mark is not None
        return self.mark

    @property
    def marks_of(self) -> Kind:
        return self.mark_kind or Kind.TEXT

    def value(self, text: object) -> Value:
        """A mark, as a user writes one."""
        if text == ALL.text:
            return ALL
        try:
            return Value.of(text, self.marks_of)
        except ValueError as problem:
            raise ConfigError(f"{self.key}: {problem}.", UNTOUCHED, f"It is read by {self.windows}.") from None

    def from_source(self, rows: Sql | None) -> ReadRequest:
        return replace(super().from_source(rows), columns=self.kept_columns)

    def source_rows(self, low: Value | None, high: Value | None, *, whole_scope: bool) -> Sql | None:
        """Rows of these marks; of the whole scope also those that hold, where the settings take them."""
        if self.mark is None:
            return None
        also = None
        if whole_scope and self.settings.initial_load == "latest+window" and self.flag is not None and not self.is_made:
            also = marks.is_latest(self.flag, self.settings.latest_value)
        return marks.between(self.mark, low, high, also)

    def source_request(self, value: Value) -> ReadRequest:
        return self.from_source(None)

    def target_request(self, value: Value) -> ReadRequest:
        return self.from_target(None)


def resolve(settings: Scd2Table, catalogs: Catalogs) -> VersionTable:
    shape = source_shape(settings, catalogs)
    mark = _mark(settings, shape)
    kind = catalogs.source.database.partition_kind(mark) if mark is not None else None
    if mark is not None and kind not in MARK_KINDS:
        raise Unsupported(
            f"{settings.name}: {mark.name} is {mark.type}, which cannot be a mark.",
            UNTOUCHED,
            "Name a column of an integer, decimal, date or timestamp type as `mark_column`.",
        )
    keys = _business_keys(settings, shape, mark)
    named = partial(_named, settings, shape)
    version_key, outside = named("version_key"), named("outside")
    tombstone = named("tombstone_column")
    made: tuple[Column, ...] = ()
    start, flag, end = mark, _flag(settings, shape), _end(settings, shape)
    if settings.versions == "made":
        made = start, end, flag = _made(settings, mark)
        shape = _with_versions(settings, shape, made, keys, catalogs)
    assert start is not None
    for one in (flag, *map(shape.column, tombstone)):
        _require_a_truth(settings, one)
    _require_a_way_to_close(settings, flag or end)
    known = {start.name, *keys, *version_key, *outside, *tombstone, *(one.name for one in (flag, end) if one)}
    # A load looks for the versions of its keys; an index on their marks would only have to be kept.
    looked_for_by = shape.exactly(keys[0])
    found = compared(settings, shape, catalogs, looked_for_by, as_they_are=known, needed=(start,), deletes=False)
    _require_them_to_travel(settings, found, known)
    found = _with_surrogate(settings, found, catalogs)
    return VersionTable.of(
        replace(found, notices=(*found.notices, *_notices(settings, shape, mark, flag))),
        settings=settings,
        business_keys=keys,
        mark=mark,
        mark_kind=kind,
        start=start,
        flag=flag,
        end=end,
        version_key=version_key,
        outside=outside,
        tombstone=tombstone[0] if tombstone else None,
        made_names=tuple(column.name for column in made),
        sorts_alike=mark is not None and catalogs.target.database.partition_kind(found.in_target(mark)) is kind,
    )


def _named(settings: Scd2Table, shape: Shape, setting: str) -> tuple[str, ...]:
    """The columns that a setting names, as the source spells them."""
    given = getattr(settings, setting) or ()
    names = (given,) if isinstance(given, str) else given
    return tuple(named_column(settings, shape, name, setting).name for name in names)


def _mark(settings: Scd2Table, shape: Shape) -> Column | None:
    if settings.versions == "made" and settings.mark_column is None:
        return None
    return named_column(settings, shape, settings.mark_column or USUAL_MARK, "mark_column")


def _flag(settings: Scd2Table, shape: Shape) -> Column | None:
    if settings.versions == "made":
        return None
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


def _require_a_truth(settings: Scd2Table, column: Column | None) -> None:
    """Which text means yes is in no catalog; times and bytes mean neither yes nor no."""
    if column is None:
        return
    said = {"latest_value", "superseded_value"} <= settings.model_fields_set
    if column.holds.rests_as in ("string", "text") and not said:
        raise ConfigError(
            f"{settings.name}: {column.name} is {column.type}, and which text says yes is not known.",
            UNTOUCHED,
            "Name both as `latest_value` and `superseded_value`: Y and N, for instance.",
        )
    if column.holds.rests_as in ("date", "time", "timestamp", "timestamptz", "binary"):
        raise Unsupported(
            f"{settings.name}: {column.name} is {column.type}, which says neither yes nor no.",
            UNTOUCHED,
            "Name a column of a truth, a number (1 and 0) or a text.",
        )


def _require_a_way_to_close(settings: Scd2Table, tells: Column | None) -> None:
    if settings.deletes == "close" and tells is None:
        raise ConfigError(
            f"{settings.name}: `deletes: close` needs a column that says whether a version holds, or where it ends.",
            UNTOUCHED,
            "Name it as `flag_column` or `end_column`.",
        )


def _end(settings: Scd2Table, shape: Shape) -> Column | None:
    if settings.end_column is None or settings.versions == "made":
        return None
    return named_column(settings, shape, settings.end_column, "end_column")


def _business_keys(settings: Scd2Table, shape: Shape, mark: Column | None) -> tuple[str, ...]:
    """As the source spells them: configured, or a key of the catalog, of versions less the mark."""
    if settings.business_keys:
        return _named(settings, shape, "business_keys")
    for key in (shape.primary_key, *shape.unique_keys):
        if settings.versions == "made" and key:
            return key
        entity = tuple(name for name in key if mark is None or name != mark.name)
        if entity and entity != key:
            return entity
    why = f"no key of {shape.name} holds {mark.name}" if mark is not None else f"{shape.name} has no key"
    raise ConfigError(
        f"{settings.name}: {why}, so what names an entity cannot be told.", UNTOUCHED, "Name it as `business_keys`."
    )


# Versions that are made here


def _made(settings: Scd2Table, mark: Column | None) -> tuple[Column, Column, Column]:
    """Start, end and flag. A start is of the mark's type, else a time in UTC."""
    moment = Type("timestamp", 6)
    begin = mark or Column("", str(moment), moment.rests_as, holds=moment)
    begin = replace(begin, identity=False, generated=False, has_default=False)
    truth = Type("bool")
    return (
        replace(begin, name=settings.start_column, nullable=False),
        replace(begin, name=settings.end_column or USUAL_END, nullable=True),
        Column(settings.flag_column or USUAL_CURRENT, str(truth), truth.rests_as, nullable=False, holds=truth),
    )


def _with_versions(
    settings: Scd2Table, shape: Shape, made: tuple[Column, ...], keys: tuple[str, ...], catalogs: Catalogs
) -> Shape:
    """The source as if it had versions. A target that is there must have the columns for them: none is added."""
    target = catalogs.targets.get(settings.target_table.within(catalogs.target.database.default_schema))
    missing = [] if target is None else [one.name for one in made if target.exactly(one.name) is None]
    taken = [one.name for one in made if shape.column(one.name) is not None]
    if missing or taken:
        what = f"the target has no column {', '.join(missing)}" if missing else f"the source has {', '.join(taken)}"
        raise DriftStop(
            f"{settings.name}: {what}, which versions are made with.",
            UNTOUCHED,
            "Name other columns as `start_column`, `end_column` and `flag_column`, or add them to the target.",
        )
    return replace(
        shape, columns=(*shape.columns, *made), primary_key=(*keys, made[0].name), unique_keys=(), indexes=()
    )


def _with_surrogate(settings: Scd2Table, found: FoundTable, catalogs: Catalogs) -> FoundTable:
    """A table that is created here numbers its versions, where that is asked for."""
    change = found.schema_change
    if settings.surrogate_key is None or found.target is not None or change is None:
        return found
    database = catalogs.target.database
    numbered = database.text_of(database.add_surrogate(found.target_name, settings.surrogate_key))
    return replace(found, schema_change=replace(change, statements=(*change.statements, numbered)))


def _require_them_to_travel(settings: Scd2Table, found: FoundTable, known: set[str]) -> None:
    missing = known - {column.name for column in found.columns}
    if missing:
        raise Unsupported(
            f"{settings.name}: the target computes {', '.join(sorted(missing))}, which versions are known by.",
            UNTOUCHED,
            "Make it an ordinary column in the target, or load into another table with `target_table`.",
        )


def _notices(settings: Scd2Table, shape: Shape, mark: Column | None, flag: Column | None) -> list[Notice]:
    notices = []
    if flag is None:
        notices.append(Notice("no column says which version holds: versions are copied, no flags are kept"))
    if mark is not None and settings.versions == "source" and not shape.indexed(mark.name):
        notices.append(Notice(f"no index of the source starts with {mark.name}: every run scans the table"))
    if settings.initial_load == "latest+window" and flag is None:
        notices.append(Notice("`latest+window` needs a flag column: only the window is taken", severity="warning"))
    return notices

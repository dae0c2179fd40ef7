"""Native partitions: how a server itself partitions a table, in words of no database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from tidegate.model.names import TableName
from tidegate.model.values import Value, ValueKind


@dataclass(frozen=True)
class NativePartition:
    """One partition of a table. Partitions without a lower bound may hold nulls."""

    number: int
    """Its position, from 1 on, in the server's order."""
    name: str
    """What the server calls it: the name of a table (PostgreSQL), of a partition (MySQL), or its number."""
    low: Value | None = None
    """Where its range begins; None for no bound."""
    high: Value | None = None
    """Where its range ends; None for no bound."""
    values: tuple[Value | None, ...] = ()
    """The values of a partition of a list; None stands for null."""
    is_default: bool = False
    """It takes what no other partition takes."""
    rows: int | None = None
    """About how many rows it has, as the catalog estimates; None when the catalog does not know."""
    place: str = ""
    """The filegroup or tablespace; empty for the default."""
    compression: str = ""
    table: TableName | None = None
    """The table that the partition is, where partitions are tables."""
    problem: str = ""
    """Why it cannot be switched (sub-partitions, a foreign table); empty when it can."""
    is_new: bool = False
    """It is planned and does not exist yet."""


@dataclass(frozen=True)
class PartitionLayout:
    """The partitions of one table, and how a value finds its own."""

    table: TableName
    method: str
    """`range`, `list`, or the server's own word for any other method."""
    column: str
    """The column that decides; empty where several columns or an expression do."""
    partitions: tuple[NativePartition, ...]
    low_included: bool = True
    """A boundary belongs to the partition after it (RANGE RIGHT); else to the one before it (RANGE LEFT)."""
    function: str = ""
    scheme: str = ""
    problem: str = ""
    """Why values cannot be mapped to partitions; empty when they can."""

    def partition_of(self, value: Value | None) -> NativePartition | None:
        """Return the partition that takes a value, or null; None when there is none."""
        value = None if value is None or value.is_null else value
        default = next((partition for partition in self.partitions if partition.is_default), None)
        if self.problem:
            return None
        if self.method == "list":
            return next((partition for partition in self.partitions if value in partition.values), default)
        return next((partition for partition in self.partitions if self._takes(partition, value)), default)

    def _takes(self, partition: NativePartition, value: Value | None) -> bool:
        if partition.is_default:
            return False
        if value is None:
            return partition.low is None
        if self.low_included:
            return (partition.low is None or partition.low <= value) and (
                partition.high is None or value < partition.high
            )
        return (partition.low is None or partition.low < value) and (partition.high is None or value <= partition.high)

    def named(self, name: str) -> NativePartition | None:
        return next((partition for partition in self.partitions if partition.name == name), None)

    def holds_only(self, partition: NativePartition, value: Value) -> bool:
        """Return whether the bounds leave room for no other value."""
        if self.method == "list":
            return partition.values == (value,) and not partition.is_default
        if partition.low is None or partition.high is None:
            return False
        first = partition.low if self.low_included else following(partition.low)
        last = partition.high if not self.low_included else None
        if last is not None:
            return first == last == value
        return first == value and following(value) == partition.high

    def range_of(self, partition: NativePartition) -> str:
        """Return the bounds in words, for people."""
        if partition.is_default:
            return "everything else"
        if self.method == "list":
            return ", ".join("null" if value is None else str(value) for value in partition.values)
        low, high = partition.low, partition.high
        words = ("from", "to before") if self.low_included else ("after", "to")
        parts = [f"{words[0]} {low}"] if low is not None else []
        parts += [f"{words[1]} {high}"] if high is not None else []
        return " ".join(parts) or "everything"


def following(value: Value) -> Value | None:
    """Return the next value: the next number or day. None for values that have no next one, such as timestamps."""
    if value.kind is ValueKind.INTEGER:
        return Value.of(int(value.text) + 1, value.kind)
    day = _day(value) if value.kind is ValueKind.DATE else None
    return None if day is None or day == date.max else Value.of((day + timedelta(days=1)).isoformat(), value.kind)


def _day(value: Value) -> date | None:
    try:
        return date.fromisoformat(value.text[:10])
    except ValueError:  # infinity, years BC
        return None


# New boundaries


@dataclass(frozen=True)
class NewPartition:
    """A partition to be created for a value that has none, or for one inside of a partition that is empty."""

    name: str
    low: Value | None = None
    high: Value | None = None
    """The bounds of a new range; both None for a list."""
    value: Value | None = None
    """The value of a new partition of a list."""
    splits: str = ""
    """The name of the empty partition that gives room; empty where there is a gap."""


def new_partition(layout: PartitionLayout, value: Value) -> NewPartition | None:
    """Return the partition that a value needs, of the same width as its neighbours; None where it cannot be told."""
    inside = layout.partition_of(value)
    splits = inside.name if inside else ""
    name = f"p{_word(value)}"
    if layout.method == "list":
        return NewPartition(name, value=value, splits=splits)
    low, high = _room(layout, inside, value)
    width = _width(layout)
    begin, end = _period(value, width) if layout.low_included else (None, None)
    if begin is None or end is None:
        begin, end = (value, following(value)) if layout.low_included else (_before(value), value)
    if begin is None or end is None:
        return None
    begin = begin if low is None or begin > low else low
    end = end if high is None or end < high else high
    named = replace(NewPartition(name, begin, end), splits=splits)
    return replace(named, name=f"p{_word(begin)}") if layout.low_included else named


def with_partition(layout: PartitionLayout, new: NewPartition) -> PartitionLayout:
    """Return the layout as it will be with a new partition."""
    number = len(layout.partitions) + 1
    values = () if new.value is None else (new.value,)
    added = NativePartition(number, new.name, new.low, new.high, values, is_new=True)
    partitions: list[NativePartition] = []
    for partition in layout.partitions:
        if partition.name != new.splits or partition.is_default:
            partitions.append(partition)
            continue
        if new.low is not None and partition.low != new.low:
            partitions.append(replace(partition, name=f"{new.name}_before", high=new.low, is_new=True))
        if partition.high != new.high:
            partitions.append(replace(partition, low=new.high))
    return replace(layout, partitions=(added, *partitions))


def _word(value: Value) -> str:
    """Return a value as a part of a name: digits and letters alone."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in value.text)[:40]


def _before(value: Value) -> Value | None:
    earlier = value.minus(86_400 if value.kind is ValueKind.DATE else 1)
    return None if earlier == value or value.kind not in (ValueKind.INTEGER, ValueKind.DATE) else earlier


def _room(layout: PartitionLayout, inside: NativePartition | None, value: Value) -> tuple[Value | None, Value | None]:
    """Return the bounds between which the new range must lie: those of its neighbours."""
    if inside is not None and not inside.is_default:
        return inside.low, inside.high
    bounds = [bound for partition in layout.partitions for bound in (partition.low, partition.high) if bound]
    lower = [bound for bound in bounds if bound <= value]
    upper = [bound for bound in bounds if bound > value]
    return max(lower, default=None), min(upper, default=None)


def _width(layout: PartitionLayout) -> str:
    """Return `month` or `year` where the newest closed ranges are such periods; else `value`."""
    ranges = sorted((each.low, each.high) for each in layout.partitions if each.low and each.high)
    for width in ("month", "year", "day"):
        if ranges and all(_period(low, width) == (low, high) for low, high in ranges[-3:]):
            return width
    return "value"


def _period(value: Value, width: str) -> tuple[Value | None, Value | None]:
    """Return the calendar period around a value, its end not included: of dates, and of numbers as 20240131 and
    202401."""
    day, form = _calendar_day(value)
    if day is None:
        return None, None
    if width == "month" and form in ("day", "month"):
        first = day.replace(day=1)
        after = (first + timedelta(days=32)).replace(day=1) if first < date(9999, 12, 1) else None
    elif width == "year":
        first = day.replace(month=1, day=1)
        after = first.replace(year=first.year + 1) if first.year < date.max.year else None
    elif width == "day" and form == "day" and value.kind is not ValueKind.INTEGER:
        first, after = day, day + timedelta(days=1)
    else:
        return None, None
    return (None, None) if after is None else (_as_value(first, value, form), _as_value(after, value, form))


def _calendar_day(value: Value) -> tuple[date | None, str]:
    """Return the day that a value means, and whether it names a day or a month."""
    if value.kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        return _day(value), "day"
    text = value.text
    if value.kind is ValueKind.INTEGER and len(text) in (6, 8) and "1900" <= text[:4] <= "2199":
        try:
            return date(int(text[:4]), int(text[4:6]), int(text[6:] or 1)), "day" if len(text) == 8 else "month"
        except ValueError:
            return None, ""
    return None, ""


def _as_value(day: date, like: Value, form: str) -> Value:
    if like.kind is ValueKind.INTEGER:
        return Value.of(day.strftime("%Y%m%d" if form == "day" else "%Y%m"), like.kind)
    return Value.of(day.isoformat(), like.kind)


# What a switch needs


@dataclass(frozen=True)
class Precondition:
    """One thing that must be so before a partition can be switched, and whether it is."""

    name: str
    is_met: bool
    error: str = ""
    """The number or SQLSTATE of the error that the server would raise."""
    reason: str = ""
    """What is in the way, with names."""
    cure: tuple[str, ...] = ()
    """DDL that removes the reason; empty where only a person can decide."""

    def __str__(self) -> str:
        error = f" (error {self.error})" if self.error else ""
        cure = f" Cure: {'; '.join(self.cure)}" if self.cure else ""
        return f"{self.name}: {'ok' if self.is_met else f'{self.reason}{error}.{cure}'}"


def unmet(preconditions: Iterable[Precondition]) -> list[Precondition]:
    return [precondition for precondition in preconditions if not precondition.is_met]


def layout_rows(layout: PartitionLayout) -> Sequence[tuple[str, ...]]:
    """Return one row per partition, for people: number, name, range, rows, place, compression."""
    return [
        (
            str(partition.number),
            partition.name,
            layout.range_of(partition),
            "" if partition.rows is None else f"{partition.rows:,}",
            partition.place,
            partition.compression or partition.problem,
        )
        for partition in layout.partitions
    ]

"""Decode the messages of PostgreSQL's output plug-in `pgoutput` (protocol version 1) into changes of one table.

Facts that shape this file
 * All numbers are big-endian. A message begins with a letter: B begin, C commit, R relation, I insert, U update,
   D delete, T truncate, Y type, O origin. Transactions come whole, in the order of their commits. What was rolled back
   never comes.
 * A relation message comes before the first change of a table, and again when its columns have changed. Columns are
   matched by name, so one that was added in between is null before.
 * A tuple is the number of its columns (int16), and for each column a letter: n null, u unchanged (a large value that
   the log does not have), t text with its length (int32).
 * An update has the old key (K) only if the key changed or is stored apart, and the old row (O) with REPLICA IDENTITY
   FULL.
 * Values are texts as the session's settings write them, in its encoding. So they are csv of COPY, once quoted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from tidegate.databases.postgresql.csv import Decoder
from tidegate.databases.postgresql.decoding import SIGNATURE, Block
from tidegate.errors import FeedLost, ValueProblem
from tidegate.hashing.changes import change_schema
from tidegate.interfaces.feed import FeedTable
from tidegate.model.feeds import DELETE, INSERT, PARTIAL, TRUNCATE, UPDATE

_HEADER = 19
_EPOCH = 946_684_800_000_000  # microseconds from 1970 to 2000
_LONG, _INT, _SHORT = struct.Struct(">q"), struct.Struct(">i"), struct.Struct(">h")
_BEGIN = struct.Struct(">qqI")
_BEGINS, _INSERT, _UPDATE, _DELETE, _RELATION, _TRUNCATE = b"BIUDRT"
_OLD_KEY, _OLD_ROW, _NEW_ROW = b"KON"
_NULL, _UNCHANGED, _TEXT = b"nut"
Tuple = list[bytes | None]
"""The values of the columns that are asked for, as texts."""
UNCHANGED = b"\0unchanged"
"""Stands for a value that the log does not have. No text of the server has a NUL."""


@dataclass(frozen=True)
class SnapshotIds:
    """Which transactions a snapshot of the server sees, as `pg_current_snapshot()` writes it."""

    lowest: int
    following: int
    open: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> SnapshotIds:
        lowest, following, still_open = text.split(":")
        return cls(int(lowest), int(following), frozenset(int(each) for each in still_open.split(",") if each))

    def full(self, xid: int) -> int:
        """Return an id of 32 bits with its epoch: the one that is nearest to the snapshot."""
        found = (self.following >> 32 << 32) + xid
        if found > self.following + (1 << 31):
            return found - (1 << 32)
        return found + (1 << 32) if found + (1 << 31) < self.following else found

    def sees(self, xid: int) -> bool:
        found = self.full(xid)
        return found < self.lowest or (found < self.following and found not in self.open)


def messages(blocks: Iterable[Block]) -> Iterator[tuple[bytearray, int, int]]:
    """Yield the messages in what COPY sends of a single column of bytes: the bytes, begin and end of each."""
    is_first = True
    for data, ends in blocks:
        begin = 0
        if is_first:
            if not data.startswith(SIGNATURE):
                raise _not_understood("a stream without a header")
            begin, is_first = _HEADER, False
        for end in ends:
            if end - begin > 6:  # int16 with the number of columns, int32 with the length; the end is shorter
                yield data, begin + 6, end
            begin = end


@dataclass
class _Layout:
    """Where the columns that are asked for lie in the tuples of a relation."""

    places: dict[int, int]
    """The number of each column that is asked for, by its place in a tuple."""


@dataclass
class ChangeDecoder:
    """Turns messages into batches of changes of one table."""

    table: FeedTable
    relation: int
    """The table's oid: a name can be another table by now."""
    after: int
    upto: int
    snapshot: SnapshotIds | None = None
    """Transactions that it sees are left out."""
    seen: set[int] = field(default_factory=set)
    """Transactions of which changes were decoded, as ids of 32 bits. Only `watched` ones."""
    watched: SnapshotIds | None = None
    """A snapshot from before the read: transactions that ended before it are not remembered in `seen`."""
    _layout: _Layout | None = None
    _takes: bool = False

    def __post_init__(self) -> None:
        names = [column.name for column in self.table.told]
        self._width = len(names)
        self._numbers = {name: number for number, name in enumerate(names)}
        self._keys = [self._numbers[column.name] for column in self.table.keys]
        self._schema = change_schema(self.table)
        values = pa.schema(list(self._schema)[3:])
        self._decoder = Decoder(values)
        self._quoted = [
            pa.types.is_string(one.type) or pa.types.is_binary(one.type) or pa.types.is_large_string(one.type)
            for one in values
        ]
        self._money = [column.type == "money" for column in self.table.told]
        self._relation = struct.pack(">I", self.relation)

    def decode(self, blocks: Iterable[Block]) -> Iterator[pa.RecordBatch]:
        """Yield the changes of transactions that committed from `after` on and before `upto`."""
        out = _Rows()
        lsn = moment = 0
        for data, at, end in messages(blocks):
            kind = data[at]
            if kind == _BEGINS:
                lsn, moment, xid = _BEGIN.unpack_from(data, at + 1)
                self._takes = self._begins(lsn, xid)
            elif kind == _RELATION:
                if data[at + 1 : at + 5] == self._relation:
                    self._layout = self._read_layout(data, at + 5)
            elif kind in (_INSERT, _UPDATE, _DELETE):
                if self._takes and data[at + 1 : at + 5] == self._relation:
                    self._change(out, kind, data, at + 5, lsn, moment)
                    if len(out.operations) >= self.table.batch.rows or len(out.csv) >= self.table.batch.bytes:
                        yield self._batch(out)
                        out = _Rows()
            elif kind != _TRUNCATE or not self._takes or not self._is_truncated(data, at + 1, end):
                continue
            elif self.table.truncates:
                self._line(out, TRUNCATE, [None] * self._width, lsn, moment)
            else:
                raise FeedLost(
                    f"{self.table.name} was truncated in the source while its changes were read.",
                    "Nothing was published; the target keeps what it had.",
                    "Run again: the plan then reads the whole table.",
                )
        if out.operations:
            yield self._batch(out)

    def _begins(self, lsn: int, xid: int) -> bool:
        takes = self.after <= lsn < self.upto and not (self.snapshot is not None and self.snapshot.sees(xid))
        if takes and self.watched is not None and not self.watched.sees(xid):
            self.seen.add(xid)
        return takes

    def _is_truncated(self, data: bytearray, at: int, end: int) -> bool:
        return any(data[place : place + 4] == self._relation for place in range(at + 5, end, 4))

    def _read_layout(self, data: bytearray, at: int) -> _Layout:
        for _ in range(2):  # schema and name
            at = data.index(0, at) + 1
        count = _SHORT.unpack_from(data, at + 1)[0]
        at += 3
        places: dict[int, int] = {}
        for place in range(count):
            end = data.index(0, at + 1)
            name = data[at + 1 : end].decode()
            if name in self._numbers:
                places[place] = self._numbers[name]
            at = end + 9  # oid and modifier of the type
        lacking = tuple(name for name, number in self._numbers.items() if number not in places.values())
        if set(lacking) & {column.name for column in self.table.keys}:
            raise FeedLost(
                f"{self.table.name}: the log has changes without the key ({', '.join(lacking)}): it was renamed.",
                "Nothing was published; the target keeps what it had.",
                "`tidegate run --resync` reads the whole table again.",
            )
        return _Layout(places)

    def _tuple(self, data: bytearray, at: int, layout: _Layout) -> tuple[Tuple, int]:
        """Return the values that are asked for, and where the tuple ends."""
        values: Tuple = [None] * self._width
        count = _SHORT.unpack_from(data, at)[0]
        at += 2
        places = layout.places
        for place in range(count):
            kind = data[at]
            at += 1
            if kind == _TEXT:
                length = _INT.unpack_from(data, at)[0]
                at += 4
                if place in places:
                    values[places[place]] = bytes(data[at : at + length])
                at += length
            elif kind == _UNCHANGED:
                if place in places:
                    values[places[place]] = UNCHANGED
            elif kind != _NULL:
                raise _not_understood(f"a value of the form {chr(kind)}")
        return values, at

    def _change(self, out: _Rows, kind: int, data: bytearray, at: int, lsn: int, moment: int) -> None:
        layout = self._layout
        if layout is None:
            raise _not_understood("a change without a description of its table")
        old: Tuple | None = None
        has_row = data[at] == _OLD_ROW
        if has_row or data[at] == _OLD_KEY:
            old, at = self._tuple(data, at + 1, layout)
        if kind == _DELETE:
            if old is None:
                raise _not_understood("a delete without a key")
            self._add(out, DELETE, old, lsn, moment)
            return
        if data[at] != _NEW_ROW:
            raise _not_understood("a change without a new row")
        new, _ = self._tuple(data, at + 1, layout)
        if old is not None:
            # Of an old key, all other columns are null.
            known = [has_row or was is not None for was in old]
            new = [old[at] if value is UNCHANGED and known[at] else value for at, value in enumerate(new)]
            if any(old[key] != new[key] for key in self._keys):
                self._add(out, DELETE, old, lsn, moment)
                kind = _INSERT
        self._add(out, INSERT if kind == _INSERT else UPDATE, new, lsn, moment)

    def _add(self, out: _Rows, operation: int, values: Tuple, lsn: int, moment: int) -> None:
        if any(value is UNCHANGED for value in values):
            values = [None if value is UNCHANGED else value for value in values]
            operation = PARTIAL if operation != DELETE else operation
        if any(values[key] is None for key in self._keys):
            raise ValueProblem(
                f"{self.table.name}: the feed tells a change without a value of the key"
                f" ({', '.join(column.name for column in self.table.keys)}).",
                "Nothing was published; the target keeps what it had.",
                "The replica identity must have the key: ALTER TABLE ... REPLICA IDENTITY FULL, or another `keys`.",
            )
        self._line(out, operation, values, lsn, moment)

    def _line(self, out: _Rows, operation: int, values: Tuple, lsn: int, moment: int) -> None:
        out.operations.append(operation)
        out.places.append(lsn)
        out.moments.append(moment + _EPOCH)
        line = out.csv
        for number, value in enumerate(values):
            if number:
                line += b","
            if value is not None:
                if self._quoted[number]:
                    line += b'"'
                    line += value.replace(b'"', b'""') if b'"' in value else value
                    line += b'"'
                else:
                    line += value.replace(b"$", b"").replace(b",", b"") if self._money[number] else value
        line += b"\n"

    def _batch(self, out: _Rows) -> pa.RecordBatch:
        count = len(out.operations)
        values = self._decoder.decode(bytes(out.csv), count)
        about = [
            pa.array(out.operations, pa.int16()),
            pa.array([f"{lsn:016X}" for lsn in out.places], pa.string()),
            pa.array(out.moments, pa.int64()).cast(pa.timestamp("us", "UTC")),
        ]
        return pa.RecordBatch.from_arrays([*about, *values.columns], schema=self._schema)


@dataclass
class _Rows:
    """Changes that wait for their batch."""

    operations: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    moments: list[int] = field(default_factory=list)
    csv: bytearray = field(default_factory=bytearray)


def _not_understood(what: str) -> FeedLost:
    return FeedLost(
        f"The log sent {what}, which is not understood.",
        "Nothing was published; the target keeps what it had.",
        "Report this. `tidegate run --resync` reads the whole table again.",
    )

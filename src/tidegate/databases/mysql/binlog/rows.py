"""Decode the rows of an event: chosen columns, of the images before and after a change.

Facts that shape this file
 * With `binlog_row_metadata = FULL` an event names its columns. Without it, columns could be found by their place only,
   which is wrong as soon as somebody altered the table.
 * With `binlog_row_image = MINIMAL`, the image before has the primary key, and the image after what changed.
 * MariaDB keeps a UUID in an order of its parts that depends on its version. So a UUID is not read from the log.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tidegate.databases.mysql.binlog import values
from tidegate.databases.mysql.binlog.events import RowImages, TableMap
from tidegate.databases.mysql.binlog.stream import Unreadable
from tidegate.databases.mysql.binlog.values import Reader, Skipper
from tidegate.databases.mysql.types import base_type
from tidegate.model.columns import Column

Image = list[object]
_CHARACTERS = re.compile(r" CHARACTER SET (\w+)")
_LISTED = re.compile(r"'((?:[^']|'')*)'")
_KINDS = {
    **{name: (kind,) for name, kind in (("tinyint", 1), ("smallint", 2), ("mediumint", 9), ("int", 3), ("bigint", 8))},
    "float": (values.FLOAT,),
    "double": (values.DOUBLE,),
    "decimal": (values.NEWDECIMAL,),
    "year": (values.YEAR,),
    "date": (values.DATE, values.NEWDATE),
    "time": (values.TIME2, values.TIME),
    "datetime": (values.DATETIME2, values.DATETIME),
    "timestamp": (values.TIMESTAMP2, values.TIMESTAMP),
    "bit": (values.BIT,),
    "json": (values.JSON,),
    **dict.fromkeys(("char", "binary", "inet4", "inet6"), (values.STRING,)),
    **dict.fromkeys(("varchar", "varbinary"), (values.VARCHAR, values.VAR_STRING)),
    "enum": (values.STRING, values.ENUM),
    "set": (values.STRING, values.SET),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), (values.BLOB,)),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), (values.BLOB,)),
    "vector": (values.VECTOR, values.VARCHAR),
}
_UNREADABLE = {"json": "a document in MySQL's own form", "vector": "a vector", "uuid": "a UUID"}


def unreadable(column: Column) -> str:
    """Return why the values of a column cannot be read from the log; empty if they can."""
    name = base_type(column.type)
    if name in _UNREADABLE:
        return f"{column.name} is {_UNREADABLE[name]}"
    if name not in _KINDS and column.logical_type.family != "geometry":
        return f"{column.name} is {column.type}, which the log keeps in a form of its own"
    if column.logical_type.family == "enum" and column.portable_type:
        return f"the list of values of {column.name} is unknown"
    character_set = _character_set(column)
    if character_set and character_set not in values.CHARACTER_SETS:
        return f"{column.name} is in the character set {character_set}"
    return ""


def _character_set(column: Column) -> str:
    found = _CHARACTERS.search(column.type)
    return found[1] if found else ""


class RowDecoder:
    """Reads chosen columns of the rows of one table."""

    def __init__(self, columns: Sequence[Column], keys: Sequence[Column], table: TableMap) -> None:
        """`keys` are columns that the table must have had at that time; others are null where it had them not."""
        self._columns, self._table = columns, table
        if table.names is None and columns:
            raise Unreadable("its rows come without the names of columns (`binlog_row_metadata` was not FULL)")
        places = {name: place for place, name in enumerate(table.names or ())}
        gone = [column.name for column in keys if column.name not in places]
        if gone:
            raise Unreadable(f"the table had no column {gone[0]} at that time")
        self._wanted = {
            places[column.name]: (number, self._reader(column, places[column.name]))
            for number, column in enumerate(columns)
            if column.name in places
        }
        self._skippers: list[Skipper | int] = [
            values.skipper(kind, metadata) for kind, metadata in zip(table.types, table.metadata, strict=True)
        ]
        self._steps = lru_cache(maxsize=None)(self._compiled)

    def _reader(self, column: Column, place: int) -> Reader:
        kind, metadata = self._table.types[place], self._table.metadata[place]
        found = unreadable(column)
        expected = _KINDS.get(base_type(column.type), (values.GEOMETRY,))
        if not found and kind not in expected:
            found = f"{column.name} is {column.type} now and was of another type (type {kind})"
        if found:
            raise Unreadable(found)
        return _reader(column, kind, metadata)

    def _compiled(self, present: tuple[int, ...]) -> list[tuple[int, Reader | Skipper | int]]:
        """Return what to do with each value of an image: the number of the chosen column, or -1, and its function."""
        wanted = self._wanted
        return [wanted[place] if place in wanted else (-1, self._skippers[place]) for place in present]

    def rows(self, images: RowImages) -> Iterator[tuple[Image | None, Image | None]]:
        """Yield the values before and after each change. What an image lacks is None in it."""
        data, at = images.data, images.begin
        before = None if images.before is None else self._steps(images.before)
        after = None if images.after is None else self._steps(images.after)
        while at < len(data):
            was = now = None
            if before is not None:
                was, at = self._image(data, at, before)
            if after is not None:
                now, at = self._image(data, at, after)
            yield was, now

    def has_all(self, present: tuple[int, ...]) -> bool:
        """Return whether an image has every chosen column that the table has."""
        return self._wanted.keys() <= set(present)

    def places(self, present: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of the chosen columns that an image has."""
        return tuple(self._wanted[place][0] for place in present if place in self._wanted)

    def _image(self, data: bytes, at: int, steps: list[tuple[int, Reader | Skipper | int]]) -> tuple[Image, int]:
        size = (len(steps) + 7) // 8
        nulls, at = int.from_bytes(data[at : at + size], "little"), at + size
        image: Image = [None] * len(self._columns)
        for number, step in steps:
            if nulls & 1:
                pass
            elif number >= 0:
                image[number], at = step(data, at)  # type: ignore[operator, misc]
            elif isinstance(step, int):
                at += step
            else:
                at = step(data, at)  # type: ignore[assignment]
            nulls >>= 1
        return image, at


def _reader(column: Column, kind: int, metadata: bytes) -> Reader:
    name, family = base_type(column.type), column.logical_type.family
    digits = metadata[0] if metadata else 0
    match name:
        case "tinyint" | "smallint" | "mediumint" | "int" | "bigint":
            is_unsigned = "unsigned" in column.type or "zerofill" in column.type
            return values.number_reader(kind, unsigned=is_unsigned)
        case "float" | "double":
            return values.float_reader(kind)
        case "decimal":
            return values.decimal_reader(*metadata)
        case "year":
            return values.year_reader()
        case "date":
            return values.date_reader()
        case "time":
            return values.time_reader(digits) if kind == values.TIME2 else values.old_time_reader()
        case "datetime":
            return values.datetime_reader(digits) if kind == values.DATETIME2 else values.old_datetime_reader()
        case "timestamp":
            return values.timestamp_reader(digits) if kind == values.TIMESTAMP2 else values.old_timestamp_reader()
        case "bit":
            return values.bit_reader(metadata, column.logical_type.size or 1)
        case "enum" | "set":
            width = values.real_type(kind, metadata)[1]
            listed = _listed(column)
            return values.enum_reader(width, listed) if name == "enum" else values.set_reader(width, listed)
        case "inet4" | "inet6":
            return _fixed_reader(kind, metadata, name)
    if family == "padded":
        return values.padded_reader(kind, metadata, column.logical_type.size or 0)
    character_set = _character_set(column)
    if character_set:
        return values.text_reader(kind, metadata, character_set)
    return values.bytes_reader(kind, metadata)


def _listed(column: Column) -> tuple[str, ...]:
    """Return the texts of an ENUM or a SET."""
    listed = column.type[column.type.index("(") : column.type.rindex(")") + 1]
    return tuple(text.replace("''", "'") for text in _LISTED.findall(listed))


def _fixed_reader(kind: int, metadata: bytes, name: str) -> Reader:
    read = values.padded_reader(kind, metadata, 16 if name == "inet6" else 4)

    def shown(data: bytes, at: int) -> tuple[object, int]:
        value, end = read(data, at)
        assert isinstance(value, bytes)
        return socket.inet_ntop(socket.AF_INET6 if name == "inet6" else socket.AF_INET, value).encode(), end

    return shown

"""Values of a row event, as the server's text protocol would write them.

Facts that shape this file
 * A row event holds values as the storage engine does: without names, signs, character sets and the texts of an enum.
   Those come from the catalog, or from the event itself with `binlog_row_metadata = FULL`.
 * CHAR lacks its trailing blanks and BINARY its trailing zero bytes. The server shows a CHAR without blanks, too, but a
   BINARY with all of its bytes.
 * TIME, DATETIME and TIMESTAMP have a form of 5.6 and an older one, which MariaDB can still write.
 * The fraction of a second takes a byte for two digits. That of a negative TIME counts downwards.
 * A DECIMAL takes four bytes for nine digits; a negative one has all bits turned over.
 * A FLOAT holds 24 bits. The server shows it exactly only as a DOUBLE, and so do we.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Reader: TypeAlias = Callable[[bytes, int], "tuple[object, int]"]
"""Returns the value at a place of the bytes, and where the next one begins."""
Skipper: TypeAlias = Callable[[bytes, int], int]

TINY, SHORT, LONG, FLOAT, DOUBLE, TIMESTAMP, LONGLONG, INT24 = 1, 2, 3, 4, 5, 7, 8, 9
DATE, TIME, DATETIME, YEAR, NEWDATE, VARCHAR, BIT = 10, 11, 12, 13, 14, 15, 16
TIMESTAMP2, DATETIME2, TIME2 = 17, 18, 19
VECTOR, JSON, NEWDECIMAL, ENUM, SET, BLOB, VAR_STRING, STRING, GEOMETRY = 242, 245, 246, 247, 248, 252, 253, 254, 255
_FIXED = {TINY: 1, SHORT: 2, LONG: 4, LONGLONG: 8, INT24: 3, FLOAT: 4, DOUBLE: 8, YEAR: 1, DATE: 3, NEWDATE: 3}
_FIXED |= {TIMESTAMP: 4, TIME: 3, DATETIME: 8}
_INTEGERS = (TINY, SHORT, LONG, LONGLONG, INT24)
METADATA_BYTES = {
    **dict.fromkeys((FLOAT, DOUBLE, BLOB, GEOMETRY, JSON, VECTOR, TIMESTAMP2, DATETIME2, TIME2), 1),
    **dict.fromkeys((VARCHAR, BIT, NEWDECIMAL, VAR_STRING, STRING, ENUM, SET), 2),
    **dict.fromkeys((*_INTEGERS, YEAR, DATE, NEWDATE, TIMESTAMP, TIME, DATETIME, 6), 0),
}
"""The bytes of metadata per type. Types that are not here are unknown: what follows them cannot be found."""
_DECIMAL_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
# The server's latin1 is Windows' 1252, whose five unused bytes are control characters.
_UNUSED = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
_LATIN1 = "".join(chr(code) if code in _UNUSED else bytes([code]).decode("cp1252") for code in range(256))
_NO_MOMENT = b"0000-00-00 00:00:00"
_DAY_ONE = datetime(1970, 1, 1, tzinfo=UTC)

CHARACTER_SETS = {
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "utf8": "utf-8",
    "ascii": "ascii",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "latin1": "latin1",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "koi8r": "koi8-r",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
}
"""The codec of a character set. Others are refused: a value must not be decoded by guessing."""


def decoder(character_set: str) -> Callable[[bytes], str]:
    """Return the function that decodes bytes of a character set in `CHARACTER_SETS`."""
    codec = CHARACTER_SETS[character_set]
    if codec == "latin1":
        return lambda value: codecs.charmap_decode(value, "strict", _LATIN1)[0]
    return lambda value: value.decode(codec)


def real_type(kind: int, metadata: bytes) -> tuple[int, int]:
    """Return the type and the length of a STRING, whose metadata hides ENUM, SET and the length of a long CHAR."""
    first, second = metadata
    if first & 0x30 != 0x30:
        return first | 0x30, second | (((first & 0x30) ^ 0x30) << 4)
    return first, second


def skipper(kind: int, metadata: bytes) -> Skipper | int:
    """Return the width of a value, or the function that finds its end."""
    if kind in _FIXED:
        return _FIXED[kind]
    if kind in (STRING, ENUM, SET):
        kind, length = real_type(kind, metadata)
        return length if kind in (ENUM, SET) else _prefixed(1 if length < 256 else 2)
    if kind in (VARCHAR, VAR_STRING):
        return _prefixed(1 if int.from_bytes(metadata, "little") < 256 else 2)
    if kind in (BLOB, GEOMETRY, JSON, VECTOR):
        return _prefixed(metadata[0])
    if kind == NEWDECIMAL:
        return _decimal_width(*metadata)
    if kind == BIT:
        return metadata[1] + (metadata[0] > 0)
    return {TIMESTAMP2: 4, DATETIME2: 5, TIME2: 3}[kind] + (metadata[0] + 1) // 2


def _prefixed(size: int) -> Skipper:
    if size == 1:
        return lambda data, at: at + 1 + data[at]
    return lambda data, at: at + size + int.from_bytes(data[at : at + size], "little")


def number_reader(kind: int, *, unsigned: bool) -> Reader:
    """Return the reader of an integer."""
    width = _FIXED[kind]
    code = {1: "b", 2: "h", 4: "i", 8: "q"}.get(width)
    if code is None:
        return lambda data, at: (int.from_bytes(data[at : at + width], "little", signed=not unsigned), at + width)
    unpack = struct.Struct("<" + (code.upper() if unsigned else code)).unpack_from
    return lambda data, at: (unpack(data, at)[0], at + width)


def bytes_reader(kind: int, metadata: bytes) -> Reader:
    """Return the reader of a value that is stored as so many bytes."""
    size = prefix_size(kind, metadata)

    def read(data: bytes, at: int) -> tuple[object, int]:
        begin = at + size
        end = begin + int.from_bytes(data[at:begin], "little")
        return data[begin:end], end

    def read_short(data: bytes, at: int) -> tuple[object, int]:
        end = at + 1 + data[at]
        return data[at + 1 : end], end

    return read_short if size == 1 else read


def prefix_size(kind: int, metadata: bytes) -> int:
    """Return how many bytes hold the length of a value."""
    if kind in (BLOB, GEOMETRY, JSON, VECTOR):
        return metadata[0]
    length = real_type(kind, metadata)[1] if kind == STRING else int.from_bytes(metadata, "little")
    return 1 if length < 256 else 2


def text_reader(kind: int, metadata: bytes, character_set: str) -> Reader:
    """Return the reader of a text: its bytes in UTF-8."""
    read, decode = bytes_reader(kind, metadata), decoder(character_set)
    if CHARACTER_SETS[character_set] in ("utf-8", "ascii"):
        return read

    def decoded(data: bytes, at: int) -> tuple[object, int]:
        value, end = read(data, at)
        assert isinstance(value, bytes)
        return decode(value).encode(), end

    return decoded


def padded_reader(kind: int, metadata: bytes, size: int) -> Reader:
    """Return the reader of a BINARY."""
    read = bytes_reader(kind, metadata)

    def padded(data: bytes, at: int) -> tuple[object, int]:
        value, end = read(data, at)
        assert isinstance(value, bytes)
        return value.ljust(size, b"\0"), end

    return padded


def enum_reader(width: int, texts: tuple[str, ...]) -> Reader:
    """Return the reader of an ENUM. Number 0 is the empty text that stands for a refused value."""
    encoded = [b"", *(text.encode() for text in texts)]
    return lambda data, at: (encoded[int.from_bytes(data[at : at + width], "little")], at + width)


def set_reader(width: int, texts: tuple[str, ...]) -> Reader:
    def read(data: bytes, at: int) -> tuple[object, int]:
        members = int.from_bytes(data[at : at + width], "little")
        chosen = [text for place, text in enumerate(texts) if members >> place & 1]
        return ",".join(chosen).encode(), at + width

    return read


def bit_reader(metadata: bytes, size: int) -> Reader:
    """Return the reader of a BIT: its binary digits."""
    width = metadata[1] + (metadata[0] > 0)
    return lambda data, at: (f"{int.from_bytes(data[at : at + width], 'big'):0{size}b}".encode(), at + width)


def float_reader(kind: int) -> Reader:
    unpack, width = (struct.Struct("<f").unpack_from, 4) if kind == FLOAT else (struct.Struct("<d").unpack_from, 8)
    return lambda data, at: (unpack(data, at)[0], at + width)


def decimal_reader(precision: int, scale: int) -> Reader:
    width, whole = _decimal_width(precision, scale), precision - scale
    head = _DECIMAL_BYTES[whole % 9]
    pieces = [(head, 0)] if head else []
    pieces += [(4, 9)] * (whole // 9)
    pieces += [(4, 9)] * (scale // 9)
    rest = _DECIMAL_BYTES[scale % 9]
    pieces += [(rest, scale % 9)] if rest else []

    def read(data: bytes, at: int) -> tuple[object, int]:
        raw = bytearray(data[at : at + width])
        negative = not raw[0] & 0x80
        raw[0] ^= 0x80
        if negative:
            raw = bytearray(byte ^ 0xFF for byte in raw)
        digits, place = "", 0
        for size, count in pieces:
            digits += str(int.from_bytes(raw[place : place + size], "big")).zfill(count or 1)
            place += size
        number = digits[: len(digits) - scale].lstrip("0") or "0"
        fraction = "." + digits[len(digits) - scale :] if scale else ""
        return f"{'-' if negative else ''}{number}{fraction}".encode(), at + width

    return read


def _decimal_width(precision: int, scale: int) -> int:
    whole = precision - scale
    return whole // 9 * 4 + _DECIMAL_BYTES[whole % 9] + scale // 9 * 4 + _DECIMAL_BYTES[scale % 9]


def year_reader() -> Reader:
    return lambda data, at: (data[at] and 1900 + data[at], at + 1)


def date_reader() -> Reader:
    def read(data: bytes, at: int) -> tuple[object, int]:
        packed = int.from_bytes(data[at : at + 3], "little")
        return b"%04d-%02d-%02d" % (packed >> 9, packed >> 5 & 15, packed & 31), at + 3

    return read


def timestamp_reader(digits: int) -> Reader:
    """Return the reader of a TIMESTAMP, which is shown in UTC."""
    width = 4 + (digits + 1) // 2

    def read(data: bytes, at: int) -> tuple[object, int]:
        seconds, fraction = int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + width], "big")
        moment = _moment(seconds) if seconds or fraction else _NO_MOMENT
        return moment + _fraction(fraction, digits), at + width

    return read


def old_timestamp_reader() -> Reader:
    def read(data: bytes, at: int) -> tuple[object, int]:
        seconds = int.from_bytes(data[at : at + 4], "little")
        return _moment(seconds) if seconds else _NO_MOMENT, at + 4

    return read


def _moment(seconds: int) -> bytes:
    return (_DAY_ONE + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S").encode()


def datetime_reader(digits: int) -> Reader:
    width = 5 + (digits + 1) // 2

    def read(data: bytes, at: int) -> tuple[object, int]:
        packed = int.from_bytes(data[at : at + 5], "big") - 0x8000000000
        days, seconds = packed >> 17, packed & 0x1FFFF
        months = days >> 5
        text = b"%04d-%02d-%02d %02d:%02d:%02d" % (
            months // 13,
            months % 13,
            days & 31,
            seconds >> 12,
            seconds >> 6 & 63,
            seconds & 63,
        )
        return text + _fraction(int.from_bytes(data[at + 5 : at + width], "big"), digits), at + width

    return read


def old_datetime_reader() -> Reader:
    def read(data: bytes, at: int) -> tuple[object, int]:
        day, time = divmod(int.from_bytes(data[at : at + 8], "little"), 1_000_000)
        year, month = divmod(day // 100, 100)
        return b"%04d-%02d-%02d %02d:%02d:%02d" % (year, month, day % 100, *_clock(time)), at + 8

    return read


def time_reader(digits: int) -> Reader:
    size = (digits + 1) // 2
    width, shift = 3 + size, 8 * size

    def read(data: bytes, at: int) -> tuple[object, int]:
        packed = int.from_bytes(data[at : at + width], "big") - (0x800000 << shift)
        sign, packed = (b"-", -packed) if packed < 0 else (b"", packed)
        seconds = packed >> shift
        text = b"%02d:%02d:%02d" % (seconds >> 12 & 1023, seconds >> 6 & 63, seconds & 63)
        return sign + text + _fraction(packed & ((1 << shift) - 1), digits), at + width

    return read


def old_time_reader() -> Reader:
    def read(data: bytes, at: int) -> tuple[object, int]:
        packed = int.from_bytes(data[at : at + 3], "little", signed=True)
        return (b"-" if packed < 0 else b"") + b"%02d:%02d:%02d" % _clock(abs(packed)), at + 3

    return read


def _clock(packed: int) -> tuple[int, int, int]:
    return packed // 10_000, packed // 100 % 100, packed % 100


def _fraction(stored: int, digits: int) -> bytes:
    if not digits:
        return b""
    return b"." + str(stored).zfill((digits + 1) // 2 * 2)[:digits].encode()

"""Tokens: what ledger and lake remember of a window, as JSON; and the texts of version 1, which had no types."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import Unsupported
from tidegate.model import tokens
from tidegate.model.receipt import Receipt
from tidegate.model.tokens import (
    ContentToken,
    CursorWindow,
    PartitionToken,
    Remembered,
    Token,
    entry_from_version_1,
    ledger_from_version_1,
    with_keys,
)
from tidegate.model.values import Value, ValueKind

BOUNDS = ("after", "upto", "watermark", "keys_read_at")
READ_AT = "2024-01-31T10:00:00+00:00"
HASH = "c" * 32


def values(kind: ValueKind, texts: st.SearchStrategy[Any]) -> st.SearchStrategy[Value]:
    return texts.map(lambda text: Value.of(text, kind))


CURSORS = {
    ValueKind.INTEGER: values(ValueKind.INTEGER, st.integers(-(2**63), 2**63)),
    ValueKind.DECIMAL: values(ValueKind.DECIMAL, st.decimals(allow_nan=False, allow_infinity=False)),
    ValueKind.DATE: values(ValueKind.DATE, st.dates() | st.just("infinity") | st.just("0044-03-15 BC")),
    ValueKind.TIMESTAMP: values(
        ValueKind.TIMESTAMP,
        st.datetimes(min_value=datetime(1, 1, 1)).map(lambda moment: moment.isoformat(" "))
        | st.just("-infinity")
        | st.just("0044-03-15 10:00:00.123456789 BC"),
    ),
}
WINDOWS = st.sampled_from(list(CURSORS)).flatmap(
    lambda kind: st.builds(
        CursorWindow,
        **dict.fromkeys(BOUNDS, st.none() | CURSORS[kind]),
        lookback_fingerprint=st.text(),
        read_at=st.text(),
        is_given=st.booleans(),
    )
)
TOKENS = st.builds(PartitionToken, st.none() | st.text()) | st.builds(ContentToken, st.none() | st.text()) | WINDOWS


def bounds_of(window: Token | None) -> dict[str, tuple[str, ValueKind] | None]:
    """Return texts and kinds: two values of different kinds may be equal."""
    assert isinstance(window, CursorWindow)
    bounds = {name: getattr(window, name) for name in BOUNDS}
    return {name: None if bound is None else (bound.text, bound.kind) for name, bound in bounds.items()}


# JSON


@given(TOKENS)
def test_token_survives_json(token: Token):
    """A token is equal after it was written to JSON and parsed, and its values have the same text and kind."""
    again = Token.from_dict(json.loads(json.dumps(token.to_dict())))

    assert again == token
    assert type(again) is type(token)
    if isinstance(token, CursorWindow):
        assert bounds_of(again) == bounds_of(token)


@pytest.mark.parametrize(
    ("token", "stored"),
    [
        (PartitionToken("7"), {"token": "partition", "version": 1, "newest": "7"}),
        (ContentToken("2 rows"), {"token": "content", "version": 1, "content": "2 rows"}),
        (
            CursorWindow(None, Value.of(9, ValueKind.INTEGER), Value.of(7, ValueKind.INTEGER), "2 rows", READ_AT),
            {
                "token": "cursor",
                "version": 1,
                "kind": "integer",
                "after": None,
                "upto": "9",
                "watermark": "7",
                "keys_read_at": None,
                "lookback_fingerprint": "2 rows",
                "read_at": READ_AT,
                "is_given": False,
            },
        ),
    ],
)
def test_json_of_a_token_stays_readable(token: Token, stored: dict[str, Any]):
    """Ledgers and lakes hold this JSON. It must be read by later versions, so it must not change without a version."""
    assert token.to_dict() == stored
    assert Token.from_dict(stored) == token


@pytest.mark.parametrize(
    "changed",
    [{"token": "moon"}, {"version": 2}, {"token": "moon", "version": 9}],
    ids=["unknown", "newer", "unknown and newer"],
)
@given(token=TOKENS)
def test_token_of_elsewhere_is_refused(changed: dict[str, Any], token: Token):
    """A token of a change that is not installed, or of a newer version, is refused with its name and version."""
    stored = {**token.to_dict(), **changed}

    with pytest.raises(Unsupported) as refusal:
        Token.from_dict(stored)

    assert f"a token `{stored['token']}` of version {stored['version']}" in refusal.value.happened
    assert refusal.value.remedy == "Install the plug-in or the version of Tidegate that wrote it."


def test_change_of_a_plugin_has_its_own_token(monkeypatch: pytest.MonkeyPatch):
    """A subclass with a tag of its own is written and read like those that are built in."""
    monkeypatch.setattr(tokens, "_CLASSES", dict(tokens._CLASSES))

    @dataclass(frozen=True)
    class LogPosition(Token):
        tag: ClassVar[str] = "log position"
        version: ClassVar[int] = 3

        position: int = 0

        @property
        def fingerprint(self) -> str | None:
            return str(self.position)

        def read(self, fingerprint: str | None, read_at: str) -> LogPosition:
            return LogPosition(int(fingerprint or 0))

        def fields(self) -> dict[str, Any]:
            return {"position": self.position}

        @classmethod
        def of_fields(cls, fields: dict[str, Any]) -> LogPosition:
            return cls(fields["position"])

    assert Token.from_dict(LogPosition(5).to_dict()) == LogPosition(5)


# Fingerprints


@given(TOKENS, st.text(min_size=1), st.text())
def test_token_takes_the_fingerprint_of_its_rows(token: Token, fingerprint: str, read_at: str):
    """After reading, the token has the fingerprint that the next plan compares. The bounds of a window stay."""
    found = token.read(fingerprint, read_at)

    assert found.fingerprint == fingerprint
    if isinstance(token, CursorWindow):
        assert found == replace(token, lookback_fingerprint=fingerprint, read_at=read_at)


def test_keys_are_part_of_the_fingerprint():
    """Where all keys are read too, a key that left changes the fingerprint."""
    before, after = Receipt(3, HASH), Receipt(2, "d" * 32)
    assert with_keys("2 rows", before) == f"2 rows 3 {HASH}"
    assert with_keys("2 rows", before) != with_keys("2 rows", after)


@pytest.mark.parametrize(
    ("given_after", "later_upto", "overlaps"),
    [(None, 9, True), (8, 9, True), (9, 9, True), (10, 9, False), (None, None, False), (8, None, False)],
)
def test_windows_overlap_up_to_the_end_of_the_later(given_after: int | None, later_upto: int | None, overlaps: bool):
    """A window may hold rows from before the end of another, unless it starts after that end."""
    low, high = (None if bound is None else Value.of(bound, ValueKind.INTEGER) for bound in (given_after, later_upto))
    assert CursorWindow(after=low).may_overlap(CursorWindow(upto=high)) is overlaps


# Texts of version 1

BY_KIND = [
    (ValueKind.INTEGER, ["3", "9", "-7", "9"]),
    (ValueKind.INTEGER, ["20240131", "20240201", "20240201", "20240201"]),
    (ValueKind.DECIMAL, ["1.5", "9", "7", "9.25"]),
    (ValueKind.DATE, ["2024-01-30", "2024-01-31", "2024-01-31", "2024-02-01"]),
    (
        ValueKind.TIMESTAMP,
        ["2024-01-30 00:00:00", "2024-01-31 09:59:59.5", "2024-01-31 09:00:00", "2024-02-01 00:00:00"],
    ),
    (ValueKind.TIMESTAMP, ["2024-01-30 00:00:00", "infinity", "2024-01-31 00:00:00", "2024-01-31 00:00:00"]),
    (
        ValueKind.TIMESTAMP,
        ["0044-03-15 10:00:00 BC", "2024-01-31 00:00:00", "2024-01-31 00:00:00", "2024-02-01 00:00:00"],
    ),
]


def window_1(after: str | None, upto: str | None, mark: str | None, seen_at: str | None, **facts: Any) -> str:
    """Return a window as version 1 wrote it."""
    told = {"after": after, "upto": upto, "mark": mark, "seen_at": seen_at}
    return json.dumps({**told, "tail": "", "held": None, "read_at": "", "is_given": False, **facts})


@pytest.mark.parametrize(("kind", "texts"), BY_KIND)
def test_ledger_of_version_1_gives_typed_windows(kind: ValueKind, texts: list[str]):
    """Version 1 wrote no kind of value. All bounds of a window have the kind that all texts fit."""
    text = window_1(*texts, tail="2 rows", held=40, read_at=READ_AT)

    found = ledger_from_version_1(text, "2024-01-31-10-00-00")

    after, upto, watermark, keys_read_at = (Value.of(bound, kind) for bound in texts)
    window = CursorWindow(after, upto, watermark, "2 rows", READ_AT, keys_read_at=keys_read_at)
    assert found == Remembered(window, 40)
    assert bounds_of(found.token) == bounds_of(window)


@pytest.mark.parametrize(("kind", "texts"), BY_KIND)
def test_lake_of_version_1_gives_typed_windows(kind: ValueKind, texts: list[str]):
    """Version 1 kept the fingerprint and the time of reading beside the window."""
    found = entry_from_version_1("scd", "2 rows", window_1(*texts), READ_AT)

    after, upto, watermark, keys_read_at = (Value.of(bound, kind) for bound in texts)
    window = CursorWindow(after, upto, watermark, "2 rows", READ_AT, keys_read_at=keys_read_at)
    assert found == window
    assert bounds_of(found) == bounds_of(window)


@given(st.data(), st.sampled_from(list(CURSORS)))
def test_values_of_version_1_keep_their_order(data: st.DataObject, kind: ValueKind):
    """Whatever kind is told from the texts, each bound equals the value that was written, and has its text."""
    bounds = [data.draw(st.none() | CURSORS[kind]) for _ in BOUNDS]

    found = entry_from_version_1("scd", None, window_1(*(bound and bound.text for bound in bounds)), READ_AT)

    assert isinstance(found, CursorWindow)
    read = [getattr(found, name) for name in BOUNDS]
    assert read == bounds
    assert [bound and bound.text for bound in read] == [bound and bound.text for bound in bounds]


def test_windows_of_version_1_without_bounds():
    """A source without a cursor has windows without bounds. They keep their fingerprint."""
    text = window_1(None, None, None, None)
    assert entry_from_version_1("scd", f"2 {HASH}", text, READ_AT) == CursorWindow(
        lookback_fingerprint=f"2 {HASH}", read_at=READ_AT
    )
    assert ledger_from_version_1(text, "2024-01-31-10-00-00") == Remembered(CursorWindow())


def test_passed_rows_of_version_1_stay_passed():
    """Rows that a program passed in are still known as such."""
    text = window_1("5", None, None, None, is_given=True)
    window = CursorWindow(Value.of(5, ValueKind.INTEGER), is_given=True)
    assert entry_from_version_1("scd", None, text, READ_AT) == replace(window, read_at=READ_AT)
    assert ledger_from_version_1(text, "2024-01-31-10-00-00").token == window


def test_windows_of_version_1_with_fewer_facts():
    """The first texts of version 1 had no `seen_at` and no `is_given`."""
    text = json.dumps({"after": None, "upto": "9", "mark": "9", "tail": "2 9", "held": 3, "read_at": READ_AT})
    nine = Value.of(9, ValueKind.INTEGER)
    assert ledger_from_version_1(text, "b") == Remembered(CursorWindow(None, nine, nine, "2 9", READ_AT), 3)


@pytest.mark.parametrize(
    ("text", "window", "remembered"),
    [
        (None, "20240131", Remembered(PartitionToken(None))),
        ("7", "20240131", Remembered(PartitionToken("7"))),
        (f"4 {HASH}", "20240131", Remembered(PartitionToken(f"4 {HASH}"))),
        ("{3F2504E0-4F89}", "20240131", Remembered(PartitionToken("{3F2504E0-4F89}"))),
        (f"4 {HASH}", "all rows", Remembered(ContentToken(None), 4, HASH)),
        (None, "all rows", Remembered(ContentToken(None))),
    ],
    ids=["a value", "with a restatement column", "like a receipt", "in braces", "a whole table", "without a receipt"],
)
def test_ledger_of_version_1_gives_tokens(text: str | None, window: str, remembered: Remembered):
    """The ledger of version 1 kept the greatest value of a partition, or the receipt of a whole table's target."""
    assert ledger_from_version_1(text, window) == remembered


@pytest.mark.parametrize(
    ("column", "newest", "token"),
    [
        ("cobid", None, PartitionToken(None)),
        ("cobid", "7", PartitionToken("7")),
        ("static", f"4 {HASH}", ContentToken(f"4 {HASH}")),
        ("static", None, ContentToken(None)),
    ],
)
def test_lake_of_version_1_gives_tokens(column: str, newest: str | None, token: Token):
    """The lake of version 1 kept the greatest value of a partition, or the content of a whole table."""
    assert entry_from_version_1(column, newest, "", READ_AT) == token

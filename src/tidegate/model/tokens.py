"""Tokens: what the ledger and the lake remember about one window, so that the next plan can compare.

A token is a small record with a tag and a version, stored as JSON. The change that plans a table also writes its
tokens: `PartitionToken` for a value, `ContentToken` for a whole table, `CursorWindow` for a range of a cursor,
`IncrementalWindow` for such a range with what held the watermark back, `FeedWindow` for a range of a log. A change that
lives elsewhere subclasses `Token` with a tag of its own.

Version 1 of ledger and lake kept the same facts as plain text: `from_version_1` reads them.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import Any, ClassVar

from tidegate.errors import Unsupported
from tidegate.model.feeds import Position
from tidegate.model.receipt import Receipt
from tidegate.model.values import Value, ValueKind

_CLASSES: dict[str, type[Token]] = {}


@dataclass(frozen=True)
class Token(ABC):
    """What is remembered about one window. Subclasses are frozen dataclasses with a tag of their own."""

    tag: ClassVar[str]
    version: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _CLASSES[cls.tag] = cls

    @property
    @abstractmethod
    def fingerprint(self) -> str | None:
        """What the next plan compares with the source; None when there is nothing to compare."""

    @abstractmethod
    def read(self, fingerprint: str | None, read_at: str) -> Token:
        """Return the token of rows that were read at this time and that the next plan knows by this fingerprint."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return what JSON is to hold, besides tag and version."""

    @classmethod
    @abstractmethod
    def of_fields(cls, fields: dict[str, Any]) -> Token:
        """Return the token that `fields` was called on."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON is to hold."""
        return {"token": self.tag, "version": self.version, **self.fields()}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Token:
        """Return the token that `to_dict` was called on. Raises Unsupported for a token of a change that is not
        installed, or of a newer version."""
        tag, version = stored["token"], stored["version"]
        known = _CLASSES.get(tag) or _installed(tag)
        if known is None or version > known.version:
            raise Unsupported(
                f"The ledger or the lake holds a token `{tag}` of version {version}, which is not known here.",
                "Nothing was read or written.",
                "Install the plug-in or the version of Tidegate that wrote it.",
            )
        return known.of_fields({name: value for name, value in stored.items() if name not in ("token", "version")})


def _installed(tag: str) -> type[Token] | None:
    """Return the class of a token that a plug-in brings. A Spark worker that loads an entry has not imported the change
    that planned it, so the changes of all plug-ins are imported here."""
    for entry in entry_points(group="tidegate.changes"):
        entry.load()
    return _CLASSES.get(tag)


@dataclass(frozen=True)
class PartitionToken(Token):
    """One partition value. `newest` is the greatest value of the restatement column, where one is named."""

    tag: ClassVar[str] = "partition"

    newest: str | None = None
    raw_hash: str = ""
    """The hash of the rows before they were transformed; empty where they were not."""

    @property
    def fingerprint(self) -> str | None:
        return self.newest

    def read(self, fingerprint: str | None, read_at: str) -> PartitionToken:
        return PartitionToken(fingerprint)

    def fields(self) -> dict[str, Any]:
        return {"newest": self.newest, **({"raw_hash": self.raw_hash} if self.raw_hash else {})}

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> PartitionToken:
        return cls(fields["newest"], fields.get("raw_hash", ""))


@dataclass(frozen=True)
class ContentToken(Token):
    """A whole table. `content` is what the source's rows added up to: a receipt, or the server's checksum."""

    tag: ClassVar[str] = "content"

    content: str | None = None
    mark: str = ""
    """What `pre_check` asked before the rows were read: where the answer is the same, they are not read again."""

    @property
    def fingerprint(self) -> str | None:
        return self.content

    def read(self, fingerprint: str | None, read_at: str) -> ContentToken:
        return replace(self, content=fingerprint)

    def fields(self) -> dict[str, Any]:
        return {"content": self.content, **({"mark": self.mark} if self.mark else {})}

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> ContentToken:
        return cls(fields["content"], fields.get("mark", ""))


@dataclass(frozen=True)
class CursorWindow(Token):
    """The rows whose cursor lies between `after` and `upto`, both included; None means no bound on that side."""

    tag: ClassVar[str] = "cursor"

    after: Value | None = None
    upto: Value | None = None
    watermark: Value | None = None
    """How far the table is synced by this window. Less than `upto` where rows are dated in the future."""
    lookback_fingerprint: str = ""
    """Count and hash of the source's rows from one look-back before the watermark on."""
    read_at: str = ""
    """When the rows were read, on the source's clock."""
    is_given: bool = False
    """A program passed the rows in as a DataFrame: the window says nothing about the source."""
    keys_read_at: Value | None = None
    """The cursor's clock when all keys of the source were read too: a key that is missing had left by then."""

    @property
    def fingerprint(self) -> str:
        return self.lookback_fingerprint

    def read(self, fingerprint: str | None, read_at: str) -> CursorWindow:
        return replace(self, lookback_fingerprint=fingerprint or "", read_at=read_at)

    def may_overlap(self, later: CursorWindow) -> bool:
        """Return whether this window may hold rows from before the end of a later one. False without bounds."""
        return later.upto is not None and (self.after is None or self.after <= later.upto)

    def fields(self) -> dict[str, Any]:
        bounds = {name: getattr(self, name) for name in _BOUNDS}
        kind = next((value.kind.value for value in bounds.values() if value is not None), None)
        return {
            "kind": kind,
            **{name: value and value.text for name, value in bounds.items()},
            "lookback_fingerprint": self.lookback_fingerprint,
            "read_at": self.read_at,
            "is_given": self.is_given,
        }

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> CursorWindow:
        kind = ValueKind(fields["kind"]) if fields["kind"] else ValueKind.TEXT
        bounds = {name: None if fields[name] is None else Value.of(fields[name], kind) for name in _BOUNDS}
        return CursorWindow(
            **bounds,
            lookback_fingerprint=fields["lookback_fingerprint"],
            read_at=fields["read_at"],
            is_given=fields["is_given"],
        )


@dataclass(frozen=True)
class Gap:
    """Cursor values from `low` on that an open transaction could still write when the watermark went past them.

    Later windows read them again, until the transaction has ended."""

    low: Value
    session: str
    """The transaction, as the server names it: it is the same one while session and beginning are the same."""
    who: str
    """User and program, for people."""
    since: str
    """When the watermark went past it, on the source's clock."""


@dataclass(frozen=True)
class IncrementalWindow(CursorWindow):
    """The rows of an incremental table whose cursor lies between `after` and `upto`, both included."""

    tag: ClassVar[str] = "incremental"

    gaps: tuple[Gap, ...] = ()
    """Gaps that are carried: these values must be read again."""
    held_by: tuple[str, ...] = ()
    """Open transactions that kept the watermark below the rows that were read, for people."""
    without_cursor: int = 0
    """How many rows without a cursor value were read besides."""
    reached: Value | None = None
    """How far the table was synced before: rows up to there that are new came late."""
    clock: Value | None = None
    """The cursor's clock when the window was planned. Before the watermark where the clock had been set back."""

    @property
    def all_before(self) -> Value | None:
        """Return the value below which nothing is left to read: the watermark, or an earlier clock."""
        known = [value for value in (self.watermark, self.clock) if value is not None]
        return min(known) if self.watermark is not None else None

    def fields(self) -> dict[str, Any]:
        gaps = [[gap.low.kind.value, gap.low.text, gap.session, gap.who, gap.since] for gap in self.gaps]
        return {
            **super().fields(),
            "gaps": gaps,
            "held_by": list(self.held_by),
            "without_cursor": self.without_cursor,
            "reached": self.reached and [self.reached.kind.value, self.reached.text],
            **({"clock": [self.clock.kind.value, self.clock.text]} if self.clock is not None else {}),
        }

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> IncrementalWindow:
        gaps = tuple(
            Gap(Value.of(low, ValueKind(kind)), session, who, since)
            for kind, low, session, who, since in fields["gaps"]
        )
        window = CursorWindow.of_fields(fields)
        bounds = {name: getattr(window, name) for name in _CURSOR_FIELDS}
        reached = fields["reached"]
        return cls(
            **bounds,
            gaps=gaps,
            held_by=tuple(fields["held_by"]),
            without_cursor=fields["without_cursor"],
            reached=_of_pair(reached),
            clock=_of_pair(fields.get("clock")),
        )


def _of_pair(stored: Any) -> Value | None:
    return None if stored is None else Value.of(stored[1], ValueKind(stored[0]))


@dataclass(frozen=True)
class FeedWindow(Token):
    """The changes of a change feed after `after`, up to `upto`; or, with `whole`, all rows of the table."""

    tag: ClassVar[str] = "feed"

    after: str | None = None
    upto: str = ""
    detail: str = ""
    """What the feed needs besides to go on from `upto`."""
    feed: str = ""
    """Which log of which database it is."""
    mode: str = "keys"
    whole: bool = False
    """All rows were read: what is not among them has left. Reading goes on at `upto`."""
    snapshot: str = ""
    """At which snapshot of the source all rows were read: the next window leaves out what it had."""
    read_at: str = ""
    """When the rows were read, on the source's clock."""
    why: str = ""
    """Why all rows were read, when they had been read before."""

    @property
    def position(self) -> Position:
        """Return where reading goes on."""
        return Position(self.upto, self.detail)

    @property
    def fingerprint(self) -> None:
        return None

    def read(self, fingerprint: str | None, read_at: str) -> FeedWindow:
        return replace(self, snapshot=(fingerprint or "") if self.whole else self.snapshot, read_at=read_at)

    def fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FEED_FIELDS}

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> FeedWindow:
        return cls(**fields)


@dataclass(frozen=True)
class WatermarkSet(Token):
    """A person set the watermark of a table, or reset it: windows that were read before no longer tell how far the
    table is synced."""

    tag: ClassVar[str] = "watermark"

    watermark: Value | None = None
    """From here on rows are read; None for all rows."""
    who: str = ""
    why: str = ""

    @property
    def fingerprint(self) -> None:
        return None

    def read(self, fingerprint: str | None, read_at: str) -> WatermarkSet:
        return self

    def fields(self) -> dict[str, Any]:
        value = self.watermark and [self.watermark.kind.value, self.watermark.text]
        return {"watermark": value, "who": self.who, "why": self.why}

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> WatermarkSet:
        value = fields["watermark"]
        return cls(None if value is None else Value.of(value[1], ValueKind(value[0])), fields["who"], fields["why"])

    def __str__(self) -> str:
        done = "was reset" if self.watermark is None else f"was set to {self.watermark}"
        return f"the watermark {done} by {self.who}: {self.why}"


def with_keys(fingerprint: str | None, keys: Receipt) -> str:
    """Return a fingerprint of rows in the look-back and of all keys."""
    return f"{fingerprint} {keys.as_text()}"


_FEED_FIELDS = ("after", "upto", "detail", "feed", "mode", "whole", "snapshot", "read_at", "why")
_BOUNDS = ("after", "upto", "watermark", "keys_read_at")
_CURSOR_FIELDS = (*_BOUNDS, "lookback_fingerprint", "read_at", "is_given")
_RECEIPT = re.compile(r"\d+ [0-9a-f]{32}")


@dataclass(frozen=True)
class Remembered:
    """What the ledger remembers besides a receipt: the token, and what the target table held after the load."""

    token: Token | None
    target_rows: int | None = None
    target_hash: str = ""


def ledger_from_version_1(text: str | None, window: str) -> Remembered:
    """Return what a ledger row of version 1 says. `window` is its value: "all rows" for a static table."""
    if text is not None and text.startswith('{"after": '):
        stored: dict[str, Any] = json.loads(text)
        return Remembered(_window_from_version_1(stored, stored.get("tail")), stored.get("held"))
    if window != "all rows":
        return Remembered(PartitionToken(text))
    if text is not None and _RECEIPT.fullmatch(text):
        rows, hash_ = text.split()
        return Remembered(ContentToken(None), int(rows), hash_)
    return Remembered(ContentToken(None))


def entry_from_version_1(column: str, newest: str | None, window: str, read_at: str) -> Token:
    """Return the token of a lake file of version 1, which kept a window's bounds and its fingerprint apart.

    Of a partition table `column` is the partition column's name, else "static" or "scd"."""
    if window:
        return replace(_window_from_version_1(json.loads(window), newest), read_at=read_at)
    return ContentToken(newest) if column == "static" else PartitionToken(newest)


def _window_from_version_1(stored: dict[str, Any], fingerprint: str | None) -> CursorWindow:
    names = {"after": "after", "upto": "upto", "watermark": "mark", "keys_read_at": "seen_at"}
    texts = {name: stored.get(old) for name, old in names.items()}
    kind = _kind_of([text for text in texts.values() if text is not None])
    return CursorWindow(
        **{name: None if text is None else Value.of(text, kind) for name, text in texts.items()},
        lookback_fingerprint=fingerprint or "",
        read_at=stored.get("read_at", ""),
        is_given=stored.get("is_given", False),
    )


def _kind_of(texts: list[str]) -> ValueKind:
    """Return the kind that all these texts are values of; version 1 did not write it down."""
    for kind in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DATE, ValueKind.TIMESTAMP):
        try:
            spelled = [Value.of(text, kind).text for text in texts]
        except ValueError:
            continue
        if spelled == texts:
            return kind
    return ValueKind.TEXT

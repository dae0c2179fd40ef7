"""How far windows reach that follow on one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value, ValueKind

AnyWindow = TypeVar("AnyWindow", bound=CursorWindow)
_LEAST = Value.of("", ValueKind.TEXT)


def watermark_of(windows: Iterable[CursorWindow], floor: Value | None) -> Value | None:
    """Return how far windows reach that follow on one another, from the floor on; None when none begins there."""
    reached: Value | None = None
    ordered = sorted(windows, key=lambda window: (window.after is not None, window.after or _LEAST))
    for window in ordered:
        begins = window.after is None or (floor is not None and window.after <= floor)
        follows = reached is not None and window.after is not None and window.after <= reached
        if (begins or follows) and window.watermark is not None and (reached is None or window.watermark > reached):
            reached = window.watermark
    return reached


def start_of(in_lake: Iterable[CursorWindow], in_ledger: Iterable[CursorWindow], floor: Value | None) -> Value | None:
    """Return the smaller watermark of lake and ledger; None when one of them has none."""
    lake, ledger = watermark_of(in_lake, floor), watermark_of(in_ledger, floor)
    return None if lake is None or ledger is None else min(lake, ledger)


def of_one_counter(windows: Mapping[Value, AnyWindow], now: Value) -> dict[Value, AnyWindow]:
    """Return the windows of the counter that stands at `now`. A counter that only grows and stands lower than a window
    reached was restored with its database; windows before that one are of the other counter, too."""
    kept, bound = {}, now
    for name in sorted(windows, reverse=True):
        watermark = windows[name].watermark
        if watermark is None or watermark <= bound:
            kept[name], bound = windows[name], bound if watermark is None else watermark
    return kept

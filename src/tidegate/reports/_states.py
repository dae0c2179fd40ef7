"""Choose the style of a state: its tone (a colour) and its sign (a symbol), so that colour alone says nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.reports._markup import Html, tag, word
from tidegate.reports._reading import Value


@dataclass(frozen=True)
class Style:
    """`tone` is good, wait, bad or calm; `code` is the CSS class of a calendar cell, empty for `proven`."""

    sign: str
    tone: str
    code: str = "x-other"
    meaning: str = ""


TONES = ("bad", "wait", "calm", "good")
UNKNOWN = Style("?", "calm")

STATES = {
    "proven": Style("✓", "good", "", "the receipts of source and target are equal"),
    "loaded": Style("↓", "wait", "x-loaded", "in the target, not proven yet"),
    "pending": Style("→", "wait", "x-pending", "waits for the next run"),
    "missing": Style("!", "bad", "x-missing", "in the source, not in the target"),
    "differs": Style("≠", "bad", "x-differs", "the target has other rows than the source"),
    "adopted": Style("+", "calm", "x-adopted", "was in the target before Tidegate; taken over with a receipt"),
    "removed": Style("−", "calm", "x-removed", "removed from the target by a setting"),
    "forgotten": Style("×", "calm", "x-forgotten", "removed from the scope on request"),
    "out of scope": Style("·", "calm", "x-outside", "outside of the declared scope"),
}

# Other words that are shown as a badge: of verdicts, tables, runs, steps, findings.
WORDS = {
    "equal": Style("=", "good"),
    "in sync": Style("✓", "good"),
    "done": Style("✓", "good"),
    "empty": Style("○", "calm"),
    "nothing to do": Style("○", "calm"),
    "skipped": Style("○", "calm"),
    "note": Style("i", "calm"),
    "unproven": Style("?", "calm"),
    "broken": Style("✕", "bad"),
    "not proven": Style("?", "calm"),
    "behind": Style("→", "wait"),
    "interrupted": Style("‖", "wait"),
    "under way": Style("▶", "wait"),
    "not ended": Style("‖", "wait"),
    "critical": Style("✕", "bad"),
    "info": Style("i", "calm"),
    "warning": Style("▲", "wait"),
    "differences": Style("≠", "bad"),
    "failed": Style("✕", "bad"),
    "error": Style("✕", "bad"),
}


def style_of(state: str) -> Style:
    """Return the style of a state. An unknown state is shown in a calm tone."""
    return STATES.get(state) or WORDS.get(state) or UNKNOWN


def badge(state: str) -> Html:
    """Return the state with its sign, in its colour."""
    style = style_of(state)
    return tag("b", f"{style.sign} ", word(state or "unknown"), class_=f"badge {style.tone}")


def by_urgency(states: Iterable[str]) -> list[str]:
    """Return each state once, the most urgent first."""
    order = list(STATES)
    known = {state: order.index(state) if state in STATES else len(order) for state in states}
    return sorted(known, key=lambda state: (TONES.index(style_of(state).tone), known[state], state))


def needs_attention(value: Value) -> bool:
    """Return whether a person should check the value: it is in scope, and neither proven nor adopted."""
    return value.in_scope and value.state not in ("proven", "adopted")

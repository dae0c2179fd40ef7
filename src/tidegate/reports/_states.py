"""How a word looks: its tone (a colour) and its sign (a shape), so that no meaning rests on colour alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.reports._markup import Html, tag, word
from tidegate.reports._reading import Value


@dataclass(frozen=True)
class Look:
    """`tone` is good, wait, bad or calm; `code` is the class of a calendar cell, empty for the proven one."""

    sign: str
    tone: str
    code: str = "x-other"
    meaning: str = ""


TONES = ("bad", "wait", "calm", "good")
UNKNOWN = Look("?", "calm")

STATES = {
    "proven": Look("✓", "good", "", "the receipts of source and target are equal"),
    "loaded": Look("↓", "wait", "x-loaded", "in the target, not proven yet"),
    "pending": Look("→", "wait", "x-pending", "waits for the next run"),
    "missing": Look("!", "bad", "x-missing", "in the source, not in the target"),
    "differs": Look("≠", "bad", "x-differs", "the target holds something else than the source"),
    "adopted": Look("+", "calm", "x-adopted", "was in the target before us; taken over with a receipt"),
    "removed": Look("−", "calm", "x-removed", "removed from the target by a rule"),
    "forgotten": Look("×", "calm", "x-forgotten", "taken out of the scope on request"),
    "out of scope": Look("·", "calm", "x-outside", "outside of the declared scope"),
}

# Every other word that is shown as a badge: verdicts, tables, runs, steps, findings.
WORDS = {
    "equal": Look("=", "good"),
    "in step": Look("✓", "good"),
    "done": Look("✓", "good"),
    "empty": Look("○", "calm"),
    "nothing to do": Look("○", "calm"),
    "skipped": Look("○", "calm"),
    "note": Look("i", "calm"),
    "unproven": Look("?", "calm"),
    "broken": Look("✕", "bad"),
    "not proven": Look("?", "calm"),
    "behind": Look("→", "wait"),
    "interrupted": Look("‖", "wait"),
    "warning": Look("▲", "wait"),
    "differences": Look("≠", "bad"),
    "failed": Look("✕", "bad"),
    "error": Look("✕", "bad"),
}


def look(state: str) -> Look:
    """How a word looks; one that nobody told us about still shows, in a calm tone."""
    return STATES.get(state) or WORDS.get(state) or UNKNOWN


def badge(state: str) -> Html:
    seen = look(state)
    return tag("b", f"{seen.sign} ", word(state or "unknown"), class_=f"badge {seen.tone}")


def by_urgency(states: Iterable[str]) -> list[str]:
    """Each state once, the ones to worry about first."""
    order = list(STATES)
    known = {state: order.index(state) if state in STATES else len(order) for state in states}
    return sorted(known, key=lambda state: (TONES.index(look(state).tone), known[state], state))


def needs_attention(value: Value) -> bool:
    """True for what a person should look at: inside the scope, and not proven or taken over."""
    return value.in_scope and value.state not in ("proven", "adopted")

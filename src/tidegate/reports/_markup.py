"""HTML that cannot be broken by what it shows: everything is escaped unless it is already `Html`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

VOID = frozenset({"input", "link", "meta"})
Attribute = str | int | bool | None

# What a browser would drop, or UTF-8 cannot carry: controls except tab and newline, half surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

# The last line of defence: a project's own secrets were taken out of the facts, and only strangers are left. In quotes
# the closing one is written twice to be a part of the value; what is never closed is hidden to its end.
_QUOTED = r"\{(?:[^}]|\}\})*(?:\}|\Z)" r'|"(?:[^"]|"")*(?:"|\Z)' r"|'(?:[^']|'')*(?:'|\Z)"
_SECRETS = (
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"), r"\1***"),
    (re.compile(rf"(?i)\b((?:password|passwd|pwd)\s*=\s*)(?:{_QUOTED}|[^;&\s]+)"), r"\1***"),
)


class Html(str):
    """Text that goes into the page as it is."""

    __slots__ = ()


def escape(text: str) -> Html:
    """The text as it can stand between tags or in a quoted attribute; passwords in it are hidden."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_UNPRINTABLE.sub("\ufffd", hide_secrets(text))))


def hide_secrets(text: str) -> str:
    if "://" not in text and "=" not in text:
        return text
    for pattern, hidden in _SECRETS:
        text = pattern.sub(hidden, text)
    return text


def join(parts: Iterable[str | None], between: str = "") -> Html:
    """The parts one after the other; None is left out."""
    return Html(escape(between).join(escape(part) for part in parts if part is not None))


def tag(element: str, /, *inside: str | None, **attributes: Attribute) -> Html:
    """One element. `class_` becomes class, `aria_label` aria-label; None and False leave an attribute out."""
    opening = element + "".join(_attribute(key, value) for key, value in attributes.items())
    if element in VOID:
        return Html(f"<{opening}>")
    return Html(f"<{opening}>{join(inside)}</{element}>")


def word(text: str) -> Html:
    """Text of unknown origin; a right-to-left name keeps its direction to itself."""
    return escape(text) if text.isascii() else tag("bdi", text)


def prose(text: str) -> Html:
    """A sentence of unknown origin, with `code` between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return word(text)
    return join(tag("code", part) if odd % 2 else word(part) for odd, part in enumerate(parts))


def isolate(text: str) -> str:
    """For attributes, where no `bdi` can stand: a right-to-left name keeps its direction to itself."""
    return text if text.isascii() else f"\u2068{text}\u2069"


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'

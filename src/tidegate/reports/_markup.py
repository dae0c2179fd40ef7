"""Build HTML in which every text is escaped, unless it is `Html` already."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

VOID = frozenset({"input", "link", "meta"})
Attribute = str | int | bool | None

# Characters that a browser drops or UTF-8 cannot encode: controls except tab and newline, half surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

# The last line of defence: the secrets of the project were replaced in the facts already, so these are unknown ones.
# Inside quotes a doubled quote is a part of the value. A quote that is never closed hides the rest of the text.
_QUOTED = r"\{(?:[^}]|\}\})*(?:\}|\Z)" r'|"(?:[^"]|"")*(?:"|\Z)' r"|'(?:[^']|'')*(?:'|\Z)"
_SECRETS = (
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"), r"\1***"),
    (re.compile(rf"(?i)\b((?:password|passwd|pwd)\s*=\s*)(?:{_QUOTED}|[^;&\s]+)"), r"\1***"),
)


class Html(str):
    """Markup that goes into the page without escaping."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Return the text for use between tags or in a quoted attribute, with passwords hidden."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_UNPRINTABLE.sub("\ufffd", hide_secrets(text))))


def hide_secrets(text: str) -> str:
    """Return the text with `***` for passwords in URLs and in `password=...`."""
    if "://" not in text and "=" not in text:
        return text
    for pattern, hidden in _SECRETS:
        text = pattern.sub(hidden, text)
    return text


def join(parts: Iterable[str | None], between: str = "") -> Html:
    """Return the parts joined; None is skipped."""
    return Html(escape(between).join(escape(part) for part in parts if part is not None))


def tag(element: str, /, *inside: str | None, **attributes: Attribute) -> Html:
    """Return one element. `class_` becomes class, `aria_label` aria-label; None and False omit an attribute."""
    opening = element + "".join(_attribute(key, value) for key, value in attributes.items())
    if element in VOID:
        return Html(f"<{opening}>")
    return Html(f"<{opening}>{join(inside)}</{element}>")


def word(text: str) -> Html:
    """Return a text of unknown origin. A right-to-left name does not change the direction of its surroundings."""
    return escape(text) if text.isascii() else tag("bdi", text)


def prose(text: str) -> Html:
    """Return a sentence of unknown origin, with `code` between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return word(text)
    return join(tag("code", part) if odd % 2 else word(part) for odd, part in enumerate(parts))


def isolate(text: str) -> str:
    """Return a text for an attribute, where no `bdi` is possible, with its direction isolated."""
    return text if text.isascii() else f"\u2068{text}\u2069"


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'

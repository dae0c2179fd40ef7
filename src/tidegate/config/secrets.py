"""Read secrets from variables and files, and hide them in everything that is printed.

    ${NAME}             an environment variable; it is an error when it is not set
    ${NAME:-default}    the default when it is not set or empty
    ${file:/path}       the content of a file, less one newline at its end
    $${                 the two characters ${

A `.env` file beside the configuration is not read: export the variables, or let the shell,
systemd or the container do it. A value is not expanded again: `${...}` inside a value stays a text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tidegate.errors import ConfigError, TidegateError
from tidegate.model.connection import Connection

HIDDEN = "***"

# No environment variable, YAML file or connection can contain NUL, so `NUL 0 NUL` is a safe placeholder of a value.
PLACEHOLDER = "\x00[0-9]+\x00"
_PLACEHOLDER = re.compile("\x00([0-9]+)\x00")
_REFERENCE = re.compile(r"(?P<escape>\$\$\{)|\$\{(?P<inside>[^{}]*)(?P<end>\}?)")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)


def refusal(happened: str, remedy: str, error: type[TidegateError] = ConfigError) -> TidegateError:
    """Return an error of the configuration, which is raised before any work."""
    return error(happened, "Nothing was read or written.", remedy)


@dataclass(frozen=True)
class Filled:
    """A text whose `${...}` were looked up, with a placeholder for each value.

    A URL is split before its values are put in, so that a password may contain `@` or `/`.
    """

    text: str
    values: tuple[str, ...] = ()

    def whole(self) -> str:
        """Return the text with its values."""
        return self.put_in(self.text)

    def put_in(self, part: str, decode: Callable[[str], str] = str) -> str:
        """Return a part of the text with its values. `decode` is applied to the text around them."""
        pieces = enumerate(_PLACEHOLDER.split(part))
        return "".join(self.values[int(piece)] if at % 2 else decode(piece) for at, piece in pieces)


@dataclass(frozen=True)
class Variables:
    """The environment and the folder in which `${...}` is looked up. Relative files start at `folder`."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    folder: Path = Path()

    def expand(self, text: str, setting: str) -> str:
        """Return the text with its values. Raises ConfigError, which names `setting`."""
        return self.fill(text, setting).whole()

    def fill(self, text: str, setting: str) -> Filled:
        """Return the text with placeholders, and their values. Raises ConfigError, which names `setting`."""
        values: list[str] = []

        def placeholder(match: re.Match[str]) -> str:
            if match["escape"]:
                return "${"
            values.append(self._value(match, setting))
            return f"\x00{len(values) - 1}\x00"

        _refuse_nul(text, setting)
        return Filled(_REFERENCE.sub(placeholder, text), tuple(values))

    def _value(self, match: re.Match[str], setting: str) -> str:
        inside = match["inside"]
        if match["end"] and inside.startswith("file:"):
            return self._content(inside.removeprefix("file:"), setting)
        variable = _VARIABLE.fullmatch(inside)
        if not match["end"] or variable is None:
            raise refusal(
                f"`{setting}` holds a `${{` that does not name a variable or a file.",
                "Write `${NAME}`, `${NAME:-default}` or `${file:/path}`; `$${` stands for a plain `${`.",
            )
        value = self.environ.get(variable["name"], "")
        if not value and variable["default"] is not None:
            return variable["default"]
        if variable["name"] not in self.environ:
            name = variable["name"]
            raise refusal(
                f"`{setting}` needs the environment variable {name}, which is not set.",
                f"Export {name}, or write `${{{name}:-default}}`. A `.env` file is not read.",
            )
        return value

    def _content(self, name: str, setting: str) -> str:
        try:
            content = (self.folder / name).read_bytes().decode()
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
            raise refusal(
                f"`{setting}` needs the file {name}, which cannot be read: {reason}.",
                "Write the file, or correct the path; a relative one starts at the configuration's folder.",
            ) from None
        _refuse_nul(content, setting)
        return re.sub(r"\r?\n\Z", "", content)


def _refuse_nul(text: str, setting: str) -> None:
    if "\x00" in text:
        raise refusal(f"`{setting}` holds a NUL character, which no database takes.", "Take it out.")


# A shorter secret may be a part of ordinary words: it is hidden only where it is a whole word.
_SHORT = 4
_SPELLINGS = {
    "\\": ("\\\\",),
    "'": ("\\'", "''", "&#x27;", "&#39;"),
    '"': ('\\"', '""', "&quot;", "&#34;"),
    "}": ("}}", "%7D%7D"),
    "&": ("&amp;",),
    "<": ("&lt;",),
    ">": ("&gt;",),
    " ": ("+", "\\ "),
}


class Redactor:
    """Hides secrets in a text, whichever way their characters are spelled: raw, `%40`, `\\u00e9`, `&amp;`.

    A secret of fewer than four characters, or one that is part of a `public` word (user `postgres` with
    password `postgres`), is hidden only where it is a whole word. Elsewhere `***` would destroy ordinary words.
    """

    def __init__(self, secrets: Iterable[str], public: Iterable[str] = ()) -> None:
        known = sorted({secret for secret in secrets if secret}, key=lambda secret: (-len(secret), secret))
        words = [word.lower() for word in public]
        patterns = [
            _pattern(secret, weak=len(secret) < _SHORT or any(secret.lower() in word for word in words))
            for secret in known
        ]
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    @classmethod
    def of(cls, *connections: Connection, also: Iterable[str] = ()) -> Self:
        """Return a redactor of the secrets of these connections, and of those in `also`."""
        secrets = [secret for connection in connections for secret in connection.secrets]
        public = [word for place in connections for word in (place.kind, place.user, place.database, *place.hosts)]
        return cls([*secrets, *also], public)

    def redact(self, text: str) -> str:
        """Return the text with every secret replaced by `***`."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return the text with every secret replaced by `***`."""
    return Redactor(secrets).redact(text)


def _pattern(secret: str, weak: bool) -> str:
    """Return a pattern for a secret; a weak one matches whole words only."""
    body = "".join(map(_spelled, secret))
    return rf"(?<!\w){body}(?!\w)" if weak else body


def _spelled(character: str) -> str:
    """Return a pattern for all spellings of one character."""
    encoded = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    spellings = {character, json.dumps(character)[1:-1], *_SPELLINGS.get(character, ())}
    written = "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))
    # The percent code first: of `%25`, a raw `%` would leave the rest.
    return f"(?:(?i:{encoded})|{written})"

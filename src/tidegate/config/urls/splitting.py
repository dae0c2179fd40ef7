"""What every URL has, whichever database it is for: how it splits, and how its pieces are decoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from tidegate.config.secrets import MARK, Filled, refusal
from tidegate.errors import TidegateError, Unsupported

_RIGHT_OF_LOGIN = re.compile(
    rf"""(?P<host>\[[^\]@]*\]|[^\[\]:/?@]*)
         (?::(?P<port>(?:[0-9]|{MARK})*))?
         (?:/(?P<dbname>[^/?@]*))?
         (?:\?(?P<query>(?:[^=&]+=[^&]*(?:&|\Z))*))?""",
    re.VERBOSE | re.DOTALL,
)
_OPTION_NAME = re.compile(r"[A-Za-z][\w.-]{0,60}")


@dataclass(frozen=True)
class Reading:
    """One way to read `[user[:password]@]host[:port][/database][?query]`."""

    login: str
    right: re.Match[str]

    def parts(self, filled: Filled, plus: str = "+") -> dict[str, str]:
        """The pieces before the query, decoded; `plus` is what a `+` stands for in them."""
        user, _, password = self.login.partition(":")
        texts = {"user": user, "password": password}
        texts |= {name: self.right[name] or "" for name in ("host", "port", "dbname")}
        return {name: decoded(text, filled, plus) for name, text in texts.items()}

    def query(self, filled: Filled, plus: str = "+") -> Iterator[tuple[str, str]]:
        """Names as they are written, and decoded values. What the query says wins over the other pieces."""
        for pair in filter(None, (self.right["query"] or "").split("&")):
            name, _, text = pair.partition("=")
            yield name, decoded(text, filled, plus)


@dataclass(frozen=True)
class Kind:
    """A database whose URLs are read. Its parts are host, port, dbname, user, password, and else options."""

    name: str
    port: int
    parts_of_url: Callable[[re.Match[str], Reading, Filled], dict[str, str]]

    @property
    def shape(self) -> str:
        """The URL that a remedy shows."""
        return f"{self.name}://user:password@host:{self.port}/database"


def read(rest: str) -> Reading | None:
    """The plain reading, its login up to the last `@` before `/` or `?`; else the only one with a database.

    The second is for passwords with a raw `/` or `?`, which SQLAlchemy takes too. None where neither is alone.
    """
    readings = list(_readings(rest))
    plain = [reading for reading in readings if not re.search("[/?]", reading.login)]
    named = [reading for reading in readings if reading.right["dbname"]]
    return next((choice[0] for choice in (plain, named) if len(choice) == 1), None)


def _readings(rest: str) -> Iterator[Reading]:
    for cut in (-1, *(found.start() for found in re.finditer("@", rest))):
        login, right = rest[: max(cut, 0)], _RIGHT_OF_LOGIN.fullmatch(rest[cut + 1 :])
        if right and not re.search("[/?]", login.partition(":")[0]):
            yield Reading(login, right)


def decoded(text: str, filled: Filled, plus: str = "+") -> str:
    try:
        whole = filled.put_in(text, lambda piece: unquote(piece.replace("+", plus), errors="strict"))
    except UnicodeDecodeError:
        raise refusal("has percent-encoded bytes that are not UTF-8.", "Encode the text as UTF-8.") from None
    if "\x00" in whole:
        raise refusal("holds a NUL character (%00), which no database takes.", "Take it out.")
    return whole


def several_hosts() -> TidegateError:
    return refusal("names several hosts, which this version does not take.", "Name one of them.", Unsupported)


def unreadable(shape: str) -> TidegateError:
    codes = "with %40 for `@`, %2F for `/`, %3F for `?` in a password, and [ ] around IPv6"
    return refusal("is not a connection that Tidegate can read.", f"Write {shape}, {codes}.")


def unknown_option(what: str, name: str, remedy: str) -> TidegateError:
    """`what` is `option` or `JDBC option`. A name that cannot be one may be a password's end: it is not shown."""
    named = f" `{name}`" if _OPTION_NAME.fullmatch(name) else " of a strange name"
    return refusal(f"asks for the {what}{named}, which has no counterpart here.", remedy, Unsupported)

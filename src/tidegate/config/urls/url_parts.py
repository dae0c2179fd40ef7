"""Splitting a URL of any database into its parts, and decoding them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from tidegate.config.secrets import PLACEHOLDER, Filled, refusal
from tidegate.errors import TidegateError, Unsupported

_RIGHT_OF_LOGIN = re.compile(
    rf"""(?P<host>\[[^\]@]*\]|[^\[\]:/?@]*)
         (?::(?P<port>(?:[0-9]|{PLACEHOLDER})*))?
         (?:/(?P<dbname>[^/?@]*))?
         (?:\?(?P<query>(?:[^=&]+=[^&]*(?:&|\Z))*))?""",
    re.VERBOSE | re.DOTALL,
)
_OPTION_NAME = re.compile(r"[A-Za-z][\w.-]{0,60}")


@dataclass(frozen=True)
class SplitUrl:
    """One way to split `[user[:password]@]host[:port][/database][?query]`."""

    login: str
    right: re.Match[str]

    def parts(self, filled: Filled, plus: str = "+") -> dict[str, str]:
        """Return the decoded parts before the query. `plus` is the meaning of a `+` in them."""
        user, _, password = self.login.partition(":")
        texts = {"user": user, "password": password}
        texts |= {name: self.right[name] or "" for name in ("host", "port", "dbname")}
        return {name: decoded(text, filled, plus) for name, text in texts.items()}

    def query(self, filled: Filled, plus: str = "+") -> Iterator[tuple[str, str]]:
        """Yield the names of the query as written, and the decoded values. They override the other parts."""
        for pair in filter(None, (self.right["query"] or "").split("&")):
            name, _, text = pair.partition("=")
            yield name, decoded(text, filled, plus)


@dataclass(frozen=True)
class UrlKind:
    """How the URLs of one database are read. Parts are host, port, dbname, user, password; all others are options."""

    name: str
    port: int
    parts_of_url: Callable[[re.Match[str], SplitUrl, Filled], dict[str, str]]

    @property
    def example(self) -> str:
        """Return the URL that error messages show."""
        return f"{self.name}://user:password@host:{self.port}/database"


def split_url(rest: str) -> SplitUrl | None:
    """Split a URL. The login ends at the last `@` before `/` or `?`; otherwise at the only `@` that gives a database.

    The second way is for passwords with a raw `/` or `?`, which SQLAlchemy accepts, too. None if ambiguous.
    """
    candidates = list(_candidates(rest))
    plain = [candidate for candidate in candidates if not re.search("[/?]", candidate.login)]
    named = [candidate for candidate in candidates if candidate.right["dbname"]]
    return next((choice[0] for choice in (plain, named) if len(choice) == 1), None)


def _candidates(rest: str) -> Iterator[SplitUrl]:
    for cut in (-1, *(found.start() for found in re.finditer("@", rest))):
        login, right = rest[: max(cut, 0)], _RIGHT_OF_LOGIN.fullmatch(rest[cut + 1 :])
        if right and not re.search("[/?]", login.partition(":")[0]):
            yield SplitUrl(login, right)


def decoded(text: str, filled: Filled, plus: str = "+") -> str:
    """Return a part of a URL without percent codes, and with its variables filled in."""
    try:
        whole = filled.put_in(text, lambda piece: unquote(piece.replace("+", plus), errors="strict"))
    except UnicodeDecodeError:
        raise refusal("has percent-encoded bytes that are not UTF-8.", "Encode the text as UTF-8.") from None
    if "\x00" in whole:
        raise refusal("holds a NUL character (%00), which no database accepts.", "Take it out.")
    return whole


def several_hosts() -> TidegateError:
    return refusal("names several hosts, which this version does not support.", "Name one of them.", Unsupported)


def unreadable(example: str) -> TidegateError:
    codes = "with %40 for `@`, %2F for `/`, %3F for `?` in a password, and [ ] around IPv6"
    return refusal("is not a connection that Tidegate can read.", f"Write {example}, {codes}.")


def unknown_option(what: str, name: str, remedy: str) -> TidegateError:
    """Return the error for an unknown `option` or `JDBC option` (`what`).

    A name that cannot be one is not shown: it may be the end of a password."""
    named = f" `{name}`" if _OPTION_NAME.fullmatch(name) else " with a strange name"
    return refusal(f"asks for the {what}{named}, which Tidegate does not support.", remedy, Unsupported)

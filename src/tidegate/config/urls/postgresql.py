"""Connection texts of PostgreSQL: libpq's options under their own names, pgjdbc's options as libpq's."""

from __future__ import annotations

import re

from tidegate.config.secrets import Filled
from tidegate.config.urls.url_parts import SplitUrl, UrlKind, unknown_option

_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)(?:[^\s\\]|\\.)*)?)\s*", re.S)

# pgjdbc's names and libpq's. https://jdbc.postgresql.org/documentation/use/
_JDBC_NAMES = {
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
    "gssEncMode": "gssencmode",
    "channelBinding": "channel_binding",
    "requireAuth": "require_auth",
    "kerberosServerName": "krbsrvname",
}
_SAME_NAMES = {"user", "password", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslpassword", "options"}
# These tune pgjdbc, and change neither the server nor the rows: they are ignored.
_JDBC_TUNING = re.compile(
    "reWriteBatchedInserts|prepareThreshold|preparedStatementCache.*|defaultRowFetchSize|adaptiveFetch"
    "|autosave|binaryTransfer.*|logger.*|logUnclosedConnections|stringtype|socketTimeout|loginTimeout|tcp.*"
    "|assumeMinServerVersion|cleanupSavepoints|disableColumnSanitiser"
)


def parts_of_pairs(filled: Filled) -> dict[str, str] | None:
    """Return the parts of a `key=value` string as libpq reads it; None if it cannot be read."""
    parts: dict[str, str] = {}
    position = 0
    while position < len(filled.text):
        pair = _PAIR.match(filled.text, position)
        if pair is None:
            return None
        parts[pair[1]] = filled.put_in(re.sub(r"\\(.)", r"\1", pair[2] or pair[3] or "", flags=re.DOTALL))
        position = pair.end()
    return _with_sslmode(parts)


def _parts_of_url(url: re.Match[str], split: SplitUrl, filled: Filled) -> dict[str, str]:
    if url["jdbc"]:
        return _with_sslmode(_parts_of_jdbc(split, filled))
    # SQLAlchemy reads a `+` in a query as a space, libpq does not. A URL with a driver is SQLAlchemy's.
    plus = " " if url["driver"] else "+"
    return _with_sslmode(split.parts(filled) | dict(split.query(filled, plus)))


def _parts_of_jdbc(split: SplitUrl, filled: Filled) -> dict[str, str]:
    parts = split.parts(filled)
    for name, text in split.query(filled, plus=" "):
        if _JDBC_TUNING.fullmatch(name):
            continue
        for option, value in _option_of_jdbc(name, text).items():
            # `options` and `currentSchema` are one option for libpq.
            parts[option] = f"{parts[option]} {value}" if option == "options" and option in parts else value
    return parts


def _option_of_jdbc(name: str, value: str) -> dict[str, str]:
    if name in _SAME_NAMES or name in _JDBC_NAMES:
        return {_JDBC_NAMES.get(name, name): value}
    if name == "currentSchema":
        return {"options": "-csearch_path=" + re.sub(r"([\\\s])", r"\\\1", value)}
    if name == "ssl":
        # pgjdbc checks certificate and host name; libpq's `ssl=true` checks neither.
        return {"ssl": "verify-full"} if value in ("", "true") else {}
    remedy = f"Take it out, or write {POSTGRESQL.example}?name=value with libpq's name for it."
    raise unknown_option("JDBC option", name, remedy)


def _with_sslmode(parts: dict[str, str]) -> dict[str, str]:
    if "ssl" in parts:
        wish = parts.pop("ssl")
        parts.setdefault("sslmode", {"true": "require", "1": "require", "false": "disable"}.get(wish, wish))
    return parts


POSTGRESQL = UrlKind("postgresql", 5432, _parts_of_url)

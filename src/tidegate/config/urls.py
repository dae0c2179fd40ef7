"""Connections from the texts that people have: SQLAlchemy and libpq URLs, JDBC URLs, `key=value` strings.

A `${NAME}` inside a URL stands for the value as it is, whatever characters it has; a text that starts
with `${NAME}` is a URL that was written elsewhere, and is percent-decoded. No message shows the text:
it may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from tidegate.config.secrets import MARK, Filled, Variables, refusal
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.connection import Connection

_KINDS = {"postgresql": "postgresql", "postgres": "postgresql"}
_PORTS = {"postgresql": 5432}
_COMING = {
    "mssql": "SQL Server",
    "sqlserver": "SQL Server",
    "mysql": "MySQL",
    "mariadb": "MariaDB",
    "redshift": "Amazon Redshift",
}
_SHAPE = "postgresql://user:password@host:5432/database"
_WRITE = f"Write {_SHAPE}."

_URL = re.compile(
    r"(?P<jdbc>jdbc:)?(?P<scheme>[a-z][a-z0-9]*)(?P<driver>\+\w+)?:(?P<slashes>//)?(?P<rest>.*)", re.I | re.S
)
_RIGHT_OF_LOGIN = re.compile(
    rf"""(?P<host>\[[^\]@]*\]|[^\[\]:/?@]*)
         (?::(?P<port>(?:[0-9]|{MARK})*))?
         (?:/(?P<dbname>[^/?@]*))?
         (?:\?(?P<query>(?:[^=&]+=[^&]*(?:&|\Z))*))?""",
    re.VERBOSE | re.DOTALL,
)
_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)(?:[^\s\\]|\\.)*)?)\s*", re.S)
_OTHER_PAIRS = re.compile(r"\s*(?:driver|server|data source|addr|address|dsn|[A-Z][\w ]*)\s*=")

# pgjdbc's names, and libpq's. https://jdbc.postgresql.org/documentation/use/
_JDBC_NAMES = {
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
    "gssEncMode": "gssencmode",
    "channelBinding": "channel_binding",
    "requireAuth": "require_auth",
    "kerberosServerName": "krbsrvname",
}
_SAME_NAMES = {"user", "password", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslpassword", "options"}
# These tune that driver, and change neither the place nor the rows.
_JDBC_TUNING = re.compile(
    "reWriteBatchedInserts|prepareThreshold|preparedStatementCache.*|defaultRowFetchSize|adaptiveFetch"
    "|autosave|binaryTransfer.*|logger.*|logUnclosedConnections|stringtype|socketTimeout|loginTimeout|tcp.*"
    "|assumeMinServerVersion|cleanupSavepoints|disableColumnSanitiser"
)


@dataclass(frozen=True)
class _Reading:
    """One way to read `[user[:password]@]host[:port][/database][?query]`."""

    login: str
    right: re.Match[str]

    def parts(self) -> Iterator[tuple[str, str]]:
        """Names and texts, not yet decoded. What the query says comes last, and so it wins."""
        user, _, password = self.login.partition(":")
        yield from {"user": user, "password": password}.items()
        yield from ((name, self.right[name] or "") for name in ("host", "port", "dbname"))

    def query(self) -> Iterator[tuple[str, str]]:
        for pair in filter(None, (self.right["query"] or "").split("&")):
            name, _, text = pair.partition("=")
            yield name, text


def parse_connection(text: str, variables: Variables | None = None, setting: str = "text") -> Connection:
    """The connection that a URL or a `key=value` string describes; errors speak of `setting`.

    A host that is not named is `localhost`, a port the database's own; PGHOST and PGPORT have no say,
    or `protected` could be circumvented by them. The database must be named.
    """
    filled = (variables or Variables()).fill(text.strip(), setting)
    if filled.text.startswith("\x00"):
        filled = Filled(filled.whole().strip())
    try:
        return _connection(*_kind_and_parts(filled))
    except TidegateError as problem:
        raise type(problem)(f"`{setting}` {problem.happened}", problem.safe, problem.remedy) from None


def _kind_and_parts(filled: Filled) -> tuple[str, dict[str, str]]:
    if not filled.text:
        raise refusal("is empty.", f"Write {_SHAPE}, or set the variable that it names.")
    url = _URL.match(filled.text)
    if url and (url["slashes"] or url["jdbc"]):
        kind = _kind(url["scheme"].lower())
        return kind, _parts_of_jdbc(url, filled) if url["jdbc"] else _parts_of_url(url, filled)
    if _OTHER_PAIRS.match(filled.text):
        raise refusal("is an ODBC or ADO.NET string, which this version does not read.", _WRITE, Unsupported)
    return "postgresql", _parts_of_pairs(filled)


def _kind(scheme: str) -> str:
    if scheme in _COMING:
        happened = f"is for {_COMING[scheme]}, which is not available yet in this version."
        raise refusal(happened, "Use PostgreSQL as source and target.", Unsupported)
    if scheme not in _KINDS:
        raise refusal(f"starts with `{scheme}:`, which is no database that Tidegate knows.", _WRITE)
    return _KINDS[scheme]


def _parts_of_url(url: re.Match[str], filled: Filled) -> dict[str, str]:
    reading = _read(url["rest"])
    parts = {name: _decoded(text, filled) for name, text in reading.parts()}
    # SQLAlchemy reads a `+` in a query as a space, libpq does not: a driver's name tells whose URL this is.
    plus = " " if url["driver"] else "+"
    return parts | {name: _decoded(text, filled, plus) for name, text in reading.query()}


def _parts_of_jdbc(url: re.Match[str], filled: Filled) -> dict[str, str]:
    reading = _read(url["rest"] if url["slashes"] else f"/{url['rest'].lstrip('/')}")
    parts = {name: _decoded(text, filled) for name, text in reading.parts()}
    for name, text in reading.query():
        if _JDBC_TUNING.fullmatch(name):
            continue
        for option, value in _option_of_jdbc(name, _decoded(text, filled, plus=" ")).items():
            # `options` and `currentSchema` are one option for libpq.
            parts[option] = f"{parts[option]} {value}" if option == "options" and option in parts else value
    return parts


def _option_of_jdbc(name: str, value: str) -> dict[str, str]:
    if name in _SAME_NAMES or name in _JDBC_NAMES:
        return {_JDBC_NAMES.get(name, name): value}
    if name == "currentSchema":
        return {"options": "-csearch_path=" + re.sub(r"([\\\s])", r"\\\1", value)}
    if name == "ssl":
        # pgjdbc checks certificate and host name here; libpq's own `ssl=true` checks neither.
        return {"ssl": "verify-full"} if value in ("", "true") else {}
    remedy = f"Take it out, or write {_SHAPE}?name=value with libpq's name for it."
    raise refusal(f"asks for the JDBC option `{name}`, which has no counterpart here.", remedy, Unsupported)


def _parts_of_pairs(filled: Filled) -> dict[str, str]:
    parts: dict[str, str] = {}
    position = 0
    while position < len(filled.text):
        pair = _PAIR.match(filled.text, position)
        if pair is None:
            raise _unreadable()
        parts[pair[1]] = filled.put_in(re.sub(r"\\(.)", r"\1", pair[2] or pair[3] or "", flags=re.DOTALL))
        position = pair.end()
    return parts


def _read(rest: str) -> _Reading:
    """The plain reading, its login up to the last `@` before `/` or `?`; else the only one with a database.

    The second is for passwords with a raw `/` or `?`, which SQLAlchemy takes too.
    """
    readings = list(_readings(rest))
    plain = [reading for reading in readings if not re.search("[/?]", reading.login)]
    named = [reading for reading in readings if reading.right["dbname"]]
    for choice in (plain, named):
        if len(choice) == 1:
            return choice[0]
    if "," in rest.rpartition("@")[2].partition("/")[0]:
        raise _several_hosts()
    raise _unreadable()


def _readings(rest: str) -> Iterator[_Reading]:
    for cut in (-1, *(found.start() for found in re.finditer("@", rest))):
        login, right = rest[: max(cut, 0)], _RIGHT_OF_LOGIN.fullmatch(rest[cut + 1 :])
        if right and not re.search("[/?]", login.partition(":")[0]):
            yield _Reading(login, right)


def _decoded(text: str, filled: Filled, plus: str = "+") -> str:
    try:
        decoded = filled.put_in(text, lambda piece: unquote(piece.replace("+", plus), errors="strict"))
    except UnicodeDecodeError:
        raise refusal("has percent-encoded bytes that are not UTF-8.", "Encode the text as UTF-8.") from None
    if "\x00" in decoded:
        raise refusal("holds a NUL character (%00), which no database takes.", "Take it out.")
    return decoded


def _connection(kind: str, parts: dict[str, str]) -> Connection:
    places = {name: parts.pop(name, "") for name in ("host", "port", "dbname", "user", "password")}
    host, port = _host_and_port(places["host"], places["port"])
    if not places["dbname"]:
        raise refusal("names no database.", f"Add it: {_SHAPE}.")
    if "ssl" in parts:
        wish = parts.pop("ssl")
        parts.setdefault("sslmode", {"true": "require", "1": "require", "false": "disable"}.get(wish, wish))
    return Connection(
        kind=kind,
        host=host or "localhost",
        port=_port(port) if port else _PORTS[kind],
        database=places["dbname"],
        user=places["user"],
        password=places["password"],
        options=tuple(parts.items()),
    )


def _host_and_port(host: str, port: str) -> tuple[str, str]:
    """Without brackets; a port that came with the host, as from `${HOST}`, is taken off."""
    if "," in host + port:
        raise _several_hosts()
    both = re.fullmatch(r"(\[.*\]|[^:/]*):([0-9]+)", host)
    if both and not port:
        host, port = both[1], both[2]
    return re.sub(r"\A\[(.*)\]\Z", r"\1", host), port


def _port(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise refusal("has a port that is not a number from 1 to 65535.", _WRITE)
    return int(text)


def _several_hosts() -> TidegateError:
    return refusal("names several hosts, which this version does not take.", "Name one of them.", Unsupported)


def _unreadable() -> TidegateError:
    codes = "with %40 for `@`, %2F for `/`, %3F for `?` in a password, and [ ] around IPv6"
    return refusal("is not a connection that Tidegate can read.", f"Write {_SHAPE}, {codes}.")

"""Parsing of connection texts: SQLAlchemy, libpq and JDBC URLs; `key=value` strings of libpq, ODBC and ADO.NET.

A `${NAME}` inside a URL is replaced by the raw value, whatever characters it has. A text that starts with `${NAME}` is
a complete URL, and is percent-decoded. No message shows the text: it may hold a password.

The module of each database explains its options. Every form leads to the same `Connection`. The options of a database
from an installed plug-in are not interpreted here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import entry_points

from tidegate.config.secrets import Filled, Variables, refusal
from tidegate.config.urls.mysql import MYSQL, word_of_mysql
from tidegate.config.urls.postgresql import POSTGRESQL, parts_of_pairs
from tidegate.config.urls.redshift import REDSHIFT, with_question_mark
from tidegate.config.urls.sqlserver import SQLSERVER, is_of_sqlserver, parts_of_odbc, parts_of_sqlserver_jdbc
from tidegate.config.urls.url_parts import SplitUrl, UrlKind, several_hosts, split_url, unreadable
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.connection import Connection

__all__ = ["parse_connection"]

_KINDS = {"postgresql": POSTGRESQL, "postgres": POSTGRESQL, "mysql": MYSQL, "mariadb": MYSQL}
_KINDS |= {"sqlserver": SQLSERVER, "mssql": SQLSERVER, "redshift": REDSHIFT}
_EXAMPLES = f"{POSTGRESQL.example}, {MYSQL.example} or {SQLSERVER.example}"

# Words between scheme and slashes choose among servers: `jdbc:mysql:replication://`, `mysql+srv://`.
_URL = re.compile(
    r"""(?P<jdbc>jdbc:)?(?P<scheme>[a-z][a-z0-9]*)(?:\+(?P<driver>\w+))?:
        (?:(?P<mode>replication|loadbalance|load-balance-read|failover|sequential|aurora|aws|iam):(?=//))?
        (?P<slashes>//)?(?P<rest>.*)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_OTHER_PAIRS = re.compile(r"\s*(?:driver|server|data source|addr|address|dsn|[A-Z][\w ]*)\s*=")


def parse_connection(
    text: str,
    variables: Variables | None = None,
    setting: str = "text",
    database: Callable[[str], str] | None = None,
) -> Connection:
    """Return the connection that a URL or a `key=value` string describes. Errors name the `setting`.

    `database` returns the database to connect to on a server of this kind, instead of the one that the text names.

    The default host is `localhost`, the default port is the database's. PGHOST and PGPORT are ignored: with them
    `protected` could be circumvented. The database must be named.
    """
    filled = (variables or Variables()).fill(text.strip(), setting)
    if filled.text.startswith("\x00"):
        filled = Filled(filled.whole().strip())
    try:
        kind, parts = _kind_and_parts(filled)
        chosen = database(kind.name) if database is not None else ""
        return _connection(kind, {**parts, "dbname": chosen} if chosen else parts)
    except TidegateError as problem:
        raise type(problem)(f"`{setting}` {problem.happened}", problem.safe, problem.remedy) from None


def _kind_and_parts(filled: Filled) -> tuple[UrlKind, dict[str, str]]:
    if not filled.text:
        raise refusal("is empty.", f"Write {_EXAMPLES}, or set the variable that it names.")
    url = _URL.match(filled.text)
    if url and (url["slashes"] or url["jdbc"]):
        kind = _kind(url["scheme"].lower())
        return kind, _parts_of_url(kind, url, filled)
    if is_of_sqlserver(filled.text):
        return SQLSERVER, parts_of_odbc(filled)
    if _OTHER_PAIRS.match(filled.text):
        happened = "is an ODBC or ADO.NET string for another database than SQL Server, which Tidegate does not read."
        raise refusal(happened, f"Write {_EXAMPLES}.", Unsupported)
    return POSTGRESQL, _parts_of_pairs(filled)


def _parts_of_pairs(filled: Filled) -> dict[str, str]:
    """Return the parts of a libpq string. MySQL has no such strings: one with MySQL's words is refused."""
    parts = parts_of_pairs(filled)
    if parts is None:
        raise unreadable(_EXAMPLES)
    word = word_of_mysql(parts)
    if word:
        happened = f"has `{word}`, which belongs to MySQL; a `key=value` text is for PostgreSQL."
        raise refusal(happened, f"Write {_EXAMPLES}.", Unsupported)
    return parts


class _PluginUrl(UrlKind):
    """A database of a plug-in. Its default port is unknown here: without a port in the URL it gets 0."""

    @property
    def example(self) -> str:
        return f"{self.name}://user:password@host/database"


def _kind(scheme: str) -> UrlKind:
    if scheme in _KINDS:
        return _KINDS[scheme]
    # Last, since listing the installed packages takes longer than everything else.
    if entry_points(group="tidegate.databases", name=scheme):
        return _PluginUrl(scheme, 0, _parts_of_plugin_url)
    happened = f"starts with `{scheme}:`, which is not a database that Tidegate knows."
    raise refusal(happened, f"Write {_EXAMPLES}.")


def _parts_of_plugin_url(url: re.Match[str], split: SplitUrl, filled: Filled) -> dict[str, str]:
    if url["jdbc"]:
        raise unreadable(f"{url['scheme'].lower()}://user:password@host/database")
    return split.parts(filled) | dict(split.query(filled))


def _parts_of_url(kind: UrlKind, url: re.Match[str], filled: Filled) -> dict[str, str]:
    is_iam = kind is REDSHIFT and (url["mode"] or "").lower() == "iam"
    choice = ("" if is_iam else url["mode"]) or ("srv" if (url["driver"] or "").lower() == "srv" else "")
    if choice:
        happened = (
            f"leaves the choice among several servers to `{choice.lower()}`, which this version does not support."
        )
        raise refusal(happened, f"Name one of them: {kind.example}.", Unsupported)
    if kind is SQLSERVER and url["jdbc"]:
        return parts_of_sqlserver_jdbc(url["rest"], filled)
    rest = url["rest"] if url["slashes"] else f"/{url['rest'].lstrip('/')}"
    if kind is REDSHIFT and url["jdbc"]:
        rest = with_question_mark(rest)
    split = split_url(_with_quoted_path(rest) if isinstance(kind, _PluginUrl) else rest)
    if split is None:
        raise several_hosts() if "," in rest.rpartition("@")[2].partition("/")[0] else unreadable(kind.example)
    return kind.parts_of_url(url, split, filled)


def _with_quoted_path(rest: str) -> str:
    """Quote the slashes between the first slash and the query: a plug-in's database may be the path of a file."""
    place, slash, named = rest.partition("/")
    path, question_mark, query = named.partition("?")
    return place + slash + path.replace("/", "%2F") + question_mark + query


def _connection(kind: UrlKind, parts: dict[str, str]) -> Connection:
    places = {name: parts.pop(name, "") for name in ("host", "port", "dbname", "user", "password")}
    host, port = _host_and_port(places["host"], places["port"])
    if not places["dbname"]:
        raise refusal("names no database.", f"Add it: {kind.example}.")
    if port and (not re.fullmatch("[0-9]{1,5}", port) or not min(1, kind.port) <= int(port) <= 65535):
        raise refusal("has a port that is not a number from 1 to 65535.", f"Write {kind.example}.")
    # The port of a named instance is unknown: it can change with every start of the server.
    default_port = 0 if kind is SQLSERVER and "instance" in parts else kind.port
    return Connection(
        kind=kind.name,
        host=host or "localhost",
        port=int(port) if port else default_port,
        database=places["dbname"],
        user=places["user"],
        password=places["password"],
        options=tuple(parts.items()),
    )


def _host_and_port(host: str, port: str) -> tuple[str, str]:
    """Return the host without brackets, and the port. A port inside the host, as from `${HOST}`, is split off."""
    if "," in host + port:
        raise several_hosts()
    both = re.fullmatch(r"(\[.*\]|[^:/]*):([0-9]+)", host)
    if both and not port:
        host, port = both[1], both[2]
    return re.sub(r"\A\[(.*)\]\Z", r"\1", host), port

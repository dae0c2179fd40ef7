"""Connections from the texts that people have: SQLAlchemy, libpq and JDBC URLs, pairs of libpq, ODBC and ADO.NET.

A `${NAME}` inside a URL stands for the value as it is, whatever characters it has; a text that starts
with `${NAME}` is a URL that was written elsewhere, and is percent-decoded. No message shows the text:
it may hold a password.

What an option means is in the module of its database; every kind of URL leads to the same `Connection`. The URL of
a database that an installed package adds is taken as it is: its adapter knows what the options mean.
"""

from __future__ import annotations

import re
from importlib.metadata import entry_points

from tidegate.config.secrets import Filled, Variables, refusal
from tidegate.config.urls.mysql import MYSQL, word_of_mysql
from tidegate.config.urls.postgresql import POSTGRESQL, parts_of_pairs
from tidegate.config.urls.splitting import Kind, Reading, read, several_hosts, unreadable
from tidegate.config.urls.sqlserver import SQLSERVER, is_of_sqlserver, parts_of_odbc, parts_of_sqlserver_jdbc
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.connection import Connection

__all__ = ["parse_connection"]

_KINDS = {"postgresql": POSTGRESQL, "postgres": POSTGRESQL, "mysql": MYSQL, "mariadb": MYSQL}
_KINDS |= {"sqlserver": SQLSERVER, "mssql": SQLSERVER}
_COMING = {"redshift": "Amazon Redshift"}
_SHAPES = f"{POSTGRESQL.shape}, {MYSQL.shape} or {SQLSERVER.shape}"

# Between scheme and slashes stand the words that choose among servers: `jdbc:mysql:replication://`, `mysql+srv://`.
_URL = re.compile(
    r"""(?P<jdbc>jdbc:)?(?P<scheme>[a-z][a-z0-9]*)(?:\+(?P<driver>\w+))?:
        (?:(?P<mode>replication|loadbalance|load-balance-read|failover|sequential|aurora|aws):(?=//))?
        (?P<slashes>//)?(?P<rest>.*)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_OTHER_PAIRS = re.compile(r"\s*(?:driver|server|data source|addr|address|dsn|[A-Z][\w ]*)\s*=")


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


def _kind_and_parts(filled: Filled) -> tuple[Kind, dict[str, str]]:
    if not filled.text:
        raise refusal("is empty.", f"Write {_SHAPES}, or set the variable that it names.")
    url = _URL.match(filled.text)
    if url and (url["slashes"] or url["jdbc"]):
        kind = _kind(url["scheme"].lower())
        return kind, _parts_of_url(kind, url, filled)
    if is_of_sqlserver(filled.text):
        return SQLSERVER, parts_of_odbc(filled)
    if _OTHER_PAIRS.match(filled.text):
        happened = "is an ODBC or ADO.NET string that names no SQL Server, and no others are read."
        raise refusal(happened, f"Write {_SHAPES}.", Unsupported)
    return POSTGRESQL, _parts_of_pairs(filled)


def _parts_of_pairs(filled: Filled) -> dict[str, str]:
    """PostgreSQL's, for MySQL has no such strings; one with its words would lead libpq to the wrong kind of server."""
    parts = parts_of_pairs(filled)
    if parts is None:
        raise unreadable(_SHAPES)
    word = word_of_mysql(parts)
    if word:
        happened = f"says `{word}`, which is MySQL's; a `key=value` text is for PostgreSQL."
        raise refusal(happened, f"Write {_SHAPES}.", Unsupported)
    return parts


class _Added(Kind):
    """A database of another package. Nobody here knows its port, so 0 is what its adapter gets where none is named."""

    @property
    def shape(self) -> str:
        return f"{self.name}://user:password@host/database"


def _kind(scheme: str) -> Kind:
    if scheme in _KINDS:
        return _KINDS[scheme]
    # Asked only now: reading what is installed takes longer than all the rest.
    if entry_points(group="tidegate.databases", name=scheme):
        return _Added(scheme, 0, _parts_of_added)
    if scheme in _COMING:
        happened = f"is for {_COMING[scheme]}, which is not available yet in this version."
        raise refusal(happened, "Use PostgreSQL, MySQL, MariaDB or SQL Server.", Unsupported)
    happened = f"starts with `{scheme}:`, which is no database that Tidegate knows."
    raise refusal(happened, f"Write {_SHAPES}.")


def _parts_of_added(url: re.Match[str], reading: Reading, filled: Filled) -> dict[str, str]:
    if url["jdbc"]:
        raise unreadable(f"{url['scheme'].lower()}://user:password@host/database")
    return reading.parts(filled) | dict(reading.query(filled))


def _parts_of_url(kind: Kind, url: re.Match[str], filled: Filled) -> dict[str, str]:
    choice = url["mode"] or ("srv" if (url["driver"] or "").lower() == "srv" else "")
    if choice:
        happened = f"leaves the choice among several servers to `{choice.lower()}`, which this version does not take."
        raise refusal(happened, f"Name one of them: {kind.shape}.", Unsupported)
    if kind is SQLSERVER and url["jdbc"]:
        return parts_of_sqlserver_jdbc(url["rest"], filled)
    rest = url["rest"] if url["slashes"] else f"/{url['rest'].lstrip('/')}"
    reading = read(_with_one_name(rest) if isinstance(kind, _Added) else rest)
    if reading is None:
        raise several_hosts() if "," in rest.rpartition("@")[2].partition("/")[0] else unreadable(kind.shape)
    return kind.parts_of_url(url, reading, filled)


def _with_one_name(rest: str) -> str:
    """All between the first slash and the query names the database: it may be the path of a file."""
    place, slash, named = rest.partition("/")
    path, mark, query = named.partition("?")
    return place + slash + path.replace("/", "%2F") + mark + query


def _connection(kind: Kind, parts: dict[str, str]) -> Connection:
    places = {name: parts.pop(name, "") for name in ("host", "port", "dbname", "user", "password")}
    host, port = _host_and_port(places["host"], places["port"])
    if not places["dbname"]:
        raise refusal("names no database.", f"Add it: {kind.shape}.")
    if port and (not re.fullmatch("[0-9]{1,5}", port) or not min(1, kind.port) <= int(port) <= 65535):
        raise refusal("has a port that is not a number from 1 to 65535.", f"Write {kind.shape}.")
    # The port of a named instance is asked for when it is needed: it may be another after each start.
    own_port = 0 if kind is SQLSERVER and "instance" in parts else kind.port
    return Connection(
        kind=kind.name,
        host=host or "localhost",
        port=int(port) if port else own_port,
        database=places["dbname"],
        user=places["user"],
        password=places["password"],
        options=tuple(parts.items()),
    )


def _host_and_port(host: str, port: str) -> tuple[str, str]:
    """Without brackets; a port that came with the host, as from `${HOST}`, is taken off."""
    if "," in host + port:
        raise several_hosts()
    both = re.fullmatch(r"(\[.*\]|[^:/]*):([0-9]+)", host)
    if both and not port:
        host, port = both[1], both[2]
    return re.sub(r"\A\[(.*)\]\Z", r"\1", host), port

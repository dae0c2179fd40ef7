"""The address of a database and its login. Independent of drivers; never shows a secret."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from posixpath import normpath
from urllib.parse import quote

_LOOPBACK = "localhost"
_MYSQL = "mysql"
_SQLSERVER = "sqlserver"
_SECRET_WORDS = ("password", "secret", "token", "scram_")


@dataclass(frozen=True, repr=False)
class Connection:
    """A database and a login. `str`, `repr` and `display` hold no secret; `password` does.

    `host` is a name, an address without brackets, or a Unix socket (it starts with `/`): for PostgreSQL the folder
    that holds it, for MySQL and MariaDB, which are both of kind `mysql`, the file itself. `port` is part of the name
    of a PostgreSQL socket, and means nothing for a MySQL one, whose path is the option `unix_socket` as well.
    An empty `user` or `password` leaves the choice to the driver (.pgpass, PGPASSWORD, peer login).
    The port of a named instance of SQL Server is 0 where only its name is known, which is the option `instance`.
    `options` are libpq's for PostgreSQL (sslmode, connect_timeout), and for MySQL and SQL Server those of
    `config/urls/mysql.py` and `config/urls/sqlserver.py`.
    """

    kind: str
    host: str
    port: int
    database: str
    user: str = ""
    password: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def display(self) -> str:
        """Return a URL without secrets and options. Parsing it leads to the same database."""
        login = f"{quote(self.user, safe='')}@" if self.user else ""
        database = quote(self.database, safe="")
        if is_socket(self.host):
            path = quote(self.host)
            socket = f"unix_socket={path}" if self.kind == _MYSQL else f"host={path}&port={self.port}"
            return f"{self.kind}://{login}/{database}?{socket}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        server = quote(f"{self.host}\\{self._instance}", safe="") if self._instance else f"{host}:{self.port}"
        # A URL for SQL Server without a user must say how to log in.
        mode = "" if login or self.kind != _SQLSERVER else dict(self.options).get("authentication", "")
        return f"{self.kind}://{login}{server}/{database}" + (f"?authentication={mode}" if mode else "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return every name of the server in this connection: the host, `hostaddr` if given, `host\\instance`."""
        instance = f"{self.host}\\{self._instance}" if self._instance else ""
        names = (self.host, dict(self.options).get("hostaddr", ""), instance)
        return tuple(name for name in names if name)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what must not be printed: the password, and options such as `sslpassword`."""
        hidden = (value for name, value in self.options if is_secret_name(name))
        return tuple(secret for secret in (self.password, *hidden) if secret)

    def same_database_as(self, other: Connection) -> bool:
        """Return whether both connections lead to one database, with whatever login.

        Names are compared, not resolved: two DNS names of one server count as two servers. The case of the database's
        name is ignored: to refuse too much is cheaper than to overwrite a source.
        """
        if (self.kind, self.database.casefold()) != (other.kind, other.database.casefold()):
            return False
        if self.port != other.port and not (self._hides_its_port or other._hides_its_port):
            return False
        if self._instance and other._instance and self._instance.casefold() != other._instance.casefold():
            return False
        return any(_same_host(mine, theirs) for mine in self.hosts for theirs in other.hosts)

    @property
    def _hides_its_port(self) -> bool:
        """Return whether the port is unknown: a MySQL socket or a named instance can belong to any port."""
        return bool(self._instance) or (self.kind == _MYSQL and is_socket(self.host))

    @property
    def _instance(self) -> str:
        """Return the named instance of SQL Server if its port is unknown, or an empty text."""
        return dict(self.options).get("instance", "") if self.kind == _SQLSERVER and not self.port else ""

    def __repr__(self) -> str:
        return f"Connection({self.display!r})"

    def __str__(self) -> str:
        return self.display


def is_socket(host: str) -> bool:
    """Return whether this is a Unix socket: a path, or an abstract socket of PostgreSQL, which starts with `@`."""
    return host.startswith(("/", "@"))


def is_secret_name(name: str) -> bool:
    """Return whether a setting of this name is a secret."""
    return any(word in name.lower() for word in _SECRET_WORDS)


def _same_host(left: str, right: str) -> bool:
    if is_socket(left) and is_socket(right):
        return normpath(left) == normpath(right)
    return canonical_host(left) == canonical_host(right)


def canonical_host(host: str) -> str:
    """Return one spelling per host. Every loopback address and every socket is `localhost`."""
    name = host.lower().rstrip(".")
    if is_socket(name) or name == _LOOPBACK:
        return _LOOPBACK
    try:
        address = ip_address(name)
    except ValueError:
        return name
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return _LOOPBACK if address.is_loopback or address.is_unspecified else str(address)

"""TLS to a server that speaks TDS with an unknown certificate authority, and IPv6 hosts.

It needs such a server (`TIDEGATE_TEST_SQLSERVER`): a compatible server, or an SQL Server without an installed
certificate. A server whose certificate this machine trusts cannot be tested, which is counted.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

import pyarrow as pa
import pytest

from conformance.servers.sqlserver import Server
from kit.copies import database_at
from kit.proxy import Wire
from tidegate.errors import DatabaseError, Unreachable
from tidegate.interfaces import Database, Session
from tidegate.model.names import TableName
from tidegate.plugins import database
from tidegate.sql.text import Name, sql

OURS = ("encrypt", "trust_server_certificate", "hostname_in_certificate", "server_certificate")


def asking(server: Server, *options: tuple[str, str]) -> Database:
    """The server, with these options of TLS and no others."""
    place = database_at(server.url).connection
    kept = [option for option in place.options if option[0] not in OURS]
    return database(replace(place, options=(*kept, *options, ("login_timeout", "5"))))


@pytest.fixture
def strange(tds: Server, gaps: Callable[[str], NoReturn]) -> Server:
    """A server whose certificate is not trusted here."""
    if ("trust_server_certificate", "yes") not in database_at(tds.url).connection.options:
        gaps("a certificate that nobody trusts: the server was given as one that is trusted")
    return tds


@pytest.mark.parametrize(
    "options",
    [[], [("encrypt", "mandatory")], [("encrypt", "mandatory"), ("trust_server_certificate", "no")]],
    ids=["nothing is said", "mandatory", "mandatory and not trusted"],
)
def test_untrusted_certificate_is_refused(options: Sequence[tuple[str, str]], strange: Server):
    """Without `TrustServerCertificate=yes`, an untrusted certificate is refused with a remedy."""
    with pytest.raises(Unreachable) as told:
        asking(strange, *options).connect("test")
    assert "certificate" in told.value.happened
    assert "Install the certificate authority of the server's certificate" in told.value.remedy
    assert "TrustServerCertificate=yes" in told.value.remedy
    assert database_at(strange.url).connection.password not in str(told.value)


def test_trust_server_certificate_connects(strange: Server):
    """With `TrustServerCertificate=yes`, an untrusted certificate is accepted."""
    with asking(strange, ("encrypt", "mandatory"), ("trust_server_certificate", "yes")).connect("test") as session:
        assert session.query(sql("SELECT 1")) == [(1,)]


def test_strict_encryption_refuses_untrusted(strange: Server, gaps: Callable[[str], NoReturn]):
    """`Encrypt=strict` (TDS 8) refuses an untrusted certificate, whatever `TrustServerCertificate` says."""
    if strange.is_compatible:
        gaps("Encrypt=strict: a compatible server has no TDS 8, and is given up after a minute")
    with pytest.raises(Unreachable):
        asking(strange, ("encrypt", "strict"), ("trust_server_certificate", "yes")).connect("test")


def test_encrypted_statements_are_unreadable(strange: Server, gaps: Callable[[str], NoReturn]):
    """With `Encrypt=mandatory`, a statement cannot be found in the bytes on the network."""

    def seen(*options: tuple[str, str]) -> bool:
        """Whether the wire met the word, which cuts it."""
        with Wire(strange.url, "", "SELECT 7711", encoding="utf-16-le") as wire:
            place = replace(asking(strange, *options).connection, host="127.0.0.1", port=wire.port)
            with database(place).connect("test") as session:
                try:
                    session.query(sql("SELECT 7711"))
                except DatabaseError:
                    assert wire.cuts
            return wire.cuts > 0

    assert not seen(("encrypt", "mandatory"), ("trust_server_certificate", "yes"))
    if not seen(("encrypt", "optional")):
        gaps("a connection that is not encrypted: the server encrypts all of them")


def bulk_copied(session: Session) -> int:
    """How many of three rows arrive by one, which has a connection of its own, made by another part of the driver."""
    table = TableName("dbo", f"bulk_{uuid.uuid4().hex[:8]}")
    session.execute(sql("CREATE TABLE {t} (c0 int)", t=Name.of(table)))
    rows = pa.RecordBatch.from_arrays([pa.array([1, 2, 3], pa.int32())], names=["c0"])
    try:
        session.copy(table, ["c0"], [rows])  # type: ignore[attr-defined]
        return int(str(session.query(sql("SELECT COUNT(*) FROM {t}", t=Name.of(table)))[0][0]))
    finally:
        session.execute(sql("DROP TABLE {t}", t=Name.of(table)))


@pytest.fixture
def by_ipv6(tds: Server, gaps: Callable[[str], NoReturn]) -> Iterator[Wire]:
    try:
        wire = Wire(tds.url, "", "no such word", host="::1")
    except OSError:
        gaps("IPv6: this machine has none")
    with wire:
        yield wire


def test_ipv6_host_connects(tds: Server, by_ipv6: Wire):
    """A host given as an IPv6 address is reached, in a connection and in a URL."""
    place = replace(database_at(tds.url).connection, host="::1", port=by_ipv6.port)
    with database(place).connect("test") as session:
        assert session.query(sql("SELECT 1")) == [(1,)]
    with database_at(by_ipv6.end).connect("test") as session:
        assert session.query(sql("SELECT 1")) == [(1,)]


def test_ipv6_host_accepts_bulk_copies(tds: Server, by_ipv6: Wire, gaps: Callable[[str], NoReturn]):
    """A bulk copy, which opens its own connection, works with an IPv6 host."""
    place = replace(database_at(tds.url).connection, host="::1", port=by_ipv6.port)
    with database(place).connect("test") as session:
        if not session.abilities.bulk_copies:  # type: ignore[attr-defined]
            gaps("bulk copies: rows come by INSERT where a variable does not add up")
        assert bulk_copied(session) == 3

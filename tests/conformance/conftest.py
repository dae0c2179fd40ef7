"""Fixtures of the conformance tests: every available server. Missing servers are counted and reported."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from psycopg import sql

from conformance.journey import (
    FROM,
    Journey,
    MysqlSide,
    Outcome,
    PostgresqlSide,
    Road,
    Side,
    SqlServerSide,
    Traveller,
)
from conformance.servers import mariadb, sqlserver
from conformance.servers.postgresql import SERVERS, SETUP, Absent, Sample, Server, running
from kit.copies import Copier, database_at
from kit.mysql_witness import MysqlWitness
from kit.one_process import OneProcess
from kit.sqlserver_witness import SqlServerWitness
from kit.summary import GAPS, RAN
from kit.witness import Witness
from tidegate import Tidegate
from tidegate.databases.sqlserver import stage
from tidegate.databases.sqlserver.session import SqlServerSession

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres

EXTENSIONS = frozenset({"hstore", "citext"})


@pytest.fixture(scope="session", params=SERVERS)
def server_or_absence(request: pytest.FixtureRequest) -> Iterator[Server | Absent]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(running(request.param))
        except Absent as absence:
            yield absence
            return
        request.config.stash[RAN][found.name] = str(found.ask("SELECT version()")[0][0]).split(" on ")[0]
        yield found


@pytest.fixture
def gaps(request: pytest.FixtureRequest) -> Callable[[str], NoReturn]:
    """A function that skips the test for a reason and counts it."""

    def skip(why: str) -> NoReturn:
        request.config.stash[GAPS][why] += 1
        pytest.skip(why)

    return skip


@pytest.fixture
def absent(server_or_absence: Server | Absent, gaps: Callable[[str], NoReturn]) -> None:
    """Skip the test if the server is absent."""
    if isinstance(server_or_absence, Absent):
        gaps(str(server_or_absence))


@dataclass
class Pair:
    """A source and a target on one server, with a witness on each and unique table names."""

    server: Server
    source: Witness
    target: Witness

    def __post_init__(self) -> None:
        self._numbers = count(1)

    def name(self) -> str:
        return f"t{next(self._numbers)}"

    def tidegate(self, lake: Path, table: str, spark: object = None, **settings: object) -> Tidegate:
        """Return a project with this table, partitioned by `cobid` unless the settings differ."""
        configured = {"kind": "partition", "partition_column": "cobid", **settings}
        return Tidegate(
            source=self.source.url,
            target=self.target.url,
            lake=lake,
            tables={table: configured},
            spark=spark or OneProcess(),  # type: ignore[arg-type]
        )


@pytest.fixture(scope="session")
def pair_or_absence(server_or_absence: Server | Absent) -> Iterator[Pair | None]:
    if isinstance(server_or_absence, Absent):
        yield None
        return
    server, extensions = server_or_absence, EXTENSIONS & server_or_absence.abilities
    with ExitStack() as stack:
        sides = [
            stack.enter_context(Witness(stack.enter_context(server.database(extensions=extensions)))) for _ in range(2)
        ]
        for side in sides:
            for statement in SETUP:
                side.do(statement)
        yield Pair(server, *sides)


@pytest.fixture
def pair(absent: None, pair_or_absence: Pair | None) -> Pair:
    assert pair_or_absence is not None
    return pair_or_absence


@pytest.fixture(scope="session")
def copier_or_absence(pair_or_absence: Pair | None) -> Iterator[Copier | None]:
    if pair_or_absence is None:
        yield None
        return
    made = Copier(pair_or_absence.source.url, pair_or_absence.target.url)
    yield made
    made.close()


@pytest.fixture
def copier(absent: None, copier_or_absence: Copier | None) -> Copier:
    assert copier_or_absence is not None
    return copier_or_absence


@pytest.fixture
def server(absent: None, server_or_absence: Server | Absent) -> Server:
    assert isinstance(server_or_absence, Server)
    return server_or_absence


@pytest.fixture
def samples_here(pair: Pair, request: pytest.FixtureRequest):
    """A function that returns the samples that this server supports and counts the others."""

    def kept(samples: tuple[Sample, ...]) -> list[Sample]:
        found = []
        for sample in samples:
            lacking = sample.missing_on(pair.server)
            if lacking:
                request.config.stash[GAPS][f"{sample.type}: {pair.server.name} has no {lacking}"] += 1
            else:
                found.append(sample)
        if not found:
            pytest.skip(f"{pair.server.name} has none of these types")
        return found

    return kept


def public(name: str) -> sql.Identifier:
    return sql.Identifier("public", name)


# A server of each kind


@pytest.fixture(scope="session")
def tds_or_absence(request: pytest.FixtureRequest) -> Iterator[sqlserver.Server | Absent]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(sqlserver.running())
        except Absent as absence:
            yield absence
            return
        request.config.stash[RAN][found.name] = found.version
        yield found


@pytest.fixture(scope="session")
def copies_in_bulk(tds_or_absence: sqlserver.Server | Absent) -> bool:
    if isinstance(tds_or_absence, Absent):
        return False
    with database_at(tds_or_absence.url).connect("test", read_only=True) as session:
        assert isinstance(session, SqlServerSession)
        return session.can_bulk_copy


@pytest.fixture
def by_bulk_copy(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tds_or_absence: sqlserver.Server | Absent,
    copies_in_bulk: bool,
) -> None:
    """Use bulk copies for any number of rows: small loads normally use INSERT. A server without bulk copies is counted
    as a gap."""
    monkeypatch.setattr(stage, "FEW_ROWS", 0)
    if not isinstance(tds_or_absence, Absent) and not copies_in_bulk:
        request.config.stash[GAPS]["bulk copies: the server has none, rows came by INSERT"] += 1


@pytest.fixture
def tds(tds_or_absence: sqlserver.Server | Absent, gaps: Callable[[str], NoReturn]) -> sqlserver.Server:
    if isinstance(tds_or_absence, Absent):
        gaps(str(tds_or_absence))
    return tds_or_absence


NewDatabase = Callable[[str], AbstractContextManager[str]]


@pytest.fixture(scope="session")
def new_database(request: pytest.FixtureRequest, tds_or_absence: sqlserver.Server | Absent) -> NewDatabase:
    """A function that creates a database on a server of this kind. It raises Absent if there is none."""

    @contextmanager
    def made(kind: str) -> Iterator[str]:
        if kind == "sqlserver":
            if isinstance(tds_or_absence, Absent):
                raise tds_or_absence
            with tds_or_absence.database() as url:
                yield url
            return
        server = request.getfixturevalue({"postgresql": "postgres", "mysql": "mariadb"}[kind])
        name = f"conf_{uuid.uuid4().hex[:12]}"
        yield server.create_database(name)
        server.drop_database(name)

    return made


# Between databases


@pytest.fixture(scope="session", params=mariadb.SERVERS)
def roads_or_absence(
    request: pytest.FixtureRequest, postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Roads | Absent]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(mariadb.running(request.param))
        except Absent as absence:
            yield absence
            return
        request.config.stash[RAN][found.name] = found.version
        yield Roads(found, Server("embedded 18", postgres.url()), tmp_path_factory, stack)


@pytest.fixture
def roads(roads_or_absence: Roads | Absent, gaps: Callable[[str], NoReturn]) -> Roads:
    if isinstance(roads_or_absence, Absent):
        gaps(str(roads_or_absence))
    return roads_or_absence


@pytest.fixture(scope="session")
def tds_roads_or_absence(
    tds_or_absence: sqlserver.Server | Absent, postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Roads | Absent]:
    if isinstance(tds_or_absence, Absent):
        yield tds_or_absence
        return
    with ExitStack() as stack:
        try:
            other = stack.enter_context(mariadb.running(mariadb.EMBEDDED))
        except Absent as absence:
            yield absence
            return
        yield Roads(other, Server("embedded 18", postgres.url()), tmp_path_factory, stack, tds_or_absence)


@pytest.fixture
def tds_roads(tds_roads_or_absence: Roads | Absent, gaps: Callable[[str], NoReturn]) -> Roads:
    if isinstance(tds_roads_or_absence, Absent):
        gaps(str(tds_roads_or_absence))
    return tds_roads_or_absence


class Roads:
    """A PostgreSQL server, a MySQL or MariaDB server and optionally a TDS server, with two databases on each, and the
    outcomes of the copies between them."""

    def __init__(
        self,
        mysql: mariadb.Server,
        postgresql: Server,
        folders: pytest.TempPathFactory,
        stack: ExitStack,
        tds: sqlserver.Server | None = None,
    ) -> None:
        self.mysql, self.postgresql, self.sqlserver = mysql, postgresql, tds
        self._folders, self._stack = folders, stack
        self._sides: dict[tuple[str, str], Side] = {}
        self._happened: dict[tuple[Road, str], list[Outcome]] = {}

    def side(self, kind: str, role: str) -> Side:
        if (kind, role) not in self._sides:
            make = {"mysql": self._mysql, "postgresql": self._postgresql, "sqlserver": self._sqlserver}[kind]
            self._sides[kind, role] = make()
        return self._sides[kind, role]

    def _mysql(self) -> Side:
        url = self._stack.enter_context(self.mysql.database())
        return MysqlSide(self._stack.enter_context(MysqlWitness(url)))

    def _postgresql(self) -> Side:
        extensions = EXTENSIONS & self.postgresql.abilities
        url = self._stack.enter_context(self.postgresql.database(extensions=extensions))
        witness = self._stack.enter_context(Witness(url))
        for statement in SETUP:
            witness.do(statement)
        return PostgresqlSide(witness)

    def _sqlserver(self) -> Side:
        assert self.sqlserver is not None
        url = self._stack.enter_context(self.sqlserver.database())
        return SqlServerSide(self._stack.enter_context(SqlServerWitness(url)))

    def ends(self, road: Road) -> tuple[Side, Side]:
        return self.side(road.source, "source"), self.side(road.target, "target")

    def lake(self) -> Path:
        return self._folders.mktemp("lake")

    def travellers(self, road: Road, family: str) -> list[Traveller]:
        """Return the columns of the family that the source server supports."""
        server = {"mysql": self.mysql, "postgresql": self.postgresql, "sqlserver": self.sqlserver}[road.source]
        families, traveller = FROM[road.source]
        # The PostgreSQL of the wheel was built without XML.
        lacks_xml = road.target == "postgresql" and "xml" not in self.postgresql.abilities
        found = [
            traveller(sample, road.target)
            for sample in families[family]
            if not sample.missing_on(server) and not (lacks_xml and sample.type == "xml")
        ]
        # SQL Server has U+0000 in its texts, a compatible server that is PostgreSQL inside has not.
        lacks_nul = road.target == "sqlserver" and "nul" not in getattr(self.sqlserver, "abilities", ())
        return [one.without("\0") for one in found] if lacks_nul else found

    def happened(self, road: Road, family: str) -> list[Outcome]:
        """Return the outcomes of a family between these databases. Each family is copied once."""
        if (road, family) not in self._happened:
            journey = Journey(*self.ends(road), self.lake())
            self._happened[road, family] = journey.travel(self.travellers(road, family))
        return self._happened[road, family]

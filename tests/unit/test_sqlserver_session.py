"""What a session makes of a driver that fails, in ways that no server here can be brought to."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from mssql_python.connection_string_parser import _ConnectionStringParser
from mssql_python.helpers import connstr_to_pycore_params

from sql.recorders import Rows, SqlServerRecorder
from tidegate.config.urls import parse_connection
from tidegate.databases.sqlserver import _KEYWORDS, SqlServer
from tidegate.databases.sqlserver import session as sqlserver_session
from tidegate.databases.sqlserver.reading import batches
from tidegate.errors import DatabaseError, NotNative, OutcomeUnknown, Transient, Unreachable
from tidegate.interfaces import ReadRequest, Session
from tidegate.model.columns import Column
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.sql.text import sql


class _Failing(SqlServerRecorder):
    """Fails at some statements."""

    def __init__(self, failures: dict[str, str], number: int = 0):
        super().__init__(answers={"SELECT @@ERROR": [(number,)]})
        self._failures = failures

    def note(self, text: str) -> Rows:
        for part, said in self._failures.items():
            if part in text:
                raise RuntimeError(said)
        return super().note(text)


def connected(recorder: SqlServerRecorder, monkeypatch: pytest.MonkeyPatch) -> Session:
    recorder.install(monkeypatch)
    return SqlServerRecorder.database.connect("test")


# Connecting


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was slept, on a clock that only sleeping moves."""
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr(sqlserver_session, "time", clock)
    monkeypatch.setattr(sqlserver_session, "require_listener", lambda connection, timeout: None)
    return slept


@pytest.mark.parametrize(
    ("host", "problem"),
    [("127.0.0.1", "nothing listens on port 1 of 127.0.0.1"), ("no.such.invalid", "the host name no.such.invalid is")],
)
def test_an_unreachable_server_is_named_in_words(host: str, problem: str):
    """At once: the driver would try until its login times out, and then tell a number."""
    server = SqlServer(Connection("sqlserver", host, 1, "uat", options=(("login_timeout", "30"),)))
    started = time.monotonic()
    with pytest.raises(Unreachable, match=problem):
        server.connect("test")
    assert time.monotonic() - started < 10


def test_a_driver_without_its_libraries_says_so(monkeypatch: pytest.MonkeyPatch):
    def connect(*login: object, **arguments: object) -> None:
        raise RuntimeError("Failed to load the driver. Please read the documentation.")

    SqlServerRecorder().install(monkeypatch)
    monkeypatch.setattr(sqlserver_session.mssql_python, "connect", connect)
    with pytest.raises(Unreachable, match="apt-get install libltdl7"):
        SqlServerRecorder.database.connect("test")


def test_a_database_that_wakes_up_is_waited_for(waits: list[float], monkeypatch: pytest.MonkeyPatch):
    recorder = SqlServerRecorder()
    recorder.install(monkeypatch)
    answers = [RuntimeError("Database 'uat' on server 'x' is not currently available."), None]

    def connect(*login: object, **arguments: object) -> SqlServerRecorder:
        problem = answers.pop(0)
        if problem is not None:
            raise problem
        return recorder

    monkeypatch.setattr(sqlserver_session.mssql_python, "connect", connect)

    with SqlServerRecorder.database.connect("test") as session:
        assert session.query(sql("SELECT 1")) == []
    assert len(waits) == 1


@pytest.mark.parametrize(
    ("said", "kind", "seconds"),
    [
        ("Database 'uat' is not currently available.", Transient, 60),
        ("Login failed for user 'loader'.", Unreachable, 0),
    ],
    ids=["for a minute", "not for a wrong password"],
)
def test_it_is_waited_for_so_long_and_no_longer(
    said: str, kind: type[Exception], seconds: int, waits: list[float], monkeypatch: pytest.MonkeyPatch
):
    def connect(*login: object, **arguments: object) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr(sqlserver_session.mssql_python, "connect", connect)

    with pytest.raises(kind):
        SqlServerRecorder.database.connect("test")
    assert sum(waits) == seconds


@pytest.mark.parametrize(
    ("options", "state", "level"),
    [
        ("?hold_locks=yes", 0, "SERIALIZABLE"),
        ("?hold_locks=yes", 1, "SNAPSHOT"),  # which needs no locks
        ("?hold_locks=no", 0, ""),
        ("", 0, ""),
    ],
)
def test_rows_can_be_read_under_locks(options: str, state: int, level: str, monkeypatch: pytest.MonkeyPatch):
    """Where the database allows no snapshots, and only on request: writers wait for it."""
    recorder = SqlServerRecorder(answers={"d.snapshot_isolation_state": [(state, 0, 2, 3)]})
    recorder.install(monkeypatch)
    server = SqlServer(parse_connection(f"sqlserver://loader:x@nowhere/prod{options}"))
    with server.connect("extract") as session:
        recorder.sent.clear()
        session.export_snapshot()
    levels = [text for text in recorder.sent if text.startswith("SET TRANSACTION")]
    assert levels == ([f"SET TRANSACTION ISOLATION LEVEL {level}"] if level else [])
    assert recorder.sent[-1] == "BEGIN TRANSACTION"


def test_the_schema_of_a_table_takes_two_round_trips(monkeypatch: pytest.MonkeyPatch):
    """One for the number of the table, one for all that the catalog knows about it."""
    recorder = SqlServerRecorder(answers={"INFORMATION_SCHEMA.TABLES": [("dbo", "t", 7)]})
    session = connected(recorder, monkeypatch)
    sent: list[str] = []
    cursor_of = SqlServerRecorder.cursor

    @contextmanager
    def cursor(self: SqlServerRecorder) -> Iterator[SimpleNamespace]:
        with cursor_of(self) as found:
            execute = found.execute
            found.execute = lambda text: (sent.append(text), execute(text))
            yield found

    monkeypatch.setattr(SqlServerRecorder, "cursor", cursor)
    session.table_schemas([TableName("dbo", "t")])
    assert len(sent) == 2


# What became of it


@pytest.mark.parametrize(
    ("asking", "kind"),
    [("Communication link failure", Transient), ("Connection is busy with results for another command", DatabaseError)],
    ids=["the server hung up", "it is there and cannot say"],
)
def test_an_error_after_which_nobody_answers_may_be_tried_again(
    asking: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
):
    recorder = _Failing({"SELECT 7": "Something went wrong.", "SELECT @@ERROR": asking})
    with connected(recorder, monkeypatch) as session, pytest.raises(DatabaseError) as told:
        session.query(sql("SELECT 7"))
    assert type(told.value) is kind
    assert "-1" not in str(told.value)


@pytest.mark.parametrize(
    ("number", "said", "kind"),
    [
        (3902, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.", OutcomeUnknown),
        (0, "Communication link failure", OutcomeUnknown),
        (1205, "It was deadlocked.", Transient),
    ],
)
def test_what_became_of_a_commit(number: int, said: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch):
    recorder = _Failing({"COMMIT TRANSACTION": said}, number)
    with connected(recorder, monkeypatch) as session, pytest.raises(kind), session.transaction():
        pass


def test_a_transaction_that_ends_while_the_rest_is_heard_out_is_not_written_on(monkeypatch: pytest.MonkeyPatch):
    """A value that Arrow has no room for would be met by reading again, as if nothing had happened."""
    met = iter([NotNative("a"), RuntimeError("Transaction (Process ID 52) was deadlocked on lock resources.")])

    def answer(rows: int) -> None:
        raise next(met)

    request = ReadRequest(TableName("dbo", "t"), (Column("a", "int", "int32"),))
    with connected(SqlServerRecorder(answers={"SELECT @@ERROR": [(1205,)]}), monkeypatch) as session:
        session.is_in_transaction = True
        with pytest.raises(Transient):
            list(batches(session, SimpleNamespace(arrow_batch=answer), request))


# What the driver makes of a login: its own parsers, for its connection and for that of a bulk copy

EVERY_OPTION = {
    "encrypt": ("Encrypt=strict", "encryption", "strict"),
    "trust_server_certificate": ("TrustServerCertificate=yes", "trust_server_certificate", "yes"),
    "hostname_in_certificate": ("HostNameInCertificate=*.uat.local", "host_name_in_certificate", "*.uat.local"),
    "server_certificate": ("ServerCertificate=/etc/a b;c.pem", "server_certificate", "/etc/a b;c.pem"),
    "application_intent": ("ApplicationIntent=ReadOnly", "application_intent", "ReadOnly"),
    "multi_subnet_failover": ("MultiSubnetFailover=yes", "multi_subnet_failover", "yes"),
    "packet_size": ("PacketSize=32767", "packet_size", 32767),
    "server_spn": ("ServerSPN=MSSQLSvc/uat:1433", "server_spn", "MSSQLSvc/uat:1433"),
    "connect_retry_count": ("ConnectRetryCount=3", "connect_retry_count", 3),
    "connect_retry_interval": ("ConnectRetryInterval=10", "connect_retry_interval", 10),
}


def driver_reads(connection: Connection) -> dict[str, object]:
    """Raises where the driver does not know a word, or the bulk copy's connection would leave one out."""
    parsed = _ConnectionStringParser(validate_keywords=True)._parse(SqlServer(connection)._login())
    return connstr_to_pycore_params(parsed, strict=True)


@pytest.mark.parametrize("option", EVERY_OPTION)
def test_an_option_reaches_the_driver_and_its_bulk_copy(option: str):
    written, known_as, value = EVERY_OPTION[option]
    keyword, _, said = written.partition("=")
    connection = parse_connection(f"Driver={{SQL Server}};Server=uat;Database=db;UID=u;PWD=p;{keyword}={{{said}}}")
    assert driver_reads(connection)[known_as] == value


def test_every_option_that_is_handed_on_is_tried():
    assert set(EVERY_OPTION) == set(_KEYWORDS)


@pytest.mark.parametrize("password", [";", "}", "}}", "{", '"', "@", "a;PWD=b", "};Encrypt=no;x={", "' --", "=", " x "])
def test_the_driver_reads_a_password_as_it_was_said(password: str):
    read = driver_reads(Connection("sqlserver", "uat", 1433, "d};b", "u;s}er", password))
    assert (read["server"], read["database"], read["user_name"], read["password"]) == (
        "uat,1433",
        "d};b",
        "u;s}er",
        password,
    )
    assert "encryption" not in read


@pytest.mark.parametrize(
    ("said", "known_as", "value"),
    [
        ("windows", "trusted_connection", "yes"),
        ("ActiveDirectoryServicePrincipal", "authentication", "ActiveDirectoryServicePrincipal"),
        ("ActiveDirectoryMsi", "authentication", "ActiveDirectoryMsi"),
    ],
)
def test_a_way_to_log_in_reaches_the_driver(said: str, known_as: str, value: str):
    read = driver_reads(Connection("sqlserver", "uat", 1433, "db", "", "", (("authentication", said),)))
    assert read[known_as] == value
    assert {"trusted_connection", "authentication"} & set(read) == {known_as}


def test_kerberos_finds_the_keys_of_a_job_wherever_a_task_connects(monkeypatch: pytest.MonkeyPatch):
    """On an executor it is the same call, by a process that has nothing but what is in the connection."""
    seen: list[str] = []
    monkeypatch.setattr(
        sqlserver_session, "SqlServerSession", lambda *_, **__: seen.append(os.environ["KRB5_CLIENT_KTNAME"])
    )
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", "another job's")
    options = (("authentication", "windows"), ("keytab", "/etc/loader.keytab"))
    there = pickle.loads(pickle.dumps(SqlServer(Connection("sqlserver", "uat", 1433, "db", "", "", options))))
    there.connect("extract")
    assert seen == ["/etc/loader.keytab"]

"""Errors are explained in three sentences without a secret, change nothing halfway, and the next run succeeds."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

import pytest
from psycopg import sql

from kit import processes, sides
from kit.copies import database_at
from kit.meanwhile import At
from kit.project import FIVE_DAYS, MONDAY, SATURDAY, Story, child, cli
from kit.proxy import Wire
from kit.sides import ask
from kit.witness import Witness
from tidegate.errors import DatabaseError, RunFailed
from tidegate.interfaces import BatchSize
from tidegate.sql.text import raw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres]

PASSWORD = "p@ss/w%rd:#1 süß"
SECRETS = (PASSWORD, quote(PASSWORD, safe=""), quote(PASSWORD), "süß", "w%rd", "w%25rd")
UNTOUCHED = "Nothing was read or written for this table."


@pytest.fixture(scope="module")
def login(postgres: EmbeddedPostgres) -> str:
    """User and secret password of a login, as the first part of a URL."""
    with Witness(postgres.url()) as server:
        server.do(sql.SQL("CREATE ROLE story_login SUPERUSER LOGIN PASSWORD {}").format(sql.Literal(PASSWORD)))
    return f"story_login:{quote(PASSWORD, safe='')}"


@pytest.fixture
def careful(story: Story, login: str, monkeypatch: pytest.MonkeyPatch) -> Story:
    """A story whose configuration names environment variables that contain the password."""
    story.source, story.target = (with_login(url, login) for url in (story.source, story.target))
    monkeypatch.setenv("PROD_URL", story.source)
    monkeypatch.setenv("UAT_URL", story.target)
    story.project |= {"source": "${PROD_URL}", "target": "${UAT_URL}"}
    return story


def with_login(url: str, login: str, port: int | None = None) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port or parts.port}"))


def assert_no_secret(text: str) -> None:
    assert not [secret for secret in SECRETS if secret in text]


@pytest.fixture
def error_lines(careful: Story, tmp_path: Path) -> Callable[..., list[str]]:
    """A function that runs the failing command and returns its error lines: no stack trace, no secret."""

    def run_command(**environment: str) -> list[str]:
        path = careful.file(tmp_path / "tidegate.yml")
        code, output, errors = cli("run", "--quiet", "-c", path, environment=environment)
        assert code == 1, errors
        assert "Traceback" not in output + errors
        assert_no_secret(output + errors)
        return [line.strip() for line in errors.splitlines()]

    return run_command


# Errors before a row is read


def test_wrong_password_names_the_remedy(careful: Story, error_lines: Callable[..., list[str]]):
    """A wrong password is reported without showing it, and nothing is written."""
    happened, safe, remedy = error_lines(UAT_URL=careful.target.replace("p%40ss", "p%40zz"))

    database = careful.target.rpartition("/")[2]
    assert re.match(rf"No connection to postgresql://story_login@127\.0\.0\.1:\d+/{database}: ", happened)
    assert "password authentication failed" in happened
    assert safe == "Nothing was read or written."
    assert remedy == "Check user and password; a password in a URL must be percent-encoded."
    careful.run()
    careful.assert_in_step(*FIVE_DAYS)


@pytest.mark.parametrize("side", ["PROD_URL", "UAT_URL"])
def test_unreachable_server_names_the_remedy(
    careful: Story, login: str, error_lines: Callable[..., list[str]], side: str
):
    """When nothing listens at the port of the URL, the error names host and port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    happened, safe, remedy = error_lines(**{side: with_login(careful.source, login, port)})

    assert f":{port}/" in happened
    assert safe == "Nothing was read or written."
    assert remedy == "Check host and port, and that the server is up."


def test_missing_database_names_the_remedy(careful: Story, error_lines: Callable[..., list[str]]):
    """When the database does not exist, the error says to check its name."""
    happened, safe, remedy = error_lines(PROD_URL=f"{careful.source}_old")

    assert "does not exist" in happened
    assert safe == "Nothing was read or written."
    assert remedy == "Check the name of the database and of the user."


WRONG_NAMES = {
    "a table that is not there": (
        {"source_table": "tradez"},
        "trades: the source has no table public.tradez, or this login may not see it.",
        "Did you mean public.trades? Correct `source_table`, or grant SELECT on it.",
    ),
    "a column that is not there": (
        {"partition_column": "kob"},
        "trades: public.trades has no column kob.",
        "Did you mean cob? Correct `partition_column`.",
    ),
    "a restatement column that is not there": (
        {"restatement_column": "load_ids"},
        "trades: public.trades has no column load_ids.",
        "Did you mean load_id? Correct `restatement_column`.",
    ),
    "days that are floating point": (
        {"partition_column": "rate"},
        "trades: rate is double precision, whose values have no exact order to partition by.",
        "Choose a column of an integer, decimal, date, timestamp or text type.",
    ),
    "days that are documents": (
        {"partition_column": "document"},
        "trades: document is json, whose values have no exact order to partition by.",
        "Choose a column of an integer, decimal, date, timestamp or text type.",
    ),
}


@pytest.mark.parametrize(("settings", "happened", "remedy"), WRONG_NAMES.values(), ids=WRONG_NAMES)
def test_wrong_names_and_types_are_explained(
    careful: Story, error_lines: Callable[..., list[str]], settings: dict[str, str], happened: str, remedy: str
):
    """A wrong table, column or type in the configuration is refused with a proposal, and no table is created."""
    careful.in_source("ALTER TABLE trades ADD COLUMN rate float, ADD COLUMN document json")
    careful.settings = settings

    assert error_lines() == [happened, UNTOUCHED, remedy]

    assert ask(careful.target, "SELECT to_regclass('trades')") == [(None,)]


# Rights


@pytest.fixture
def modest(story: Story, postgres: EmbeddedPostgres) -> Iterator[Story]:
    """Logins without rights: `reader` for the source, `writer` for the target. Yields the story of the owner."""
    roles = sql.SQL("; ").join(
        sql.SQL("DROP ROLE IF EXISTS {0}; CREATE ROLE {0} LOGIN PASSWORD 'modest'").format(sql.Identifier(role))
        for role in ("reader", "writer")
    )
    with Witness(postgres.url()) as server:
        server.do(roles)
    admin = replace(story)
    story.source = with_login(story.source, "reader:modest")
    story.target = with_login(story.target, "writer:modest")
    yield admin
    for url in (admin.source, admin.target):
        with Witness(url) as witness:
            witness.do("DROP OWNED BY reader, writer CASCADE")


def test_minimal_rights_are_sufficient(story: Story, modest: Story):
    """A login with SELECT on the source and one with CREATE on the target can run."""
    modest.in_source("GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON trades TO reader")
    modest.in_target("GRANT ALL ON SCHEMA public TO writer")
    database = sql.Identifier(story.target.rpartition("/")[2])
    with Witness(modest.target) as target:
        target.do(sql.SQL("GRANT CREATE ON DATABASE {} TO writer").format(database))

    story.run()

    modest.assert_in_step(*FIVE_DAYS)


def test_missing_select_right_is_explained(story: Story, modest: Story, tmp_path: Path):
    """When the login may not read the source, the error says which right to grant."""
    modest.in_target("GRANT ALL ON SCHEMA public TO writer")

    code, output, errors = cli("run", "--quiet", "-c", story.file(tmp_path / "tidegate.yml"))

    assert code == 1
    assert "Traceback" not in output + errors
    happened, safe, remedy = (line.strip() for line in errors.splitlines())
    assert "permission denied" in happened
    assert safe.startswith("Nothing was ")
    assert remedy.startswith("Grant the login ")


def test_missing_create_right_is_explained(story: Story, modest: Story, tmp_path: Path):
    """When the login may not create in the target, the error says which right to grant."""
    modest.in_source("GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON trades TO reader")

    code, output, errors = cli("run", "--quiet", "-c", story.file(tmp_path / "tidegate.yml"))

    assert code == 1
    assert "Traceback" not in output + errors
    happened, safe, remedy = (line.strip() for line in errors.splitlines())
    assert "permission denied for database" in happened
    assert safe == "Nothing was changed by this statement."
    assert remedy == "Grant the login this right, or use another login."


# Lake and timeouts


def test_lake_path_that_is_a_file_is_refused(careful: Story, error_lines: Callable[..., list[str]]):
    """When the lake's path is a file, the run fails with a remedy, and the next run succeeds after it is removed."""
    careful.lake.rmdir()
    careful.lake.touch()

    happened, safe, remedy = error_lines()

    assert happened.startswith(f"trades: The lake {careful.lake} cannot be used: ")
    assert safe == "Files that were published before are complete; the target keeps what it had."
    assert remedy == "Make room or correct the rights of the folder, then run again."
    careful.lake.unlink()
    careful.run()
    careful.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_query_timeout_is_explained(careful: Story, error_lines: Callable[..., list[str]]):
    """When a statement exceeds `query_timeout`, the error names the setting."""
    careful.project["query_timeout"] = 1
    careful.settings["ready_query"] = "SELECT 20240105 FROM pg_sleep(60)"

    happened, safe, remedy = error_lines()

    assert happened.endswith("canceling statement due to statement timeout (SQLSTATE 57014).")
    assert safe == "Nothing was changed by this statement."
    assert remedy == "Raise `query_timeout`, or add an index on the partition column."


# Errors during a run


def failure(failed: pytest.ExceptionInfo[RunFailed]) -> list[str]:
    ((_, problem),) = failed.value.report.failures
    assert_no_secret(problem)
    return problem.splitlines()


def test_target_dropped_during_a_run_is_restored(careful: Story):
    """When the target table is dropped during a run, the run fails and the next one creates and fills it."""
    careful.run()
    careful.fill(SATURDAY)

    with pytest.raises(RunFailed) as failed:
        careful.tidegate(At("extract done", lambda: careful.in_target("DROP TABLE trades"))).run()

    happened, safe, remedy = failure(failed)
    assert 'relation "public.trades" does not exist' in happened
    assert safe == "Nothing was changed by this statement."
    assert remedy == "Correct the name, or grant the login access to it."
    careful.run()
    careful.assert_in_step(*FIVE_DAYS, SATURDAY)


@pytest.mark.thorough
def test_ledger_dropped_during_a_run_is_rebuilt(careful: Story):
    """When the ledger is dropped during a run, no day is loaded without an entry, and the next run rebuilds it."""
    careful.run()
    careful.fill(SATURDAY)

    with pytest.raises((RunFailed, DatabaseError)) as failed:
        careful.tidegate(At("extract done", lambda: careful.in_target("DROP SCHEMA tidegate CASCADE"))).run()

    assert len(str(failed.value).splitlines()) == 3
    assert SATURDAY not in careful.counts_in_target()
    careful.run()
    careful.assert_in_step(*FIVE_DAYS, SATURDAY)


@pytest.mark.thorough
def test_lake_deleted_during_a_run_is_rebuilt(careful: Story):
    """When the lake is deleted between extract and load, the run fails and the next one extracts again."""
    with pytest.raises(RunFailed) as failed:
        careful.tidegate(At("extract done", lambda: shutil.rmtree(careful.lake))).run()

    happened, safe, remedy = failure(failed)
    assert str(careful.lake) in happened
    assert safe == "The target keeps what it had."
    assert remedy
    careful.run()
    careful.assert_in_step(*FIVE_DAYS)


def test_day_deleted_after_planning_fails(careful: Story):
    """When the source deletes a day between plan and extract, the run fails and writes no empty file."""
    careful.run()
    careful.fill(SATURDAY)

    with pytest.raises(RunFailed) as failed:
        careful.tidegate(At("planned", lambda: careful.in_source("DELETE FROM trades WHERE cob = %s", SATURDAY))).run()

    happened, safe, remedy = failure(failed)
    assert "the source counted 200 rows and none arrived: they left." in happened
    assert safe
    assert remedy
    assert not careful.lake_file(SATURDAY).exists()
    careful.fill(SATURDAY)
    careful.run()
    careful.assert_in_step(*FIVE_DAYS, SATURDAY)


def test_constraint_violation_rolls_back(careful: Story):
    """When rows violate a unique index of the target, the load is rolled back and the message shows no value."""
    careful.run()
    careful.in_target("CREATE UNIQUE INDEX one_of_each ON trades (id) WHERE id > 100000")
    careful.in_target("INSERT INTO trades (cob, id) VALUES (1, 100007)")
    careful.fill(SATURDAY, first=100001, last=100020)

    with pytest.raises(RunFailed) as failed:
        careful.run()

    happened, safe, remedy = failure(failed)
    assert 'duplicate key value violates unique constraint "one_of_each" (SQLSTATE 23505)' in happened
    assert "100007" not in happened
    assert safe == "The transaction was rolled back."
    assert remedy
    assert SATURDAY not in careful.counts_in_target()

    careful.in_target("DELETE FROM trades WHERE cob = 1")
    careful.run()
    careful.assert_in_step(*FIVE_DAYS, SATURDAY)


CUTS = {
    "before a day is extracted": ("source", "extract", "TO STDOUT", None),
    "while a day is extracted": ("source", "extract", "TO STDOUT", 5000),
    "while a day is loaded": ("target", "load", "FROM STDIN", None),
    "before a commit arrives": ("target", "load", "COMMIT", None),
    "before a commit is answered": ("target", "load", "COMMIT", 0),
}


@pytest.mark.parametrize(("side", "purpose", "word", "after"), CUTS.values(), ids=CUTS)
def test_broken_connection_is_retried(careful: Story, side: str, purpose: str, word: str, after: int | None):
    """When a connection breaks during extract, load or commit, the run retries and loads every row once."""
    with Wire(getattr(careful, side), purpose, word, after) as wire:
        careful.project[side] = wire.end
        report = careful.run()

    assert wire.cuts
    assert report.outcome == "done"
    careful.project.pop(side)
    careful.assert_in_step(*FIVE_DAYS)


SLOW = "SELECT CASE n WHEN 2000 THEN pg_sleep(0.5)::text ELSE repeat('x', 100) END FROM generate_series(1, 2000) AS n"


def test_waiting_for_rows_holds_up_no_other_thread(careful: Story):
    """While one thread waits for the last row of a slow query, the others go on."""
    ticks = 0
    with database_at(careful.source).connect("test") as session:
        blocks = session.copied(raw(SLOW), BatchSize())  # type: ignore[attr-defined]
        reader = threading.Thread(target=lambda: list(blocks))
        reader.start()
        while reader.is_alive():
            time.sleep(0.01)
            ticks += 1

    assert ticks > 10


@pytest.fixture(scope="module")
def fragile(login: str) -> Iterator[EmbeddedPostgres]:
    """A separate server that the tests kill."""
    from tidegate.demo.embedded import EmbeddedPostgres

    with EmbeddedPostgres(durable=False) as server:
        yield server


@pytest.mark.parametrize(
    ("place", "harm"),
    [
        pytest.param("published", "restart", id="restarted while days are extracted"),
        pytest.param("extract done", "kill", id="killed before days are loaded", marks=pytest.mark.thorough),
        pytest.param("loaded", "kill", id="killed while days are loaded"),
    ],
)
def test_server_crash_during_a_run_is_recovered(
    fragile: EmbeddedPostgres, engine: SparkSession, tmp_path: Path, place: str, harm: str
):
    """When the server restarts or crashes during a run, the next run completes it."""
    name = f"{harm}_{place.replace(' ', '_')}"
    story = Story(fragile.create_database(f"{name}_prod"), fragile.create_database(f"{name}_uat"), tmp_path, engine)
    sides.create(story.source)
    story.fill(*FIVE_DAYS)

    message = ""
    try:
        story.tidegate(At(place, getattr(fragile, harm))).run()
    except (RunFailed, DatabaseError) as failed:
        message = str(failed)
    # A restart may end before the last attempt of a task. Then nothing fails.
    assert len(message.splitlines()) == 3 or (harm, message) == ("restart", "")
    fragile.start()

    story.run()
    story.assert_in_step(*FIVE_DAYS)


# Limits the size of files, like a full disk, for a command and its child processes.
NO_FILE_BEYOND_200_KILOBYTES = """
import resource
from tidegate.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
main()
"""


@pytest.mark.thorough
@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
def test_full_disk_fails_without_leaking_secrets(careful: Story, tmp_path: Path):
    """When the disk is full, the run fails and publishes no partial file. No command line shows the password."""
    careful.in_source(
        "INSERT INTO trades (cob, id, note) SELECT 20240106, i, md5(i::text) || md5((-i)::text)"
        " FROM generate_series(1, 20000) i"
    )
    arguments = ("run", "--quiet", "-c", careful.file(tmp_path / "tidegate.yml"))
    command_lines: set[str] = set()

    run = child("-c", NO_FILE_BEYOND_200_KILOBYTES, *arguments)
    with run:
        watcher = threading.Thread(target=watch, args=(run.pid, command_lines))
        watcher.start()
        output, errors = run.communicate(timeout=200)
        watcher.join()

    assert run.returncode == 1
    assert "Traceback" not in output + errors
    assert_no_secret(output + errors)
    happened, safe, remedy = (line.strip() for line in errors.splitlines())
    assert re.fullmatch(rf"trades: {careful.lake}\S* cannot be written: .*File too large\.", happened)
    assert safe == "No half file was published; the target keeps what it had."
    assert remedy == "Make room or correct the rights of the folder, then run again."
    assert list(careful.counts_in_target()) == list(FIVE_DAYS)

    assert any("java" in line for line in command_lines)
    assert_no_secret("\n".join(command_lines))

    careful.run()
    careful.assert_in_step(*FIVE_DAYS, SATURDAY)


def watch(session: int, command_lines: set[str]) -> None:
    while living := processes.of_session(session):
        command_lines.update(map(processes.command_line, living))
        threading.Event().wait(0.05)


# The password


def test_password_is_never_stored_or_shown(careful: Story, spark: SparkSession, tmp_path: Path):
    """The password is in no plan, report, ledger row, lake file or Spark setting."""
    on_the_way: list[bytes] = []

    def look_at_every_file() -> None:
        on_the_way.extend(path.read_bytes() for path in careful.lake.rglob("*") if path.is_file())

    tidegate = careful.tidegate(At("extract done", look_at_every_file))
    planned = repr(tidegate.plan())
    report = tidegate.run()
    careful.in_target("DELETE FROM trades WHERE cob = %s AND id = 7", MONDAY)
    verification = tidegate.verify(deep=True)
    page = tidegate.report(tmp_path / "report.html").read_text()
    kept = ask(careful.target, "SELECT json_agg(r)::text, json_agg(l)::text FROM tidegate.runs r, tidegate.locks l")

    assert_no_secret(planned + repr(tidegate) + repr(tidegate.project) + str(tidegate.project))
    assert_no_secret(
        json.dumps(report.to_dict()) + json.dumps(verification.to_dict()) + json.dumps(tidegate.history()) + page
    )
    assert_no_secret(repr(kept))
    assert len(on_the_way) >= len(FIVE_DAYS)
    for content in on_the_way:
        assert not [secret for secret in SECRETS if secret.encode() in content]
    assert_no_secret(repr(spark.sparkContext.getConf().getAll()) + repr(spark.sql("SET -v").collect()))

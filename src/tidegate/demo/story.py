"""The story of `tidegate demo`: nine chapters on an embedded PostgreSQL, with the commands that a user types.

Every number is measured or counted while the story runs. `sides.py` changes the databases and counts rows to check the
results; it does not use Tidegate.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from tidegate.demo.commands import Commands, Finished, engine_variables
from tidegate.demo.data import TABLE, Calendar
from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.demo.folder import fresh_folder, remove_server, server_folder
from tidegate.demo.reference import CHANGED_CUSTOMERS, CUSTOMERS
from tidegate.demo.sides import Sides
from tidegate.demo.terminal import chapter, restore_terminal, rows, say, show, span
from tidegate.errors import TidegateError

_DAYS_OF_FIRST_RUN = 10
_CONFIGURATION = """\
# tidegate.yml
source: postgresql://reader:${{PROD_PASSWORD}}@127.0.0.1:{port}/prod   # this login may only read
lake: ./lake
target: postgresql://loader:${{UAT_PASSWORD}}@127.0.0.1:{port}/uat
protected: [prod]                # never a target, whatever is written above

tables:
  {table}:
    kind: partition              # kept in sync one value of a column at a time
    partition_column: cobid      # the business day, as YYYYMMDD
    initial_load_count: {first}       # the first run takes the newest {first} days
    restatement_column: load_id  # grows when a day is delivered again
  customers:
    kind: scd2                   # the source keeps history: one row per version of a customer
    cursor_column: last_modified # the time of change: each run reads what is newer
    flag_column: is_latest       # true in the current version
    initial_load: full           # the first run takes the whole history
  currencies:
    kind: static                 # small: compared as a whole, moved when it changed
    allow_deletes: true          # rows that are deleted in the source are deleted in the target
"""
_ON_ITS_OWN_SPARK = ("--master", "local[*]")
_CORRUPTED = 3


def tell(about_rows: int, folder: Path | None = None, ended: Callable[[Path], None] = lambda report: None) -> int:
    """Run the story, with about so many rows in the source at first. Return its exit code.

    The code is 0 when every chapter ended as it should, and 130 after Ctrl-C or SIGTERM, with the server stopped.
    The last line of the output is the path of the report; `ended` is called with it.
    Raises TidegateError at the first chapter that goes wrong.
    """
    started = time.monotonic()
    try:
        with _sigterm_as_interrupt(), fresh_folder(folder) as here:
            report = _play(about_rows, here)
    except KeyboardInterrupt:
        click.echo(
            "The demo was interrupted, and its server stopped. The next demo starts from the beginning.", err=True
        )
        return 130
    say(f"The demo took {time.monotonic() - started:.0f} s. The report is one file that needs no network:")
    click.echo(report)
    ended(report)
    return 0


def _play(about_rows: int, here: Path) -> Path:
    """Run the story in this folder. Return the path of the report."""
    click.secho("Tidegate demo", bold=True)
    say(f"All its files are in {here}. Its PostgreSQL stops at the end; the next demo replaces everything.")
    with EmbeddedPostgres(data=server_folder(here), durable=False) as server, closing(Sides(server)) as sides:
        commands = Commands(here, {**sides.variables, **engine_variables(here)})
        try:
            report = Story(here, sides, commands, Calendar.of(about_rows)).tell()
        finally:
            commands.stop_engine()
    remove_server(here)
    return report


@dataclass(frozen=True)
class Story:
    """The chapters in their order. Each one needs the state that the chapter before it has left."""

    folder: Path
    sides: Sides
    commands: Commands
    calendar: Calendar

    def tell(self) -> Path:
        """Run all chapters. Return the path of the report."""
        self.the_start()
        self.the_plan()
        self.the_first_run()
        self.nothing_to_do()
        self.a_new_day()
        self.healing()
        self.a_killed_run()
        self.the_proof()
        return self.the_report()

    def the_start(self) -> None:
        chapter(1, "Source and target")
        started = time.monotonic()
        self.sides.fill(self.calendar.at_first)
        seconds, by_day = time.monotonic() - started, self.sides.source_rows()
        say(
            f"A PostgreSQL {self.sides.version} on this machine plays both sides: `prod` is the source, `uat` the "
            f"target. In `prod`, {TABLE} has {rows(by_day)} of a trading desk on {len(by_day)} business days, "
            f"{span(by_day)}; customers has {self.sides.versions():,} versions of 5,000 customers, currencies 8 rows; "
            f"generated in {seconds:.1f} s. `uat` is empty. Passwords come from environment variables:"
        )
        text = _CONFIGURATION.format(port=self.sides.port, table=TABLE, first=_DAYS_OF_FIRST_RUN)
        (self.folder / "tidegate.yml").write_text(text, encoding="utf-8")
        show(text)

    def the_plan(self) -> None:
        chapter(2, "What a run would do")
        say("A plan reads catalogs, indexes and file footers. It changes nothing and needs no Spark.")
        self._do("plan")

    def the_first_run(self) -> None:
        chapter(3, "The first run")
        say(
            f"It takes the newest {_DAYS_OF_FIRST_RUN} days into its scope. Each day is read once, becomes one Parquet "
            "file in the lake, and is loaded in one transaction that checks rows and hash before it commits. "
            "Currencies and customers are loaded before the trades that refer to them. Spark tasks move the rows. A "
            "warm engine keeps Spark running between commands; each of them finds it by itself."
        )
        say(self.commands.answer("engine", "start"), dim=True)
        self._do("run")
        self._check_counts()
        self._check_reference()

    def nothing_to_do(self) -> None:
        chapter(4, "The same again")
        say("A run compares source, lake and target first, and finds nothing to move.")
        report = self._do("run").report
        if report is None or report["engine"] is not None:
            _stop("A run with nothing to do moved rows.")

    def a_new_day(self) -> None:
        chapter(5, "A new business day")
        new = self.calendar.new
        self.sides.add([new])
        self.sides.change_reference(new.cobid)
        say(
            f"{new.cobid} arrives in `prod` with {new.rows:,} rows. {CHANGED_CUSTOMERS} customers get a new rating: "
            "their old versions are closed. One currency is deleted, one is new, one has a new rate. Only these rows "
            "move."
        )
        self._do("run")
        self._check_counts()
        self._check_reference()
        say("Counted without Tidegate: customers and currencies are equal on both sides, every flag included.")

    def healing(self) -> None:
        chapter(6, "Somebody deletes a day, a row, and a file")
        _, _, deleted_day, _, _, day_of_file, *_ = self._in_scope()
        deleted_rows, file = self.sides.delete_in_target(deleted_day), self._file(day_of_file)
        self.sides.delete_currency_in_target("USD")
        file.unlink()
        say(
            f"In `uat`, somebody deletes {deleted_day}, all {deleted_rows:,} rows, and the currency USD; in the lake, "
            f"the file of {day_of_file}. A plan shows how all three are restored:"
        )
        self._do("plan")
        say("The next run loads the deleted rows from the lake, and extracts the day of the file again.")
        self._do("run")
        self._check_counts()
        self._check_reference()
        if not file.is_file():
            _stop(f"The lake still lacks {file}.")

    def a_killed_run(self) -> None:
        chapter(7, "A run is killed half-way")
        late = [day.cobid for day in self.calendar.late]
        self.sides.add(self.calendar.late)
        say(
            f"{len(late)} days arrive at once, {span(late)}. When the first of them is in `uat`, SIGKILL ends the run "
            "and its Spark: `--master` starts one of its own. On a cluster it would name the cluster."
        )
        killed = self.commands.kill_when(lambda: bool(self.sides.present(late)), "run", *_ON_ITS_OWN_SPARK)
        restore_terminal()
        self.sides.wait_for_sessions_to_end()
        say("The run was killed." if killed else "The run ended before the signal.")
        self._say_what_arrived(late)
        self._do("run")
        self._check_counts()
        self._check_keys()

    def _say_what_arrived(self, late: Collection[int]) -> None:
        in_target, in_source = self.sides.target_rows(), self._in_scope()
        partial = [cobid for cobid in late if in_target.get(cobid, 0) not in (0, in_source[cobid])]
        if partial:
            _stop(f"`uat` has only a part of {', '.join(map(str, partial))}.")
        extracted = sum(self._file(cobid).is_file() for cobid in late)
        complete = sum(cobid in in_target for cobid in late)
        say(
            f"Counted now, of {len(late)} days: {extracted} in the lake, {complete} complete in `uat`, none in part. "
            "The next run does the rest:"
        )

    def the_proof(self) -> None:
        chapter(8, "The proof")
        self._flags_are_repaired()
        say("Source and target are read again; every row in scope is hashed and compared.")
        self._do("verify")
        started, scope = time.monotonic(), self._in_scope()
        self._check_reference()
        unequal = self.sides.unequal(list(scope))
        if unequal:
            _stop(f"PostgreSQL's own hashes differ on {', '.join(map(str, unequal))}.")
        say(
            f"Checked without Tidegate: PostgreSQL's own hashes of all {rows(scope)} agree, on each of the "
            f"{len(scope)} days ({time.monotonic() - started:.1f} s)."
        )

    def _flags_are_repaired(self) -> None:
        self.sides.corrupt_flags_in_target(_CORRUPTED)
        say(
            f"In `uat`, somebody sets {_CORRUPTED} flags: old versions of customers look current. No row is lost, so "
            "no count shows it. `repair` compares every version, and corrects the ones that differ:"
        )
        self._do("repair", CUSTOMERS, "--yes")
        self._check_reference()

    def the_report(self) -> Path:
        chapter(9, "The report")
        say("One page for everybody: what ran, how fast, what source, lake and target have, and what was proven.")
        path = Path(self.commands.answer("report"))
        if not path.is_file():
            _stop(f"There is no report at {path}.")
        return path

    # Shared

    def _do(self, *words: str) -> Finished:
        """Run a command, and print how long it took and what moved its rows."""
        finished = self.commands.run(*words)
        say(str(finished), dim=True)
        return finished

    def _in_scope(self) -> dict[int, int]:
        """Return the rows of the source by day, from the first day that the first run took."""
        first = self.calendar.at_first[-_DAYS_OF_FIRST_RUN].cobid
        return {cobid: count for cobid, count in self.sides.source_rows().items() if cobid >= first}

    def _check_counts(self) -> None:
        if self.sides.target_rows() != self._in_scope():
            _stop("The rows of `uat`, counted day by day, are not those that `prod` has in scope.")

    def _check_reference(self) -> None:
        unequal = self.sides.unequal_reference()
        if unequal:
            _stop(f"{' and '.join(unequal)} differ between `prod` and `uat`.")

    def _check_keys(self) -> None:
        duplicates, by_day = self.sides.duplicates(), self.sides.target_rows()
        if duplicates:
            _stop(f"`uat` has {duplicates:,} duplicate rows.")
        say(
            f"Counted without Tidegate: `uat` has {rows(by_day)} on {len(by_day)} days, as `prod` has; no row is a "
            "duplicate."
        )

    def _file(self, cobid: int) -> Path:
        return self.folder / "lake" / "organized" / f"cobid_{cobid}" / f"{TABLE}_cobid_{cobid}.parquet"


def _stop(happened: str) -> NoReturn:
    raise TidegateError(
        happened,
        "The demo has databases of its own; no other one was touched.",
        "This is a defect of the demo or of Tidegate: please report it.",
    )


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C inside of the block, so that `timeout` and containers stop the server too."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

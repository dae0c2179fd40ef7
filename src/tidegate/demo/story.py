"""What `tidegate demo` tells: nine chapters on an embedded PostgreSQL, played with the commands that everybody types.

Every number is measured or counted while the story runs. What happens to the databases outside of Tidegate, and every
count that is to confirm it, is done by `sides.py`, which knows nothing of Tidegate.
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

from tidegate.demo.commands import Commands
from tidegate.demo.data import TABLE, Calendar
from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.demo.place import fresh_folder, remove_server, server_folder
from tidegate.demo.reference import CHANGED_CUSTOMERS, CUSTOMERS
from tidegate.demo.sides import Sides
from tidegate.demo.voice import calm_terminal, chapter, rows, say, show, span
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
    kind: partition              # kept in step one value of a column at a time
    partition_column: cobid      # the business day, as YYYYMMDD
    initial_load_count: {first}       # the first run takes the newest {first} days
    restatement_column: load_id  # a day that is delivered again has a higher one
  customers:
    kind: scd2                   # versions: a row says how a customer was from its mark on
    mark_column: last_modified
    flag_column: is_latest       # true in the version that holds
    initial_load: full           # the first run takes the whole history
  currencies:
    kind: static                 # small: compared as a whole, moved when it changed
    allow_deletes: true          # what leaves the source leaves the target
"""
_ON_SPARK = ("--master", "local[*]")
_CORRUPTED = 3


def tell(about_rows: int, folder: Path | None = None, ended: Callable[[Path], None] = lambda report: None) -> int:
    """Tells the story, with about this many rows in the source at first; 0 when every chapter ended as it should.

    The last line of the output is the path of the report, which `ended` is told too. 130 after Ctrl-C or SIGTERM, with
    the server stopped.
    Raises TidegateError at the first chapter that went wrong.
    """
    started = time.monotonic()
    try:
        with _sigterm_as_interrupt(), fresh_folder(folder) as here:
            report = _play(about_rows, here)
    except KeyboardInterrupt:
        click.echo("The story was interrupted, and its server stopped. The next demo starts afresh.", err=True)
        return 130
    say(f"The whole story took {time.monotonic() - started:.0f} s. The report is one file that needs no network:")
    click.echo(report)
    ended(report)
    return 0


def _play(about_rows: int, here: Path) -> Path:
    """Where the report is."""
    click.secho("Tidegate demo", bold=True)
    say(f"What it makes lies in {here}. Its PostgreSQL ends with the story; the next demo starts afresh.")
    with EmbeddedPostgres(data=server_folder(here), durable=False) as server, closing(Sides(server)) as sides:
        report = Story(here, sides, Commands(here, sides.variables), Calendar.of(about_rows)).tell()
    remove_server(here)
    return report


@dataclass(frozen=True)
class Story:
    """The chapters in their order: each leaves behind what the next one needs."""

    folder: Path
    sides: Sides
    commands: Commands
    calendar: Calendar

    def tell(self) -> Path:
        """Where the report is."""
        self.what_is_there()
        self.the_plan()
        self.the_first_run()
        self.nothing_to_do()
        self.a_new_day()
        self.healing()
        self.a_killed_run()
        self.the_proof()
        return self.the_report()

    def what_is_there(self) -> None:
        chapter(1, "What is there")
        started = time.monotonic()
        self.sides.fill(self.calendar.at_first)
        seconds, held = time.monotonic() - started, self.sides.source_rows()
        say(
            f"A PostgreSQL {self.sides.version} on this machine plays both sides: `prod` is the source, `uat` the "
            f"target. In `prod`, {TABLE} holds {rows(held)} of a trading desk on {len(held)} business days, "
            f"{span(held)}; customers holds {self.sides.versions():,} versions of 5,000 customers, currencies 8 rows; "
            f"made in {seconds:.1f} s. `uat` is empty. The configuration leaves the passwords to the environment:"
        )
        text = _CONFIGURATION.format(port=self.sides.port, table=TABLE, first=_DAYS_OF_FIRST_RUN)
        (self.folder / "tidegate.yml").write_text(text, encoding="utf-8")
        show(text)

    def the_plan(self) -> None:
        chapter(2, "What a run would do")
        say("A plan asks catalogs, indexes and file footers. It changes nothing and needs no Spark.")
        self._do("plan")

    def the_first_run(self) -> None:
        chapter(3, "The first run")
        say(
            f"It takes the newest {_DAYS_OF_FIRST_RUN} days into its scope. Each day is read once, rests in the lake "
            "as one Parquet file, and is loaded in one transaction that checks rows and hash before it commits. "
            "Currencies and customers are loaded before the trades that refer to them. `--master` says where Spark "
            "runs; on a cluster nothing else is different."
        )
        self._do("run", *_ON_SPARK)
        self._check_counts()
        self._check_reference()

    def nothing_to_do(self) -> None:
        chapter(4, "The same again")
        say("A run looks at source, lake and target first, and finds nothing to move.")
        if self._do("run"):
            _stop("A run with nothing to do started Java.")

    def a_new_day(self) -> None:
        chapter(5, "A new business day")
        new = self.calendar.new
        self.sides.add([new])
        self.sides.change_reference(new.cobid)
        say(
            f"{new.cobid} arrives in `prod` with {new.rows:,} rows. {CHANGED_CUSTOMERS} customers get a new rating: "
            "their old versions are closed. One currency leaves, one comes, one has a new rate. Only that moves; "
            "and for so little no Spark is started, unless it is asked for."
        )
        self._do("run")
        self._check_counts()
        self._check_reference()
        say("Counted without Tidegate: customers and currencies are equal on both sides, every flag included.")

    def healing(self) -> None:
        chapter(6, "Somebody deletes a day, a row, and a file")
        _, _, lost, _, _, filed, *_ = self._in_scope()
        gone, file = self.sides.delete_in_target(lost), self._file(filed)
        self.sides.delete_currency_in_target("USD")
        file.unlink()
        say(
            f"In `uat`, somebody deletes {lost}, all {gone:,} rows, and the currency USD; in the lake, the file of "
            f"{filed}. A plan sees all three:"
        )
        self._do("plan")
        say("The next run loads what `uat` lost from the lake, and reads the file's day from the source again.")
        self._do("run")
        self._check_counts()
        self._check_reference()
        if not file.is_file():
            _stop(f"The lake still lacks {file}.")

    def a_killed_run(self) -> None:
        chapter(7, "A run is killed half-way")
        late = [day.cobid for day in self.calendar.late]
        self.sides.add(self.calendar.late)
        say(f"{len(late)} days arrive at once, {span(late)}. When the first of them is in `uat`, the run gets SIGKILL.")
        killed = self.commands.kill_when(lambda: bool(self.sides.present(late)), "run", *_ON_SPARK)
        calm_terminal()
        self.sides.wait_until_quiet()
        say("The run was killed." if killed else "The run was quicker than the signal and ended by itself.")
        self._tell_what_is_there_of(late)
        self._do("run")
        self._check_counts()
        self._check_keys()

    def _tell_what_is_there_of(self, late: Collection[int]) -> None:
        held, wanted = self.sides.target_rows(), self._in_scope()
        torn = [cobid for cobid in late if held.get(cobid, 0) not in (0, wanted[cobid])]
        if torn:
            _stop(f"`uat` holds a part of {', '.join(map(str, torn))}.")
        landed = sum(self._file(cobid).is_file() for cobid in late)
        whole = sum(cobid in held for cobid in late)
        say(
            f"Counted now, of {len(late)} days: {landed} in the lake, {whole} whole in `uat`, none in part. "
            "The next run does what is missing:"
        )

    def the_proof(self) -> None:
        chapter(8, "The proof")
        self._flags_are_repaired()
        say("Both sides are read again; every row in scope is hashed and compared.")
        self._do("verify")
        started, scope = time.monotonic(), self._in_scope()
        self._check_reference()
        unequal = self.sides.unequal(list(scope))
        if unequal:
            _stop(f"PostgreSQL's own hashes differ on {', '.join(map(str, unequal))}.")
        say(
            f"A second opinion without Tidegate: PostgreSQL's own hashes of all {rows(scope)} agree, on each of the "
            f"{len(scope)} days ({time.monotonic() - started:.1f} s)."
        )

    def _flags_are_repaired(self) -> None:
        self.sides.corrupt_flags_in_target(_CORRUPTED)
        say(
            f"In `uat`, somebody sets {_CORRUPTED} flags: old versions of customers say that they hold. No row is lost,"
            " so no count tells. `repair` compares every version, and corrects what differs:"
        )
        self._do("repair", CUSTOMERS, "--yes")
        self._check_reference()

    def the_report(self) -> Path:
        chapter(9, "For those who were not here")
        say("What ran, how fast, what each side holds, and what was proven.")
        path = Path(self.commands.answer("report"))
        if not path.is_file():
            _stop(f"There is no report at {path}.")
        return path

    # Shared

    def _do(self, *words: str) -> bool:
        """Runs a command and says how long it took; whether Java was seen."""
        took = self.commands.run(*words)
        say(str(took), dim=True)
        return took.java

    def _in_scope(self) -> dict[int, int]:
        """Rows in the source by day, from the first of the days that the first run took."""
        first = self.calendar.at_first[-_DAYS_OF_FIRST_RUN].cobid
        return {cobid: count for cobid, count in self.sides.source_rows().items() if cobid >= first}

    def _check_counts(self) -> None:
        if self.sides.target_rows() != self._in_scope():
            _stop("`uat` has not the rows that `prod` has in scope, counted day by day.")

    def _check_reference(self) -> None:
        unequal = self.sides.unequal_reference()
        if unequal:
            _stop(f"{' and '.join(unequal)} differ between `prod` and `uat`.")

    def _check_keys(self) -> None:
        twice, held = self.sides.rows_twice(), self.sides.target_rows()
        if twice:
            _stop(f"{twice:,} rows of `uat` are there twice.")
        say(
            f"Counted without Tidegate: `uat` holds {rows(held)} on {len(held)} days, as `prod` does; no row is there "
            "twice."
        )

    def _file(self, cobid: int) -> Path:
        return self.folder / "lake" / "organized" / f"cobid_{cobid}" / f"{TABLE}_cobid_{cobid}.parquet"


def _stop(happened: str) -> NoReturn:
    raise TidegateError(
        happened,
        "The demo has databases of its own; no other one was touched.",
        "The story is broken: please report it.",
    )


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """A `timeout` or a closing container ends the story as Ctrl-C does: with the server stopped."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

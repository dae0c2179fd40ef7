"""Options that several commands share, and the function that opens a project with them."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidegate.errors import ConfigError, TidegateError

if TYPE_CHECKING:
    from tidegate.api import Tidegate
    from tidegate.cli.output import Output
    from tidegate.config import Project
    from tidegate.model.report import RunReport

Command = TypeVar("Command", bound=Callable[..., Any])

config_option = click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path),
    default=Path("tidegate.yml"),
    show_default=True,
    help="The configuration file.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress while rows move.")
master_option = click.option(
    "--master", metavar="URL", help="Spark master for this call, instead of the configured one."
)
engine_option = click.option(
    "--engine", type=click.Choice(["spark", "process"]), help="What moves the rows in this call, instead of `engine:`."
)
show_values_option = click.option(
    "--show-values", is_flag=True, help="Errors about a row show the value as well as its key."
)
debug_option = click.option("--debug", is_flag=True, help="Show the stack trace of an error.")
tables_argument = click.argument("tables", nargs=-1, metavar="[TABLE]...")


def command_options(command: Command) -> Command:
    """Add `--json` and `--debug` to a command, which receives an `output` instead, and print its errors."""

    @json_option
    @debug_option
    @functools.wraps(command)
    def wrapped(*args: Any, as_json: bool, debug: bool, **kwargs: Any) -> None:
        from tidegate.cli.output import JsonOutput, Output

        output: Output = JsonOutput() if as_json else Output()
        try:
            sys.exit(command(*args, output=output, **kwargs) or 0)
        except TidegateError as problem:
            if debug:
                raise
            output.error(problem)
            sys.exit(problem.exit_code)
        except KeyboardInterrupt:
            output.error(
                TidegateError("Interrupted.", "Committed values stay, each of them complete.", "Run again to continue.")
            )
            sys.exit(130)

    return wrapped  # type: ignore[return-value]


def move_options(command: Command) -> Command:
    """Add the options of a command that moves or compares rows, for `open_project`: `--quiet`, `--engine`,
    `--master`, `--show-values`."""
    return quiet_option(engine_option(master_option(show_values_option(command))))


def schema_options(*, required: bool) -> Callable[[Command], Command]:
    """Add the options that choose a source database and a target schema per run."""

    def added(command: Command) -> Command:
        source = click.option("--source-db", required=required, metavar="NAME", help="The database to read from.")
        target = click.option("--target-schema", required=required, metavar="NAME", help="The schema to load into.")
        tables = click.option(
            "--tables-file",
            type=click.Path(path_type=Path),
            default=Path("conf/tables.yml"),
            show_default=True,
            help="How each table is synced.",
        )
        return source(target(tables(command)))

    return added


def open_project(
    config: Path, output: Output, *, engine: str | None = None, master: str | None = None, **how: bool
) -> Tidegate:
    """Return the project of a configuration file. Connects to nothing yet. A master stands for Spark as the engine."""
    from tidegate.config import load_project

    project = load_project(config, engine="spark" if master else engine)
    return opened(project, output, engine=engine, master=master, **how)


def opened(
    project: Project,
    output: Output,
    *,
    quiet: bool = True,
    engine: str | None = None,
    master: str | None = None,
    show_values: bool = False,
) -> Tidegate:
    """Return a project that is ready to run. Connects to nothing yet."""
    from tidegate.api import Tidegate
    from tidegate.cli.progress import BarProgress, PlainProgress
    from tidegate.logs import configure
    from tidegate.runs.listener import Listener

    if engine == "process" and master:
        raise ConfigError("`--engine process` and `--master` exclude each other.", "Nothing was done.", "Use one.")
    output.redact = project.redactor().redact
    if master:
        spark = project.spark.model_copy(update={"master": master, "remote": None})
        project = project.model_copy(update={"spark": spark})
    project = project.model_copy(update={"shows_values": show_values})
    if project.logging is not None:
        configure(project.logging.level, project.logging.format, project.logging.file)
    listener = Listener()
    if not quiet and not output.is_json:
        listener = BarProgress(output.redact) if sys.stderr.isatty() else PlainProgress(output.redact)
    return Tidegate.from_project(project, listener=listener)


def exit_code_of(project: Tidegate, report: RunReport) -> int:
    """Return the exit code of a run. Dagster, if it started this process, is told of tables and receipts."""
    if "DAGSTER_PIPES_CONTEXT" not in os.environ:
        return report.exit_code
    from tidegate.dagster import tell

    return tell(project, report)


def confirm(question: str, yes: bool) -> None:
    """Ask the user, unless `--yes`. Raises ConfigError when the answer is no, or when there is no terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            f"{question} There is no terminal to answer at.",
            "Nothing was changed.",
            "Use `--yes` to do it without asking.",
        )
    if not click.confirm(question):
        raise ConfigError("Not confirmed.", "Nothing was changed.")

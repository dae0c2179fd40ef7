"""Options that several commands share, and the way from them to an open project."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidegate.errors import ConfigError, TidegateError

if TYPE_CHECKING:
    from tidegate.api import Tidegate
    from tidegate.cli.output import Output

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
debug_option = click.option("--debug", is_flag=True, help="Show the stack trace of an error.")
tables_argument = click.argument("tables", nargs=-1, metavar="[TABLE]...")


def command_options(command: Command) -> Command:
    """What every command takes. The command receives `output` instead of `as_json` and `debug`."""

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
                TidegateError("Interrupted.", "What was committed stands, each value whole.", "Run again to go on.")
            )
            sys.exit(130)

    return wrapped  # type: ignore[return-value]


def open_project(config: Path, output: Output, *, quiet: bool = True, master: str | None = None) -> Tidegate:
    """Read the configuration and get ready; nothing is connected yet."""
    from tidegate.api import Tidegate
    from tidegate.cli.progress import BarProgress, PlainProgress
    from tidegate.config import load_project
    from tidegate.runs.listener import Listener

    project = load_project(config)
    output.redact = project.redactor().redact
    if master:
        spark = project.spark.model_copy(update={"master": master, "remote": None})
        project = project.model_copy(update={"spark": spark})
    listener = Listener()
    if not quiet and not output.is_json:
        listener = BarProgress(output.redact) if sys.stderr.isatty() else PlainProgress(output.redact)
    return Tidegate.from_project(project, listener=listener)


def confirm(question: str, yes: bool) -> None:
    """Ask, unless `--yes`. Where nobody can answer, refuse."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            f"{question} Nobody is here to answer.",
            "Nothing was changed.",
            "Say `--yes` to do it without asking.",
        )
    if not click.confirm(question):
        raise ConfigError("Not confirmed.", "Nothing was changed.")

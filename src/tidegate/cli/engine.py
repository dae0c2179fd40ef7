"""The command engine, with start, stop, status and logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidegate.cli.options import command_options

if TYPE_CHECKING:
    from tidegate.cli.output import Output
    from tidegate.config import Project
    from tidegate.spark.warm.control import Found

Command = TypeVar("Command", bound=Callable[..., Any])

_CONFIGURATION = Path("tidegate.yml")
_config_option = click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path),
    help="A configuration file, for its `engine` and `spark.options`.  [default: ./tidegate.yml, if it is there]",
)


@click.group()
def engine() -> None:
    """Keep a local Spark warm between commands, so that they do not wait for a JVM.

    It belongs to this user, this installation and this Python. Commands find it by themselves.

    Example: tidegate engine start
    """


@engine.command()
@_config_option
@click.option("--idle", metavar="TIME", help="End after this time without use, as in 30m.  [default: `engine.idle`]")
@command_options
def start(config: Path | None, idle: str | None, output: Output) -> int:
    """Start the warm engine, and wait until it is ready. Does nothing when it runs already.

    Example: tidegate engine start --idle 2h
    """
    import time

    from tidegate.spark.warm.control import start as start_engine

    started = time.monotonic()
    settings = _engine_settings(config, idle)
    address, is_new = start_engine(_options(config), settings.idle)
    seconds = time.monotonic() - started
    how = f"is ready after {seconds:.1f} s" if is_new else "runs already"
    facts = {"pid": address.pid, "started": is_new, "seconds": round(seconds, 3), "idle": address.idle}
    output.facts(facts, f"The warm engine {how} (process {address.pid}); {_until(address.idle)}.")
    return 0


@engine.command()
@_config_option
@click.option("--all", "everything", is_flag=True, help="Also engines of other versions, Pythons and options.")
@command_options
def stop(config: Path | None, everything: bool, output: Output) -> int:
    """Stop the warm engine. One that a run uses is not stopped: that is an error.

    Example: tidegate engine stop
    """
    from tidegate.spark.warm.control import engines
    from tidegate.spark.warm.control import stop as stop_engine

    chosen = [found for found in engines(_options(config)) if found.address and (found.fits or everything)]
    stopped = [found.address.pid for found in chosen if found.address and stop_engine(found.folder)]
    lines = [f"The warm engine (process {pid}) was stopped." for pid in stopped]
    output.facts({"stopped": stopped}, "\n".join(lines or ["No warm engine runs here."]))
    return 0


@engine.command()
@_config_option
@command_options
def status(config: Path | None, output: Output) -> int:
    """List the warm engines of this user, and say which one commands use here.

    Example: tidegate engine status
    """
    from tidegate.spark.warm.control import engines

    found = list(engines(_options(config)))
    lines = [_line(one) for one in found] or ["No warm engine runs. `tidegate engine start` starts one."]
    output.facts({"engines": [_facts(one) for one in found]}, "\n".join(lines))
    return 0


@engine.command()
@_config_option
@click.option(
    "-n", "--lines", type=click.IntRange(min=1), default=50, show_default=True, help="The last so many lines."
)
@command_options
def logs(config: Path | None, lines: int, output: Output) -> int:
    """Print what the warm engine wrote, also one that has ended.

    Example: tidegate engine logs
    """
    from tidegate.spark.warm.control import log_lines
    from tidegate.spark.warm.folder import engine_folder

    folder = engine_folder(_options(config))
    written = log_lines(folder)[-lines:]
    facts = {"file": str(folder.log), "lines": written}
    output.facts(facts, "\n".join(written or ["There is no log: no warm engine was started here."]))
    return 0


def _project(config: Path | None) -> Project | None:
    from tidegate.config import load_project

    if config is None and not _CONFIGURATION.exists():
        return None
    return load_project(config or _CONFIGURATION)


def _options(config: Path | None) -> Mapping[str, str]:
    project = _project(config)
    return project.spark.options if project else {}


def _engine_settings(config: Path | None, idle: str | None) -> Any:
    """Return the settings of `engine`, with another idle time if the user gave one. Raises ConfigError."""
    from pydantic import ValidationError

    from tidegate.config import EngineSettings
    from tidegate.errors import ConfigError

    project = _project(config)
    settings = project.engine if project else EngineSettings()
    if idle is None:
        return settings
    try:
        return EngineSettings(idle=idle)  # type: ignore[arg-type]
    except ValidationError:
        raise ConfigError(
            f"`--idle` must be a number of seconds, or a time such as 30m; it is `{idle}`.", "Nothing was started."
        ) from None


def _until(idle: int) -> str:
    return f"it ends after {idle // 60} minutes without use" if idle >= 120 else f"it ends after {idle} s without use"


def _line(found: Found) -> str:
    address = found.address
    if address is None:
        return f"not trusted, and not used: {found.problem}"
    use = "in use" if found.is_in_use else "idle"
    here = "commands use it here" if found.fits else f"of another version, Python or options ({address.python})"
    return f"process {address.pid}  {use}  since {address.started_at}  Tidegate {address.version}  {here}"


def _facts(found: Found) -> dict[str, Any]:
    """Return what a script may want to know. The token is not part of it."""
    address = found.address
    if address is None:
        return {"trusted": False, "problem": found.problem, "folder": str(found.folder.path)}
    return {
        "trusted": True,
        "pid": address.pid,
        "port": address.port,
        "in_use": found.is_in_use,
        "used_here": found.fits,
        "started_at": address.started_at,
        "idle": address.idle,
        "version": address.version,
        "python": address.python,
        "folder": str(found.folder.path),
    }

"""The commands below `config`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.group()
def config() -> None:
    """Work with configuration files.

    Example: tidegate config convert conf/tables.yml
    """


@config.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output", "written", type=click.Path(path_type=Path), help="Write the result here instead of printing.")
@command_options
def convert(file: Path, written: Path | None, output: Output) -> int:
    """Turn conf/tables.yml into tidegate.yml, or the tables of tidegate.yml into tables.yml.

    Both forms say the same. Connects to nothing. A file that is there is not overwritten.

    Example: tidegate config convert conf/tables.yml --output tidegate.yml
    """
    from tidegate.config.convert import converted
    from tidegate.config.secrets import refusal

    text = converted(file)
    if written is None:
        output.facts({"file": text}, text.rstrip())
        return 0
    if written.exists():
        raise refusal(f"{written} is there already.", "Name another file, or move this one away.")
    written.write_text(text)
    output.facts({"written": str(written)}, f"{written} was written.")
    return 0

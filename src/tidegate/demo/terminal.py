"""Print the story: headings, paragraphs, files. Plain lines where there is no terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping

import click

_WIDEST = 100
_INDENT = "   "


def chapter(number: int, title: str) -> None:
    click.secho(f"\n{number}  {title}", bold=True)


def say(text: str, *, dim: bool = False) -> None:
    """Print a paragraph, wrapped and indented."""
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    click.secho(click.wrap_text(text, width, _INDENT, _INDENT), dim=dim)


def show(text: str) -> None:
    """Print the text of a file, indented, with its lines as they are."""
    click.echo("\n".join(f"{_INDENT}{line}".rstrip() for line in ["", *text.splitlines()]))


def rows(by_day: Mapping[int, int]) -> str:
    """Return `23,055 rows`, from the rows of each day."""
    return f"{sum(by_day.values()):,} rows"


def span(cobids: Collection[int]) -> str:
    """Return `20260105 to 20260122`."""
    return f"{min(cobids)} to {max(cobids)}"


def restore_terminal() -> None:
    """Show the text cursor again, which a killed progress bar has hidden, and start a new line."""
    if sys.stderr.isatty():
        click.echo("\x1b[?25h", err=True, color=True)

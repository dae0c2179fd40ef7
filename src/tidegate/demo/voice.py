"""How the story is told: headings, sentences, a calm terminal. Plain lines where there is no terminal."""

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
    """A paragraph, wrapped and indented."""
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    click.secho(click.wrap_text(text, width, _INDENT, _INDENT), dim=dim)


def show(text: str) -> None:
    """A file's text, indented, line by line as it is."""
    click.echo("\n".join(f"{_INDENT}{line}".rstrip() for line in ["", *text.splitlines()]))


def rows(by_day: Mapping[int, int]) -> str:
    return f"{sum(by_day.values()):,} rows"


def span(cobids: Collection[int]) -> str:
    return f"{min(cobids)} to {max(cobids)}"


def calm_terminal() -> None:
    """Gives back the cursor that a killed progress bar has hidden, and leaves its line."""
    if sys.stderr.isatty():
        click.echo("\x1b[?25h", err=True, color=True)

"""Propose a configuration file from the catalog of the source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.model.connection import Connection
from tidegate.ops.proposal import as_yaml, propose
from tidegate.plugins import database


@dataclass(frozen=True)
class ProposedFile:
    """The text of the file, how many tables it configures (`tables`) and how many it only names (`others`)."""

    text: str
    tables: int
    others: int
    notes: tuple[str, ...]


def propose_file(source: str, target: str, lake: str, patterns: Sequence[str] = ()) -> ProposedFile:
    """Return the proposed file. A URL with a password is replaced in it by a variable."""
    variables = Variables(os.environ)
    places = {
        "source": parse_connection(source, variables, "--source"),
        "target": parse_connection(target, variables, "--target"),
    }
    adapter = database(places["source"])
    with adapter.connect("init", read_only=True) as session:
        proposals = propose(adapter, session, patterns)
    written, notes = {}, []
    for side, text in (("source", source), ("target", target)):
        written[side], note = _without_password(side, text, places[side])
        notes += [note] if note else []
    chosen = [proposal for proposal in proposals if proposal.can_run]
    if not chosen:
        notes.append("No table can run yet: the file gives the reason for each.")
    text = as_yaml(proposals, written["source"], written["target"], lake, adapter.default_schema)
    return ProposedFile(text, len(chosen), len(proposals) - len(chosen), tuple(notes))


def _without_password(side: str, text: str, place: Connection) -> tuple[str, str]:
    """Return the URL, or a variable for a URL with a password and a note about it."""
    if "${" in text or not place.secrets:
        return text, ""
    name = f"TIDEGATE_{side.upper()}_URL"
    return (
        "${" + name + "}",
        f"The {side} has a password: the file has ${{{name}}} instead. Set that variable to the URL.",
    )

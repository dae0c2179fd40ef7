"""Init: propose a configuration file from the source's own catalog."""

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
    """The text of the file, how many tables it configures and how many it only names."""

    text: str
    tables: int
    others: int
    notes: tuple[str, ...]


def propose_file(source: str, target: str, lake: str, patterns: Sequence[str] = ()) -> ProposedFile:
    """Reads the source's catalog. A URL with a password does not enter the file: a variable takes its place."""
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
    chosen = [proposal for proposal in proposals if proposal.runs]
    if not chosen:
        notes.append("No table can run as it stands: the file says of each why.")
    text = as_yaml(proposals, written["source"], written["target"], lake, adapter.default_schema)
    return ProposedFile(text, len(chosen), len(proposals) - len(chosen), tuple(notes))


def _without_password(side: str, text: str, place: Connection) -> tuple[str, str]:
    if "${" in text or not place.secrets:
        return text, ""
    name = f"TIDEGATE_{side.upper()}_URL"
    return (
        "${" + name + "}",
        f"The {side} has a password: the file says ${{{name}}}. Set that variable to the URL before you go on.",
    )

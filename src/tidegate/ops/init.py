"""Propose a configuration file from the catalog of the source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from tidegate.config.open_tables import is_pattern, matches, spellings
from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.errors import ConfigError
from tidegate.model.connection import Connection
from tidegate.ops.detection import Proposal
from tidegate.ops.proposal import as_yaml, blocks, is_chosen, key_of, propose, with_target_names
from tidegate.plugins import database


@dataclass(frozen=True)
class ProposedFile:
    """The text of the file, how many tables it configures (`tables`) and how many it only names (`others`)."""

    text: str
    tables: int
    others: int
    notes: tuple[str, ...]


def propose_file(
    source: str, target: str, lake: str, patterns: Sequence[str] = (), existing: str | None = None
) -> ProposedFile:
    """Return the proposed file. A URL with a password is replaced in it by a variable.

    `existing` is the text of a file that somebody edited: it is kept, and gets the tables that it does not have."""
    variables = Variables(os.environ)
    places = {
        "source": parse_connection(source, variables, "--source"),
        "target": parse_connection(target, variables, "--target"),
    }
    adapter = database(places["source"])
    with adapter.connect("init", read_only=True) as session:
        proposals = propose(adapter, session, patterns)
        others = {name: why for name, why in session.not_listed().items() if is_chosen(name, patterns)}
    if database(places["target"]).capabilities.schemas_are_databases:
        proposals = with_target_names(proposals, adapter.default_schema)
    if existing is not None:
        return _merged(existing, proposals, adapter.default_schema)
    written, notes = {}, []
    for side, text in (("source", source), ("target", target)):
        written[side], note = _without_password(side, text, places[side])
        notes += [note] if note else []
    chosen = [proposal for proposal in proposals if proposal.can_run]
    if not chosen:
        notes.append("No table can run yet: the file gives the reason for each.")
    unseen = [str(name) for name, why in others.items() if why.startswith("this login")]
    if unseen:
        notes.append(f"This login may not read {', '.join(unseen)}.")
    text = as_yaml(proposals, written["source"], written["target"], lake, adapter.default_schema, others)
    return ProposedFile(text, len(chosen), len(proposals) - len(chosen), tuple(notes))


def _merged(existing: str, proposals: Sequence[Proposal], default_schema: str) -> ProposedFile:
    """Return the existing file with a block for every table that it neither names nor selects by a pattern."""
    tables = _tables_node(existing)
    known = {key.value for key, _ in tables.value} if tables is not None else set()
    patterns = [key for key in known if is_pattern(key)]
    new = [
        proposal
        for proposal in proposals
        if proposal.kind
        and (key := key_of(proposal.table, default_schema)) not in known
        and not any(matches(pattern, spellings(key, default_schema)) for pattern in patterns)
    ]
    found = {key_of(proposal.table, default_schema) for proposal in proposals}
    gone = sorted(key for key in known - {*patterns} if key not in found)
    notes = [f"not in the source under this name: {', '.join(gone)}"] if gone else []
    if not new:
        return ProposedFile(existing, 0, 0, (*notes, "nothing is new: the file stays as it is"))
    if tables is None or tables.flow_style:
        raise ConfigError(
            "The file has no block `tables:` to which tables could be added.",
            "It was not changed.",
            "Write `tables:` with a line per table, or use `-o` for another file.",
        )
    lines = existing.splitlines()
    place = tables.end_mark.line if tables.value else tables.start_mark.line + 1
    while place > 0 and place <= len(lines) and _is_no_content(lines[place - 1]):
        place -= 1
    if tables.end_mark.column or place > len(lines):
        place = len(lines)
    indent = " " * (tables.start_mark.column - 2)
    added = [indent + line if line else line for line in blocks(new, default_schema)]
    text = "\n".join([*lines[:place], *added, *lines[place:]]).rstrip() + "\n"
    return ProposedFile(text, sum(proposal.can_run for proposal in new), 0, tuple(notes))


def _is_no_content(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _tables_node(text: str) -> yaml.MappingNode | None:
    """Return the mapping below `tables`. Raises ConfigError for a file that is no mapping."""
    try:
        root = yaml.compose(text)
    except yaml.YAMLError as problem:
        raise ConfigError(
            f"The file is not YAML: {problem}.", "It was not changed.", "Correct it, or use `--force`."
        ) from None
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError("The file holds no settings.", "It was not changed.", "Use `--force` to overwrite it.")
    found = next((value for key, value in root.value if key.value == "tables"), None)
    return found if isinstance(found, yaml.MappingNode) else None


def _without_password(side: str, text: str, place: Connection) -> tuple[str, str]:
    """Return the URL, or a variable for a URL with a password and a note about it."""
    if "${" in text or not place.secrets:
        return text, ""
    name = f"TIDEGATE_{side.upper()}_URL"
    return (
        "${" + name + "}",
        f"The {side} has a password: the file has ${{{name}}} instead. Set that variable to the URL.",
    )

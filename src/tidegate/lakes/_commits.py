"""One commit of a table in a table format: the facts that it carries, and the entry that follows from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.interfaces.lake import Layout
from tidegate.model.lake_versions import LakeVersion
from tidegate.model.receipt import Receipt
from tidegate.model.state import LakeEntry
from tidegate.model.tokens import Token

PREFIX = "tidegate."
COMPACTED = "compacted"
"""The fact of a commit that brought rows of many small files into few: how many."""
_TEXTS = ("window", "hash", "run", "why", "read_at", "scope", "columns_id", "replaces", "previous")


@dataclass(frozen=True)
class Commit:
    """One commit. `facts` are empty where somebody else made it."""

    version: str
    """How the format calls the state of the table after this commit: a snapshot id, or a version."""
    at: str
    """When it was committed, in UTC."""
    operation: str
    """What the format says that happened: `append`, `overwrite`, `replace`, `delete`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    taken: tuple[str, ...] = ()
    """Files that left the table, where the log names them."""
    moved: tuple[str, ...] = ()
    """Files whose rows somebody brought into others, where the log names them."""
    brought: tuple[str, ...] = ()
    """Files that somebody else brought, where the log names them."""
    is_expired: bool = False
    """Whether its version can no longer be read: `tidegate lake clean` kept the facts alone."""

    @property
    def window(self) -> str | None:
        """Return the window whose rows came with this commit."""
        return None if "dropped" in self.facts else self.facts.get("window")

    @property
    def dropped(self) -> tuple[str, ...]:
        """Return the windows whose rows left with this commit."""
        return tuple(self.facts.get("dropped", ()))

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files with the rows of this commit, by their names in the folder of the data."""
        return tuple(self.facts.get("files", ()))

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.facts.get("keys", ()))

    @property
    def takes_rows(self) -> bool:
        """Return whether somebody else may have taken rows away with this commit. Compaction keeps them."""
        return not self.facts and self.operation not in ("append", "replace")

    @property
    def rewrites(self) -> bool:
        """Return whether rows of entries went into other files: by a compaction, or because somebody changed some."""
        return COMPACTED in self.facts or (not self.facts and self.operation != "append")

    def entry(self, entry_id: str, broken: str = "") -> LakeEntry:
        """Return what this commit says of its window."""
        facts = self.facts
        return LakeEntry(
            id=entry_id,
            etag=self.version,
            rows=facts["rows"],
            hash=facts["hash"],
            text_columns=tuple(facts["text_columns"]),
            columns=tuple(facts["columns"]),
            columns_id=facts["columns_id"],
            storage_types=tuple(facts["storage_types"]),
            token=Token.from_dict(facts["token"]),
            unproven=facts["unproven"],
            read_at=facts["read_at"],
            has_keys=bool(facts["keys"]),
            broken=broken,
        )


def live(commits: Sequence[Commit], layout: Layout) -> dict[str, Commit]:
    """Return the commits whose rows are in the table now, by window, oldest first."""
    found: dict[str, Commit] = {}
    for commit in commits:
        for window in commit.dropped:
            found.pop(window, None)
        if commit.window is not None:
            if layout is Layout.WHOLE:
                found.clear()
            found.pop(commit.window, None)
            found[commit.window] = commit
    return found


def history_of(commits: Sequence[Commit]) -> list[LakeVersion]:
    """Return the states of a table that its commits made, for people."""
    return [
        LakeVersion(
            commit.version,
            commit.at,
            commit.operation,
            commit.window or ", ".join(commit.dropped),
            commit.facts.get("run", ""),
            commit.facts.get("rows"),
            "dropped" if commit.dropped else commit.facts.get("why", ""),
            (commit.facts.get("token") or {}).get("watermark") or "",
        )
        for commit in commits
        if not commit.is_expired
    ]


def facts_of_parts(footers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts of a window whose rows lie in these parts: counts and hashes add up."""
    first = dict(footers[0])
    first["window"] = first.pop("value")
    receipts = [Receipt(footer["rows"], footer["hash"]) for footer in footers]
    total = sum(receipts, Receipt.EMPTY)
    return {**first, "rows": total.rows, "hash": total.hash}


def as_properties(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return facts as texts by name, as a format keeps them with a commit."""
    return {
        f"{PREFIX}{name}": value if name in _TEXTS else json.dumps(value)
        for name, value in facts.items()
        if value not in (None, "")
    }


def of_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that `as_properties` was called on; none for a commit of somebody else."""
    named = {name[len(PREFIX) :]: text for name, text in properties.items() if name.startswith(PREFIX)}
    if not named:
        return {}
    facts: dict[str, Any] = dict.fromkeys(_TEXTS, "") if "dropped" not in named else {}
    return {**facts, **{name: text if name in _TEXTS else json.loads(text) for name, text in named.items()}}

"""One part of a window while a task writes it, and the facts that its footer has."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tidegate.interfaces.lake import EntryFacts, Part, PartWriter
from tidegate.lakes._files import FileWriter
from tidegate.model.tokens import Token, entry_from_version_1

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class PartFile(PartWriter):
    table: str
    column: str
    role: str
    file: FileWriter

    def write(self, batch: pa.RecordBatch) -> None:
        self.file.write(batch)

    def close(self, facts: EntryFacts) -> Part:
        size = self.file.close(as_footer(self.table, self.column, facts))
        return Part(self.file.path, self.role, facts.rows, size)

    def abandon(self) -> None:
        self.file.abandon()


def as_footer(table: str, column: str, facts: EntryFacts) -> dict[str, Any]:
    """Return the facts as a footer or a commit file has them."""
    footer = {**asdict(facts), "token": facts.token.to_dict()}
    footer["value"] = footer.pop("window")
    return {"table": table, "column": column, **footer}


def own_facts(footer: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a file as those of a folder: the commit file states its own format."""
    return {name: value for name, value in footer.items() if name != "format"}


def token_of(facts: dict[str, Any]) -> Token:
    if facts["format"] == 1:
        return entry_from_version_1(facts["column"], facts["newest"], facts.get("window", ""), facts["read_at"])
    return Token.from_dict(facts["token"])

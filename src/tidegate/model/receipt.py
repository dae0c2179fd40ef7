"""A receipt: the count and the hash of a slice, on one side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidegate.errors import Unsupported


@dataclass(frozen=True, repr=False)
class Receipt:
    """How many rows a slice holds, and the sum modulo 2^128 of their hashes as 32 hex digits.

    Slices with the same rows have the same receipt, whatever the order of the rows and however they were cut
    into batches; a row that occurs twice counts twice. `version` says which rules made the hashes
    (`tidegate.rows.hashing`): receipts of two versions say nothing about each other.
    """

    rows: int
    hash: str
    version: int = 1

    EMPTY: ClassVar[Receipt]

    @classmethod
    def of_sum(cls, rows: int, total: int, version: int = 1) -> Receipt:
        """The receipt of `rows` rows whose hashes add up to `total`, which may exceed 2^128."""
        return cls(rows, f"{total % 2**128:032x}", version)

    def __add__(self, other: Receipt) -> Receipt:
        """The receipt of both slices together. They must not share rows, or those count twice."""
        self._require_version_of(other)
        total = int(self.hash, 16) + int(other.hash, 16)
        return Receipt.of_sum(self.rows + other.rows, total, self.version)

    def same_as(self, other: Receipt) -> bool:
        """Whether both slices hold the same rows. Raises `Unsupported` where the versions differ."""
        self._require_version_of(other)
        return (self.rows, self.hash) == (other.rows, other.hash)

    def as_text(self) -> str:
        """For the ledger and for footers, where one text has to do."""
        return f"{self.rows} {self.hash}"

    def __repr__(self) -> str:
        return f"{self.rows:,} {'row' if self.rows == 1 else 'rows'} {self.hash[:4]}…"

    def _require_version_of(self, other: Receipt) -> None:
        if self.version != other.version:
            raise Unsupported(
                f"These receipts were made by versions {self.version} and {other.version} of the row hash.",
                "They say nothing about each other: this is no difference in the rows. Nothing was changed.",
                "Run `tidegate verify` for this table: it reads both sides again with one version.",
            )


Receipt.EMPTY = Receipt(0, "0" * 32)

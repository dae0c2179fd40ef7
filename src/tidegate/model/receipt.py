"""A receipt: the number of rows of a split or window on one side, and the hash of their content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidegate.errors import Unsupported


@dataclass(frozen=True, repr=False)
class Receipt:
    """The number of rows, and the sum modulo 2^128 of their hashes as 32 hex digits.

    The same rows have the same receipt, in any order and in any batches. A row that occurs twice counts twice.
    `version` is the version of the row hash (`tidegate.hashing.rows`). Receipts of two versions cannot be compared.
    """

    rows: int
    hash: str
    version: int = 1

    EMPTY: ClassVar[Receipt]

    @classmethod
    def of_sum(cls, rows: int, total: int, version: int = 1) -> Receipt:
        """Return the receipt of `rows` rows whose hashes add up to `total`, which may exceed 2^128."""
        return cls(rows, f"{total % 2**128:032x}", version)

    def __add__(self, other: Receipt) -> Receipt:
        """Return the receipt of both splits together. Rows that are in both count twice."""
        self._require_version_of(other)
        total = int(self.hash, 16) + int(other.hash, 16)
        return Receipt.of_sum(self.rows + other.rows, total, self.version)

    def same_as(self, other: Receipt) -> bool:
        """Return whether both have the same rows. Raises Unsupported if the versions differ."""
        self._require_version_of(other)
        return (self.rows, self.hash) == (other.rows, other.hash)

    def as_text(self) -> str:
        """Return rows and hash as one text, for the ledger and the lake."""
        return f"{self.rows} {self.hash}"

    def __repr__(self) -> str:
        return f"{self.rows:,} {'row' if self.rows == 1 else 'rows'} {self.hash[:4]}…"

    def _require_version_of(self, other: Receipt) -> None:
        if self.version != other.version:
            raise Unsupported(
                f"These receipts were made by versions {self.version} and {other.version} of the row hash.",
                "They cannot be compared: this is no difference in the rows. Nothing was changed.",
                "Run `tidegate verify` for this table: it reads both sides again with one version.",
            )


Receipt.EMPTY = Receipt(0, "0" * 32)

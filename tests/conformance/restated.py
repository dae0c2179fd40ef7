"""Copy rows that are inserted, updated through a staging table, rewritten and deleted, round after round.

Each round writes the source tables again, with other values for the same keys. The real engine updates the target, and
plain drivers compare every cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from conformance.journey import Given, PostgresqlSide, Side, Traveller, columns_of
from kit.one_process import OneProcess
from tidegate import Tidegate

Cells = tuple[Given, ...]
Rows = Sequence[Sequence[Given]]

_NUMBERS = count(1)


@dataclass(frozen=True)
class Restated:
    """A table with columns of many types. Its rows begin with `cobid`, the key `id` and additional columns."""

    travellers: Sequence[Traveller]
    settings: Mapping[str, Any]
    own: Mapping[str, str] = field(default_factory=dict)
    """Additional columns before the tested ones, with their types."""
    name: str = field(default_factory=lambda: f"restated_{next(_NUMBERS)}")

    @property
    def types(self) -> dict[str, str]:
        return {**self.own, **columns_of(self.travellers)}

    @property
    def forms(self) -> dict[str, str]:
        own = {name: "number" if kind == "int" else "truth" for name, kind in self.own.items()}
        forms = (one.form for one in self.travellers)
        return {**own, **dict(zip(columns_of(self.travellers), forms, strict=True))}


@dataclass(frozen=True)
class Rounds:
    """Tables that are copied from source to target after each change of their rows."""

    source: Side
    target: Side
    lake: Path
    tables: Sequence[Restated]

    def __post_init__(self) -> None:
        for table in self.tables:
            self.source.create(table.name, table.types)

    @property
    def tidegate(self) -> Tidegate:
        return Tidegate(
            source=self.source.url,
            target=self.target.url,
            lake=self.lake,
            tables={table.name: dict(table.settings) for table in self.tables},
            spark=OneProcess(),  # type: ignore[arg-type]
        )

    def write(self, rows: Sequence[Rows]) -> None:
        """Replace the rows of each table in the source."""
        for table, some in zip(self.tables, rows, strict=True):
            self.source.empty(table.name)
            self.source.insert(table.name, table.types, some)

    def run(self) -> list[str]:
        """Run and return the result of the last load of each table, or its error."""
        report = self.tidegate.run(check=False)
        did = {step.table: step.error or step.why for step in report.steps} | dict(report.failures)
        return [did.get(table.name, report.outcome) for table in self.tables]

    def unlike(self) -> list[str]:
        """Return the cells that differ between source and target."""
        return [f"{table.name}: {what}" for table in self.tables for what in self._unlike(table)]

    def _unlike(self, table: Restated) -> Iterator[str]:
        for column, form in table.forms.items():
            ours = self.source.values(table.name, column, form)
            theirs = self._meant(table, column, self.target.values(table.name, column, form))
            if ours.keys() != theirs.keys():
                yield f"{len(ours)} rows in the source, {len(theirs)} in the target"
                return
            unlike = [key for key in ours if ours[key] != theirs[key]]
            yield from (f"{column}: {ours[key]!r:.80} became {theirs[key]!r:.80}" for key in unlike[:3])

    def _meant(self, table: Restated, column: str, seen: dict[object, object]) -> dict[object, object]:
        """Return the meaning of texts that only PostgreSQL can parse. It parses each text once."""
        if table.forms[column] != "native" or self.target.kind == "postgresql":
            return seen
        assert isinstance(self.source, PostgresqlSide)
        meaning = self.source.meant(table.types[column], {text: text for text in seen.values()})
        return {key: meaning[text] for key, text in seen.items()}

    def restless(self) -> list[str]:
        """Return the steps of a second run and the findings of `verify`, or an empty list."""
        plan, verified = self.tidegate.plan(), self.tidegate.verify()
        found = [f"a second run would do {plan}"] if plan.does_something or plan.failures else []
        return found if verified.outcome == "equal" else [*found, f"verify: {verified.findings} {verified.failures}"]


def cells(travellers: Sequence[Traveller], place: int) -> Cells:
    """Return the value of each column at this position, starting again after the last."""
    return tuple(one.kept[place % len(one.kept)] for one in travellers)


def plain(travellers: Sequence[Traveller]) -> Cells:
    """Return a plain value of each column, which fits its Arrow type."""
    return cells(travellers, 0)

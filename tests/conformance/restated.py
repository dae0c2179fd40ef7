"""Rows that change on their way: they come, are updated through a stage, are written anew, and leave.

The tables of a source are written anew for every round, with other values under the same keys; the real engine brings
the target in step, and a witness on each side looks at every cell.
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
    """A table of travellers. Its rows begin with `cobid`, `id`, which names a row, and what is its own."""

    travellers: Sequence[Traveller]
    settings: Mapping[str, Any]
    own: Mapping[str, str] = field(default_factory=dict)
    """Columns that stand before those of the travellers, with their types."""
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
    """Tables on their way from one side to another, as often as their rows change."""

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
        """From now on the source holds these rows of each table."""
        for table, some in zip(self.tables, rows, strict=True):
            self.source.empty(table.name)
            self.source.insert(table.name, table.types, some)

    def run(self) -> list[str]:
        """What the last load of each table did, or why it could not."""
        report = self.tidegate.run(check=False)
        did = {step.table: step.error or step.why for step in report.steps} | dict(report.failures)
        return [did.get(table.name, report.outcome) for table in self.tables]

    def unlike(self) -> list[str]:
        """Cells that are not the same on both sides."""
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
        """What only PostgreSQL understands is shown to it, each text once."""
        if table.forms[column] != "native" or self.target.kind == "postgresql":
            return seen
        assert isinstance(self.source, PostgresqlSide)
        meaning = self.source.meant(table.types[column], {text: text for text in seen.values()})
        return {key: meaning[text] for key, text in seen.items()}

    def restless(self) -> list[str]:
        """What a second run would do, and what verify finds."""
        plan, verified = self.tidegate.plan(), self.tidegate.verify()
        found = [f"a second run would do {plan}"] if plan.does_something or plan.failures else []
        return found if verified.outcome == "equal" else [*found, f"verify: {verified.findings} {verified.failures}"]


def cells(travellers: Sequence[Traveller], place: int) -> Cells:
    """The value of each at this place; after the last comes the first."""
    return tuple(one.kept[place % len(one.kept)] for one in travellers)


def plain(travellers: Sequence[Traveller]) -> Cells:
    """A value of each for which its Arrow type has room."""
    return cells(travellers, 0)

"""The declared scope of a table: the values that Tidegate keeps in sync, and no others."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from tidegate.model.values import Value, ValueKind


@dataclass(frozen=True)
class Scope:
    """Every value from `floor` on, plus `ranges` (both ends included), without the `forgotten` values.

    Without a floor only the ranges count. Rows without a value are in every scope: only a table that loads them has
    a window for them.
    """

    floor: Value | None = None
    ranges: tuple[tuple[Value, Value], ...] = ()
    forgotten: frozenset[Value] = frozenset()
    settings: str = ""
    """The settings that were decided for the table, as JSON; empty where the configuration has them all."""
    where: str = ""
    """The condition under which the rows were copied; empty for all rows."""

    def covers(self, value: Value) -> bool:
        """Return whether the value is in the scope."""
        if value in self.forgotten or value.is_null:
            return value not in self.forgotten
        above = self.floor is not None and value >= self.floor
        return above or any(low <= value <= high for low, high in self.ranges)

    def with_range(self, low: Value, high: Value) -> Scope:
        """Return the scope with the range `low` to `high` added. Forgotten values in the range come back."""
        remembered = frozenset(value for value in self.forgotten if not low <= value <= high)
        ranges = self.ranges if (low, high) in self.ranges else (*self.ranges, (low, high))
        return replace(self, ranges=ranges, forgotten=remembered)

    def without(self, value: Value) -> Scope:
        """Return the scope with one more forgotten value."""
        return replace(self, forgotten=self.forgotten | {value})

    def to_json(self) -> str:
        kind = next((value.kind for value in self._mentioned()), None)
        return json.dumps(
            {
                "kind": kind and kind.value,
                "floor": self.floor and self.floor.text,
                "ranges": [[low.text, high.text] for low, high in self.ranges],
                "forgotten": sorted(value.text for value in self.forgotten),
                **({"settings": self.settings} if self.settings else {}),
                **({"where": self.where} if self.where else {}),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Scope:
        stored: dict[str, Any] = json.loads(text)
        settings, where = stored.get("settings", ""), stored.get("where", "")
        if stored["kind"] is None:
            return cls(settings=settings, where=where)
        kind = ValueKind(stored["kind"])
        return cls(
            floor=None if stored["floor"] is None else Value.of(stored["floor"], kind),
            ranges=tuple((Value.of(low, kind), Value.of(high, kind)) for low, high in stored["ranges"]),
            forgotten=frozenset(Value.of(value, kind) for value in stored["forgotten"]),
            settings=settings,
            where=where,
        )

    def __str__(self) -> str:
        parts = [f"from {self.floor}"] if self.floor is not None else []
        parts += [f"{low} to {high}" if low != high else str(low) for low, high in self.ranges]
        without = f", without {', '.join(map(str, sorted(self.forgotten)))}" if self.forgotten else ""
        return (" and ".join(parts) or "nothing") + without

    def _mentioned(self) -> list[Value]:
        ends = [end for pair in self.ranges for end in pair]
        return [*([self.floor] if self.floor is not None else []), *ends, *self.forgotten]


@dataclass(frozen=True)
class ScopeCopies:
    """The two copies of a table's scope, as planning found them. None where a copy is lost or was never written."""

    in_ledger: Scope | None = None
    in_lake: Scope | None = None

    def completed(self, scope: Scope, decided: str, where: str) -> Scope:
        """Return the scope with the settings that were decided now, else with those that were decided once.

        `where` counts from the first run on. A changed one counts when all rows were copied under it."""
        settings = decided or scope.settings or (self.known.settings if self.known else "")
        return replace(scope, settings=settings, where=self.known.where if self.known else where)

    @property
    def known(self) -> Scope | None:
        """The ledger's copy, or the lake's copy while the ledger has none."""
        return self.in_ledger if self.in_ledger is not None else self.in_lake

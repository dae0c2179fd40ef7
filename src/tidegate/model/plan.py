"""What a run will do, as records. `plan` prints them and `run` does them: one list, two readers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from tidegate.model.columns import Column
from tidegate.model.scope import Scope
from tidegate.model.tokens import Token
from tidegate.model.values import Value

AnyToken = TypeVar("AnyToken", bound=Token)


@dataclass(frozen=True)
class ChangeSchema:
    """DDL on the target, shown before it runs."""

    statements: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class CompleteSchema:
    """DDL on the target that follows the loads: indexes, foreign keys, defaults, comments."""

    statements: tuple[str, ...]
    why: str
    comes_last: bool = False
    """Other tables are completed first: a foreign key needs the key that it refers to."""


@dataclass(frozen=True)
class Read:
    """Read both sides in tasks, because planning cannot know without them what follows. Then the table is planned
    again."""

    value: Value
    why: str
    rows: int | None = None


@dataclass(frozen=True)
class Extract:
    """Extract one value into the lake. `rows` is what the source counted, None when it was not counted."""

    value: Value
    why: str
    rows: int | None = None
    origin: str = "source"
    """`target` when only the target still has the rows (and its receipt must equal the ledger's)."""
    replaces: str = ""
    """The etag of the lake entry that planning saw for this window; empty when there was none."""
    token: Token | None = None
    """What the entry will remember, as far as planning knows it: the range of a cursor, for instance."""

    def token_as(self, kind: type[AnyToken]) -> AnyToken:
        """Return the token of a step that the change with tokens of this kind planned. Raises TypeError for another."""
        if not isinstance(self.token, kind):
            raise TypeError(f"{self.value}: {kind.__name__} expected, {type(self.token).__name__} planned")
        return self.token


@dataclass(frozen=True)
class Load:
    """Replace one value in the target by what the lake holds, with its ledger row, in one transaction."""

    value: Value
    why: str
    generation: int
    rows: int | None = None
    unless_hash: str = ""
    """Leave the target alone when the lake's hash is this one: the target is known to hold it."""
    compare_first: bool = False
    """The target has rows that the ledger does not know: compare, and only record when they are equal."""
    keeps_unless: tuple[str, ...] | None = None
    """With `compare_first`: rows that differ stay, unless they have one of these hashes, or fewer rows than the entry.
    Without a ledger nobody knows who changed them. None: rows that differ are replaced."""
    is_newest: bool = True
    """Nothing that was read later is in the target: what this says of a row wins."""
    exact: bool = False
    """What the target has besides leaves it, because a repair was asked for."""


@dataclass(frozen=True)
class Remove:
    """Take a value out of the target or the lake, because a rule asks for it."""

    value: Value
    side: str
    why: str
    generation: int = 0
    entries: tuple[str, ...] = ()
    """Ids of older lake entries of a whole table."""


@dataclass(frozen=True)
class Notice:
    """Something that a person should know and that this run leaves as it is."""

    text: str
    value: Value | None = None
    severity: str = "note"


Step: TypeAlias = ChangeSchema | CompleteSchema | Read | Extract | Load | Remove | Notice


@dataclass(frozen=True)
class Labels:
    """How a plan names the windows and the rows of a table."""

    window: str = "{}"
    """A window in words: `{}` stands for its value."""
    rows: str = "rows"
    scope_name: str = ""
    """What the scope is called, whatever its bounds are; empty where its bounds are shown."""
    unbounded_scope: str = ""
    """What a scope without a floor is called, likewise."""

    def name(self, window: Value) -> str:
        return self.window.format(window)

    def scope(self, scope: Scope) -> str:
        unbounded = self.unbounded_scope if scope.floor is None else ""
        return self.scope_name or unbounded or str(scope)


@dataclass(frozen=True)
class TablePlan:
    """The steps of one table, in order."""

    table: str
    steps: tuple[Step, ...]
    scope: Scope
    kind: str = "partition"
    labels: Labels = Labels()
    columns: tuple[Column, ...] = field(default=(), repr=False)
    """The columns that travel, in the source's order."""

    @property
    def moves_rows(self) -> bool:
        return any(isinstance(step, (Read, Extract, Load)) for step in self.steps)

    @property
    def row_counts(self) -> list[int | None]:
        """How many rows there are to move, those of each value once; None where nobody counted."""
        counts = {step.value: step.rows for step in self.steps if isinstance(step, (Read, Load))}
        counts.update((step.value, step.rows) for step in self.steps if isinstance(step, Extract))
        return list(counts.values())

    @property
    def does_something(self) -> bool:
        return any(not isinstance(step, Notice) for step in self.steps)


@dataclass(frozen=True)
class Plan:
    """What a run would do now. `failures` are the tables that could not be planned, with the reason."""

    tables: tuple[TablePlan, ...]
    failures: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    """What concerns all tables, such as the store that the lake is on."""

    @property
    def does_something(self) -> bool:
        return any(table.does_something for table in self.tables)


RELOAD = "reload asked for"
EXCHANGED = "rows went from one value to another: these values are loaded in one transaction"


@dataclass(frozen=True)
class Request:
    """What a person asked for beyond the daily run."""

    between: tuple[Value, Value] | None = None
    """Backfill: also be responsible for this range, and plan nothing else."""
    reload: frozenset[Value] | None = None
    """Extract and load these again, whatever is known of them; plan nothing else."""
    reload_all: bool = False
    resync: bool = False
    """Read a table as a whole again whose change feed lost its place."""
    resume: bool = False
    """Go on with a table that was restored to an earlier state."""
    why: str = RELOAD


DAILY = Request()

"""Switch native partitions: a value is loaded beside the target, and its partition is switched for the loaded table.

Where a switch makes no sense (the table is not partitioned, the partition also has rows of other values) the rows of
the value are replaced directly. The plan says which, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from tidegate.interfaces.change import ChangeColumns
from tidegate.interfaces.load import Incoming, Load, Loaded, LoadTask, ReceiptOf, Requirements
from tidegate.interfaces.native_partitions import NativePartitions
from tidegate.interfaces.session import Session
from tidegate.loads._partition_values import PartitionValuesLoad
from tidegate.loads._replace import fence, replace_rows
from tidegate.loads._switch import PartitionSwitch, SwitchPlace, SwitchRules, holds_rows, resume_switch
from tidegate.loads._switch_choice import Choice, Found, choose
from tidegate.model.names import TableName, pluralize
from tidegate.model.native import PartitionLayout, new_partition, unmet, with_partition
from tidegate.model.plan import ChangeSchema, Notice, Step
from tidegate.model.plan import Load as LoadStep
from tidegate.model.state import TableState
from tidegate.model.values import Value
from tidegate.settings import Columns, CountFromZero, Duration, Settings, Text
from tidegate.sql.partitions import other_rows
from tidegate.tables.found import Catalogs, FoundTable


class SwitchPartitionSettings(Settings):
    """How native partitions are switched. `switch` in a partition table asks for this load."""

    proof: Literal["hash", "count"] = "hash"
    """How equality is proved: `hash` of every row, or `count`."""
    keys: Columns | None = None
    """Columns that name a row in findings; the primary key when it is left out."""
    switch: Literal["auto", "always_stage", "direct"] = "auto"
    """When a partition is switched: `auto`, where it has no rows of other values; `always_stage`, those rows are copied
    along; `direct`, never."""
    staging_suffix: Text = "_STAGE"
    """What the names of staging tables have after the table's name."""
    compress_staging: bool = True
    """Staging tables get the partition's own compression, which a server may require."""
    parallel_load: bool = True
    """Several partitions are loaded at the same time."""
    archive_retention_days: CountFromZero = 0
    """For how many days replaced rows are kept in a table of their own, for `tidegate restore`. 0 keeps none."""
    switch_lock_wait: Duration = 1
    """How long one try waits for the lock of the table. Readers that come meanwhile wait behind it."""


@dataclass(frozen=True)
class SwitchPartition(PartitionValuesLoad):
    """Loads a value beside the target and switches its native partition for it."""

    name = "switch_partition"
    Settings = SwitchPartitionSettings

    not_copied: tuple[str, ...] = ()
    """Columns that only the target has."""
    together: tuple[frozenset[Value], ...] = field(default=(), repr=False)
    """Values that go into one partition by one switch."""

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Self, FoundTable]:
        load, table = super().bind(settings, table, required, change, catalogs)
        copied = {column.name for column in table.columns}
        existing = table.target.columns if table.target else ()
        extra = tuple(column.name for column in existing if column.name not in copied and not column.generated)
        return replace(load, not_copied=extra), table

    def is_serial(self, loads: Sequence[LoadStep], state: TableState) -> bool:
        return not self.settings.parallel_load or super().is_serial(loads, state)

    # In the plan

    def prepare(self, session: Session, table: TableName, loads: Sequence[LoadStep]) -> tuple[Load, list[Step]]:
        native = session.native_partitions
        layout = self._layout(session, native, table) if self.settings.switch != "direct" else None
        created: list[Step] = []
        if native is not None and layout is not None and not layout.problem and not self.not_copied:
            values = [step.value for step in loads if not step.value.is_null]
            layout, created = self._with_new_partitions(session, native, layout, values)
        explained, together = self._explained(session, native, layout, loads)
        return replace(self, together=together), [*created, *explained]

    def groups(self, loads: Sequence[LoadStep]) -> list[tuple[LoadStep, ...]]:
        joined = [
            tuple(sorted((step for step in loads if step.value in shared), key=_value)) for shared in self.together
        ]
        alone = [(step,) for step in loads if not any(step.value in shared for shared in self.together)]
        return [*(steps for steps in joined if steps), *alone]

    def _layout(self, session: Session, native: NativePartitions | None, table: TableName) -> PartitionLayout | None:
        layout = native.layout(table, session.database.value_kind(self.column)) if native else None
        if layout is not None and layout.column and layout.column.lower() != self.column.name.lower():
            return replace(layout, problem=f"it is partitioned by {layout.column}, not by {self.column.name}")
        return layout

    def _with_new_partitions(
        self, session: Session, native: NativePartitions, layout: PartitionLayout, values: Sequence[Value]
    ) -> tuple[PartitionLayout, list[Step]]:
        """Return the layout with a partition for each value that has none, and the DDL of those."""
        steps: list[Step] = []
        for value in sorted(values):
            inside = layout.partition_of(value)
            if inside is not None and not native.can_split(layout, inside):
                continue
            if inside is not None and holds_rows(session, native, layout, inside):
                text = f"{inside.name}, which takes it, has rows, so no partition of its own is split off"
                steps.append(Notice(f"no new partition: {text}", value))
                continue
            new = new_partition(layout, value)
            if new is None:
                steps.append(Notice("no partition takes it, and no bound follows it", value, "warning"))
                continue
            ddl = tuple(session.database.render(statement) for statement in native.new_boundaries(layout, new))
            steps.append(ChangeSchema(ddl, f"a partition for {value}"))
            layout = with_partition(layout, new)
        return layout, steps

    def _explained(
        self,
        session: Session,
        native: NativePartitions | None,
        layout: PartitionLayout | None,
        loads: Sequence[LoadStep],
    ) -> tuple[list[Step], tuple[frozenset[Value], ...]]:
        """Return how each value will be loaded, and which values share a switch."""
        notices: list[Step] = []
        together = []
        for steps in _by_partition(layout, loads):
            values = [step.value for step in steps]
            choice = choose(self.settings.switch, self._found(session, native, layout, values), values)
            if choice.switches and len(values) > 1:
                together.append(frozenset(values))
            notices += [_notice(choice, step) for step in steps]
        return _merged(notices), tuple(together)

    def _found(
        self,
        session: Session,
        native: NativePartitions | None,
        layout: PartitionLayout | None,
        values: Sequence[Value],
    ) -> Found:
        """Look at the partition of some values: in the plan, and again where they are loaded."""
        partition = layout.partition_of(values[0]) if layout else None
        if native is None or layout is None or partition is None:
            return Found(layout, not_copied=self.not_copied)
        missing = unmet(native.preconditions(layout, partition, None)) if not partition.is_new else ()
        is_read = not partition.is_new and not missing
        alone = len(values) == 1 and layout.holds_only(partition, values[0])
        return Found(
            layout,
            partition,
            holds=is_read and holds_rows(session, native, layout, partition),
            holds_others=is_read
            and not alone
            and holds_rows(session, native, layout, partition, other_rows(self.column, values)),
            unmet=tuple(missing),
            can_carry=native.can_carry_rows,
            not_copied=self.not_copied,
        )

    # In a task

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        [loaded] = self.apply_together(session, [incoming], receipt_of)
        return loaded

    def apply_together(self, session: Session, incoming: Sequence[Incoming], receipt_of: ReceiptOf) -> list[Loaded]:
        native = session.native_partitions
        ended = self._ended(session, native, incoming, receipt_of)
        left = [each for each in incoming if each.task.window not in ended]
        if left:
            found = self._load(session, native, left, receipt_of)
            ended |= {each.task.window: loaded for each, loaded in zip(left, found, strict=True)}
        return [ended[each.task.window] for each in incoming]

    def _ended(
        self,
        session: Session,
        native: NativePartitions | None,
        incoming: Sequence[Incoming],
        receipt_of: ReceiptOf,
    ) -> dict[Value, Loaded]:
        """Return the windows that need no load: the target holds them already, or an earlier attempt loaded them."""
        ended: dict[Value, Loaded] = {}
        for each in incoming:
            if native is not None and native.commits_itself:
                resumed = resume_switch(session, each, receipt_of, archives=bool(self.settings.archive_retention_days))
                if resumed is not None:
                    ended[each.task.window] = resumed
                    continue
            with session.transaction():
                fenced: LoadTask | Loaded = fence(session, each, receipt_of)
            if isinstance(fenced, Loaded):
                ended[each.task.window] = fenced
        return ended

    def _load(
        self,
        session: Session,
        native: NativePartitions | None,
        incoming: Sequence[Incoming],
        receipt_of: ReceiptOf,
    ) -> list[Loaded]:
        values, table = [each.task.window for each in incoming], incoming[0].task.request.table
        layout = self._layout(session, native, table) if self.settings.switch != "direct" else None
        choice = choose(self.settings.switch, self._found(session, native, layout, values), values)
        if not choice.switches:
            # One transaction for each value, as for a table without partitions.
            found = [replace_rows(session, [each], receipt_of, by_hash=self.proves_by_hash)[0] for each in incoming]
            return [replace(loaded, detail=loaded.detail or str(choice)) for loaded in found]
        assert native is not None
        assert layout is not None
        partition = layout.partition_of(values[0])
        assert partition is not None
        place = SwitchPlace(native, layout, partition, self.column, choice.carries)
        return PartitionSwitch(session, place, incoming, receipt_of, self._rules).run()

    @property
    def _rules(self) -> SwitchRules:
        return SwitchRules(
            suffix=self.settings.staging_suffix,
            compress=self.settings.compress_staging,
            archives=bool(self.settings.archive_retention_days),
            wait_seconds=float(self.settings.switch_lock_wait),
            by_hash=self.proves_by_hash,
        )


def _by_partition(layout: PartitionLayout | None, loads: Sequence[LoadStep]) -> Iterator[list[LoadStep]]:
    """Yield the loads of each partition; each load alone where partitions are not known."""
    places: dict[str, list[LoadStep]] = {}
    for step in loads:
        partition = layout.partition_of(step.value) if layout else None
        key = f"partition {partition.name}" if partition else f"value {step.value}"
        places.setdefault(key, []).append(step)
    yield from places.values()


def _value(step: LoadStep) -> Value:
    return step.value


def _notice(choice: Choice, step: LoadStep) -> Notice:
    rows = f"{pluralize(step.rows, 'row')}, " if step.rows is not None and choice.switches else ""
    word = "switch" if choice.switches else "direct"
    cure = f" Cure: {'; '.join(choice.problem.cure)}" if choice.problem and choice.problem.cure else ""
    return Notice(f"{word}: {rows}{choice.why}{cure}", step.value, "warning" if choice.problem else "note")


def _merged(notices: Sequence[Step]) -> list[Step]:
    """Return the notices, those that say the same of every value as one."""
    texts = {notice.text for notice in notices if isinstance(notice, Notice)}
    if len(notices) > 1 and len(texts) == 1 and isinstance(notices[0], Notice):
        return [replace(notices[0], value=None)]
    return list(notices)

"""Versions (SCD type 2): what a timeline lacks is inserted, and the flags of the keys that were touched are settled.

What is to be done is decided by our own hashes of both sides (`rows/versions.py`), so that reruns, late arrivals,
batches out of order, equal marks and repeated rows all end in the same table. Versions that no longer hold are closed
before others come, so that a unique index over those that hold never sees two. Inside of the transaction the touched
keys are read back: what is not exactly as decided is rolled back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import Transient, ValueProblem
from tidegate.interfaces import ReadRequest, Session
from tidegate.loads._unit import Batches, Book, Loaded, ReceiptOf, Unit, enter, refused, with_entry
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.contents import count_rows
from tidegate.sql.staged import delete_staged, update_staged, with_partner

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.rows.versions import Decision, Form, Versions


@dataclass(frozen=True, kw_only=True)
class VersionLoad(Unit):
    """One batch of versions for a timeline."""

    keys: tuple[str, ...]
    mark: str
    version_key: tuple[str, ...] = ()
    flag: str | None = None
    outside: tuple[str, ...] = ()
    latest: str = "1"
    superseded: str = "0"
    recompute: bool = False
    wins: bool = True
    """Whether it was read later than everything that was loaded."""
    parts: int = 1
    """In how many transactions it is loaded; the ledger row is in the last."""

    @property
    def form(self) -> Form:
        from tidegate.rows.versions import Form

        flag = (self.flag,) if self.flag else ()
        group = self.version_key or (*self.keys, self.mark)
        outside = (*flag, *self.outside)
        return Form(self.keys, self.mark, group, self.flag, outside, self.latest, self.superseded)

    def columns(self, names: Sequence[str]) -> list[Column]:
        by_name = {column.name: column for column in self.request.columns}
        return [by_name[name] for name in names]


def load(session: Session, work: VersionLoad, book: Book, batches: Batches, receipt_of: ReceiptOf) -> Loaded:
    """The target holds every version of the file when this ends well, and at most one of each key says so of itself."""
    before, total = book.newest(), _Counts()
    for part in range(work.parts):
        rows = _part(work, batches, part)
        ended = _load_part(session, work, book, rows, before, total, last=part == work.parts - 1)
        if ended is not None:
            return ended
    if not total.any:
        return Loaded("equal already")
    return Loaded("loaded", total.inserted + total.changed, str(total))


@dataclass
class _Counts:
    inserted: int = 0
    changed: int = 0
    closed: int = 0
    opened: int = 0

    @property
    def any(self) -> int:
        return self.inserted + self.changed + self.closed + self.opened

    def __str__(self) -> str:
        reopened = f", {self.opened:,} reopened" if self.opened else ""
        return f"{self.inserted:,} versions inserted, {self.changed:,} changed, {self.closed:,} superseded{reopened}"


def _part(work: VersionLoad, batches: Batches, part: int) -> Batches:
    """Every version of some keys: a key is settled in one transaction or not at all."""
    if work.parts == 1:
        return batches

    def some() -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from tidegate.rows.hashing import hash_rows

        for batch in batches():
            chosen = hash_rows(batch.select(list(work.keys)))[:, 0] % work.parts == part
            yield batch.filter(pa.array(chosen))

    return some


def _load_part(
    session: Session, work: VersionLoad, book: Book, rows: Batches, before: object, total: _Counts, *, last: bool
) -> Loaded | None:
    """None when it was done; else how the whole load ended before."""
    with ExitStack() as stages:
        change = _Change(session, work, rows, stages)
        with session.transaction():
            entered = enter(session, work, book)
            if isinstance(entered, Loaded):
                return entered
            if book.newest() != before:
                raise _moved(work)
            change.apply(total)
            change.prove()
            if last:
                held = int(str(session.query(count_rows(work.request.table))[0][0]))
                facts = {**json.loads(entered.entry.newest or "{}"), "held": held}
                book.record(with_entry(entered, newest=json.dumps(facts)).entry)
    return None


def _moved(work: VersionLoad) -> Transient:
    return Transient(
        f"{work.table}: another load came between reading the target and writing to it.",
        "This one was rolled back.",
        "Run again: it completes what is missing.",
    )


class _Change:
    """One part of a batch on its way: decided and staged before the transaction, applied and proved inside of it."""

    def __init__(self, session: Session, work: VersionLoad, batches: Batches, stages: ExitStack) -> None:
        self._session, self._work, self._stages, self._form = session, work, stages, work.form
        batch = self._versions(batches())
        self._require_names(batch)
        self._touched = self._request(batch)
        self._timeline = self._versions(session.read(self._touched))
        self._decision = self._decide(batch)
        self._stage(batches)

    def _decide(self, batch: Versions) -> Decision:
        from tidegate.rows.versions import decide

        work = self._work
        return decide(
            batch, self._timeline, wins=work.wins, recompute=work.recompute, flagged=self._form.flag is not None
        )

    def _versions(self, batches: Iterator[pa.RecordBatch]) -> Versions:
        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.versions import versions_of

        request = self._work.request
        return versions_of(batches, arrow_schema(request.columns, request.text_columns), self._form)

    def _require_names(self, batch: Versions) -> None:
        examples = batch.without([*self._form.keys, *self._form.group])
        if examples:
            key = ", ".join(self._form.keys)
            raise ValueProblem(
                f"{self._work.table}: versions without a value for {key}: {'; '.join(examples)}.",
                "Nothing was loaded; the target keeps what it had.",
                "Correct these rows in the source, or name other `business_keys`.",
            )

    def _request(self, batch: Versions) -> ReadRequest:
        """The timeline of the keys that the batch touches: all of it while the table is empty."""
        import numpy as np
        import pyarrow as pa

        request = self._work.request
        if not int(str(self._session.query(count_rows(request.table))[0][0])):
            return request
        columns = self._work.columns(self._form.keys)
        hashes = np.stack([batch.column(name) for name in ("key1", "key2")], axis=1)
        _, first = np.unique(hashes, axis=0, return_index=True)
        keys = batch.named.select(list(self._form.keys)).take(pa.array(first))
        stage = self._stages.enter_context(self._session.stage(request.table, columns, iter(keys.to_batches())))
        return replace(request, rows=with_partner(stage, columns))

    # Before the transaction

    def _stage(self, batches: Batches) -> None:
        import numpy as np

        from tidegate.rows.differences import picked
        from tidegate.rows.versions import with_flags

        decision, work = self._decision, self._work
        group = list(self._form.group)
        others = [column.name for column in work.request.columns if column.name not in group]
        self._closed = self._flags(decision.closed, False)
        self._opened = self._flags(decision.opened, True)
        self._changed: TableName | None = None
        if decision.changed.any():
            rows = picked(with_flags(batches(), decision.flags, self._form), decision.changed, [*group, *others])
            self._changed = self._stages.enter_context(
                self._session.stage(work.request.table, work.columns([*group, *others]), rows)
            )
        self._others = others
        again = np.concatenate([decision.rewritten, decision.gone])
        self._again = self._rows_of(again) if len(again) else None
        # Read now: what the target holds of them is gone when they are to be written.
        written_again = list(self._written_again())
        self._rewritten = sum(batch.num_rows for batch in written_again)
        own = [column.name for column in work.request.columns]

        def coming() -> Iterator[pa.RecordBatch]:
            yield from picked(with_flags(batches(), decision.flags, self._form), decision.fresh, own)
            yield from written_again

        self._insert = self._stages.enter_context(
            self._session.staged(work.request.table, work.request.columns, coming)
        )

    def _flags(self, places: object, holds: bool) -> TableName | None:
        """A stage with the names of these versions, and what their flag is to say."""
        import numpy as np
        import pyarrow as pa

        count = len(places)  # type: ignore[arg-type]
        if not count or self._form.flag is None:
            return None
        group = list(self._form.group)
        named = self._timeline.named.select(group).take(pa.array(places))
        flag = self._work.columns([self._form.flag])[0]
        type_ = self._flag_type()
        rows = named.append_column(flag.name, self._form.spelled(np.full(count, holds), type_))
        columns = self._work.columns([*group, flag.name])
        batches = iter(rows.combine_chunks().to_batches())
        return self._stages.enter_context(self._session.stage(self._work.request.table, columns, batches))

    def _flag_type(self) -> pa.DataType:
        from tidegate.rows.arrow import arrow_schema

        request = self._work.request
        assert self._form.flag is not None
        return arrow_schema(request.columns, request.text_columns).field(self._form.flag).type

    def _rows_of(self, places: object) -> TableName:
        """A stage with the groups in which rows are written anew."""
        import pyarrow as pa

        group = list(self._form.group)
        named = self._timeline.named.select(group).take(pa.array(places))
        each = named.group_by(group).aggregate([]).select(group)
        batches = iter(each.combine_chunks().to_batches())
        return self._stages.enter_context(
            self._session.stage(self._work.request.table, self._work.columns(group), batches)
        )

    def _written_again(self) -> Iterator[pa.RecordBatch]:
        """The rows of those groups as the target holds them, with the flags that they get; less what is replaced."""
        from tidegate.rows.versions import settled

        if self._again is None:
            return
        request = replace(self._work.request, rows=with_partner(self._again, self._work.columns(self._form.group)))
        yield from settled(self._session.read(request), self._decision.expected, self._form)

    # Inside of it

    def apply(self, total: _Counts) -> None:
        """Closing comes first: a unique index over what holds never sees two."""
        table, group = self._work.request.table, self._work.columns(self._form.group)
        flag = self._work.columns([self._form.flag]) if self._form.flag else []
        execute = self._session.execute
        if self._closed is not None:
            total.closed += execute(update_staged(table, self._closed, group, flag))
        if self._again is not None:
            execute(delete_staged(table, self._again, group))
        if self._changed is not None:
            total.changed += execute(update_staged(table, self._changed, group, self._work.columns(self._others)))
        total.inserted += self._insert() - self._rewritten - len(self._decision.gone)
        total.changed += len(self._decision.gone)
        if self._opened is not None:
            total.opened += execute(update_staged(table, self._opened, group, flag))

    def prove(self) -> None:
        from tidegate.rows.versions import differs

        found = self._versions(self._session.read(self._touched))
        difference = differs(self._decision.expected, found, flagged=self._form.flag is not None)
        if difference:
            raise refused(self._work, difference)

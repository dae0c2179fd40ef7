"""Versions (SCD type 2): what a timeline lacks is inserted, and the flags of the keys that were touched are settled.

What is to be done is decided by our own hashes of both sides (`rows/timelines.py`), so that reruns, late arrivals,
batches out of order, equal marks and repeated rows all end in the same table. Versions that no longer hold are closed
before others come, so that a unique index over those that hold never sees two. Inside of the transaction the touched
keys are read back: what is not exactly as decided is rolled back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import NotNative, Transient, ValueProblem
from tidegate.interfaces import ReadRequest, Session
from tidegate.loads._unit import Batches, Book, Loaded, ReceiptOf, enter, proved, refused, with_entry
from tidegate.loads._version_load import Made, VersionLoad
from tidegate.model.columns import Column
from tidegate.model.names import TableName, counted, staged_name
from tidegate.sql.contents import count_rows, has_rows
from tidegate.sql.marks import is_latest
from tidegate.sql.staged import delete_staged, update_staged, with_partner

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.rows.differences import Mask
    from tidegate.rows.timelines import Decision
    from tidegate.rows.versions import Places, Versions


def load(session: Session, work: VersionLoad, book: Book, batches: Batches, receipt_of: ReceiptOf) -> Loaded:
    """The target holds every version of the file when this ends well, and at most one of each key says so of itself."""
    before, total = book.newest(), _Counts()
    if work.made is not None:
        work, batches = _making(work, work.made, batches)
    if work.parts > 1 and work.trusts_flags:
        # A key is refused before the first of several transactions, not after some of them.
        _require_one_current(work, _versions_of(work, batches()), batches)
    for part in range(work.parts):
        rows = _part(work, batches, part)
        ended = _load_part(session, work, book, rows, before, total, last=part == work.parts - 1)
        if ended is not None:
            return ended
    if not total.any:
        return Loaded("equal already")
    return Loaded("loaded", total.inserted + total.changed, str(total))


def _making(work: VersionLoad, made: Made, batches: Batches) -> tuple[VersionLoad, Batches]:
    """The load with the columns that are made here, and rows that have them."""
    request = replace(work.request, columns=(*work.request.columns, *made.columns))

    def versions() -> Iterator[pa.RecordBatch]:
        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.made import validity

        schema = arrow_schema(made.columns, request.text_columns)
        for batch in batches():
            yield validity(batch, schema, made.mark, work.read_at)

    return replace(work, request=request), versions


@dataclass
class _Counts:
    inserted: int = 0
    changed: int = 0
    closed: int = 0
    opened: int = 0
    removed: int = 0

    @property
    def any(self) -> int:
        return self.inserted + self.changed + self.closed + self.opened + self.removed

    def __str__(self) -> str:
        reopened = f", {self.opened:,} reopened" if self.opened else ""
        removed = f", {self.removed:,} removed" if self.removed > 0 else ""
        told = f"{counted(self.inserted, 'version')} inserted, {self.changed:,} changed, {self.closed:,} superseded"
        return told + reopened + removed


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
        change = _decided(session, work, rows, stages)
        with session.transaction():
            entered = enter(session, work, book)
            if isinstance(entered, Loaded):
                return entered
            if book.newest() != before:
                raise _moved(work)
            change.apply(total)
            more = change.prove()
            if last:
                facts = {**json.loads(entered.entry.newest or "{}"), "held": _held(session, work, more)}
                book.record(with_entry(entered, newest=json.dumps(facts)).entry)
    return None


def _held(session: Session, work: VersionLoad, more: int) -> int:
    """How many versions the target is to have from now on.

    One that was counted when this was planned, and what was proved to have come, is as good as another count, and
    better where somebody changed the target meanwhile: the next plan sees it. Of several transactions the first may
    stem from an attempt that is not known here."""
    if work.held is not None and work.parts == 1:
        return work.held + more
    return int(str(session.query(count_rows(work.request.table))[0][0]))


def _decided(session: Session, work: VersionLoad, rows: Batches, stages: ExitStack) -> _Change:
    """A timeline may hold values that Arrow has no room for (NaN, infinity) where the file has none: hashes compare
    only what was read alike, so the rows are then taken with that column as text, too."""
    form = work.form
    while True:
        try:
            return _Change(session, work, rows, stages)
        except NotNative as met:
            # Of what is ordered or understood a text would be taken for something else.
            if met.column in (form.mark, form.end, form.flag, form.tombstone, *work.request.text_columns):
                raise
            work = replace(work, request=work.request.with_text((met.column,)))
            rows = _as_the_server_writes(session, work, rows, stages)


def _as_the_server_writes(session: Session, work: VersionLoad, rows: Batches, stages: ExitStack) -> Batches:
    """The same rows, some columns as text. They are kept: a stage need not be read twice in the same order."""
    request, columns = work.request, work.written_columns
    names = {column.name: staged_name(place) for place, column in enumerate(columns)}
    in_order = (batch.select(list(names)) for batch in rows())
    staged = replace(
        request,
        table=stages.enter_context(session.stage(request.table, columns, in_order)),
        columns=tuple(replace(column, name=names[column.name]) for column in columns),
        text_columns=tuple(names[name] for name in request.text_columns if name in names),
        rows=None,
    )
    kept = [batch.rename_columns(list(names)) for batch in session.read(staged)]
    return lambda: iter(kept)


def _versions_of(work: VersionLoad, batches: Iterator[pa.RecordBatch]) -> Versions:
    from tidegate.rows.arrow import arrow_schema
    from tidegate.rows.versions import versions_of

    return versions_of(batches, arrow_schema(work.request.columns, work.request.text_columns), work.form)


def require_one_current_row(work: VersionLoad, batches: Batches) -> None:
    """Raise ValueProblem, as below, for rows that were read and are not yet published in the lake.

    A file with such rows would be refused by every later load, also when the source has cleared its flags since."""

    def current() -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches():
            yield batch.filter(pa.array(work.form.flags(batch)))

    if work.trusts_flags:
        again = "; if it has cleared them since, run again"
        _require_one_current(work, _versions_of(work, current()), current, again)


def _require_one_current(work: VersionLoad, batch: Versions, batches: Batches, again: str = "") -> None:
    """Raise ValueProblem for a business key under which the source itself has several current rows.

    Only one of them can be current in the target: to clear the flags of the others in silence would lose entities."""
    from tidegate.rows.histories import several_current

    places = several_current(batch)
    if not len(places):
        return
    key, wider = ", ".join(work.keys), _wider_key(work, batches)
    cure = f"[{', '.join(wider)}]" if wider else "the columns that name one entity"
    raise ValueProblem(
        f"{work.table}: the source has several current rows for {counted(len(places), 'value')} of the business key"
        f" ({key}), such as {batch.names(places, work.keys)}.",
        "Nothing was loaded; the target keeps what it had.",
        f"Set `business_keys` to {cure}, if each of these rows is an entity of its own. Set `flags: recompute`, if the"
        f" source clears the flags of old versions late or never{again}.",
    )


def _wider_key(work: VersionLoad, batches: Batches) -> tuple[str, ...]:
    """Return the first wider key of the catalog under which no two rows are current; empty when there is none."""
    from tidegate.rows.histories import several_current

    known = {column.name for column in work.request.columns}
    for key in work.wider_keys:
        if set(key) <= known and not len(several_current(_versions_of(replace(work, keys=key), batches()))):
            return key
    return ()


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
        batch = self._versions(proved(work, batches)())
        self._require_names(batch)
        if work.trusts_flags:
            _require_one_current(work, batch, batches)
        self._there = self._keys_there(batch)
        self._touched = self._request(batch)
        self._timeline = self._versions(session.read(self._touched))
        self._decision = self._decide(batch)
        self._stage(batches)

    def _decide(self, batch: Versions) -> Decision:
        from tidegate.rows.timelines import Rules, decide

        work = self._work
        landed = self._landed() if work.exact else None
        # Where nobody can tell what the source had once, nothing leaves.
        all_between = self._between() if landed is not None else None
        rules = Rules(
            wins=work.wins,
            recompute=work.recompute,
            collapses=work.made is not None,
            there=self._there,
            left_by=self._left_by() if self._there is not None and work.end is not None else None,
            keeps_closed=work.closes_absent and work.end is None,
            all_between=all_between,
            landed=landed,
        )
        return decide(batch, self._timeline, rules)

    def _keys_there(self, batch: Versions) -> pa.Array | None:
        """The keys that the source had, where that is known."""
        import pyarrow as pa

        from tidegate.rows.versions import keys_in, keys_of

        if not self._work.tells_who_left:
            return None
        own = keys_of(batch)
        if self._work.there is None:
            return own
        return pa.concat_arrays([keys_in(self._work.there(), self._form.keys), own]).unique()

    def _left_by(self) -> pa.Scalar | None:
        """When they were read: on the clock of the marks, or that of the source."""
        from tidegate.rows.made import mark_of, moment

        told = self._work.window.get("seen_at")
        return moment(self._work.read_at) if told is None else mark_of(told, self._timeline.marks.type)

    def _landed(self) -> pa.Array | None:
        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.versions import groups_landed

        request = self._work.request
        assert self._work.landed is not None
        return groups_landed(self._work.landed(), arrow_schema(request.columns, request.text_columns), self._form)

    def _between(self) -> tuple[pa.Scalar | None, pa.Scalar | None]:
        from tidegate.rows.made import place_of

        window, type_ = self._work.window, self._timeline.marks.type
        low, high = (place_of(window.get(end), type_, self._form.mark_kind) for end in ("after", "upto"))
        return low, high

    def _versions(self, batches: Iterator[pa.RecordBatch]) -> Versions:
        return _versions_of(self._work, batches)

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
        """The timeline of the keys that the batch touches; all of it where that is most of it, or where it is empty."""
        import numpy as np
        import pyarrow as pa

        from tidegate.rows.differences import first_places
        from tidegate.rows.hashing import hash_rows

        work = self._work
        is_empty = self._session.query(has_rows(work.request.table)) == [(0,)]
        if is_empty or work.exact or (self._there is not None and work.there is None):
            return work.request
        keys = batch.named.select(list(self._form.keys))
        if self._there is not None:
            keys = pa.concat_tables([keys, *self._left(self._there, keys.schema)])
        hashes = np.concatenate([hash_rows(one) for one in keys.to_batches()] or [np.zeros((0, 2), np.uint64)])
        columns, keys = work.columns(self._form.keys), keys.take(pa.array(first_places(hashes)))
        stage = self._stages.enter_context(self._session.stage(work.request.table, columns, iter(keys.to_batches())))
        return replace(work.request, rows=with_partner(stage, columns))

    def _left(self, there: pa.Array, schema: pa.Schema) -> Iterator[pa.Table]:
        """Keys of which a version holds, and which the source no longer has."""
        import pyarrow as pa

        from tidegate.rows.versions import among, keys_in

        flag = self._work.columns([self._form.flag])[0] if self._form.flag is not None else None
        holding = is_latest(flag, self._form.latest) if flag is not None else None
        for batch in self._session.read(replace(self._work.request.only(self._form.keys), rows=holding)):
            left = batch.filter(pa.array(~among(keys_in([batch], self._form.keys), there)))
            if left.num_rows:
                yield pa.Table.from_batches([left]).cast(schema)

    # Before the transaction

    def _stage(self, batches: Batches) -> None:
        import numpy as np

        from tidegate.rows.differences import picked
        from tidegate.rows.settled import settle

        decision, work = self._decision, self._work
        group = list(self._form.group)
        others = [column.name for column in work.request.columns if column.name not in group]

        def coming_rows() -> Iterator[pa.RecordBatch]:
            return settle(batches(), decision.flags, decision.ends, self._form)

        self._closed = self._flags(decision.closed, False)
        self._opened = self._flags(decision.opened, True)
        self._changed: TableName | None = None
        if decision.changed.any():
            rows = picked(coming_rows(), decision.changed, [*group, *others])
            self._changed = self._stages.enter_context(
                self._session.stage(work.request.table, work.columns([*group, *others]), rows)
            )
        self._others = others
        again = np.concatenate([decision.rewritten, decision.gone])
        self._again = self._rows_of(again) if len(again) else None
        # Read now: what the target holds of them is gone when they are to be written.
        written_again = list(self._written_again())
        self._rewritten = sum(batch.num_rows for batch in written_again)
        written = [column.name for column in work.written_columns]
        coming: list[tuple[tuple[Column, ...], Batches]] = [
            (work.written_columns, lambda: picked(coming_rows(), decision.fresh, written))
        ]
        if written_again:
            coming.append((self._columns_written_again, lambda: iter(written_again)))
        self._inserts = [
            self._stages.enter_context(self._session.staged(work.request.table, columns, rows))
            for columns, rows in coming
        ]

    def _flags(self, places: Places, holds: bool) -> TableName | None:
        """A stage with the names of these versions, what their flag is to say, and where they end."""
        import pyarrow as pa

        from tidegate.rows.arrow import arrow_schema
        from tidegate.rows.settled import with_validity

        names = self._validity
        if not len(places) or not names:
            return None
        group, request = list(self._form.group), self._work.request
        columns = self._work.columns([*group, *names])
        named = self._timeline.named.select(group).take(pa.array(places)).combine_chunks()
        schema = arrow_schema(columns, request.text_columns)
        arrays = [*(named[name].combine_chunks() for name in group), *(pa.nulls(len(places)) for _ in names)]
        cast = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
        ends = self._decision.timeline_ends
        batch = with_validity(
            pa.record_batch(cast, schema=schema),
            _all(len(places), holds),
            None if ends is None else ends.take(pa.array(places)),
            self._form,
        )
        return self._stages.enter_context(self._session.stage(request.table, columns, iter([batch])))

    @property
    def _validity(self) -> list[str]:
        return [name for name in (self._form.flag, self._form.end) if name is not None]

    def _rows_of(self, places: Places) -> TableName:
        """A stage with the groups in which rows are written anew."""
        import pyarrow as pa

        group = list(self._form.group)
        named = self._timeline.named.select(group).take(pa.array(places))
        each = named.group_by(group).aggregate([]).select(group)
        batches = iter(each.combine_chunks().to_batches())
        return self._stages.enter_context(
            self._session.stage(self._work.request.table, self._work.columns(group), batches)
        )

    @property
    def _columns_written_again(self) -> tuple[Column, ...]:
        """Also the columns that only the target has: a row that is written again keeps their values."""
        return (*self._work.request.columns, *self._work.own_columns)

    def _written_again(self) -> Iterator[pa.RecordBatch]:
        """The rows of those groups as the target holds them, with the flags that they get; less what is replaced."""
        from tidegate.rows.settled import settled_again

        if self._again is None:
            return
        own = tuple(column.name for column in self._work.own_columns)
        request = replace(
            self._work.request,
            columns=self._columns_written_again,
            rows=with_partner(self._again, self._work.columns(self._form.group)),
        )
        form = replace(self._form, outside=(*self._form.outside, *own))
        yield from settled_again(self._session.read(request), self._decision.staying, form)

    # Inside of it

    def apply(self, total: _Counts) -> None:
        """Closing comes first: a unique index over what holds never sees two."""
        table, group = self._work.request.table, self._work.columns(self._form.group)
        flag = self._work.columns(self._validity)
        execute = self._session.execute
        if self._closed is not None:
            total.closed += execute(update_staged(table, self._closed, group, flag))
        removed = execute(delete_staged(table, self._again, group)) if self._again is not None else 0
        if self._changed is not None:
            others, identity = self._work.columns(self._others), self._session.database.updates_identity
            total.changed += execute(update_staged(table, self._changed, group, others, identity=identity))
        fresh, written = int(self._decision.fresh.sum()), sum(insert() for insert in self._inserts)
        if written != fresh + self._rewritten:
            raise refused(self._work, f"{fresh + self._rewritten:,} rows were sent, the server took {written:,}")
        total.inserted += fresh
        total.removed += removed - self._rewritten
        if self._opened is not None:
            total.opened += execute(update_staged(table, self._opened, group, flag))

    def prove(self) -> int:
        """How many versions the touched keys have now that they had not before."""
        from tidegate.rows.settled import differs

        found = self._versions(self._session.read(self._touched))
        difference = differs(self._decision.expected, found)
        if difference:
            raise refused(self._work, difference)
        return found.rows - self._timeline.rows


def _all(count: int, holds: bool) -> Mask:
    import numpy as np

    return np.full(count, holds)

"""Copy values of every type between databases with the real engine, and compare them by plain drivers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
from psycopg import sql

from conformance import seen
from conformance.servers import mariadb, postgresql, sqlserver
from kit.mysql_witness import MysqlWitness
from kit.one_process import OneProcess
from kit.sqlserver_witness import SqlServerWitness
from kit.witness import Witness
from tidegate import Tidegate
from tidegate.errors import RunFailed

Given = str | bytes | None


@dataclass(frozen=True)
class Road:
    """A pair of source and target kind."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{LABELS[self.source]} to {LABELS[self.target]}"


LABELS = {"mysql": "MySQL", "postgresql": "PostgreSQL", "sqlserver": "SQL Server"}
ROADS = (
    Road("mysql", "mysql"),
    Road("mysql", "postgresql"),
    Road("postgresql", "mysql"),
    Road("postgresql", "postgresql"),
)
ROADS_OF_SQLSERVER = (
    Road("sqlserver", "sqlserver"),
    Road("sqlserver", "postgresql"),
    Road("sqlserver", "mysql"),
    Road("postgresql", "sqlserver"),
    Road("mysql", "sqlserver"),
)
ROADS_TO_REDSHIFT = (Road("mysql", "redshift"), Road("postgresql", "redshift"))


@dataclass(frozen=True)
class Traveller:
    """A column of one type: values that arrive, and values that the target cannot store, with the reason."""

    type: str
    form: str
    kept: tuple[Given, ...]
    never: tuple[tuple[Given, str], ...] = ()

    def without(self, character: str) -> Traveller:
        """Return the column without texts that contain this character."""
        kept = tuple(one for one in self.kept if not (isinstance(one, str) and character in one))
        never = tuple(one for one in self.never if not (isinstance(one[0], str) and character in one[0]))
        return replace(self, kept=kept, never=never)


@dataclass
class Outcome:
    """The result of copying one column. `wrong` lists the unexpected differences."""

    type: str
    lake: list[str] = field(default_factory=list)
    target: str = ""
    wrong: list[str] = field(default_factory=list)
    refused: list[Given] = field(default_factory=list)


class Side(ABC):
    """A database accessed by a witness. Tables have no schema in their name, and `cobid` and `id` come first."""

    kind: ClassVar[str]
    truth: ClassVar[str]
    """The type of a boolean column."""
    url: str
    witness: Any

    def empty(self, table: str) -> None:
        self.witness.do(f"DELETE FROM {table}")  # noqa: S608

    @abstractmethod
    def create(self, table: str, columns: dict[str, str]) -> None: ...

    @abstractmethod
    def insert(self, table: str, columns: dict[str, str], rows: Sequence[Sequence[Given]]) -> None: ...

    @abstractmethod
    def values(self, table: str, column: str, form: str) -> dict[object, object]:
        """Return the stored values of a column by id."""

    @abstractmethod
    def declared(self, table: str, column: str) -> str:
        """Return the type of a column in the catalog, or an empty text if the table does not exist."""

    @abstractmethod
    def count(self, table: str, cobid: int) -> int: ...


class PostgresqlSide(Side):
    """PostgreSQL through psycopg."""

    kind = "postgresql"
    truth = "boolean"

    def __init__(self, witness: Witness) -> None:
        self.witness, self.url = witness, witness.url

    def create(self, table: str, columns: dict[str, str]) -> None:
        self.witness.create(_public(table), {"cobid": "integer", "id": "integer", **columns})

    def insert(self, table: str, columns: dict[str, str], rows: Sequence[Sequence[Given]]) -> None:
        self.witness.insert(_public(table), {"cobid": "integer", "id": "integer", **columns}, rows)  # type: ignore[arg-type]

    def values(self, table: str, column: str, form: str) -> dict[object, object]:
        if form == "native":
            return seen.own_meaning(self.witness, _public(table), column)
        form = seen.in_text(form) if self.declared(table, column) == "text" else form
        return seen.on_postgresql(self.witness, _public(table), column, form)

    def meant(self, kind: str, texts: dict[object, object]) -> dict[object, object]:
        return seen.meaning(self.witness, kind, texts)

    def declared(self, table: str, column: str) -> str:
        found = self.witness.ask(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attname = %s",
            f'public."{table}"',
            column,
        )
        return str(found[0][0]) if found else ""

    def count(self, table: str, cobid: int) -> int:
        statement = sql.SQL("SELECT count(*) FROM {} WHERE cobid = {}").format(_public(table), sql.Literal(cobid))
        return int(str(self.witness.ask(statement)[0][0]))


class MysqlSide(Side):
    """MariaDB and MySQL through PyMySQL."""

    kind = "mysql"
    truth = "tinyint(1)"

    def __init__(self, witness: MysqlWitness) -> None:
        self.witness, self.url = witness, witness.url

    def create(self, table: str, columns: dict[str, str]) -> None:
        self.witness.create(table, {"cobid": "int", "id": "int", **columns})

    def insert(self, table: str, columns: dict[str, str], rows: Sequence[Sequence[Given]]) -> None:
        self.witness.insert(table, ("cobid", "id", *columns), rows)

    def values(self, table: str, column: str, form: str) -> dict[object, object]:
        declared = self.declared(table, column)
        form = seen.in_text(form) if declared == "longtext" else form
        return seen.on_mysql(self.witness, table, column, form, zone=declared.startswith("timestamp"))

    def declared(self, table: str, column: str) -> str:
        found = self.witness.ask(
            "SELECT column_type FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name = %s AND column_name = %s",
            table,
            column,
        )
        return str(found[0][0]) if found else ""

    def count(self, table: str, cobid: int) -> int:
        return int(self.witness.ask(f"SELECT count(*) FROM `{table}` WHERE cobid = %s", cobid)[0][0])  # noqa: S608


class SqlServerSide(Side):
    """SQL Server or a compatible server through pymssql."""

    kind = "sqlserver"
    truth = "bit"

    def __init__(self, witness: SqlServerWitness) -> None:
        self.witness, self.url = witness, witness.url

    def create(self, table: str, columns: dict[str, str]) -> None:
        self.witness.create(table, {"cobid": "int", "id": "int", **columns})

    def insert(self, table: str, columns: dict[str, str], rows: Sequence[Sequence[Given]]) -> None:
        self.witness.insert(table, {"cobid": "int", "id": "int", **columns}, rows)

    def values(self, table: str, column: str, form: str) -> dict[object, object]:
        form = seen.in_text(form) if self.declared(table, column).startswith("nvarchar") else form
        return seen.on_sqlserver(self.witness, table, column, form)

    def declared(self, table: str, column: str) -> str:
        found = self.witness.ask(
            "SELECT data_type FROM information_schema.columns WHERE table_name = %s AND column_name = %s", table, column
        )
        return str(found[0][0]) if found else ""

    def count(self, table: str, cobid: int) -> int:
        return int(self.witness.ask(f"SELECT COUNT(*) FROM [{table}] WHERE cobid = {cobid:d}")[0][0])  # noqa: S608


def _public(table: str) -> sql.Identifier:
    return sql.Identifier("public", table)


_NUMBERS = count(1)


class Journey:
    """Copies all columns of a family in one table. If that fails, copies each column in its own table."""

    def __init__(self, source: Side, target: Side, lake: Path, *, look_again: bool = True) -> None:
        self.source, self.target, self.lake, self.look_again = source, target, lake, look_again

    def travel(self, travellers: Sequence[Traveller]) -> list[Outcome]:
        outcomes = self._arrive(travellers)
        if len(travellers) > 1 and any(outcome.wrong for outcome in outcomes):
            outcomes = [outcome for one in travellers for outcome in self._arrive([one])]
        self._have_no_room(travellers, outcomes)
        return outcomes

    def _tidegate(self, table: str) -> Tidegate:
        settings = {"kind": "partition", "partition_column": "cobid", "initial_load_count": 100, "look_back": 100}
        return Tidegate(
            source=self.source.url,
            target=self.target.url,
            lake=self.lake / table,
            tables={table: settings},
            spark=OneProcess(),  # type: ignore[arg-type]
        )

    def _arrive(self, travellers: Sequence[Traveller]) -> list[Outcome]:
        """Copy and compare. Partition 1 has all values. Partition 2 has plain values, stored natively in the lake."""
        table, columns = f"t{next(_NUMBERS)}", columns_of(travellers)
        self.source.create(table, columns)
        many = max(len(one.kept) for one in travellers)
        rows = [[one.kept[key % len(one.kept)] for one in travellers] for key in range(many)]
        rows.append([one.kept[0] for one in travellers])
        numbered = [["1" if key < many else "2", str(key), *row] for key, row in enumerate(rows)]
        self.source.insert(table, columns, numbered)
        tidegate = self._tidegate(table)
        problem = _run(tidegate)
        outcomes = []
        for place, (column, one) in enumerate(zip(columns, travellers, strict=True)):
            outcome = Outcome(one.type, self._lake_types(table, column), self.target.declared(table, column))
            outcome.wrong += [problem] if problem else self._differences(table, column, one, [r[place] for r in rows])
            outcomes.append(outcome)
        if not problem and self.look_again:
            outcomes[0].wrong += _not_at_rest(tidegate)
        return outcomes

    def _differences(self, table: str, column: str, one: Traveller, given: list[Given]) -> list[str]:
        ours = self.source.values(table, column, one.form)
        theirs = self.target.values(table, column, one.form)
        if one.form == "native" and self.target.kind != "postgresql":
            assert isinstance(self.source, PostgresqlSide)
            theirs = self.source.meant(one.type, theirs)
        if len(ours) != len(given) or ours.keys() != theirs.keys():
            return [f"{len(given)} rows were written, {len(ours)} are in the source, {len(theirs)} in the target"]
        return [
            f"{shown(value)}: {ours[key]!r:.80} became {theirs[key]!r:.80}"
            for key, value in enumerate(given)
            if ours[key] != theirs[key]
        ]

    def _lake_types(self, table: str, column: str) -> list[str]:
        files = sorted((self.lake / table).rglob("*.parquet"))
        return list(dict.fromkeys(str(pq.read_schema(path).field(column).type) for path in reversed(files)))

    def _have_no_room(self, travellers: Sequence[Traveller], outcomes: list[Outcome]) -> None:
        """Record unsupported values that are not refused. Each is in its own partition beside plain values."""
        columns = columns_of(travellers)
        lone = [(place, value, why) for place, one in enumerate(travellers) for value, why in one.never]
        if not lone:
            return
        table = f"t{next(_NUMBERS)}"
        self.source.create(table, columns)
        rows: list[list[Given]] = [["0", "0", *(one.kept[0] for one in travellers)]]
        for number, (place, value, _) in enumerate(lone, start=1):
            cells = [value if place == other else one.kept[0] for other, one in enumerate(travellers)]
            rows.append([str(number), str(number), *cells])
        self.source.insert(table, columns, rows)
        errors = _errors(self._tidegate(table))
        if not self.target.declared(table, next(iter(columns))):
            outcomes[0].wrong.append(f"no table was made: {errors}")
            return
        if self.target.count(table, 0) != 1:
            outcomes[0].wrong.append(f"a plain row did not arrive beside those that were refused: {errors}")
        for number, (place, value, why) in enumerate(lone, start=1):
            column, error = list(columns)[place], errors.get(str(number), "")
            if not error or self.target.count(table, number):
                became = self._became(table, column, travellers[place].form, number)
                outcomes[place].wrong.append(f"{shown(value)} was not refused ({why}): {became}")
            elif column not in error:
                outcomes[place].wrong.append(f"{shown(value)} was refused without the name of its column: {error}")
            else:
                outcomes[place].refused.append(value)

    def _became(self, table: str, column: str, form: str, key: int) -> str:
        """Return a readable text of the value in the target."""
        try:
            return f"{self.target.values(table, column, form).get(key)!r:.80} stands in the target"
        except Exception as problem:  # a value that its own driver cannot show
            return str(problem)


def columns_of(travellers: Sequence[Traveller]) -> dict[str, str]:
    """Return the columns, named by their type, so that an error message shows the type."""
    names = (f"{place} {one.type}".encode("ascii", "ignore").decode() for place, one in enumerate(travellers))
    return {name[:50].strip(): one.type for name, one in zip(names, travellers, strict=True)}


def _not_at_rest(tidegate: Tidegate) -> list[str]:
    """Return the steps of a second run and the findings of `verify`, or an empty list."""
    plan, verified = tidegate.plan(), tidegate.verify()
    found = [f"a second run would do {plan}"] if plan.does_something else []
    return found if verified.outcome == "equal" else [*found, f"verify: {verified.findings} {verified.failures}"]


def _run(tidegate: Tidegate) -> str:
    """Run and return the reason of a failure, or an empty text."""
    try:
        outcome = tidegate.run().outcome
    except RunFailed as failed:
        return str(dict(failed.report.failures))  # type: ignore[attr-defined]
    return "" if outcome == "done" else outcome


def _errors(tidegate: Tidegate) -> dict[str, str]:
    """Run and return the error of each failed value."""
    try:
        tidegate.run()
    except RunFailed as failed:
        steps = failed.report.steps  # type: ignore[attr-defined]
        return {step.value: step.error for step in steps if step.outcome == "failed"}
    return {}


def shown(value: Given) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


# Who travels

_FORMS = {
    "smallint": "number",
    "integer": "number",
    "bigint": "number",
    "oid": "number",
    "boolean": "truth",
    "money": "money",
    "real": "float",
    "double precision": "float",
    "text": "text",
    "character varying": "text",
    "character": "text",
    "name": "text",
    "json": "text",
    "jsonb": "text",
    "xml": "text",
    "uuid": "uuid",
    "bytea": "bytes",
    "bit": "bits",
    "date": "date",
    "time without time zone": "clock",
    "timestamp without time zone": "moment",
    "timestamp with time zone": "instant",
    "numeric": "number",
    "public.short": "text",
    "public.shorter": "text",
    "public.cents": "number",
}
_NO_DECIMALS = ("numeric", "numeric(1000,500)", "numeric(5,-2)", "numeric(2,5)")
_TOO_WIDE = {
    "mysql": (*_NO_DECIMALS, "numeric(38,38)"),
    "sqlserver": (*_NO_DECIMALS, "numeric(39,0)", "numeric(50,10)"),
}
"""DECIMAL of MySQL has 65 digits, 30 of them behind the point, that of SQL Server 38: these travel as text."""
_NO_ROOM = {
    "mysql": {
        "number": "DECIMAL has no NaN",
        "float": "FLOAT and DOUBLE have no NaN, no infinity and no -0",
        "date": "DATE reaches from year 0 to 9999",
        "moment": "DATETIME reaches from year 0 to 9999",
        "instant": "DATETIME reaches from year 0 to 9999",
    },
    "sqlserver": {
        "number": "decimal has no NaN",
        "float": "float has no NaN and no infinity",
        "date": "date reaches from year 1 to 9999",
        "clock": "time ends before 24:00",
        "moment": "datetime2 reaches from year 1 to 9999",
        "instant": "datetimeoffset reaches from year 1 to 9999",
    },
}
_UNUSUAL_FLOATS = {"mysql": ("NaN", "Infinity", "-Infinity", "-0"), "sqlserver": ("NaN", "Infinity", "-Infinity")}


def from_postgresql(sample: postgresql.Sample, target: str) -> Traveller:
    bare = re.sub(r"\(.*?\)", "", sample.type)
    form = _FORMS.get(bare, "native")
    if target == "postgresql" or sample.type in _TOO_WIDE[target] or sample.type == "bpchar":
        form = "text" if sample.seen_as and target == "postgresql" else "native"
    values = [*sample.values, *sample.odd]
    has_room = [value for value in values if not _lacks_room(form, value, sample, target)]
    nothing = () if sample.type == "public.cents" else (None,)
    reason = _NO_ROOM.get(target, {}).get(form, "")
    never = tuple((value, reason) for value in values if value not in has_room)
    return Traveller(sample.type, form, (*has_room, *nothing), never)


def _lacks_room(form: str, value: str, sample: postgresql.Sample, target: str) -> bool:
    if form == "float":
        return value in _UNUSUAL_FLOATS.get(target, ())
    return form in _NO_ROOM.get(target, {}) and (value in sample.odd or value == "NaN")


def from_sqlserver(sample: sqlserver.Sample, target: str) -> Traveller:
    never = tuple((value, why) for kind, value, why in sample.never if kind == target)
    kept = tuple(value for kind, value, _ in sample.never if kind != target)
    return Traveller(sample.type, sample.form, (*sample.values, *dict.fromkeys(kept), None), never)


def from_mysql(sample: mariadb.Sample, target: str) -> Traveller:
    if target == "mysql":
        return Traveller(sample.type, sample.form, (*sample.values, *(value for value, _ in sample.never), None))
    if target == "sqlserver" and sample.form == "text":  # its texts have room for U+0000
        return Traveller(sample.type, sample.form, (*sample.values, *(value for value, _ in sample.never), None))
    beyond = [value for value in sample.values if target == "sqlserver" and _is_beyond_a_day(sample.form, value)]
    kept = [value for value in sample.values if value not in beyond]
    never = (*sample.never, *((value, "time ends before 24:00") for value in beyond))
    return Traveller(sample.type, sample.form, (*kept, None), never)


def _is_beyond_a_day(form: str, value: Given) -> bool:
    return form == "clock" and isinstance(value, str) and not "00" <= value[:2] <= "23"


FROM: dict[str, tuple[dict[str, tuple[Any, ...]], Callable[[Any, str], Traveller]]] = {
    "mysql": (mariadb.FAMILIES, from_mysql),
    "postgresql": (postgresql.FAMILIES, from_postgresql),
    "sqlserver": (sqlserver.FAMILIES, from_sqlserver),
}
"""For each kind of source: its families of types, and the conversion of a sample to a column."""

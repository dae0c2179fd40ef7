"""Do source and target still fit together? Go, go with DDL that the plan shows, or stop with the reason.

| what differs                                   | verdict                                                     |
| ---------------------------------------------- | ----------------------------------------------------------- |
| the target table is missing                    | go, CREATE TABLE                                            |
| a column is new in the source                  | go, ADD COLUMN; files without it are extracted again        |
| a column is gone from the source               | go, its values in the target stay; stop when it is NOT NULL |
| one column gone and one new, of one type       | stop: it looks renamed                                      |
| the source became wider                        | go, ALTER COLUMN TYPE                                       |
| a column is to be text, the new table is empty | go, ALTER COLUMN TYPE                                       |
| the source became narrower                     | go                                                          |
| another type                                   | stop                                                        |
| the target has a column of its own             | go when it may stay empty, else stop; its values stay       |
| the target computes a column                   | go, the column is left out                                  |
| columns stand in another order                 | go                                                          |
| the source allows nulls, the target does not   | go, with a warning: a null would be refused                 |
| a new name that the target cannot have         | stop: it would be cut or refused                            |
| a type for which the target has none           | stop: values could not be stored                            |
| the source hides a column's values             | stop: masks or ciphers would be copied                      |
| a new table that cannot have the source's key  | go, with a warning: the target has no such key               |
| a key of the target that ignores case          | go, with a warning: keys could be equal there                |
| deleting from the target cascades elsewhere    | stop: other tables' rows would go too                       |
| the target table has no transactions           | stop: a load could end half done                            |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.errors import DriftStop, MissingObject
from tidegate.interfaces import Database
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.plan import ChangeSchema, Notice
from tidegate.sql.text import Sql


@dataclass(frozen=True)
class Drift:
    """What travels, what is changed first, and what a person should know."""

    columns: tuple[Column, ...]
    change: ChangeSchema | None = None
    notices: tuple[Notice, ...] = ()


def compare(
    table: str,
    source: TableSchema,
    target: TableSchema | None,
    target_name: TableName,
    database: Database,
    index_on: Column | None,
    *,
    needed: Sequence[Column] = (),
    deletes: bool = True,
    retyped: frozenset[str] = frozenset(),
) -> Drift:
    """Raises DriftStop. `index_on` is the source's column that rows are looked for by, where there is one; `needed` are
    others that a target must have by itself; `deletes` says whether a load takes rows away. Columns in `retyped`
    get the type that is declared now."""
    _stop_at_unreadable_columns(table, source)
    _stop_at_refused_names(table, source, target, target_name, database)
    _stop_at_refused_types(table, source, database)
    cautions = (
        *map(Notice, database.cautions(source.columns)),
        *(Notice(caution, severity="warning") for caution in source.source_warnings),
        *map(Notice, source.source_notes),
    )
    if target is None:
        declared = [database.declare(column) for column in source.columns]
        cautions += _become_text(source.columns, declared)
        cautions += _impossible_keys(source, declared, database)
        cautions += _loose_keys(source, replace(source, columns=tuple(declared)), database)
        statements = database.create_table(target_name, declared, source.primary_key, index_on.name if index_on else "")
        return Drift(source.columns, _change(database, statements, "the target table does not exist yet"), cautions)
    _stop_without_transactions(table, target)
    if deletes:
        _stop_at_cascades(table, target)
    _stop_at_other_spellings(table, source, target)
    for column in (*needed, *([index_on] if index_on is not None else [])):
        _require_column(table, target, column)
    pairs = [(column, target.exact_column(column.name)) for column in source.columns]
    replicated = tuple(column for column, twin in pairs if twin is None or not twin.generated)
    _stop_at_renames(table, source, target, database)
    _stop_at_required_columns(table, source, target)
    statements = _statements(table, target, replicated, database, retyped)
    added = [column for column in replicated if target.exact_column(column.name) is None]
    cautions += _become_text(added, [database.declare(column) for column in added])
    cautions += _loose_keys(source, target, database)
    notices = (*cautions, *_notices(target, source, index_on), *(_referenced(target) if deletes else []))
    why = "columns become text while the table is empty" if retyped else "the source's columns changed"
    change = _change(database, statements, why) if statements else None
    return Drift(replicated, change, notices)


def _stop_at_refused_names(
    table: str, source: TableSchema, target: TableSchema | None, target_name: TableName, database: Database
) -> None:
    columns = database.invalid_names([column.name for column in source.columns])
    there = {column.name for column in target.columns} if target is not None else set()
    refused = [f"column {name}: {why}" for name, why in columns.items() if name not in there]
    if target is None:
        refused += [f"table {name}: {why}" for name, why in database.invalid_names([target_name.name]).items()]
    if refused:
        raise DriftStop(
            f"{table}: {database.label} cannot have such a name in the target ({'; '.join(refused)}).",
            "Nothing was written.",
            "Rename it in the source (a view will do), or choose another `target_table`.",
        )


def _stop_at_refused_types(table: str, source: TableSchema, database: Database) -> None:
    refused = [f"{name} {why}" for name, why in database.refused_types(source.columns).items()]
    if refused:
        raise DriftStop(
            f"{table}: {database.label} has no type for every value ({'; '.join(refused)}).",
            "Nothing was read or written.",
            "Keep such a column as exact text (`columns: {name: text}`), or read a view that leaves it out"
            " (`source_table`).",
        )


def _stop_at_unreadable_columns(table: str, source: TableSchema) -> None:
    reasons = [f"{column.name}: {column.unreadable}" for column in source.columns if column.unreadable]
    if reasons:
        raise DriftStop(
            f"{table}: the source does not give every column as it is ({'; '.join(reasons)}).",
            "Nothing was read or written.",
            "Grant what is missing, or leave the column out: `columns: {its_name: false}`.",
        )


def _stop_without_transactions(table: str, target: TableSchema) -> None:
    if not target.transactional:
        raise DriftStop(
            f"{table}: {target.name} in the target is of an engine without transactions: a load could end half done.",
            "Nothing was written.",
            "Convert the table to an engine that has them, or load into another table with `target_table`.",
        )


def _stop_at_cascades(table: str, target: TableSchema) -> None:
    """A value is replaced by deleting its rows first: what hangs on them must not go with them."""
    if target.cascades_to:
        raise DriftStop(
            f"{table}: replacing rows of {target.name} would delete or change rows of {', '.join(target.cascades_to)}.",
            "Nothing was written.",
            "Drop ON DELETE CASCADE (SET NULL, SET DEFAULT) of that foreign key, or load into another table.",
        )


def _stop_at_other_spellings(table: str, source: TableSchema, target: TableSchema) -> None:
    """One column whose names differ in case alone would need two spellings."""
    for column in source.columns:
        twin = target.column(column.name)
        if twin is not None and twin.name != column.name and source.exact_column(twin.name) is None:
            raise DriftStop(
                f"{table}: column {column.name} is spelled {twin.name} in the target.",
                "Nothing was written.",
                f"Copy it under that name: `columns: {{{column.name}: {{name: {twin.name}}}}}`. Or rename {twin.name}"
                " in the target.",
            )


def _statements(
    table: str, target: TableSchema, replicated: tuple[Column, ...], database: Database, retyped: frozenset[str]
) -> list[Sql]:
    statements = []
    for column in replicated:
        twin = target.exact_column(column.name)
        if twin is None:
            statements.append(database.add_column(target.name, database.declare(column)))
            continue
        verdict = "widen" if column.name in retyped else database.fits(column, twin)
        if verdict == "widen" and column.name not in retyped:
            verdict = database.widening_problem(column, twin, target) or verdict
        if verdict == "widen":
            statements.append(
                database.widen_column(target.name, replace(database.declare(column), nullable=twin.nullable))
            )
        elif verdict not in ("same", "wider"):
            raise DriftStop(
                f"{table}: {verdict}; values could change on the way.",
                "Nothing was written.",
                f"Alter {twin.name} in the target to {database.declare(column).type}, or load into another table with"
                " `target_table`.",
            )
    return statements


def _stop_at_renames(table: str, source: TableSchema, target: TableSchema, database: Database) -> None:
    gone = [column for column in target.columns if source.exact_column(column.name) is None]
    new = [column for column in source.columns if target.exact_column(column.name) is None]
    for old in gone:
        for fresh in new:
            if database.fits(fresh, old) == "same" and len(gone) == len(new) == 1:
                raise DriftStop(
                    f"{table}: {old.name} left the source and {fresh.name}, of its type, is new: it looks renamed.",
                    "Nothing was written.",
                    f"Rename {old.name} in the target, or drop it there if {fresh.name} is really new.",
                )


def _stop_at_required_columns(table: str, source: TableSchema, target: TableSchema) -> None:
    for column in target.columns:
        optional = column.nullable or column.has_default or column.generated or column.identity
        if source.exact_column(column.name) is None and not optional:
            raise DriftStop(
                f"{table}: the target's column {column.name} must not be null and the source has no such column.",
                "Nothing was written.",
                f"Give {column.name} a default in the target, make it nullable, or drop it.",
            )


def _require_column(table: str, target: TableSchema, wanted: Column) -> None:
    if target.exact_column(wanted.name) is None:
        raise MissingObject(
            f"{table}: {target.name} in the target has no column {wanted.name}.",
            "Nothing was written.",
            "Add it, or name another `target_table`.",
        )


def _notices(target: TableSchema, source: TableSchema, index_on: Column | None) -> list[Notice]:
    notices = []
    own = [column.name for column in target.columns if source.exact_column(column.name) is None]
    if own:
        notices.append(Notice(f"only in the target, left as they are: {', '.join(own)}"))
    computed = [column.name for column in target.columns if column.generated and source.exact_column(column.name)]
    if computed:
        notices.append(Notice(f"computed by the target, left out of load and proof: {', '.join(computed)}"))
    strict = [one.name for one in source.columns if one.nullable and _refuses_nulls(target.exact_column(one.name))]
    if strict:
        notices.append(Notice(f"a null would be refused by the target: {', '.join(strict)}", severity="warning"))
    if index_on is not None and not target.has_index_on(index_on.name):
        notices.append(Notice(f"no index of the target starts with {index_on.name}: every load scans the table"))
    return [*notices, *map(Notice, target.target_notes)]


def _become_text(columns: Sequence[Column], declared: Sequence[Column]) -> tuple[Notice, ...]:
    """Return warnings about numbers that a new column of the target can only hold as text, and a note about others."""
    pairs = [(column, twin) for column, twin in zip(columns, declared, strict=True) if _becomes_text(column, twin)]
    numbers = [pair for pair in pairs if pair[0].logical_type.family in _NUMBERS]
    others = [f"{column.name} ({column.type})" for column, _ in pairs if column.logical_type.family not in _NUMBERS]
    notices = [
        Notice(
            f"{column.name} ({column.type}) becomes {_short(twin.type)}, since the target has no such number. Choose a"
            f' type, as in `columns: {{{column.name}: "decimal(19,4)"}}`: every value is then checked',
            severity="warning",
        )
        for column, twin in numbers
    ]
    return (*notices, *([Notice(f"kept as text in the target: {', '.join(others)}")] if others else []))


def _impossible_keys(source: TableSchema, declared: Sequence[Column], database: Database) -> tuple[Notice, ...]:
    """Return warnings about keys of the source that a new table here cannot have. The rows are the same without."""
    if not database.capabilities.enforced_keys:
        return ()  # a key is only declared there, which takes any column
    by_name = {column.name: column for column in declared}
    keys = [("primary key", source.primary_key), *(("unique key", key) for key in source.unique_keys)]
    found = []
    for kind, key in keys:
        problem = database.index_problem([by_name[name] for name in key]) if key else ""
        if problem:
            texts = [name for name in key if by_name[name].logical_type.family == "string"]
            remedy = f'. Choose a length, as in `columns: {{{texts[0]}: "varchar(100)"}}`' if texts else ""
            without = f"{database.label} cannot have the {kind} ({', '.join(key)}) of the source: {problem}"
            found.append(Notice(f"{without}; the target gets none{remedy}", severity="warning"))
    return tuple(found)


def _loose_keys(source: TableSchema, target: TableSchema, database: Database) -> tuple[Notice, ...]:
    """Return warnings about keys of the target under whose collation two values of the source can be equal."""
    found: dict[str, Notice] = {}
    for key in (target.primary_key, *target.unique_keys):
        for name in key:
            ours, theirs = source.exact_column(name), target.exact_column(name)
            ignored = database.ignored_by_collation(theirs.collation) if theirs is not None else ""
            if ours is None or theirs is None or not ignored:
                continue
            if (ours.database, ours.collation) != (theirs.database, theirs.collation):
                text = (
                    f"the target's key ({', '.join(key)}) compares {name} by {theirs.collation}, which ignores"
                    f" {ignored}: values of the source that differ only so are duplicates there, and are refused"
                )
                found.setdefault(name, Notice(text, severity="warning"))
    return tuple(found.values())


_NUMBERS = ("number", "decimal", "uint64")
_TEXTS = ("string", "trimmed", "char", "enum", "json", "xml", "uuid")


def _becomes_text(column: Column, declared: Column) -> bool:
    is_known = column.logical_type.family in _TEXTS and (column.database != "" or column.type_is_chosen)
    return declared.logical_type.family == "string" and not is_known


def _short(declared: str) -> str:
    return declared.partition(" ")[0]


def _referenced(target: TableSchema) -> list[Notice]:
    if not target.referenced_by:
        return []
    text = f"referenced by {', '.join(target.referenced_by)}: replacing rows may be refused"
    return [Notice(text, severity="warning")]


def _refuses_nulls(column: Column | None) -> bool:
    return column is not None and not column.nullable and not column.generated


def _change(database: Database, statements: list[Sql], why: str) -> ChangeSchema:
    return ChangeSchema(tuple(database.render(statement) for statement in statements), why)

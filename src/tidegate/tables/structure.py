"""What the source has besides columns and rows, and the target lacks: indexes, foreign keys, defaults, comments.

It is created on request (`create:`), after the loads: an index is built once, and the server checks a foreign key when
every row is there. Between two databases of one kind all is as the source has it, but for what a foreign key does to
rows that refer to a deleted one: such a rule would let a load delete rows of other tables. Between two kinds, what both
understand is translated, and the rest is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.interfaces.database import Database
from tidegate.model.columns import Column
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.model.plan import CompleteSchema, Notice, Step
from tidegate.model.structure import Index, Structure
from tidegate.settings import CreateSettings
from tidegate.sql.text import Sql
from tidegate.tables.found import FoundTable

_NUMBER = re.compile(r"\(?-?\d+(\.\d+)?\)?")
_TEXT = re.compile(r"('(?:[^'\\]|'')*')(::[\w .\"()\[\]]+)?")
_NOW = re.compile(r"(now\(\)|current_timestamp(\(\d*\))?|\(?getdate\(\)\)?|\(?sysdatetime\(\)\)?)", re.IGNORECASE)
_FLAGS = {"true": "1", "false": "0", "b'0'": "0", "b'1'": "1"}


@dataclass(frozen=True)
class Sides:
    """What the catalogs of both sides know of the tables of a run, by the names that each side has for them."""

    source: Database
    target: Database
    in_source: Mapping[TableName, Structure]
    in_target: Mapping[TableName, Structure]
    source_keys: Sequence[ForeignKey]
    target_keys: Sequence[ForeignKey]
    copied: Mapping[TableName, FoundTable]
    """The tables of this project, by their names in the source."""


def missing_structure(table: FoundTable, sides: Sides) -> list[Step]:
    """Return the steps that create what the target lacks, and notes about what cannot be created there."""
    create = table.settings.create
    found = list(_Missing(table, sides).parts(create))
    notes = [Notice(part) for part in found if isinstance(part, str)]
    keys = [part.key for part in found if isinstance(part, _Key)]
    others = [part for part in found if isinstance(part, Sql)]
    steps: list[Step] = []
    render = sides.target.render
    if others:
        steps.append(CompleteSchema(tuple(map(render, others)), "asked for by `create`"))
    if keys:
        steps.append(CompleteSchema(tuple(map(render, keys)), "foreign keys, asked for by `create`", comes_last=True))
    return [*steps, *notes]


@dataclass(frozen=True)
class _Key:
    key: Sql


@dataclass(frozen=True)
class _Missing:
    table: FoundTable
    sides: Sides

    @property
    def _is_same_kind(self) -> bool:
        return self.sides.source.kind == self.sides.target.kind

    @property
    def _base(self) -> TableName:
        return base_of(self.table)

    @property
    def _names(self) -> dict[str, str]:
        """Return the names of copied columns in the target, by those in the source."""
        return target_names(self.table)

    @property
    def _there(self) -> Structure:
        return self.sides.in_target.get(self.table.target_name, Structure())

    def parts(self, create: CreateSettings) -> Iterator[Sql | _Key | str]:
        structure = self.sides.in_source.get(self._base, Structure())
        if create.indexes:
            for index in structure.indexes:
                yield from self._index(index)
        if create.defaults:
            for column, expression in structure.defaults.items():
                yield from self._default(column, expression)
        if create.comments:
            yield from self._comments(structure.comments)
        if create.foreign_keys:
            for key in self.sides.source_keys:
                if key.table == self._base:
                    yield from self._foreign_key(key)

    def _own_name(self, name: str) -> str:
        """Return the name that an index or a key gets. Names of other tables must not collide with it."""
        is_exact = self._is_same_kind and self._base.name == self.table.target_name.name
        return name if is_exact else f"{self.table.target_name.name}_{name}"[:60]

    def _index(self, index: Index) -> Iterator[Sql | str]:
        name = self._own_name(index.name)
        columns = tuple(self._names.get(column, "") for column in index.columns)
        if any(each.name == name or self._is_alike(each, index, columns) for each in self._there.indexes):
            return
        exists = self.table.target is not None
        if columns == (self.table.index_on,) and not index.is_unique and not exists:
            return  # the table is created with it
        if all(columns) and columns:
            problem = self.sides.target.index_problem([self._target_column(column) for column in columns])
            if problem and index.is_unique and not exists:
                return  # told with the keys of the new table
            if problem:
                yield f"index {index.name} is not created: {problem}"
            elif self._is_same_kind and index.columns == columns and index.definition:
                yield self.sides.target.create_index(self.table.target_name, replace(index, name=name))
            else:
                plain = Index(name, columns, index.is_unique)
                yield self.sides.target.create_index(self.table.target_name, plain)
        elif not index.columns and self._is_same_kind and index.definition and self._are_names_the_same():
            yield self.sides.target.create_index(self.table.target_name, replace(index, name=name))
        else:
            reason = "a column of it is not copied" if index.columns else "the target has no index of its kind"
            yield f"index {index.name} is not created: {reason}"

    def _is_alike(self, existing: Index, index: Index, columns: tuple[str, ...]) -> bool:
        """Return whether the target has the index under another name."""
        if columns:
            return existing.columns == columns
        same = (existing.definition, existing.is_unique) == (index.definition, index.is_unique)
        return same and bool(index.definition) and self._is_same_kind and self._are_names_the_same()

    def _are_names_the_same(self) -> bool:
        """Return whether an expression over columns means the same in the target."""
        unchanged = all(ours == theirs for ours, theirs in self._names.items())
        return unchanged and all(column.database == self.sides.target.kind for column in self.table.source.columns)

    def _target_column(self, name: str) -> Column:
        return next(column for column in self.table.target_columns if column.name == name)

    def _default(self, column: str, expression: str) -> Iterator[Sql | str]:
        name = self._names.get(column)
        if name is None:
            return
        twin = self.table.target.exact_column(name) if self.table.target is not None else None
        if twin is not None and twin.has_default:
            return
        target = self._target_column(name)
        source = next(each for each in self.table.source.columns if each.name == name)
        is_exact = self._is_same_kind and source.database == self.sides.target.kind
        written = expression if is_exact else translated_default(expression, target)
        statement = None if written is None else self.sides.target.set_default(self.table.target_name, name, written)
        yield f"the default of {column} is not created: {expression}" if statement is None else statement

    def _comments(self, comments: Mapping[str, str]) -> Iterator[Sql | str]:
        left_out = []
        for column, text in comments.items():
            name = self._names.get(column, "") if column else ""
            if (column and not name) or self._there.comments.get(name) == text:
                continue
            statement = self.sides.target.comment(self.table.target_name, name, text)
            if statement is not None:
                yield statement
            else:
                left_out.append(column or "the table")
        if left_out:
            yield f"{self.sides.target.label}: comments are not created: {', '.join(left_out)}"

    def _foreign_key(self, key: ForeignKey) -> Iterator[_Key | str]:
        parent = self.sides.copied.get(key.parent)
        columns = tuple(self._names.get(column, "") for column in key.columns)
        theirs = target_names(parent) if parent is not None else {}
        parent_columns = tuple(theirs.get(column, "") for column in key.parent_columns)
        if parent is None or not all((*columns, *parent_columns)):
            reason = f"{key.parent} is not copied" if parent is None else "a column of it is not copied"
            yield f"foreign key {key.name} is not created: {reason}"
            return
        there = [each for each in self.sides.target_keys if each.table == self.table.target_name]
        if any((each.columns, each.parent) == (columns, parent.target_name) for each in there):
            return
        new = replace(
            key,
            name=self._own_name(key.name),
            table=self.table.target_name,
            columns=columns,
            parent=parent.target_name,
            parent_columns=parent_columns,
            on_delete="",
            on_update="",
        )
        if key.on_delete or key.on_update:
            yield (
                f"foreign key {key.name} is created without its rules for rows that leave: a load would delete or"
                " change rows of other tables"
            )
        yield _Key(self.sides.target.add_foreign_key(new))


def base_of(table: FoundTable) -> TableName:
    """Return the name of the table in the source, whatever the configuration makes of it."""
    return TableName(table.source.name.schema, table.source.name.name)


def target_names(table: FoundTable) -> dict[str, str]:
    """Return the names of copied columns in the target, by those in the source."""
    renamed = {own.name: name for name, own in table.settings.columns.items() if own.name}
    return {renamed.get(column.name, column.name): column.name for column in table.extracted_columns}


def translated_default(expression: str, target: Column) -> str | None:
    """Return a default in words of every database: a number, a text, the time; None for anything else."""
    text = expression.strip()
    while text.startswith("(") and text.endswith(")") and not _NOW.fullmatch(text):
        text = text[1:-1].strip()
    family = target.logical_type.family
    if text.lower() in _FLAGS:
        flag = _FLAGS[text.lower()]
        return ("true" if flag == "1" else "false") if family == "bool" else flag
    if _NUMBER.fullmatch(text):
        return ("true" if text == "1" else "false") if family == "bool" and text in "01" else text
    if _NOW.fullmatch(text):
        digits = target.logical_type.size if family in ("timestamp", "instant") else None
        return f"CURRENT_TIMESTAMP({digits})" if digits else "CURRENT_TIMESTAMP"
    match = _TEXT.fullmatch(text)
    has_length = family not in ("string",) or target.logical_type.size is not None
    return match[1] if match and has_length and family in ("string", "trimmed", "char", "enum") else None

"""A partition table, found in both catalogs: by which column it is partitioned, and how its values are ordered."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.config.tables import PartitionTable
from tidegate.errors import ConfigError, Unsupported
from tidegate.interfaces import Database, ReadRequest
from tidegate.model.columns import Column, Shape
from tidegate.model.plan import Notice
from tidegate.model.values import Kind, Value
from tidegate.runs.tables import UNTOUCHED, Catalogs, FoundTable, ResolvedTable, compared, named_column, source_shape
from tidegate.sql.partitions import of_value


@dataclass(frozen=True)
class PartitionedTable(ResolvedTable):
    settings: PartitionTable
    column: Column
    target_column: Column
    kind: Kind

    @property
    def keys_across_values(self) -> tuple[tuple[str, ...], ...]:
        """Keys of the target that do not contain the partition column, such as `(id)`."""
        return _keys_across_values(self, self.column)

    @property
    def lake_column(self) -> str:
        return self.settings.partition_column

    @property
    def windows(self) -> str:
        return self.settings.partition_column

    @property
    def row_keys(self) -> tuple[str, ...]:
        return self.settings.keys or self.source.primary_key

    @property
    def restatement_column(self) -> Column | None:
        """As the catalog spells it; None when none is named."""
        named = self.settings.restatement_column
        return self.source.column(named) if named else None

    @property
    def replaces_rows(self) -> bool:
        return True

    def value(self, text: object) -> Value:
        try:
            return Value.of(text, self.kind)
        except ValueError as problem:
            raise ConfigError(
                f"{self.key}: {problem}.", UNTOUCHED, f"{self.column.name} is {self.column.type}."
            ) from None

    def source_request(self, value: Value) -> ReadRequest:
        return self.from_source(of_value(self.column, value))

    def target_request(self, value: Value) -> ReadRequest:
        return self.from_target(of_value(self.target_column, value))


def resolve(settings: PartitionTable, catalogs: Catalogs) -> PartitionedTable:
    source_db, target_db = catalogs.source.database, catalogs.target.database
    shape = source_shape(settings, catalogs)
    column = named_column(settings, shape, settings.partition_column, "partition_column")
    _require_an_exact_greatest(settings, shape, source_db)
    kind = source_db.partition_kind(column)
    if kind is None:
        raise Unsupported(
            f"{settings.name}: {column.name} is {column.type}, whose values have no exact order to partition by.",
            UNTOUCHED,
            "Choose a column of an integer, decimal, date, timestamp or text type.",
        )
    found = compared(settings, shape, catalogs, column, as_they_are=(column.name,))
    in_target = next((one for one in found.target_columns if one.name == column.name), target_db.declare(column))
    if target_db.partition_kind(in_target) is not kind:
        raise Unsupported(
            f"{settings.name}: {column.name} is {column.type} in the source and {in_target.type} in the target,"
            " whose values have another order.",
            UNTOUCHED,
            "Give the target's column a type of the same sort, or partition by another column.",
        )
    found = replace(found, notices=(*found.notices, *_notices(found, column)))
    return PartitionedTable.of(found, settings=settings, column=column, target_column=in_target, kind=kind)


def _notices(found: FoundTable, column: Column) -> list[Notice]:
    keys = _keys_across_values(found, column)
    if not keys:
        return []
    text = f"its key ({', '.join(keys[0])}) does not contain {column.name}: values that exchange rows are loaded"
    return [Notice(f"{text} together, in one transaction")]


def _keys_across_values(found: FoundTable, column: Column) -> tuple[tuple[str, ...], ...]:
    there = found.target or found.source
    return tuple(key for key in (there.primary_key, *there.unique_keys) if key and column.name not in key)


def _require_an_exact_greatest(settings: PartitionTable, shape: Shape, database: Database) -> None:
    if settings.restatement_column is None:
        return
    watched = named_column(settings, shape, settings.restatement_column, "restatement_column")
    if database.partition_kind(watched) is None:
        raise Unsupported(
            f"{settings.name}: {watched.name} is {watched.type}, whose greatest value cannot be told exactly.",
            UNTOUCHED,
            "Watch a column of an integer, decimal, date, timestamp or text type, or use `restatement: hash`.",
        )

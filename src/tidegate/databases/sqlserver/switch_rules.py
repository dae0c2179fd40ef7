"""What SQL Server asks of a table and a stage before ALTER TABLE ... SWITCH, with its error numbers. Reads nothing.

A switch goes twice over the table: its partition goes out to a table for the old rows, so the table is a source; and
the stage comes in, so the table is a target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tidegate.databases.sqlserver.switch_facts import ColumnFacts, TableFacts
from tidegate.model.native import Precondition
from tidegate.sql.text import Name, Sql, raw, sql

Render = Callable[[Sql], str]


def rules_of_table(table: TableFacts, render: Render) -> Iterator[Precondition]:
    """Yield what concerns the partitioned table alone."""
    name = Name.of(table.name)

    def rule(title: str, error: str, wrong: Iterable[str], cure: Iterable[Sql] = ()) -> Precondition:
        reasons = list(wrong)
        return Precondition(title, not reasons, error, "; ".join(reasons), tuple(map(render, cure)) if reasons else ())

    yield rule("the table is partitioned", "4911", [] if table.scheme else [f"{table.name} is on one filegroup"])
    off = [index for index in table.indexes if index.is_disabled]
    yield rule(
        "no index is disabled",
        "4914",
        [f"{index.name} is disabled" for index in off],
        [sql("ALTER INDEX {index} ON {table} REBUILD", index=Name.of(index.name), table=name) for index in off],
    )
    away = [index for index in table.indexes if not index.is_disabled and index.scheme != table.scheme]
    yield rule(
        "indexes are aligned",
        "7733",
        [f"{index.name} is not on the partition scheme {table.scheme}" for index in away],
        [sql("DROP INDEX {index} ON {table}", index=Name.of(index.name), table=name) for index in away],
    )
    other = [
        index
        for index in table.indexes
        if index.scheme == table.scheme != "" and index.partitioned_by != table.partitioned_by
    ]
    yield rule(
        "indexes are partitioned by the same column",
        "4912",
        [f"{index.name} is partitioned by {index.partitioned_by}" for index in other],
        [sql("DROP INDEX {index} ON {table}", index=Name.of(index.name), table=name) for index in other],
    )
    yield rule(
        "no foreign key refers to the table",
        "4967",
        [f"{other_table} refers to it by {key}" for key, other_table in table.referenced_by],
        [
            sql("ALTER TABLE {other} DROP CONSTRAINT {key}", other=raw(other_table), key=Name.of(key))
            for key, other_table in table.referenced_by
        ],
    )
    yield rule(
        "Change Tracking is off",
        "4900",
        [f"{table.name} is tracked"] if table.is_tracked else [],
        [sql("ALTER TABLE {table} DISABLE CHANGE_TRACKING", table=name)],
    )
    yield rule(
        "CDC allows switches",
        "22842",
        [f"the capture {capture} does not allow partitions to be switched" for capture in table.captures],
    )
    yield rule("replication allows switches", "4941", [f"{table.name} is published"] if table.is_replicated else [])
    yield rule(
        "the table is not merge-published",
        "4941",
        [f"{table.name} is merge-published"] if table.is_merge_published else [],
    )
    yield rule(
        "the table keeps no history",
        "13546",
        ["system versioning is on: a partition cannot go out"] if table.temporal == 2 else [],
        [sql("ALTER TABLE {table} SET (SYSTEM_VERSIONING = OFF)", table=name)],
    )
    yield rule("the table is no history", "13577", ["it is the history of a table"] if table.temporal == 1 else [])
    yield rule(
        "the table has no full-text index",
        "4918",
        ["it has a full-text index"] if table.has_full_text else [],
        [sql("DROP FULLTEXT INDEX ON {table}", table=name)],
    )
    special = [index for index in table.indexes if index.type in ("XML", "SPATIAL")]
    yield rule(
        "the table has no XML or spatial index",
        "4983",
        [f"{index.name} is of the type {index.type}" for index in special],
        [sql("DROP INDEX {index} ON {table}", index=Name.of(index.name), table=name) for index in special],
    )
    yield rule(
        "the table has no indexed view",
        "11400",
        [f"{view} has the index {index}" for view, index in table.indexed_views],
        [
            sql("DROP INDEX {index} ON {view}", index=Name.of(index), view=raw(view))
            for view, index in table.indexed_views
        ],
    )
    weak = [key for key, _, trusted in table.checks if not trusted]
    yield rule(
        "check constraints are enabled and trusted",
        "4975",
        [f"{key} is not trusted" for key in weak],
        [sql("ALTER TABLE {table} WITH CHECK CHECK CONSTRAINT {key}", table=name, key=Name.of(key)) for key in weak],
    )
    loose = [key.name for key in table.foreign_keys if not key.is_trusted]
    yield rule(
        "foreign keys are enabled and trusted",
        "4974",
        [f"{key} is not trusted" for key in loose],
        [sql("ALTER TABLE {table} WITH CHECK CHECK CONSTRAINT {key}", table=name, key=Name.of(key)) for key in loose],
    )


def rules_of_stage(table: TableFacts, stage: TableFacts, render: Render) -> Iterator[Precondition]:
    """Yield what a switch compares between the stage and the table."""
    name = Name.of(stage.name)

    def rule(title: str, error: str, wrong: Iterable[str], cure: Iterable[Sql] = ()) -> Precondition:
        reasons = list(wrong)
        return Precondition(title, not reasons, error, "; ".join(reasons), tuple(map(render, cure)) if reasons else ())

    ours, theirs = [column.name for column in table.columns], [column.name for column in stage.columns]
    count = [f"{len(theirs)} columns instead of {len(ours)}"] if len(ours) != len(theirs) else []
    yield rule("both have as many columns", "4943", count)
    pairs = list(zip(table.columns, stage.columns, strict=False))
    yield rule(
        "columns have the same names in the same order",
        "4942",
        [f"{right.name} stands where {left.name} is" for left, right in pairs if left.name != right.name],
    )
    for title, error, facts in _OF_COLUMNS:
        wrong = [
            f"{left.name}: {facts(right)} instead of {facts(left)}"
            for left, right in pairs
            if facts(left) != facts(right)
        ]
        cure: list[Sql] = []
        if error in ("4944", "4945", "4985"):
            cure = [
                sql("ALTER TABLE {stage} ALTER COLUMN {column}", stage=name, column=column_definition(left))
                for left, right in pairs
                if facts(left) != facts(right) and not left.computed
            ]
        yield rule(title, error, wrong, cure)
    yield rule(
        "large texts lie in the same place",
        "4954",
        [f"text in row: {stage.text_in_row} instead of {table.text_in_row}"]
        if stage.text_in_row != table.text_in_row
        else [],
    )
    yield rule(
        "large values lie in the same place",
        "4993",
        ["large value types out of row differs"]
        if stage.large_values_out_of_row != table.large_values_out_of_row
        else [],
    )
    yield rule(
        "both are on the same partition scheme",
        "4939",
        [f"{stage.scheme or 'no scheme'} instead of {table.scheme}"] if stage.scheme != table.scheme else [],
    )
    yield rule(
        "both are partitioned by the same column",
        "4953",
        [f"{stage.partitioned_by} instead of {table.partitioned_by}"]
        if stage.partitioned_by != table.partitioned_by
        else [],
    )
    yield rule(
        "both have the same compression",
        "11406",
        ["the partitions of the stage are compressed otherwise"] if stage.compression != table.compression else [],
    )
    both = (table.clustered, stage.clustered)
    yield rule(
        "both have a clustered index or none",
        "4913",
        [f"{'the table' if both[0] else 'the stage'} alone has one"] if (both[0] is None) != (both[1] is None) else [],
    )
    shapes = {index.shape for index in stage.indexes}
    missing = [index.name for index in table.indexes if index.shape not in shapes]
    yield rule("every index has its twin", "4947", [f"{index} has none in the stage" for index in missing])
    packed = {index.shape: index.compression for index in stage.indexes}
    unlike = [index.name for index in table.indexes if packed.get(index.shape, index.compression) != index.compression]
    yield rule("indexes have the same compression", "11406", [f"{index} is compressed otherwise" for index in unlike])
    trusted = {text for _, text, is_trusted in stage.checks if is_trusted}
    lacking = [(key, text) for key, text, _ in table.checks if text not in trusted]
    yield rule(
        "the stage has the table's check constraints",
        "4970",
        [f"{key} is missing, disabled or not trusted in the stage" for key, _ in lacking],
        [sql("ALTER TABLE {stage} WITH CHECK ADD CHECK {rule}", stage=name, rule=raw(text)) for _, text in lacking],
    )
    keys = {key.shape for key in stage.foreign_keys if key.is_trusted}
    yield rule(
        "the stage has the table's foreign keys",
        "4968",
        [
            f"{key.name} is missing, disabled or not trusted in the stage"
            for key in table.foreign_keys
            if key.shape not in keys
        ],
    )
    yield rule(
        "no foreign key refers to the stage",
        "4967",
        [f"{other} refers to it by {key}" for key, other in stage.referenced_by],
    )


def _unlike(what: str, there: object, here: object) -> list[str]:
    return [] if there == here else [f"{what} is {there} instead of {here}"]


_OF_COLUMNS: tuple[tuple[str, str, Callable[[ColumnFacts], object]], ...] = (
    ("columns have the same types", "4944", lambda column: column.type),
    ("columns have the same collations", "4945", lambda column: column.collation),
    ("columns are as strict about nulls", "4985", lambda column: column.nullable),
    ("columns are computed alike", "4966", lambda column: column.computed),
    ("computed columns are persisted alike", "4965", lambda column: column.persisted),
    ("columns are padded alike", "4952", lambda column: column.ansi_padded),
    ("columns are row guids alike", "4958", lambda column: column.row_guid),
    ("columns are streams alike", "4951", lambda column: column.filestream),
    ("columns are sparse alike", "11412", lambda column: column.sparse),
    ("columns are column sets alike", "11413", lambda column: column.column_set),
    ("columns are generated alike", "13736", lambda column: column.generated_always),
)


def column_definition(column: ColumnFacts) -> Sql:
    """Return a column as DDL declares it."""
    if column.computed:
        ending = " PERSISTED" if column.persisted else ""
        ending += " NOT NULL" if column.persisted and not column.nullable else ""
        return sql("{name} AS {rule}" + ending, name=Name.of(column.name), rule=raw(column.computed))
    parts = [sql("{name} {type}", name=Name.of(column.name), type=raw(column.type))]
    collated = f" COLLATE {column.collation}" if column.collation else ""
    sparse = " SPARSE" if column.sparse else ""
    row_guid = " ROWGUIDCOL" if column.row_guid else ""
    null = " NULL" if column.nullable else " NOT NULL"
    return sql("{column}{rest}", column=parts[0], rest=raw(f"{collated}{sparse}{null}{row_guid}"))

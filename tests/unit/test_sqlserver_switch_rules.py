"""What forbids a switch on SQL Server: each precondition with its error number, over facts of the catalog."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.switch_facts import ColumnFacts, ForeignKeyFacts, IndexFacts, TableFacts
from tidegate.databases.sqlserver.switch_rules import rules_of_stage, rules_of_table
from tidegate.model.names import TableName
from tidegate.model.native import unmet
from tidegate.sql.text import Sql, render

PAGES = ("PAGE", "PAGE", "NONE")
KEY = IndexFacts(
    "PK_Fact", "CLUSTERED", (("D", False), ("Id", False)), is_primary=True, is_unique=True, scheme="ps",
    partitioned_by="D", compression=PAGES,
)  # fmt: skip
BY_NAME = IndexFacts("IX_Name", "NONCLUSTERED", (("Name", True),), ("Amount",), scheme="ps", partitioned_by="D")
CUSTOMER = ForeignKeyFacts("FK_Customer", "[dbo].[Customer]", (("Customer", "Id"),))
FACT = TableFacts(
    TableName("dbo", "Fact"),
    (
        ColumnFacts("D", "date", nullable=False),
        ColumnFacts("Id", "bigint", nullable=False),
        ColumnFacts("Name", "nvarchar(50)", "Latin1_General_100_CI_AS"),
        ColumnFacts("Amount", "decimal(19, 4)"),
        ColumnFacts("Twice", "decimal(20, 4)", computed="([Amount]*(2))", persisted=True),
    ),
    scheme="ps",
    function="pf",
    partitioned_by="D",
    indexes=(KEY, BY_NAME),
    compression=PAGES,
    checks=(("CK_Amount", "([Amount]>=(0))", True),),
    foreign_keys=(CUSTOMER,),
)
STAGE = replace(FACT, name=TableName("dbo", "Fact_STAGE_1"))


def text(statement: Sql) -> str:
    return render(statement, DIALECT)


def with_column(table: TableFacts, number: int, **changes: object) -> TableFacts:
    columns = list(table.columns)
    columns[number] = replace(columns[number], **changes)
    return replace(table, columns=tuple(columns))


def test_equal_tables_meet_all_preconditions():
    found = [*rules_of_table(FACT, text), *rules_of_stage(FACT, STAGE, text)]

    assert unmet(found) == []
    assert len({rule.name for rule in found}) == len(found)


@pytest.mark.parametrize(
    ("table", "error", "cure"),
    [
        (replace(FACT, scheme="", indexes=()), "4911", ""),
        (
            replace(FACT, indexes=(KEY, replace(BY_NAME, is_disabled=True))),
            "4914",
            "ALTER INDEX [IX_Name] ON [dbo].[Fact] REBUILD",
        ),
        (replace(FACT, indexes=(KEY, replace(BY_NAME, scheme=""))), "7733", "DROP INDEX [IX_Name] ON [dbo].[Fact]"),
        (
            replace(FACT, indexes=(KEY, replace(BY_NAME, partitioned_by="Id"))),
            "4912",
            "DROP INDEX [IX_Name] ON [dbo].[Fact]",
        ),
        (
            replace(FACT, referenced_by=(("FK_Line", "[dbo].[Line]"),)),
            "4967",
            "ALTER TABLE [dbo].[Line] DROP CONSTRAINT [FK_Line]",
        ),
        (replace(FACT, is_tracked=True), "4900", "ALTER TABLE [dbo].[Fact] DISABLE CHANGE_TRACKING"),
        (replace(FACT, captures=("dbo_Fact",)), "22842", ""),
        (replace(FACT, is_replicated=True), "4941", ""),
        (replace(FACT, is_merge_published=True), "4941", ""),
        (replace(FACT, temporal=2), "13546", "ALTER TABLE [dbo].[Fact] SET (SYSTEM_VERSIONING = OFF)"),
        (replace(FACT, temporal=1), "13577", ""),
        (replace(FACT, has_full_text=True), "4918", "DROP FULLTEXT INDEX ON [dbo].[Fact]"),
        (
            replace(FACT, indexes=(KEY, BY_NAME, IndexFacts("IX_Xml", "XML", scheme="ps", partitioned_by="D"))),
            "4983",
            "DROP INDEX [IX_Xml] ON [dbo].[Fact]",
        ),
        (replace(FACT, indexed_views=(("[dbo].[V]", "IX_V"),)), "11400", "DROP INDEX [IX_V] ON [dbo].[V]"),
        (
            replace(FACT, checks=(("CK_Amount", "([Amount]>=(0))", False),)),
            "4975",
            "ALTER TABLE [dbo].[Fact] WITH CHECK CHECK CONSTRAINT [CK_Amount]",
        ),
        (
            replace(FACT, foreign_keys=(replace(CUSTOMER, is_trusted=False),)),
            "4974",
            "ALTER TABLE [dbo].[Fact] WITH CHECK CHECK CONSTRAINT [FK_Customer]",
        ),
    ],
)
def test_table_that_cannot_be_switched_is_told(table: TableFacts, error: str, cure: str):
    [problem] = unmet(rules_of_table(table, text))

    assert (problem.error, "; ".join(problem.cure)) == (error, cure)
    assert problem.reason


@pytest.mark.parametrize(
    ("stage", "error", "cure"),
    [
        (with_column(STAGE, 2, name="Other"), "4942", ""),
        (
            with_column(STAGE, 3, type="decimal(19, 2)"),
            "4944",
            "ALTER TABLE [dbo].[Fact_STAGE_1] ALTER COLUMN [Amount] decimal(19, 4) NULL",
        ),
        (
            with_column(STAGE, 2, collation="Latin1_General_BIN"),
            "4945",
            "ALTER TABLE [dbo].[Fact_STAGE_1] ALTER COLUMN [Name] nvarchar(50) COLLATE Latin1_General_100_CI_AS NULL",
        ),
        (
            with_column(STAGE, 1, nullable=True),
            "4985",
            "ALTER TABLE [dbo].[Fact_STAGE_1] ALTER COLUMN [Id] bigint NOT NULL",
        ),
        (with_column(STAGE, 4, computed="([Amount]*(3))"), "4966", ""),
        (with_column(STAGE, 4, persisted=False), "4965", ""),
        (with_column(STAGE, 2, ansi_padded=False), "4952", ""),
        (with_column(STAGE, 1, row_guid=True), "4958", ""),
        (with_column(STAGE, 2, filestream=True), "4951", ""),
        (with_column(STAGE, 2, sparse=True), "11412", ""),
        (with_column(STAGE, 2, column_set=True), "11413", ""),
        (with_column(STAGE, 0, generated_always=1), "13736", ""),
        (replace(STAGE, text_in_row=256), "4954", ""),
        (replace(STAGE, large_values_out_of_row=True), "4993", ""),
        (replace(STAGE, scheme="other"), "4939", ""),
        (replace(STAGE, partitioned_by="Id"), "4953", ""),
        (replace(STAGE, compression=("PAGE", "NONE", "NONE")), "11406", ""),
        (replace(STAGE, indexes=(KEY,)), "4947", ""),
        (replace(STAGE, indexes=(KEY, replace(BY_NAME, compression=("ROW",)))), "11406", ""),
        (
            replace(STAGE, checks=()),
            "4970",
            "ALTER TABLE [dbo].[Fact_STAGE_1] WITH CHECK ADD CHECK ([Amount]>=(0))",
        ),
        (replace(STAGE, foreign_keys=()), "4968", ""),
        (replace(STAGE, referenced_by=(("FK", "[dbo].[Line]"),)), "4967", ""),
    ],
)
def test_stage_that_cannot_be_switched_is_told(stage: TableFacts, error: str, cure: str):
    [problem] = unmet(rules_of_stage(FACT, stage, text))

    assert (problem.error, "; ".join(problem.cure)) == (error, cure)
    assert problem.reason


def test_stage_without_its_clustered_index_is_told():
    found = unmet(rules_of_stage(FACT, replace(STAGE, indexes=(BY_NAME,)), text))

    assert [problem.error for problem in found] == ["4913", "4947"]


def test_stage_with_fewer_columns_is_told():
    found = unmet(rules_of_stage(FACT, replace(STAGE, columns=STAGE.columns[:4]), text))

    assert [problem.error for problem in found] == ["4943"]

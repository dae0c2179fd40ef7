"""What the rows of SQL Server's catalog mean, of columns that a compatible server does not have."""

from __future__ import annotations

import pytest

from sql.recorders import SqlServerRecorder
from tidegate.databases.sqlserver import SqlServer, catalog, layout
from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.server import ServerFeatures
from tidegate.databases.sqlserver.types import declared_type
from tidegate.model.columns import TableSchema
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.sql.text import render

TABLE = TableName("dbo", "cards")
MAY_ALL, MAY_READ = (7, 1, 1, 1), (7, 1, 0, 1)
SQL_SERVER, COMPATIBLE = ServerFeatures.of(1, False, 2, 3, 5), ServerFeatures.of(1, False, 1, 3)


def column(
    name: str,
    *,
    generated: int = 0,
    is_set: bool = False,
    masked: bool = False,
    encryption: int | None = None,
    halved: int | None = None,
) -> tuple[object, ...]:
    kind = ("varchar", 20, 0, 0, "Latin1_General_CI_AS")
    return (7, name, *kind, True, False, False, generated, is_set, masked, encryption, 0, halved)


def shape(
    *columns: tuple[object, ...],
    rights: tuple[object, ...] = MAY_ALL,
    facts: tuple[object, ...] = (),
    features: ServerFeatures = SQL_SERVER,
) -> TableSchema:
    spellings = [("dbo", "cards", one[1]) for one in columns]
    return catalog.table_schemas({7: TABLE}, columns, (), facts, [rights], spellings, features=features)[TABLE]


@pytest.mark.parametrize(
    ("rights", "refused"),
    [(MAY_ALL, []), (MAY_READ, ["card"]), ((7, 1, None, 1), ["card"])],
    ids=["may see through masks", "may not", "a server before 2022 and without the right"],
)
def test_a_masked_column_is_read_only_by_who_sees_through_the_mask(rights: tuple[object, ...], refused: list[str]):
    found = shape(column("name"), column("card", masked=True), rights=rights)
    assert [one.name for one in found.columns if one.unreadable] == refused


def test_an_encrypted_column_is_refused_to_everybody():
    found = shape(column("card", encryption=1))
    assert "Always Encrypted" in found.columns[0].unreadable


@pytest.mark.parametrize(
    ("base", "refused"), [(None, False), (0, False), (1, True)], ids=["older", "float32", "float16"]
)
def test_a_vector_of_half_precision_numbers_is_refused(base: int | None, refused: bool):
    assert bool(shape(column("card", halved=base)).columns[0].unreadable) is refused


def test_a_column_of_a_type_that_nobody_knows_is_refused_and_not_left_out():
    (number, name, _, *rest) = column("card")
    found = shape((number, name, "", *rest))
    assert "list of types" in found.columns[0].unreadable


def test_a_history_and_a_capture_are_told():
    found = shape(column("since", generated=1), facts=((7, "has_history", ""), (7, "is_captured", "")))
    assert found.columns[0].generated
    assert ["history" in remark for remark in found.target_notes] == [True, False]
    assert "CDC" in found.target_notes[1]


@pytest.mark.parametrize(
    ("fact", "value", "told"),
    [
        ("is_published", "", "sent to its subscribers"),
        ("is_tracked", "", "it has Change Tracking"),
        ("bound_views", "v_daily", "while schema-bound views use it: v_daily"),
        ("not_trusted", "CK_amount", "not checked for the existing rows (not trusted): CK_amount"),
        ("rules", "CK_amount ([amount]>(0))", "violate a check constraint are refused: CK_amount ([amount]>(0))"),
        (
            "unique_in_part",
            "UX_code where ([gone]=(0))",
            "refuses two rows with the same key: UX_code where ([gone]=(0))",
        ),
        ("captures", "dbo_cards", "until there is a new capture instance: dbo_cards"),
        (
            "ignores_duplicates",
            "UX_code",
            "drops duplicate rows without an error, and the load is then refused: UX_code",
        ),
        ("is_searched", "", "full-text index is updated"),
        ("is_filtered", "branch_only", "neither replaced nor compared: branch_only"),
        ("read_only_place", "FG_2019", "cannot be loaded: FG_2019"),
    ],
)
def test_what_surrounds_a_table_is_told(fact: str, value: str, told: str):
    assert told in shape(column("a"), facts=((7, fact, value),)).target_notes[0]


@pytest.mark.parametrize(
    ("fact", "value", "told"),
    [("is_filtered", "branch_only", "neither copied nor missed: branch_only"), ("in_memory", "", "error 41332")],
)
def test_what_whoever_reads_a_table_should_know_is_told(fact: str, value: str, told: str):
    (caution,) = shape(column("a"), facts=((7, fact, value),)).source_warnings
    assert told in caution


@pytest.mark.parametrize(
    ("view", "features", "asked"),
    [
        ("sys.security_policies", SQL_SERVER, True),
        ("sys.security_policies", COMPATIBLE, False),
        ("cdc.change_tables", SQL_SERVER._replace(captures=True), True),
        ("cdc.change_tables", SQL_SERVER, False),
        ("sys.sql_expression_dependencies", SQL_SERVER._replace(dependencies=True), True),
        ("sys.sql_expression_dependencies", SQL_SERVER, False),
        ("c.vector_base_type", SQL_SERVER._replace(has_vector_base_type=True), True),
        ("c.vector_base_type", SQL_SERVER, False),
    ],
)
def test_what_only_some_servers_have_is_asked_of_them_alone(view: str, features: ServerFeatures, asked: bool):
    texts = [render(question, DIALECT) for question in catalog.questions({7: TABLE}, DIALECT, features)]
    assert any(view in text for text in texts) is asked


@pytest.mark.parametrize(("answer", "may"), [(1, True), (0, False), (None, False)], ids=["may", "may not", "none"])
def test_captures_are_read_only_by_who_may(answer: int | None, may: bool):
    assert ServerFeatures.of(1, False, 2, 3, 5, answer).captures is may


@pytest.mark.parametrize(
    ("rights", "features", "told"),
    [(MAY_ALL, SQL_SERVER, False), ((7, 1, 1, 0), SQL_SERVER, True), ((7, 1, 1, 0), COMPATIBLE, False)],
    ids=["sees every policy", "may miss one", "there are none"],
)
def test_whoever_reads_is_told_of_policies_that_it_may_not_see(
    rights: tuple[object, ...], features: ServerFeatures, told: bool
):
    found = shape(column("a"), rights=rights, features=features)
    assert ["could hide rows" in one for one in found.source_notes] == [True] * told
    assert found.source_warnings == ()


@pytest.mark.parametrize(("updateability", "told"), [("READ_ONLY", True), ("READ_WRITE", False), (None, False)])
def test_row_versions_of_a_replica_are_a_risk(updateability: str | None, told: bool):
    features = ServerFeatures.of(1, False, 2, 3, 5, None, updateability)
    version = (7, "rv", "timestamp", 8, 0, 0, None, False, False, False, 0, False, False, None, 0, None)
    assert ["`look_back`" in one for one in shape(column("a"), version, features=features).source_warnings] == [
        True
    ] * told
    assert shape(column("a"), features=features).source_warnings == ()


def test_an_external_table_is_no_target():
    assert shape(column("a")).transactional
    assert not shape(column("a"), facts=((7, "is_external", ""),)).transactional


def test_a_set_of_sparse_columns_is_not_written():
    found = shape(column("colour"), column("all_of_them", is_set=True))
    assert [one.name for one in found.columns if one.generated] == ["all_of_them"]


def test_what_a_load_should_know_of_its_table_is_told():
    found = shape(column("a"), facts=((7, "in_memory", ""), (7, "instead", "")))
    assert "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT" in found.target_notes[0]
    assert "INSTEAD OF trigger" in found.target_notes[1]


@pytest.mark.parametrize(
    ("edition", "refused"), [(2, False), (3, False), (5, False), (6, True), (8, False), (11, True)]
)
def test_synapse_is_told_from_sql_server(edition: int, refused: bool):
    assert ServerFeatures.of(1, False, 2, edition).is_warehouse is refused


@pytest.mark.parametrize(("length", "told"), [(2, False), (1, True)], ids=["adds up", "keeps the last"])
def test_who_gets_no_bulk_copies_is_told(length: int, told: bool, monkeypatch: pytest.MonkeyPatch):
    SqlServerRecorder(answers={"d.snapshot_isolation_state": [(1, 0, length, 3)]}).install(monkeypatch)
    with SqlServerRecorder.database.connect("test") as session:
        assert ["rows are loaded by INSERT" in remark for remark in session.target_notes()] == [True] * told


@pytest.mark.parametrize(
    ("login", "copies"),
    [
        ("ActiveDirectoryPassword", False),
        ("ActiveDirectoryIntegrated", False),
        ("ActiveDirectoryMSI", True),
        ("windows", True),
    ],
)
def test_a_login_that_the_bulk_copy_does_not_know_gets_none(login: str, copies: bool, monkeypatch: pytest.MonkeyPatch):
    SqlServerRecorder().install(monkeypatch)
    place = Connection("sqlserver", "nowhere", 1433, "none", options=(("authentication", login),))
    with SqlServer(place).connect("test") as session:
        assert session.can_bulk_copy is copies
        assert [login in remark for remark in session.target_notes()] == [True] * (not copies)


def test_hundreds_of_tables_are_asked_for_in_parts(monkeypatch: pytest.MonkeyPatch):
    names = [TableName("dbo", f"t{number}") for number in range(650)]
    rows = [(name.schema, name.name, number) for number, name in enumerate(names)]
    recorder = SqlServerRecorder(answers={"INFORMATION_SCHEMA.TABLES": rows})
    recorder.install(monkeypatch)
    with SqlServerRecorder.database.connect("test") as session:
        session.table_schemas(names)
    asked = [text for text in recorder.sent if "HAS_PERMS_BY_NAME(t.name" in text]
    assert [text.count("[dbo]") for text in asked] == [100] * 6 + [50]


def test_a_vector_has_its_size():
    assert declared_type("vector", 20, 0, 0, None) == "vector(3)"
    assert declared_type("vector", 8000, 0, 0, None) == "vector(1998)"


def test_a_login_that_may_not_see_every_table_is_told_so():
    assert shape(column("a")).target_notes == ()
    assert "may refer to it" in shape(column("a"), rights=(7, 1, 0, 0)).target_notes[0]


def test_a_table_without_a_word_on_rights_may_not_be_read():
    assert not shape(column("a"), rights=(8, 1, 1, 1)).readable


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            (7, "pf", True, 13, "cob", "20240901", 0, "NONE"),
            "(RANGE RIGHT of cob, 13 partitions), the last of which takes all from 20240901 on and has about 0 rows",
        ),
        (
            (7, "pf", False, 13, "cob", "20240831", 1200, "PAGE"),
            "the last of which takes all after 20240831 and has about 1,200 rows, compressed by PAGE",
        ),
        ((7, "pf", True, 1, "cob", None, None, None), "(RANGE RIGHT of cob, 1 partition)"),
    ],
)
def test_how_the_server_partitions_a_table_is_told(function: tuple[object, ...], told: str):
    (remark, *others) = layout.notes([function], [("ix_name", "PRIMARY", 7), ("ix_other", "PRIMARY", 8)])[7]
    assert told in remark
    assert others == ["its index ix_name is not aligned with its partitions"]

"""Errors of SQL Server by number and, where there is none, by text; no value of a row is ever repeated."""

from __future__ import annotations

import pytest

from tidegate.databases.sqlserver.failures import (
    LOST,
    as_tidegate_error,
    bulk_copy_error,
    is_lost,
    unreachable,
    value_refused,
)
from tidegate.errors import DatabaseError, DuplicateKey, MissingObject, Transient, Unreachable
from tidegate.model.columns import Column
from tidegate.model.connection import Connection

PLACE = Connection("sqlserver", "nowhere", 1433, "uat", "loader", "s3cret")


def said(text: str) -> Exception:
    """As the driver words it."""
    return RuntimeError(f"Driver Error: Something; DDBC Error: [Microsoft][SQL Server]{text}")


@pytest.mark.parametrize(
    ("number", "text", "kind"),
    [
        (1205, "Transaction (Process ID 52) was deadlocked on lock resources.", Transient),
        (1222, "Lock request time out period exceeded.", Transient),
        (3960, "Snapshot isolation transaction aborted due to update conflict.", Transient),
        (40613, "Database 'uat' on server 'x' is not currently available.", Transient),
        (0, "TCP Provider: Error code 0x2746", Transient),
        (0, "Communication link failure", Transient),
        (0, "Cannot continue the execution because the session is in the kill state.", Transient),
        (983, "Unable to access availability database 'uat' because the database replica is not in the ...", Transient),
        (33557097, "could not obtain lock: deadlock detected", Transient),
        (33557097, "canceling statement due to lock timeout", Transient),
        (208, "Invalid object name 'dbo.t'.", MissingObject),
        (33557097, 'relation "t" does not exist', MissingObject),
        (229, "The SELECT permission was denied on the object 't'.", DatabaseError),
        (9002, "The transaction log for database 'uat' is full.", DatabaseError),
        (2627, "Violation of PRIMARY KEY constraint 'pk'. The duplicate key value is (Doe, 42).", DuplicateKey),
        (8134, "Divide by zero error encountered.", DatabaseError),
        (3948, "The transaction was terminated because of the availability replica config/state change.", Transient),
        (13535, "Data modification failed on system-versioned table 'uat.dbo.t'.", Transient),
        (LOST, "The service has encountered an error.", Transient),
        (0, "Resource ID : 1. The request limit for the database is 90 and has been reached.", Transient),
        (0, "The service has encountered an error processing your request. Please try again.", Transient),
        (0, "SHUTDOWN is in progress.", Transient),
        (0, "Bulk load failed.", DatabaseError),
        (8134, "Wait and try again.", DatabaseError),
    ],
)
def test_an_error_is_sorted(number: int, text: str, kind: type[DatabaseError]):
    assert type(as_tidegate_error(said(text), number, PLACE)) is kind


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("Sql Error: 4891: Class 16: State 1: Insert bulk failed due to a schema change.", Transient, "(error 4891)"),
        ("Sql Error: 1205: Class 13: State 51: Transaction (Process ID 5) was deadlocked.", Transient, "Run again"),
        ("Sql Error: 9002: Class 17: State 4: The log for database 'uat' is full.", DatabaseError, "Free space"),
        (
            'Failed to get metadata: Sql Error: 33557097: Class 16: State 1: relation "x" does not exist',
            MissingObject,
            'metadata: relation "x" does not exist (error 208)',
        ),
        ("Sql Error: 33557097: Class 16: State 1: terminating by administrator command", Transient, "Run again"),
        ("Bulk copy operation timed out after 30 seconds", DatabaseError, "Raise `query_timeout`"),
        ("Cannot read TDS packet: connection has been closed", Transient, "Run again"),
        ("String length (6 characters) exceeds schema size", DatabaseError, "String length ... exceeds schema size."),
    ],
)
def test_an_error_of_a_bulk_copy_is_sorted_by_the_number_in_its_text(text: str, kind: type[DatabaseError], told: str):
    problem = bulk_copy_error(RuntimeError(text), PLACE)
    assert type(problem) is kind
    assert told in str(problem)


def test_no_value_is_repeated():
    duplicate = as_tidegate_error(
        said("Violation of UNIQUE KEY constraint 'u'. The duplicate key value is (Doe, 42)."), 2627, PLACE
    )
    refused = value_refused(
        "t", [Column("a", "int", "int32")], said("Conversion failed when converting 'Doe' to data type int."), 245
    )

    assert "Doe" not in str(duplicate) + str(refused)
    assert "(error 2627)" in str(duplicate)
    assert "cannot store a value in the target" in str(refused)


@pytest.mark.parametrize(
    ("number", "text", "told"),
    [
        (
            2627,
            "Violation of PRIMARY KEY constraint 'PK_t'. Cannot insert duplicate key in object 'dbo.t'. The duplicate"
            " key value is (secret).",
            "Violation of PRIMARY KEY constraint 'PK_t'. Cannot insert duplicate key in object 'dbo.t' (error 2627)",
        ),
        (
            547,
            'The INSERT statement conflicted with the FOREIGN KEY constraint "FK_t". It occurred in table "p"',
            'conflicted with the FOREIGN KEY constraint "FK_t". It occurred in table "p" (error 547)',
        ),
        (
            245,
            "Conversion failed when converting the varchar value 'it's secret' to data type int",
            "Conversion failed when converting the varchar value ... to data type int (error 245)",
        ),
        (50000, "a rule of ours says 'secret", "a rule of ours says (error 50000)"),
        (50000, "of 'secret\nsecret' more", "of (error 50000)"),
    ],
)
def test_names_of_constraints_are_told_and_values_are_not(number: int, text: str, told: str):
    problem = str(as_tidegate_error(RuntimeError(text), number, PLACE))
    assert told in problem
    assert "secret" not in problem


def test_a_column_that_the_server_names_is_named():
    problem = said(
        "String or binary data would be truncated in table 'uat.dbo.t', column 'note'. Truncated value: 'Doe'."
    )

    refused = str(value_refused("t", [Column("note", "nvarchar(1)", "string")], problem, 2628))

    assert "column note cannot store a value" in refused
    assert "Doe" not in refused


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("Login failed for user 'loader'.", "Check user and password"),
        ('Cannot open database "uat" requested by the login. The login failed.', "Check the name of the database"),
        ('database "uat" does not exist', "Check the name of the database"),
        ("SSL Provider: [error:0A000086:SSL routines::certificate verify failed]", "HostNameInCertificate"),
        ("SSL Provider: [error:0A000086:SSL routines::certificate verify failed]", "TrustServerCertificate=yes"),
        ("Named Pipes Provider: Could not open a connection", "Check host and port"),
    ],
)
def test_what_to_look_at_when_there_is_no_connection(text: str, remedy: str):
    problem = unreachable(said(text), PLACE)

    assert isinstance(problem, Unreachable)
    assert remedy in problem.remedy
    assert "s3cret" not in str(problem)


def test_a_lost_connection_is_told_from_a_refusal():
    assert is_lost(said("TCP Provider: An existing connection was forcibly closed"))
    assert not is_lost(said("Invalid object name 'dbo.t'."))


@pytest.mark.parametrize(
    "text",
    [
        "Database 'uat' on server 'x' is not currently available. Please retry the connection later.",
        "The service is currently busy. Retry the request after 10 seconds.",
        "Cannot process request. Not enough resources to process request.",
        "The database is participating in an availability group and is currently not accessible for queries.",
        "Resource ID: 1. The server is currently too busy to support requests greater than 90 for this database.",
        "Resource ID : 1. The session limit for the elastic pool is 90 and has been reached.",
        "Cannot process create or update request. Too many create or update operations in progress.",
        "The service has encountered an error processing your request. Please try again.",
        "Login failed for user 'loader'. Reason: Server is in script upgrade mode.",
        "Unable to access availability database 'uat': the replica is not in the PRIMARY or SECONDARY role.",
        "Login to read-secondary failed due to long wait on 'HADR_DATABASE_WAIT_FOR_TRANSITION_TO_VERSIONING'.",
        "Database 'uat' has not been recovered yet. Wait and try again.",
        "Could not find database ID 7, name 'uat'. The database may be offline.",
    ],
)
def test_a_server_that_will_be_back_may_be_tried_again(text: str):
    problem = unreachable(said(text), PLACE)
    assert type(problem) is Transient
    assert "s3cret" not in str(problem)


@pytest.mark.parametrize(
    ("number", "kind"), [(41302, Transient), (2760, DatabaseError)], ids=["conflict in memory", "no such schema"]
)
def test_numbers_of_rarer_errors(number: int, kind: type[Exception]):
    problem = as_tidegate_error(said("The statement was refused."), number, PLACE)
    assert type(problem) is kind
    assert ("tidegate grants" in problem.remedy) is (number == 2760)


@pytest.mark.parametrize(
    ("number", "text", "told"),
    [
        (3952, "Snapshot isolation transaction failed accessing database 'other'.", "ALLOW_SNAPSHOT_ISOLATION"),
        (448, "Invalid collation 'Latin1_General_100_CI_AS_SC_UTF8'.", "older than the source"),
        (2715, "Column, parameter, or variable #2: Cannot find data type json.", "older than the source"),
        (511, "Cannot create a row of size 8901 which is greater than the allowable maximum.", "8060 bytes"),
        (10794, "The table option 'updlock' is not supported with memory optimized tables.", "on disk"),
    ],
)
def test_what_to_do_about_rarer_errors(number: int, text: str, told: str):
    assert told in as_tidegate_error(said(text), number, PLACE).remedy


def test_a_collation_that_the_target_lacks_is_named():
    assert "Latin1_General_100_CI_AS_SC_UTF8" in str(
        as_tidegate_error(said("Invalid collation 'Latin1_General_100_CI_AS_SC_UTF8'."), 448, PLACE)
    )

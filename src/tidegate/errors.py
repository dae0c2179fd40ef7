"""Every error that Tidegate raises on purpose.

TidegateError
├── ConfigError            the configuration or the command line is wrong            exit 2
├── Unsupported            a capability or a type that this database does not have   exit 2
├── DatabaseError          a server refused a statement and will refuse it again     exit 1
│   ├── Transient          the same call may succeed later: the only thing retried
│   ├── OutcomeUnknown     a commit was sent and no answer came: check before a retry
│   ├── Unreachable        no connection: wrong host, wrong password, server down
│   ├── MissingObject      a table or a column does not exist, or the login may not see it
│   ├── DuplicateKey       the table already has a row with this key
│   ├── FeedLost           the log of a change feed no longer reaches back to what was loaded
│   └── BrokenReference    a foreign key: a row would refer to a row that is not there
├── Locked                 another run has the lock of the table                     exit 1
├── LakeError              a file or folder of the lake cannot be used               exit 1
├── SparkUnavailable       Java or Spark cannot be started                           exit 1
├── DriftStop              the schemas of source and target no longer fit            exit 1
├── ForeignTarget          the ledger in the target belongs to another database      exit 1
├── ValueProblem           a value cannot be loaded unchanged                        exit 1
│   └── NotNative          a value does not fit its column's Arrow type: read it as text
├── ProofFailed            the written rows do not equal the rows that were read     exit 1
├── RunFailed              a run ended with failed tables; carries the report        exit 1
└── Differences            a check found differences, or rows did not move           exit 3

A message has three parts, one line each: what happened, what is safe, what to do.
"""

from __future__ import annotations


class TidegateError(Exception):
    """The base class: what happened, what is safe, what to do. The command line ends with `exit_code`."""

    exit_code = 1

    def __init__(self, happened: str, safe: str = "", remedy: str = "") -> None:
        self.happened, self.safe, self.remedy = happened, safe, remedy
        super().__init__("\n".join(part for part in (happened, safe, remedy) if part))

    def __reduce__(self) -> tuple[type[TidegateError], tuple[str, str, str]]:
        # Errors cross from Spark's Python workers to the driver by pickle.
        return type(self), (self.happened, self.safe, self.remedy)


class ConfigError(TidegateError):
    """The configuration or the command line is wrong. Nothing was read or written."""

    exit_code = 2


class Unsupported(TidegateError):
    """The database, the lake or this version lacks a capability or a type that the configuration needs."""

    exit_code = 2


class DatabaseError(TidegateError):
    """A server refused a statement and will refuse it again."""


class Transient(DatabaseError):
    """The same unit of work can succeed if it is repeated from its beginning. The only error that is retried."""


class OutcomeUnknown(DatabaseError):
    """A commit was sent and its answer was lost: the transaction is committed or rolled back, nobody knows which."""


class Unreachable(DatabaseError):
    """No connection was possible."""


class MissingObject(DatabaseError):
    """A table or column does not exist, or this login may not see it."""


class DuplicateKey(DatabaseError):
    """The table already has a row with this key. The transaction was rolled back."""


class FeedLost(DatabaseError):
    """A change feed cannot be read on from where the table stands: its log has a hole. The table is read as a whole."""


class BrokenReference(DatabaseError):
    """A row would refer to a row that is not there. The transaction was rolled back."""


class Locked(TidegateError):
    """Another run has the lock of the table. The message says which run, and since when."""


class LakeError(TidegateError):
    """A file or folder of the lake cannot be read or written, or its content does not match its name."""


class SparkUnavailable(TidegateError):
    """Java or Spark cannot be started here."""


class DriftStop(TidegateError):
    """The schemas of source and target no longer fit, and no DDL without loss can repair that."""


class ForeignTarget(TidegateError):
    """The ledger in the target belongs to another database: a copy, or a restored backup."""


class ValueProblem(TidegateError):
    """A value cannot be loaded unchanged."""

    refused: tuple[str, str] | None = None
    """The column and the text of the value that a server refused, to find its row. Never shown, and lost by pickle."""


class NotNative(ValueProblem):
    """A value does not fit the Arrow type of its column, such as NaN in a decimal. Read the column as text instead."""

    @property
    def column(self) -> str:
        """Return the name of the column, which is all that the message holds."""
        return self.happened


class ProofFailed(TidegateError):
    """The written rows do not equal the rows that were read. The transaction was rolled back."""


class RunFailed(TidegateError):
    """A run ended with failed tables. `report` has the results; None if the error came from another process."""

    report: object = None


def remedy_for_a_value(column: str = "its_name") -> str:
    """Return what to do about a value that the target's column cannot store: two ways that keep every row."""
    return (
        f"To keep such values as text, write `columns: {{{column}: text}}`: the next run changes a column that a run"
        " created, while the table is empty; make any other column one of text. Values that are no valid date, time or"
        f" number elsewhere become nulls, counted, by `columns: {{{column}: {{invalid_values: null}}}}`."
    )


# The same remedies for every database.
REMEDY_FOR_A_KEY = "Look at the rows that the target has under the same key (`tidegate verify --deep`)."
REMEDY_FOR_A_RULE = (
    "Load the rows that these rows refer to first: keep both tables in one project. Or drop the constraint in the"
    " target."
)
REMEDY_FOR_ALL_ELSE = "Remove the cause, then run again."


class Differences(TidegateError):
    """A check found differences, or rows that were due did not move."""

    exit_code = 3

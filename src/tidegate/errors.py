"""Every error that Tidegate raises on purpose.

TidegateError
├── ConfigError            the configuration or the command line is wrong            exit 2
├── Unsupported            a feature or a type that this database does not have      exit 2
├── DatabaseError          a server said no, and will say no again                   exit 1
│   ├── Transient          the same call may succeed later: the only thing retried
│   ├── OutcomeUnknown     a commit was sent and no answer came: look before you redo
│   ├── Unreachable        no connection: wrong host, wrong password, server away
│   ├── MissingObject      a table or a column that is not there (or may not be seen)
│   └── DuplicateKey       a row whose key another row of the table has
├── Locked                 another run holds the table                               exit 1
├── LakeError              a file or folder of the lake cannot be used               exit 1
├── SparkUnavailable       Java or Spark cannot be started                           exit 1
├── DriftStop              source and target no longer fit together                  exit 1
├── ForeignTarget          the target is not the database that the ledger speaks of  exit 1
├── ValueProblem           a value that cannot arrive as it left                     exit 1
│   └── NotNative          a value outside of its column's Arrow type: read it as text
├── ProofFailed            what was written does not equal what was read             exit 1
├── RunFailed              a run ended with failed tables; carries the report        exit 1
└── Differences            a check found differences, or rows did not move           exit 3

A message has three parts, one line each: what happened, what is safe, what to do.
"""

from __future__ import annotations


class TidegateError(Exception):
    """What happened; what is safe; what to do. `exit_code` is what the command line ends with."""

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
    """A feature or type that was asked for and that this database, lake or version does not have."""

    exit_code = 2


class DatabaseError(TidegateError):
    """A server refused a statement, and will refuse it again."""


class Transient(DatabaseError):
    """The same unit of work may succeed when it is repeated from its beginning."""


class OutcomeUnknown(DatabaseError):
    """A commit was sent and its answer was lost: it may or may not have happened."""


class Unreachable(DatabaseError):
    """No connection could be made."""


class MissingObject(DatabaseError):
    """A table or column that is not there, or that this login may not see."""


class DuplicateKey(DatabaseError):
    """The table has another row with the same key; the transaction was rolled back."""


class Locked(TidegateError):
    """Another run holds the table. The message says who, and since when."""


class LakeError(TidegateError):
    """A file or folder of the lake cannot be read or written, or is not what its name says."""


class SparkUnavailable(TidegateError):
    """Java or Spark cannot be started here."""


class DriftStop(TidegateError):
    """Source and target no longer fit together, and no DDL that loses nothing would mend it."""


class ForeignTarget(TidegateError):
    """The ledger in the target was written for another database."""


class ValueProblem(TidegateError):
    """A value that cannot arrive as it left."""


class NotNative(ValueProblem):
    """A value that the Arrow type of its column cannot hold. `happened` is the column: read it as text instead."""

    @property
    def column(self) -> str:
        return self.happened


class ProofFailed(TidegateError):
    """What was written does not equal what was read; the transaction was rolled back."""


class RunFailed(TidegateError):
    """A run ended with failed tables. `report` says what was done before; None after it crossed a process."""

    report: object = None


# What several databases say to the same problem.
REMEDY_FOR_A_KEY = "Look at what the target holds under the same key (`tidegate verify --deep`)."
REMEDY_FOR_A_RULE = (
    "Let what these rows refer to, or the target's rule asks for, come first: keep both tables in one project; or drop"
    " the constraint there."
)
REMEDY_FOR_ALL_ELSE = "Run again when the cause is gone."


class Differences(TidegateError):
    """A check found differences, or rows that should have moved did not."""

    exit_code = 3

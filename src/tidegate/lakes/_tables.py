"""A lake whose tables lie in a table format: one table for each synced table, and one commit for each window.

What the formats share is in five modules: which entries follow from a table's commits (`_table_format.py`), how a
window is committed exactly once (`_table_commits.py`), how its rows are read back (`_table_reads.py`), how a table is
kept that is a target (`_table_kept.py`), and how old states and small files leave (`_table_upkeep.py`). A format adds
how its log is read and written.

| place                  | holds                                                                          |
| ---------------------- | ------------------------------------------------------------------------------ |
| `default/orders/data/` | files with rows: those of the table, and parts that wait for their commit       |
| `.tidegate/keys/`      | keys of a source, for `deletes: close`; no reader of the table sees them        |
| `.tidegate/runs/`      | runs that are at work, or were killed                                          |
| `.tidegate/scopes/`    | copies of the scopes that targets declared                                     |

Facts that shape this file
 * A part lies in its table's folder from the beginning, under the name of its attempt: S3 has no rename. It belongs to
   the table from the moment when a commit names it.
 * A commit is made only if the table still stands where it was looked at. pyiceberg's own repetition lands a run twice.
 * An error of a commit says nothing: it may be there. So every error leads to another look.
"""

from __future__ import annotations

from tidegate.lakes._table_commits import TableCommits
from tidegate.lakes._table_kept import TableKept
from tidegate.lakes._table_upkeep import TableUpkeep


class TableLake(TableKept, TableCommits, TableUpkeep):
    """Committed windows as commits of tables in a table format."""

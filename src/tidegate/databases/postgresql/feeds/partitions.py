"""Partitions whose rows come or go without a change of any row.

Neither logical decoding nor triggers tell of ATTACH, DETACH and DROP, or of a TRUNCATE of a single partition. So a
position remembers the partitions and their files, and the next run compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.model.names import TableName

PARTITIONS = (
    "(SELECT json_object_agg(p.oid, json_build_array(p.relfilenode, i.xmin = t.xmin))"
    " FROM pg_partition_tree(c.oid) AS tree JOIN pg_class AS p ON p.oid = tree.relid"
    " JOIN pg_inherits AS i ON i.inhrelid = p.oid JOIN pg_type AS t ON t.oid = p.reltype"
    " WHERE c.relkind = 'p' AND tree.level > 0)"
)
"""The partitions of the table `c` by oid, each with its file, and whether it was created as a partition."""

Partitions = Mapping[str, Sequence[object]]


def files_of(partitions: Partitions | None) -> dict[str, object]:
    """Return the file of each partition, in a fixed order."""
    return {oid: file for oid, (file, _) in sorted((partitions or {}).items())}


def untold(table: TableName, partitions: Partitions | None, known: Mapping[str, object]) -> str:
    """Return why rows of partitions came or went without a change in the log; empty where none did.

    A partition that was created in its place tells all of its rows."""
    now = partitions or {}
    if any(oid not in now for oid in known):
        return f"a partition of {table} was detached or dropped"
    if any(now[oid][0] != file for oid, file in known.items()):
        return f"a partition of {table} was truncated or written anew"
    if any(oid not in known and not was_created for oid, (_, was_created) in now.items()):
        return f"a partition was attached to {table}"
    return ""

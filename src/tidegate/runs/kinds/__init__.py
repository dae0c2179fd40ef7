"""The kinds of tables: what is asked of source, lake and target, what follows, and how its rows move and are proved.

A further kind is a package here, with a model in `config/tables.py`.
"""

from __future__ import annotations

from tidegate.config.tables import Table
from tidegate.runs.kinds.kind import TableKind
from tidegate.runs.kinds.partition import PartitionKind
from tidegate.runs.kinds.scd2 import Scd2Kind
from tidegate.runs.kinds.static import StaticKind

_KINDS: dict[str, TableKind] = {"partition": PartitionKind(), "scd2": Scd2Kind(), "static": StaticKind()}


def kind_of(settings: Table) -> TableKind:
    return _KINDS[settings.kind]

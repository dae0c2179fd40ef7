"""Detection: of which kind a table is, what names its rows and what tells of a change, decided from its shape alone.

No row is read but for one question: a proposed business key must not have several current rows (`current_rows.py`).
Looking at a source with ten thousand tables costs its catalog, and a count of each table of versions. What a catalog
cannot tell is not guessed in silence: every setting has its reason, and the risk that it accepts.

| what the shape shows                                         | kind                                              |
| ------------------------------------------------------------ | ------------------------------------------------- |
| a reporting day                                              | partition                                         |
| a mark and a flag, or a mark and two lesser signs of history | scd2                                              |
| a period, a load date                                        | partition                                         |
| few rows                                                     | static                                            |
| anything else                                                | none: it is too large to be read whole every time |
"""

from __future__ import annotations

from tidegate.model.columns import Shape
from tidegate.ops.detection import telling_names as names
from tidegate.ops.detection.look import MOST_STATIC_ROWS, KindOf, Look
from tidegate.ops.detection.partition import as_partition
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.scd2 import as_scd2, history_of
from tidegate.ops.detection.static import as_none, as_static
from tidegate.ops.detection.telling_names import choose

__all__ = ["MOST_STATIC_ROWS", "Proposal", "Setting", "detect"]


def detect(shape: Shape, kind_of: KindOf) -> Proposal:
    """`kind_of` is how the database orders the values of a column; None when it does not."""
    if not shape.readable or not shape.columns:
        reason = "it has no columns" if shape.readable else "the login may see it, but not its rows"
        return Proposal(shape.name, "", (reason,))
    look = Look(shape, kind_of)
    history = history_of(look)
    day = choose(shape, names.DAYS, look.may_partition)
    period = choose(shape, names.PERIODS, look.may_partition)
    chosen = day or (None if history else period)
    if chosen:
        return as_partition(look, chosen, history)
    if history:
        return as_scd2(look, history, period)
    return as_static(look) if look.is_small else as_none(look)

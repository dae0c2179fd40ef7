"""dlt: entries of the lake go to a destination of dlt, and a table is a source of dlt.

    from tidegate.dlt import source, plan, deliver, verify

Facts that shape this part
 * A load package of dlt is no transaction over several tables. It counts when its row is in `_dlt_loads`, which dlt
   writes last. So `_tidegate_entries`, which goes with the rows in one package, counts for such packages only.
 * `append` of dlt may write rows twice after a crash. So every row says in `_tidegate_window` to which window it
   belongs, and a destination that can delete gets each window as a replacement of itself.
 * dlt spells names its own way (`LastModified` becomes `last_modified`).
"""

from __future__ import annotations

from tidegate.dlt.deliver import deliver as deliver
from tidegate.dlt.deliver import plan as plan
from tidegate.dlt.deliver import verify as verify
from tidegate.dlt.source import source as source

__all__ = ["deliver", "plan", "source", "verify"]

"""Lake content: a table that is kept in the lake has the rows of the source, one of each key."""

from __future__ import annotations

from tidegate.checks._kept import KeptCheck


class LakeContent(KeptCheck):
    """Compares the source with a table that is kept in the lake, by the hash of its rows and by keys."""

    name = "lake_content"
    loads = ("lake_merge",)

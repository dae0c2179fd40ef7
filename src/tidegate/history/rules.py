"""The choices of a merge of versions into a timeline. `timelines.py` explains what they do."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class MergeRules:
    """How to merge a batch of versions into a timeline."""

    batch_is_newer: bool = True
    """The batch was read after everything that the timeline was loaded from."""
    recompute_flags: bool = False
    """The newest version of a key is current, whatever its flag is."""
    drop_unchanged: bool = False
    """Drop a version that has the same state as the version before it. For generated versions."""
    source_keys: pa.Array | None = None
    """All keys that the source had when the batch was read, if known: every other key was deleted there."""
    source_keys_as_of: pa.Scalar | None = None
    """When `source_keys` were read, as a cursor value."""
    keep_closed: bool = False
    """A key without a current version stays closed, unless a newer batch has a row of it."""
    complete_range: tuple[pa.Scalar | None, pa.Scalar | None] | None = None
    """The batch has all versions of the source with a cursor in this range, bounds included: remove all others.
    The bounds are sort values; None means unbounded."""
    extracted_version_keys: pa.Array | None = None
    """The version keys that were ever extracted: what the source has lost of them is history and stays."""

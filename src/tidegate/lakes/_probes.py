"""Whether a store honours conditions: asked once, and the answer kept in the lake.

A store that takes a condition and overwrites all the same would let two runs lose each other's commits in silence.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tidegate.errors import LakeError
from tidegate.storage.door import Storage
from tidegate.storage.objects import Bucket

_ANSWER = ".tidegate/store.json"


def require_conditions(storage: Storage) -> None:
    """Ask the store at the first use of a lake. Raises LakeError for one that overwrites."""
    known = storage.read_text(_ANSWER)
    if not known:
        known = json.dumps({"conditional_put": _honours(storage), "asked_at": f"{datetime.now(UTC):%Y-%m-%d %H:%M}"})
        storage.write_text(_ANSWER, known)
    if not json.loads(known)["conditional_put"]:
        raise LakeError(
            f"The lake {storage.place} is on a store that ignores the conditions of a PUT: two runs would overwrite"
            " each other's commits.",
            "Nothing was written but the answer to this question.",
            "Use a store that honours If-None-Match and If-Match, or a local folder. Delete"
            f" {storage.full_path(_ANSWER)} to have the store asked again.",
        )


def _honours(storage: Storage) -> bool:
    return storage.probe(".tidegate") if isinstance(storage, Bucket) else True


def answer(storage: Storage) -> str:
    """Return what is known of the store, for a plan."""
    known = storage.read_text(_ANSWER)
    if not known:
        return f"the lake {storage.place} was not asked yet whether it honours conditions; the first run does"
    facts = json.loads(known)
    word = "honours" if facts["conditional_put"] else "ignores"
    return f"the lake {storage.place} {word} the conditions of a PUT (asked {facts['asked_at']})"

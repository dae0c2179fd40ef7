"""Triggers: AFTER triggers on the table append the keys of changed rows to a log, and their rows are read again.

`tidegate triggers install TABLE` makes triggers and log, `tidegate triggers remove TABLE` takes them away. Triggers do
not see every change: each plan compares another slice of the table with the target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.changes._feed.change import FeedChange
from tidegate.changes._feed.rotation import TOPIC, Rotation, Slices
from tidegate.changes._feed.settings import FeedSettings
from tidegate.changes._feed.state import FeedTableState
from tidegate.interfaces.change import Sessions
from tidegate.model.windows import WHOLE_TABLE
from tidegate.settings import CountFromZero


class TriggerSettings(FeedSettings):
    """A table whose changed keys are logged by triggers."""

    rotating_check: CountFromZero = 10_000
    """How many rows each run compares with the target, besides what the triggers told; the next run goes on behind
    them, and then begins anew. 0 compares none."""


@dataclass(frozen=True)
class TriggersChange(FeedChange):
    """The change of one table whose changed keys are logged by triggers."""

    name = "triggers"
    Settings = TriggerSettings

    def inspect(self, sessions: Sessions, *, count_all: bool) -> FeedTableState:
        state = super().inspect(sessions, count_all=count_all)
        if not self.settings.rotating_check or self.needs.images or not self._is_at_rest(state):
            return state
        rotation = self._rotation(sessions, state)
        return state if rotation is None else replace(state, rotation=rotation, to_note=self._to_note(rotation))

    def _to_note(self, rotation: Rotation) -> dict[str, object]:
        """Return where the next slice begins. A slice that differs is compared again, until somebody repaired it."""
        stays = rotation.found_something and self.settings.on_target_change != "keep"
        return {} if stays or rotation.ends == rotation.begins else {TOPIC: rotation.ends or None}

    def _is_at_rest(self, state: FeedTableState) -> bool:
        """Return whether the target must hold every row that did not change since the position of the log."""
        feed = state.feed
        if feed is None or feed.lost or feed.truncated or feed.untold or state.position is None:
            return False
        newest = state.ledger.get(state.log[-1])
        return (
            newest is not None
            and not state.lost_rows
            and not state.has_other_columns(newest)
            and all(window in state.in_ledger for window in state.log)
        )

    def _rotation(self, sessions: Sessions, state: FeedTableState) -> Rotation | None:
        position = state.position
        assert position is not None
        newest = state.ledger[state.log[-1]]
        slices = Slices(
            sessions.source,
            sessions.target,
            self.feed,
            self.feed_table,
            self.source_request(WHOLE_TABLE).with_text(newest.text_columns),
            self.target_request(WHOLE_TABLE).with_text(newest.text_columns),
            self.needs.deletes,
        )
        begins = sessions.note(TOPIC, self.table.ledger_name)
        return slices.compare(str(begins or ""), self.settings.rotating_check, position)

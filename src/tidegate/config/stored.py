"""Read the tables of a project from its target: `tables: incremental_config`."""

from __future__ import annotations

from typing import Any

from tidegate import plugins
from tidegate.config.secrets import refusal
from tidegate.model.connection import Connection
from tidegate.state import own_tables
from tidegate.state.records import Records

STORED = "incremental_config"
"""What users write for `tables` where their settings are in the target's table of this name."""
PIPELINE = "tidegate"


def stored_tables(target: Connection) -> dict[str, Any]:
    """Return the settings of every table that INCREMENTAL_CONFIG has under the pipeline `tidegate`."""
    with plugins.database(target).connect("configuration", read_only=True) as session:
        found = Records(session).all_settings(PIPELINE) if own_tables.exist(session) else {}
    if not found:
        raise refusal(
            f"`tables: {STORED}`: the target has no settings of the pipeline `{PIPELINE}`.",
            "Run `tidegate schema create`, and insert a row for each table: pipeline_id, source_id and the settings as"
            " JSON. Or write the tables here.",
        )
    return found

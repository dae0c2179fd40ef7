"""How PostgreSQL writes names, values and comparisons: as the standard has it."""

from __future__ import annotations

from tidegate.sql.text import Dialect

DIALECT = Dialect()

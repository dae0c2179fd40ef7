"""Which databases stories go from and to: each once at either end in everyday runs, every pair of them if asked.

TIDEGATE_ALL_PAIRS=1 asks.
"""

from __future__ import annotations

import os

EVERYDAY = [("postgresql", "mysql"), ("mysql", "postgresql")]
ALIKE = [("postgresql", "postgresql"), ("mysql", "mysql")]
PAIRS = [*EVERYDAY, *ALIKE] if os.environ.get("TIDEGATE_ALL_PAIRS") else EVERYDAY

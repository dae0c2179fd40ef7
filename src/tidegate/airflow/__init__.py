"""The provider for Airflow 3: an operator for runs, a sensor for fresh data, assets, and lineage.

from tidegate.airflow import TidegateFreshSensor, TidegateOperator, assets
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tidegate._version import __version__

if TYPE_CHECKING:
    from tidegate.airflow.assets import assets as assets
    from tidegate.airflow.operators import TidegateOperator as TidegateOperator
    from tidegate.airflow.sensors import TidegateFreshSensor as TidegateFreshSensor

__all__ = ["TidegateFreshSensor", "TidegateOperator", "assets", "get_provider_info"]

_HOMES = {
    "assets": "tidegate.airflow.assets",
    "TidegateOperator": "tidegate.airflow.operators",
    "TidegateFreshSensor": "tidegate.airflow.sensors",
}


def get_provider_info() -> dict[str, Any]:
    """Return what Airflow shows of this provider. Imports nothing of Airflow."""
    return {
        "package-name": "tidegate",
        "name": "Tidegate",
        "description": "Keeps copies of database tables in sync, and proves that they are equal.",
        "versions": [__version__],
    }


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tidegate.airflow' has no attribute {name!r}")
    # Airflow reads the provider's facts at every start, and needs no operator for that.
    module = importlib.import_module(_HOMES[name])
    found = getattr(module, name)
    globals()[name] = found
    return found

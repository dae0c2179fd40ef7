"""Assets: the target tables of a project as Airflow knows data that other DAGs wait for."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from airflow.sdk import Asset

from tidegate.api import Tidegate


def assets(config: str | Path, *tables: str) -> list[Asset]:
    """Return one asset for each target table. Reads the configuration, and connects to nothing unless it has patterns.

    DAGs are parsed often. Name the tables in the configuration, and a parse needs no database."""
    with Tidegate.from_file(config) as project:
        return [asset_of(project, key) for key in project.keys(*tables)]


def asset_of(project: Tidegate, key: str) -> Asset:
    """Return the asset of one table: its URI is that of the target, without login and options."""
    found = project.lineage(key).target
    scheme, _, server = found.namespace.partition("://")
    path = "/".join(quote(part, safe="") for part in found.name.split("."))
    # Schemes such as `postgres` belong to providers, which check their URIs and may not be installed.
    return Asset(name=f"{project.project.target.display}/{key}", uri=f"tidegate+{scheme}://{server}/{path}")

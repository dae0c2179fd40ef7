"""The configuration: reads YAML or a mapping into a `Project` of frozen models; connection URLs; secrets."""

from tidegate.config.engine import EngineSettings, SparkSettings
from tidegate.config.project import Lake, Project
from tidegate.config.reading import load_project
from tidegate.config.secrets import Redactor, redact
from tidegate.config.urls import parse_connection
from tidegate.settings import Retain, TableSettings

__all__ = [
    "EngineSettings",
    "Lake",
    "Project",
    "Redactor",
    "Retain",
    "SparkSettings",
    "TableSettings",
    "load_project",
    "parse_connection",
    "redact",
]

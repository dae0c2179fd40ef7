"""The configuration: reads YAML or a mapping into a `Project` of frozen models; connection URLs; secrets."""

from tidegate.config.project import Lake, Project, SparkSettings
from tidegate.config.reading import load_project
from tidegate.config.secrets import Redactor, redact
from tidegate.config.tables import Retain, TableSettings
from tidegate.config.urls import parse_connection

__all__ = [
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

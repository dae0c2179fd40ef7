"""What a user writes, as frozen models: YAML or a mapping in, a `Project` out; connections; secrets."""

from tidegate.config.project import Lake, Project, SparkSettings
from tidegate.config.reading import load_project
from tidegate.config.secrets import Redactor, redact
from tidegate.config.tables import PartitionTable, Retain, Table, Values
from tidegate.config.urls import parse_connection

__all__ = [
    "Lake",
    "PartitionTable",
    "Project",
    "Redactor",
    "Retain",
    "SparkSettings",
    "Table",
    "Values",
    "load_project",
    "parse_connection",
    "redact",
]

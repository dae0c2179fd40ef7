"""Find the database that a program means: by URL, or by a connection that it has already."""

from __future__ import annotations

from typing import Any

from tidegate import plugins
from tidegate.config.urls import parse_connection
from tidegate.errors import Unsupported
from tidegate.interfaces.database import Database
from tidegate.interfaces.session import Session
from tidegate.model.connection import Connection


def database_of(given: Any) -> Database:
    """Return the database of a URL, an engine or a connection of SQLAlchemy, a DB-API connection, or one of ours.

    Tidegate opens sessions of its own with the same login: Spark's tasks need them. So what the program has not
    committed in its connection is not seen."""
    if isinstance(given, Database):
        return given
    if isinstance(given, Session):
        return given.database
    if isinstance(given, Connection):
        return plugins.database(given)
    text = given if isinstance(given, str) else _url_of_sqlalchemy(given)
    if text is not None:
        return plugins.database(parse_connection(text, setting="db_connection"))
    for kind in plugins.names("databases"):
        connection = plugins.database_class(kind).connection_of(given)
        if connection is not None:
            return plugins.database(connection)
    raise Unsupported(
        f"The login cannot be taken from {type(given).__module__}.{type(given).__name__}.",
        "Nothing was read or written.",
        "Pass a URL, such as postgresql://user:password@host/database.",
    )


def _url_of_sqlalchemy(given: Any) -> str | None:
    """Return the URL of an engine, of a connection of one, or of a URL object; None for anything else."""
    holder = getattr(given, "engine", given)
    url = getattr(holder, "url", given)
    shown = getattr(url, "render_as_string", None)
    return None if shown is None else str(shown(hide_password=False))

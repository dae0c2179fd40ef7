"""Where Spark runs: a configured master or remote, a session that this process has, a warm engine, or a local one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local"
"""What the report calls a session that was started on this machine because nothing else was configured."""
WARM = "warm engine"
CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""The variable by which pyspark knows that sessions of this process are of Spark Connect."""


@dataclass(frozen=True)
class Place:
    """Where Spark is to run, as the project says it."""

    master: str | None = None
    remote: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    warm: Literal["use", "auto", "never"] = "never"
    idle: int = 1800

    @property
    def is_named(self) -> bool:
        return bool(self.master or self.remote)


@dataclass(frozen=True)
class Opened:
    """A session, what the report calls it, and how it is closed."""

    session: SparkSession
    name: str
    close: Callable[[], None] = lambda: None
    cores: int | None = None
    """How many tasks of one run are worth running at a time; None where the session says so itself."""
    for_tasks: SparkSession | None = None
    """A session for tasks of our own, where that is another one."""
    notice: str = ""
    """What the report warns of: a warm engine that could not be used."""


def open_place(place: Place) -> Opened:
    """Return a session at this place. Raises ConfigError or SparkUnavailable."""
    from tidegate.spark.session import close_session, is_session_here, open_session

    notice = ""
    if place.warm != "never" and not place.is_named and not is_session_here():
        from tidegate.spark.warm.session import NotUsable, warm_session

        try:
            warm = warm_session(place.options, place.idle, may_start=place.warm == "auto")
            if warm is not None:
                for_tasks = cast("SparkSession", warm)
                return Opened(warm.session, WARM, warm.close, os.cpu_count(), for_tasks)
        except NotUsable as problem:
            notice = f"the warm engine {problem}; a Spark of its own was started instead"
    session = open_session(place.master, place.remote, place.options)
    name = place.remote or place.master or LOCAL
    return Opened(session, name, lambda: close_session(session), notice=notice)

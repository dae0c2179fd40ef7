"""A session of a warm engine, for a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.errors import SparkUnavailable
from tidegate.spark.warm.client import Lease, connect, disconnect, lease
from tidegate.spark.warm.folder import engine_folder
from tidegate.spark.warm.private import NotPrivate

if TYPE_CHECKING:
    import pyarrow as pa

Work = Callable[[Iterable["pa.RecordBatch"]], Iterable["pa.RecordBatch"]]


class NotUsable(Exception):
    """A warm engine is there and cannot be used. The message gives the reason."""


@dataclass(frozen=True)
class WarmSession:
    """A session whose tasks have environment and folder of this process, as in a Spark that it started itself."""

    session: Any
    lease: Lease

    def range(self, *numbers: int) -> _Frame:
        return _Frame(self.session.range(*numbers), surroundings())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def close(self) -> None:
        disconnect(self.session)
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)  # it would refuse classic sessions after this one
        self.lease.close()


@dataclass(frozen=True)
class _Frame:
    frame: Any
    surroundings: Surroundings

    def mapInArrow(self, work: Work, schema: str) -> Any:
        return self.frame.mapInArrow(_within(self.surroundings, work), schema)


def warm_session(options: Mapping[str, str], idle: int, *, may_start: bool) -> WarmSession | None:
    """Return a session of the warm engine with these options; None where none runs, unless one may be started. Raises
    NotUsable for one that is not trusted, does not start or does not answer."""
    try:
        found = lease(engine_folder(options))
        if found is None and may_start:
            from tidegate.spark.warm.control import start

            start(options, idle)
            found = lease(engine_folder(options))
    except (NotPrivate, OSError) as problem:
        raise NotUsable(f"is not trusted: {problem}") from None
    except SparkUnavailable as problem:
        raise NotUsable(f"cannot be used: {problem.happened.rstrip('.')}") from None
    if found is None:
        return None
    session = WarmSession(connect(found.address), found)
    try:
        session.session.version  # noqa: B018 -- asks the server
    except Exception as problem:
        session.close()
        raise NotUsable(f"does not answer: {str(problem).strip().splitlines()[0][:200]}") from None
    return session


@dataclass(frozen=True)
class Surroundings:
    """Environment and folder of a run."""

    folder: str
    variables: Mapping[str, str]

    def enter(self) -> None:
        """Make them those of this process, for good: a worker of a warm engine runs one task."""
        for name in set(os.environ) - set(self.variables):
            if not _is_about_spark(name):
                del os.environ[name]
        os.environ.update(self.variables)
        with suppress(OSError):
            os.chdir(self.folder)

    def __repr__(self) -> str:
        return f"<Surroundings {self.folder}>"  # the variables may hold secrets


def surroundings() -> Surroundings:
    """Return those of this process, without what is about Python and Spark itself."""
    variables = {name: value for name, value in os.environ.items() if not _is_about_spark(name)}
    return Surroundings(os.getcwd(), variables)


def _is_about_spark(name: str) -> bool:
    return name.startswith(("SPARK_", "PYSPARK_", "PYTHON", "JAVA_", "TIDEGATE_WORKER_"))


def _within(around: Surroundings, work: Work) -> Work:
    def entered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        around.enter()
        yield from work(batches)

    return entered

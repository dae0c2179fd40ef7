"""The settings of `engine:` and `spark:`: what moves the rows, and where Spark runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tidegate.settings import Duration, Settings, Text, text_of_option, wrong

GONE = "from_rows"
"""A former setting of `spark:`, a number of rows below which threads of the process moved them."""


class EngineSettings(Settings):
    """What moves the rows. `engine: process` is short for `engine: {name: process}`."""

    name: Literal["spark", "process"] = "spark"
    """`spark`: tasks of Spark. `process`: threads of this process, on machines without Java."""
    warm: Literal["use", "auto", "never"] = "use"
    """Whether a warm engine moves the rows: a local Spark that stays between commands. `use` takes one that
    `tidegate engine start` left running. `auto` also leaves one behind where there is none. `never` starts Spark anew.
    Only without a master, a remote, or a session of your own."""
    idle: Duration = 1800
    """How long a warm engine that this project starts waits for the next command, as in `30m`, before it ends."""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _require_spark_for_warm(self) -> Self:
        if self.name == "process" and self.model_fields_set - {"name"}:
            raise wrong("must not have `warm` or `idle` with `name: process`, which starts no Spark")
        return self


class SparkSettings(Settings):
    """Where Spark runs: a master that Tidegate starts, or a Spark Connect server that runs already."""

    master: Text | None = None
    """A Spark master; all cores of this machine when it is left out."""
    remote: Text | None = None
    """A Spark Connect server, as in `sc://host:15002`, instead of a master."""
    options: Mapping[str, Annotated[str, BeforeValidator(text_of_option)]] = Field(default={}, repr=False)
    """Further Spark settings, by their own names."""

    @model_validator(mode="before")
    @classmethod
    def _no_threshold(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and GONE in given:
            raise wrong(
                f"has `{GONE}`, which is no setting any more: Spark moves all rows",
                f"Take `{GONE}` out. Write `engine: process` to move rows without Spark.",
            )
        return given

    @model_validator(mode="after")
    def _require_one_address(self) -> Self:
        if self.remote and self.master:
            raise wrong("must have `master` or `remote`, not both")
        return self


def with_engine(settings: Mapping[str, Any], engine: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a project with another engine, named by a caller. `process` needs no Spark address."""
    spark = settings.get("spark")
    if engine == "process" and isinstance(spark, Mapping):
        spark = {name: value for name, value in spark.items() if name not in ("master", "remote")}
    return {**settings, "engine": engine, **({} if spark is None else {"spark": spark})}

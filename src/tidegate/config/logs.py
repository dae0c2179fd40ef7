"""The settings of `logging:`: which lines are written, how, and where to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationInfo, field_validator, model_validator

from tidegate.settings import Settings


class LogSettings(Settings):
    """Lines of log, one for each major operation. A level alone is enough: `logging: info`."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least urgent lines that are written."""
    format: Literal["text", "json"] = "text"
    """How a line is written: for people, or one JSON object."""
    file: Path | None = None
    """A file that lines are appended to. Standard error, when it is left out."""

    @model_validator(mode="before")
    @classmethod
    def _from_level(cls, given: Any) -> Any:
        given = {"level": given} if isinstance(given, str) else given
        if isinstance(given, dict) and isinstance(given.get("level"), str):
            return {**given, "level": given["level"].lower()}
        return given

    @field_validator("file")
    @classmethod
    def _beside_the_configuration(cls, given: Path | None, seen: ValidationInfo) -> Path | None:
        return given and ((seen.context or {}).get("folder", Path()) / given.expanduser()).absolute()

"""A transform between lake and target: a select list of Spark SQL, or a function from DataFrame to DataFrame."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from tidegate.errors import ConfigError
from tidegate.model.names import LakeName
from tidegate.tables.found import UNTOUCHED

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_SELECT = re.compile(r"\s*SELECT\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Transform:
    """What becomes of the rows of a table before they are loaded. Each row stays one row."""

    text: str
    """`* EXCEPT (name), upper(name) AS name`, or `package.module:function`."""
    table: str
    """The table's name in `tidegate.yml`, for errors."""

    @property
    def is_function(self) -> bool:
        return _FUNCTION.fullmatch(self.text) is not None

    @property
    def select_list(self) -> str:
        return _SELECT.sub("", self.text)

    @property
    def fingerprint(self) -> str:
        """Return a text that changes with the transform: what another one made is not believed."""
        known = self.text
        if self.is_function:
            with suppress(OSError, TypeError):  # a function without a source file is known by its name alone
                known += inspect.getsource(self.function())
        return hashlib.sha256(known.encode()).hexdigest()[:8]

    def function(self) -> Callable[[Any], Any]:
        """Return the function. Raises ConfigError where it cannot be imported."""
        module, _, name = self.text.partition(":")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as problem:
            raise ConfigError(
                f"{self.table}: `transform: {self.text}` cannot be imported: {problem}.",
                UNTOUCHED,
                "Put its module on PYTHONPATH, also on the machines of a cluster.",
            ) from None
        if not callable(found):
            raise ConfigError(f"{self.table}: `transform: {self.text}` is no function.", UNTOUCHED)
        function: Callable[[Any], Any] = found
        return function

    def curated(self, raw: LakeName) -> LakeName:
        """Return the name in the lake of what this transform makes of a table."""
        end = f"_curated_{self.fingerprint}"
        return replace(raw, name=raw.name + end, below=raw.below + end)

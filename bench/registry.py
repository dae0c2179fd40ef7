"""The modules that define cases. A module of your own is one file and one line in `MODULES`.

A module has two functions without arguments, `quick` and `long`. Both return cases (`bench.cases.Case`) under the same
names: `quick` small ones, for `--quick --cases NAME`, `long` those at their real size. If the cases need contenders
that are not in `bench/contenders.py`, the module lists them as `TOOLS`; their scripts are in `bench/tools/`.

A case names the contenders that it asks (`only`), the servers that it needs besides its own (`also`), how many rounds
are enough (`rounds`), and what it has to reach (`reaches`).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType

from bench import cases
from bench.cases import Case
from bench.contenders import TOOLS, Tool

MODULES: tuple[str, ...] = ("bench.engine", "bench.merging")
"""Besides `bench.cases`, whose quick cases are all that `make bench-quick` runs."""


def chosen(begins: list[str], is_quick: bool) -> tuple[list[Case], list[str]]:
    """Return the cases whose names begin so, and the names of all cases in their order."""
    listed = list(cases.quick() if is_quick else cases.long())
    own = [case for module in _modules() for case in (module.quick() if is_quick else module.long())]
    if is_quick and not begins:
        return listed, [case.name for case in listed]
    every = [*listed, *own]
    return [case for case in every if is_wanted(case.name, begins)], [case.name for case in every]


def is_wanted(name: str, begins: list[str]) -> bool:
    """Return whether a name begins with one of these, up to a hyphen or its end."""
    return not begins or any(f"{name}-".startswith(f"{begin}-") for begin in begins)


def tools(of: Iterable[Case]) -> list[Tool]:
    """Return the contenders that take part in one of these cases."""
    every = [*TOOLS, *(tool for module in _modules() for tool in getattr(module, "TOOLS", ()))]
    listed = list(of)
    return [tool for tool in every if any(case.takes(tool) for case in listed)]


def _modules() -> list[ModuleType]:
    return [importlib.import_module(name) for name in MODULES]

"""The architecture as tests: who may import whom, what a plug-in folder holds, and what no file may contain."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tidegate"
PLUGIN_FOLDERS = ("databases", "changes", "lakes", "loads", "checks")
SQL = (
    r"\s*(SELECT .*\bFROM|INSERT INTO|UPDATE .*\bSET|DELETE FROM|(CREATE|ALTER|DROP) [A-Z]+"
    r"|COPY .*STD(IN|OUT)|SET \w+ =)"
)

# What each part may import, besides itself. ARCHITECTURE.md shows the same table.
MAY_IMPORT = {
    "errors": set(),
    "_version": set(),
    "logs": set(),
    "model": {"errors"},
    "settings": {"model"},
    "sql": {"errors", "model"},
    "storage": {"errors"},
    "interfaces": {"errors", "model", "settings", "sql"},
    "plugins": {"errors", "model", "settings", "interfaces", "sql"},
    "hashing": {"errors", "model", "interfaces"},
    "buckets": {"errors", "model", "interfaces", "hashing"},
    "history": {"errors", "model", "interfaces", "hashing"},
    "config": {"errors", "model", "settings", "interfaces", "plugins", "state"},
    "tables": {"errors", "model", "settings", "interfaces", "sql", "plugins", "config"},
    "databases": {"errors", "model", "interfaces", "sql", "hashing"},
    "changes": {"errors", "model", "settings", "interfaces", "sql", "hashing", "buckets", "tables"},
    "lakes": {"errors", "model", "interfaces", "storage"},
    "loads": {"errors", "model", "settings", "interfaces", "sql", "hashing", "buckets", "history", "tables"},
    "checks": {"errors", "model", "sql", "interfaces", "hashing", "buckets", "history", "tables"},
    "state": {"errors", "model", "interfaces", "sql"},
    "consistency": {"errors", "model"},
    "frames": {
        *("errors", "model", "interfaces", "sql", "hashing", "plugins", "config", "state", "spark"),
        "consistency",
    },
    "spark": {"errors", "interfaces", "buckets", "_version"},
    "runs": {
        *("errors", "model", "interfaces", "sql", "hashing", "buckets", "config", "tables", "state", "spark"),
        *("frames", "logs", "settings"),
    },
    "ops": {"errors", "model", "interfaces", "hashing", "sql", "plugins", "config", "tables", "state", "runs"},
    "reports": {"model"},
    "monitoring": {"errors", "_version", "model", "interfaces", "config", "state", "runs", "ops"},
    "snapshots": {"errors", "model", "interfaces", "plugins", "sql", "hashing", "config"},
    "api": {
        *("errors", "model", "interfaces", "plugins", "config", "tables", "state", "spark"),
        *("frames", "runs", "ops", "reports", "monitoring", "snapshots", "_version"),
    },
    "dlt": {"errors", "model", "interfaces", "hashing", "config", "runs", "api"},
    "airflow": {"errors", "model", "monitoring", "api", "_version"},
    "dagster": {"errors", "model", "monitoring", "api"},
    "facades": {"errors", "model", "api"},
    "demo": {"errors", "model"},
    "ui": {"errors", "reports", "api", "_version"},
    "cli": {
        "errors",
        "model",
        "plugins",
        "config",
        "spark",
        "runs",
        "api",
        "dlt",
        "dagster",
        "demo",
        "logs",
        "ui",
        "_version",
    },
}
# What a part may also name in annotations, inside `if TYPE_CHECKING`.
MAY_NAME = {"interfaces": {"tables"}}


class Import(NamedTuple):
    """One imported module; `is_typing` when only type checkers import it."""

    module: str
    is_typing: bool


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(SOURCE.rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a module once for all tests. Nobody changes the tree."""
    return ast.parse(path.read_text())


def part_of(path: Path) -> str:
    inside = path.relative_to(SOURCE).parts
    return inside[0].removesuffix(".py")


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    return tuple(_imports(tree_of(path), is_typing=False))


def _imports(node: ast.AST, *, is_typing: bool) -> Iterator[Import]:
    is_typing = is_typing or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, is_typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module == "tidegate":
            # `from tidegate import plugins` imports tidegate.plugins.
            yield from (Import(f"tidegate.{alias.name}", is_typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield Import(child.module, is_typing)
        yield from _imports(child, is_typing=is_typing)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_part_imports_only_what_the_table_allows(path: Path):
    part = part_of(path)
    if part == "__init__":
        return
    for module, is_typing in imports_of(path):
        if module.startswith("tidegate."):
            allowed = {part, *MAY_IMPORT[part], *(MAY_NAME.get(part, set()) if is_typing else ())}
            assert module.split(".")[1] in allowed, f"{path} imports {module}"


def test_the_table_names_every_part():
    parts = {part_of(path) for path in modules()} - {"__init__"}
    assert parts == set(MAY_IMPORT)


def test_the_table_allows_nothing_that_nobody_imports():
    imported: dict[str, set[str]] = {part: set() for part in MAY_IMPORT}
    for path in modules():
        if part_of(path) != "__init__":
            names = [module.split(".")[1] for module, _ in imports_of(path) if module.startswith("tidegate.")]
            imported[part_of(path)].update(names)
    unused = {part: MAY_IMPORT[part] - imported[part] for part in MAY_IMPORT}
    assert {part: names for part, names in unused.items() if names} == {}


def test_architecture_md_shows_the_same_table():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|$", _section("Who may import whom"), re.MULTILINE)
    shown = {part: set(re.findall(r"`(\w+)`", allowed)) for part, allowed in rows}
    assert shown == {part: allowed for part, allowed in MAY_IMPORT.items() if part != "_version"}


def _section(title: str) -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_plug_ins_do_not_know_each_other():
    """A plug-in imports its own modules and underscore modules of its folder, which hold what plug-ins there share."""
    for folder in PLUGIN_FOLDERS:
        for path in (SOURCE / folder).rglob("*.py"):
            own = path.relative_to(SOURCE / folder).parts[0].removesuffix(".py")
            for module in _plugin_imports(path):
                _, of, name = module.split(".")[:3]
                assert of == folder and (name == own or name.startswith("_")), f"{path} imports {module}"


def test_nobody_imports_a_plug_in():
    """They are found by name (`plugins.py`), so that a plug-in of another package is as good as a built-in one."""
    for path in modules():
        if part_of(path) not in PLUGIN_FOLDERS:
            assert _plugin_imports(path) == [], path


def _plugin_imports(path: Path) -> list[str]:
    folders = tuple(f"tidegate.{folder}." for folder in PLUGIN_FOLDERS)
    return [module for module, _ in imports_of(path) if module.startswith(folders)]


# How the lake keeps its rows is the lake's own affair. Files that are no part of a lake may be replaced by a rename, a
# page of HTML has a footer, files that a server copies are gone after the load, and the demo damages a file of the lake
# on purpose.
LAKE_WORDS = {
    r"(?<!pyarrow)\.parquet['\"]": {"demo/story.py", "databases/redshift/copying.py"},
    r"footer": {"reports/html.py", "demo/story.py"},
    r"os\.replace": {"reports/html.py", "spark/java.py", "spark/startup/archive.py", "spark/warm/private.py"},
}


@pytest.mark.parametrize("words", LAKE_WORDS, ids=["parquet", "footer", "rename"])
def test_only_lakes_and_storage_know_files(words: str):
    found = {
        str(path.relative_to(SOURCE))
        for path in modules()
        if part_of(path) not in ("lakes", "storage") and re.search(words, _code(path))
    }
    assert found == LAKE_WORDS[words]


def test_kinds_is_the_only_list_of_changes_and_loads():
    """A change or a load that is added is known to the configuration by its name, and nothing else is edited."""
    names = {path.name.removesuffix(".py") for folder in ("changes", "loads") for path in (SOURCE / folder).iterdir()}
    names -= {"__init__", "merge", "timestamp"}  # two are also names of YAML tags
    for path in (SOURCE / "config").rglob("*.py"):
        if path.name not in ("kinds.py", "dlt.py"):  # write dispositions of dlt have names of loads
            written = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
            assert not written & names, path.name


def test_every_file_of_a_plug_in_folder_is_found_as_a_plug_in_and_documented():
    from tidegate.plugins import installed

    found = {(plugin.folder, plugin.kind): plugin.about for plugin in installed()}
    for folder in PLUGIN_FOLDERS:
        for path in (SOURCE / folder).iterdir():
            name = path.name.removesuffix(".py")
            if not name.startswith("_"):
                assert found[folder, name], f"{folder}/{name} has no docstring"


@pytest.mark.parametrize(
    "words",
    [r"\._jvm", r"\._jsc", r"\.rdd\b", r"sparkContext", r"\bSQLContext\b"],
    ids=["jvm", "jsc", "rdd", "spark context", "sql context"],
)
def test_nothing_reaches_into_the_jvm(words: str):
    """Spark Connect and managed Spark have none of these. What closes a session of our own is the one guarded place."""
    guarded = {"sparkContext": SOURCE / "spark" / "session.py"}
    offenders = [path for path in modules() if path != guarded.get(words) and re.search(words, _code(path))]
    assert offenders == []


def test_no_name_or_value_enters_sql_as_a_string():
    """Statements are `sql("...", hole=...)`; an f-string or a % that looks like SQL is refused."""
    offenders = []
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.JoinedStr):
                text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
                if re.match(SQL, text):
                    offenders.append(f"{path.name}:{node.lineno}")
    assert [place for place in offenders if not place.startswith("data.py")] == []


@pytest.mark.parametrize("command", ["--help", "plan --help", "plugins"])
def test_help_and_planning_import_no_spark(command: str):
    code = (
        "import sys\n"
        "from tidegate.cli.main import main\n"
        f"try: main({command.split()!r})\n"
        "except SystemExit as end: assert not end.code\n"
        "assert 'pyspark' not in sys.modules and 'pandas' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_the_api_imports_neither_spark_nor_arrow():
    """A run with nothing to do must not pay for them."""
    code = "import sys, tidegate.api\nassert not {'pyspark', 'pandas', 'pyarrow', 'numpy'} & set(sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@cache
def _code(path: Path) -> str:
    """The module without its comments and docstrings, also those of attributes."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(0)
    return ast.unparse(tree)

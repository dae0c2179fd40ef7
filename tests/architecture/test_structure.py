"""The architecture as tests: who may import whom, what a plug-in folder holds, and what no file may contain."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tidegate"
PLUGIN_FOLDERS = ("databases", "changes", "lakes", "loads")
SQL = (
    r"\s*(SELECT .*\bFROM|INSERT INTO|UPDATE .*\bSET|DELETE FROM|(CREATE|ALTER|DROP) [A-Z]+"
    r"|COPY .*STD(IN|OUT)|SET \w+ =)"
)
VOCABULARY = {"errors", "model", "interfaces", "plugins", "sql", "rows", "_version"}

# What each part may import, besides itself. ARCHITECTURE.md shows the same table.
MAY_IMPORT = {
    "errors": set(),
    "_version": set(),
    "model": {"errors"},
    "sql": {"errors", "model"},
    "rows": {"errors", "model"},
    "interfaces": {"errors", "model", "sql"},
    "plugins": {"errors", "model", "interfaces"},
    "spark": {"errors", "model", "interfaces"},
    "databases": {"errors", "model", "interfaces", "sql", "rows"},
    "changes": {"errors", "model", "interfaces", "sql"},
    "lakes": {"errors", "model"},
    "loads": {"errors", "model", "interfaces", "sql", "rows"},
    "config": {"errors", "model"},
    "state": {"errors", "model", "interfaces", "sql"},
    "runs": {*VOCABULARY, *PLUGIN_FOLDERS, "spark", "config", "state"},
    "ops": {*VOCABULARY, "spark", "config", "state", "runs"},
    "reports": {"errors", "model"},
    "api": {*VOCABULARY, "changes", "lakes", "spark", "config", "state", "runs", "ops", "reports"},
    "demo": {"errors"},
    "cli": {"errors", "model", "runs", "config", "plugins", "spark", "api", "demo", "_version"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    inside = path.relative_to(SOURCE).parts
    return inside[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from tidegate.state import lock` imports tidegate.state.lock.
            yield from (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "tidegate" else [node.module]
            )


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_part_imports_only_what_the_table_allows(path: Path):
    part = part_of(path)
    if part == "__init__":
        return
    imported = {name.split(".")[1] for name in imports_of(path) if name.startswith("tidegate.")}
    assert imported - {part} <= MAY_IMPORT[part]


def test_the_table_names_every_part():
    parts = {part_of(path) for path in modules()} - {"__init__"}
    assert parts == set(MAY_IMPORT)


def test_plug_ins_of_one_folder_do_not_know_each_other():
    for folder in PLUGIN_FOLDERS:
        for path in (SOURCE / folder).rglob("*.py"):
            own = path.relative_to(SOURCE / folder).parts[0].removesuffix(".py")
            others = {name.split(".")[2] for name in imports_of(path) if name.startswith(f"tidegate.{folder}.")}
            # A file with an underscore is no plug-in: it holds what all of them share.
            others = {name for name in others if not name.startswith("_")}
            assert others <= {own}, f"{path} imports {others - {own}}"


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
        for node in ast.walk(ast.parse(path.read_text())):
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


def _code(path: Path) -> str:
    """The module without its comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0].value = ast.Constant(0)
    return ast.unparse(tree)

"""Docs that cannot rot: references are generated from the code, and examples of the guide are run.

`make golden` rewrites the generated pages.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conformance.types_page import from_sqlserver_sections
from tidegate import errors
from tidegate.cli.main import main
from tidegate.config import load_project, project, tables
from tidegate.databases.sqlserver import types
from tidegate.model.connection import Connection
from tidegate.plugins import database, installed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = "<!-- Generated from the code by `make golden`. -->\n"


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main, info_name="tidegate", help_option_names=["-h", "--help"])
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        yield name, command


def cli_page() -> str:
    parts = [f"# The command line\n\n{GENERATED}", _help(main, "tidegate")]
    parts += [f"## {name}\n\n{_help(command, f'tidegate {name}')}" for name, command in commands()]
    return "\n".join(parts)


def _help(command: click.Command, name: str) -> str:
    settings = {"terminal_width": 100, "max_content_width": 100, "help_option_names": ["-h", "--help"]}
    context = click.Context(command, info_name=name, **settings)
    return f"```\n{command.get_help(context)}\n```\n"


def configuration_page() -> str:
    written = [node for module in (project, tables) for node in ast.parse(inspect.getsource(module)).body]
    classes = {node.name: node for node in written if isinstance(node, ast.ClassDef)}
    about = "Every key of `tidegate.yml`. A wrong key is an error that names the nearest right one."
    parts = [f"# Configuration\n\n{GENERATED}\n{about}\n"]
    for name, title in SECTIONS.items():
        rows = [_row(node, classes[name].body) for node in classes[name].body if isinstance(node, ast.AnnAssign)]
        table = "\n".join(row for row in rows if row)
        heading = f"## {title}\n\n{ast.get_docstring(classes[name])}\n"
        parts.append(f"{heading}\n| key | default | meaning |\n| --- | --- | --- |\n{table}\n")
    return "\n".join(parts)


SECTIONS = {
    "Project": "The project",
    "TableSettings": "Every table",
    "PartitionTable": "A table of kind `partition`",
    "Scd2Table": "A table of kind `scd2`",
    "StaticTable": "A table of kind `static`",
    "Values": "`values:`",
    "Retain": "`retain:`",
    "Lake": "`lake:`",
    "SparkSettings": "`spark:`",
}


def _row(node: ast.AnnAssign, body: list[ast.stmt]) -> str:
    assert isinstance(node.target, ast.Name)
    following = body[body.index(node) + 1] if node is not body[-1] else None
    if not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)):
        return ""
    default = "required" if node.value is None else ast.unparse(node.value)
    default = {"()": "none", "{}": "none", "None": "none", "BATCH_ROWS": "10000", "BATCH_BYTES": "16 MiB"}.get(
        default, default
    )
    default = "none" if default.startswith(("Field(", "Values(", "Retain(", "SparkSettings(")) else default.strip("'")
    default = "the key" if node.target.id in ("source_table", "target_table") else default
    return f"| `{node.target.id.rstrip('_')}` | {default} | {following.value.value} |"


def plugins_page() -> str:
    parts = [f"# Plug-ins\n\n{GENERATED}\nWhat is installed; `tidegate plugins` lists it for your own installation.\n"]
    for folder in ("databases", "changes", "lakes", "loads"):
        rows = [
            f"| `{plugin.kind}` | {plugin.about} |"
            for plugin in installed()
            if plugin.folder == folder and plugin.origin == "built in"
        ]
        parts.append(f"## {folder}\n\n| kind | what it is |\n| --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


@pytest.mark.parametrize(
    ("name", "page"), [("cli.md", cli_page), ("configuration.md", configuration_page), ("plugins.md", plugins_page)]
)
def test_a_generated_page_is_what_the_code_says(name, page):
    if os.environ.get("TIDEGATE_UPDATE_GOLDEN"):
        (DOCS / name).write_text(page())
    assert (DOCS / name).read_text() == page(), f"docs/{name} is stale: run `make golden`"


def test_the_page_of_types_says_of_sql_server_what_the_code_declares():
    """The rest of the page is what travelled: tests/conformance/test_journeys.py compares it."""
    page = (DOCS / "types.md").read_text()
    assert from_sqlserver_sections() in page, "docs/types.md is stale: run `make golden`"
    shown = {types.bare(kind) for kind in re.findall(r"^\| `(.*?)` \|", from_sqlserver_sections(), re.MULTILINE)}
    known = {*types._PLAIN, *types._SECONDS, *types._TEXTS, *types._BYTES}
    assert shown == {*known, "decimal", "numeric", "vector", "sql_variant"} - {"timestamp"}, (
        "of which rowversion is the better name"
    )


def test_the_guide_has_a_column_for_every_database():
    guide = (DOCS / "guide.md").read_text()
    head = next(line for line in guide.splitlines() if line.startswith("| |"))
    for plugin in installed():
        if plugin.folder == "databases" and plugin.origin == "built in":
            assert database(Connection(plugin.kind, "nowhere", 1, "none")).label in head, plugin.kind


def test_every_command_has_help_and_an_example():
    for name, command in commands():
        assert f"Example: tidegate {name}" in (command.help or ""), name


def test_every_setting_has_its_meaning():
    page = configuration_page()
    for model in (
        project.Project,
        tables.PartitionTable,
        tables.Scd2Table,
        tables.StaticTable,
        tables.Values,
        tables.Retain,
        project.Lake,
        project.SparkSettings,
    ):
        for setting in model.setting_names():
            assert f"| `{setting}` |" in page, f"{model.__name__}.{setting}"


def test_every_error_is_drawn_in_the_tree_and_explained_in_the_guide():
    guide = (DOCS / "guide.md").read_text()
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TidegateError)
    ]
    for kind in kinds:
        assert kind.__name__ in (errors.__doc__ or ""), f"{kind.__name__} is not in the tree"
        if kind not in (errors.TidegateError, errors.DatabaseError, errors.NotNative):
            assert kind.__name__ in guide, f"{kind.__name__} is not in docs/guide.md"


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_every_configuration_in_the_prose_can_be_read(page, tmp_path, monkeypatch):
    monkeypatch.setenv("PROD_URL", "postgresql://reader:secret@prod/sales")
    monkeypatch.setenv("UAT_URL", "postgresql://writer:secret@uat/sales")
    found = re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert found
    for number, text in enumerate(found):
        whole = text if "source:" in text else "source: ${PROD_URL}\ntarget: ${UAT_URL}\nlake: ./lake\n" + text
        path = tmp_path / f"{number}.yml"
        path.write_text(whole)
        assert load_project(path).tables


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} -> {link}"

"""The docs agree with the code: reference pages are generated from it, and examples in the prose are read by it.

`make golden` rewrites the generated pages.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from pydantic.fields import FieldInfo

from conformance.types_page import from_sqlserver_sections
from tidegate import errors, plugins
from tidegate.cli.main import main
from tidegate.config import engine, load_project, project
from tidegate.config.dlt import DltSettings
from tidegate.config.kinds import KINDS, Preset
from tidegate.config.logs import LogSettings
from tidegate.config.monitoring import Apprise, Command, MonitoringSettings, OpenLineageSettings, Webhook
from tidegate.config.secrets import Variables
from tidegate.config.snapshots import SnapshotSettings
from tidegate.config.tables import table_model
from tidegate.config.tables_file import read_tables_file
from tidegate.databases.sqlserver import types
from tidegate.interfaces.change import Change
from tidegate.interfaces.check import Check
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake, PartWriter
from tidegate.interfaces.load import Load
from tidegate.interfaces.session import Session
from tidegate.model.connection import Connection
from tidegate.plugins import database, installed
from tidegate.settings import ColumnSettings, CreateSettings, Rule, Settings, TableSettings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = "<!-- Generated from the code by `make golden`. -->\n"


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main, info_name="tidegate", help_option_names=["-h", "--help"])
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())


def cli_page() -> str:
    parts = [f"# The command line\n\n{GENERATED}", _help(main, "tidegate")]
    parts += [f"## {name}\n\n{_help(command, f'tidegate {name}')}" for name, command in commands()]
    return "\n".join(parts)


def _help(command: click.Command, name: str) -> str:
    settings = {"terminal_width": 100, "max_content_width": 100, "help_option_names": ["-h", "--help"]}
    context = click.Context(command, info_name=name, **settings)
    return f"```\n{command.get_help(context)}\n```\n"


class Section(NamedTuple):
    """One heading of the page, and the groups of settings below it: each a sentence of its own and a table."""

    title: str
    groups: list[tuple[str, type[Settings]]]


def sections() -> list[Section]:
    """Return what the page shows. Changes and loads are found by the names in KINDS; none is listed here."""
    kinds = [Section(f"A table of kind `{kind}`", _parts_of(preset)) for kind, preset in KINDS.items()]
    return [
        Section("Every table", [("", TableSettings)]),
        Section("`checks:`", [("", Rule)]),
        *kinds,
        *(Section(f"`changes: {name}`", [("", plugins.change(name).Settings)]) for name in _others("changes")),
        *(Section(f"`load: {name}`", [("", plugins.load(name).Settings)]) for name in _others("loads")),
        Section("`values:`", [("", _nested("values"))]),
        Section("`columns:`", [("", ColumnSettings)]),
        Section("`create:`", [("", CreateSettings)]),
        Section("`retain:`", [("", _nested("retain"))]),
        Section("The project", [("", project.Project)]),
        Section("`lake:`", [("", project.Lake)]),
        Section("`engine:`", [("", engine.EngineSettings)]),
        Section("`spark:`", [("", engine.SparkSettings)]),
        Section("`snapshots:`", [("", SnapshotSettings)]),
        Section("`dlt:`", [("", DltSettings)]),
        Section("`logging:`", [("", LogSettings)]),
        Section("`monitoring:`", [("", MonitoringSettings)]),
        Section("`monitoring: {webhook: ...}`", [("", Webhook)]),
        Section("`monitoring: {command: ...}`", [("", Command)]),
        Section("`monitoring: {apprise: ...}`", [("", Apprise)]),
        Section("`monitoring: {openlineage: ...}`", [("", OpenLineageSettings)]),
    ]


def _parts_of(preset: Preset) -> list[tuple[str, type[Settings]]]:
    change, load = plugins.change(preset.change), plugins.load(preset.load)
    return [(f"`changes: {change.name}`", change.Settings), (f"`load: {load.name}`", load.settings_for(change))]


def _others(folder: str) -> list[str]:
    """Return the built-in changes or loads that no kind uses by itself."""
    built_in = {plugin.kind for plugin in installed() if (plugin.folder, plugin.origin) == (folder, "built in")}
    return sorted(built_in - {name for preset in KINDS.values() for name in (preset.change, preset.load)})


def _nested(name: str) -> type[Settings]:
    """Return the group of settings that some table has under this key."""
    models = [table_model(kind) for kind in KINDS]
    return next(model.model_fields[name].annotation for model in models if name in model.model_fields)


def configuration_page() -> str:
    about = (
        "Every key of `tidegate.yml`. A wrong key is an error that names the nearest right one.\n\n"
        "A table has the keys of every table, of its change and of its load. `kind` is a preset of the two:\n\n"
        "| kind | change | loads that fit; the first is the default |\n| --- | --- | --- |\n"
    )
    for kind, preset in KINDS.items():
        others = [name for name in plugins.change(preset.change).loads if name != preset.load]
        about += f"| `{kind}` | `{preset.change}` | {', '.join(f'`{name}`' for name in [preset.load, *others])} |\n"
    parts = [f"# Configuration\n\n{GENERATED}\n{about}"]
    for section in sections():
        parts.append(f"## {section.title}\n")
        parts += [_group(title, model) for title, model in section.groups]
    return "\n".join(parts)


def _group(title: str, model: type[Settings]) -> str:
    meanings, fields = _meanings(model), model.model_fields
    rows = [
        f"| `{fields[name].alias or name}` | {_default(name, fields[name])} | {meanings[name]} |" for name in meanings
    ]
    about = " ".join((model.__doc__ or "").split())
    heading = f"{title}: {about[0].lower()}{about[1:]}" if title else about
    table = "| key | default | meaning |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    return f"{heading}\n\n{table}" if rows else f"{heading}\n"


def _meanings(model: type[Settings]) -> dict[str, str]:
    """Return what stands below each setting in the class; a group that extends another has its settings first."""
    base = model.__base__
    found = _meanings(base) if base not in (None, Settings) and issubclass(base, Settings) else {}
    [written] = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(written, ast.ClassDef)
    for node, following in pairwise(written.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(following, ast.Expr):
            assert isinstance(following.value, ast.Constant)
            found[node.target.id] = " ".join(str(following.value.value).split())
    return found


def _default(name: str, field: FieldInfo) -> str:
    if name in ("source_table", "target_table"):
        return "the key"
    if field.is_required():
        return "required"
    match field.default:
        case None | () | Settings():
            return "none"
        case bool():
            return str(field.default).lower()
        case Mapping() if not field.default:
            return "none"
        case int() if name == "batch_bytes":
            return f"{field.default // 2**20} MiB"
    return str(field.default)


def plugins_page() -> str:
    parts = [f"# Plug-ins\n\n{GENERATED}\nWhat is installed; `tidegate plugins` lists it for your own installation.\n"]
    for folder in plugins.FOLDERS:
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
def test_generated_page_equals_the_code(name, page):
    if os.environ.get("TIDEGATE_UPDATE_GOLDEN"):
        (DOCS / name).write_text(page())
    assert (DOCS / name).read_text() == page(), f"docs/{name} is stale: run `make golden`"


def test_types_page_shows_every_sql_server_type():
    """The rest of the page is what travelled: tests/conformance/test_journeys.py compares it."""
    page = (DOCS / "types.md").read_text()
    assert from_sqlserver_sections() in page, "docs/types.md is stale: run `make golden`"
    shown = {types.base_type(kind) for kind in re.findall(r"^\| `(.*?)` \|", from_sqlserver_sections(), re.MULTILINE)}
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
    page, shown = configuration_page(), [model for section in sections() for _, model in section.groups]
    for model in (*shown, *(table_model(kind) for kind in KINDS)):
        for setting in model.setting_names():
            assert f"| `{setting}` |" in page, f"{model.__name__}.{setting}"


def test_every_error_is_in_the_tree_and_the_guide():
    guide = (DOCS / "guide.md").read_text()
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TidegateError)
    ]
    for kind in kinds:
        assert kind.__name__ in (errors.__doc__ or ""), f"{kind.__name__} is not in the tree"
        if kind not in (errors.TidegateError, errors.DatabaseError, errors.NotNative):
            assert kind.__name__ in guide, f"{kind.__name__} is not in docs/guide.md"


@pytest.mark.parametrize(
    "interface", [Database, Session, Change, Load, Lake, PartWriter, Check], ids=lambda interface: interface.__name__
)
def test_contributing_lists_every_abstract_method(interface):
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = page.partition(f"| method of `{interface.__name__}` |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(first_cells))) == interface.__abstractmethods__


def test_files_named_in_prose_exist():
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        for name in re.findall(r"`([a-z_]+/[\w/]+\.py)`", (ROOT / page).read_text()):
            assert (ROOT / name).exists() or (ROOT / "src" / "tidegate" / name).exists(), f"{page}: {name}"


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/monitoring.md"])
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


def test_every_tables_file_in_the_prose_can_be_read(tmp_path):
    found = re.findall(r"```yaml\n(.*?)```", (DOCS / "sync.md").read_text(), re.DOTALL)
    assert found
    for number, text in enumerate(found):
        path = tmp_path / f"{number}.yml"
        path.write_text(text)
        assert read_tables_file(path).checked({}, Variables({}))


@pytest.mark.parametrize(
    "page",
    [
        *("README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/sync.md", "docs/monitoring.md"),
        *("docs/tutorial.md", "docs/live-page.md", "docs/troubleshooting.md"),
    ],
)
def test_every_command_in_the_prose_can_be_parsed(page):
    """Also its arguments and options; a command that is only named, as in `tidegate forget`, may lack them."""
    text = (ROOT / page).read_text()
    found = re.findall(r"^tidegate (.*)$", text, re.MULTILINE) + re.findall(r"`tidegate ([a-z][^`]*)`", text)
    assert found or page == "CONTRIBUTING.md"
    for line in found:
        name, *arguments = shlex.split(line, comments=True)
        with contextlib.suppress(click.MissingParameter):
            dict(commands())[name].make_context(name, arguments)


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]:
        for link, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", page.read_text()):
            to = page.parent / link if link else page
            assert to.exists(), f"{page.name} -> {link}"
            assert not anchor or anchor in _anchors(to), f"{page.name} -> {link}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_monitoring_page_has_every_condition_and_metric():
    from tidegate.monitoring import alerts
    from tidegate.monitoring.metrics import MEANINGS

    page = (DOCS / "monitoring.md").read_text()
    for condition in re.findall(r"^\| \w+ \| (.*?) \|", alerts.__doc__ or "", re.MULTILINE)[1:]:
        assert all(name in page for name in re.findall(r"`\w+`", condition)), condition
    families = ("tidegate_last_run_", "tidegate_table_switch_", "tidegate_table_usual_", "tidegate_table_last_")
    for name in MEANINGS:
        assert name in page or name.startswith((*families, "tidegate_evaluated")), name

"""The site of the docs: it builds without a warning, shows every page, and its error messages are those of the code."""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def in_nav(part: object) -> Iterator[str]:
    match part:
        case str():
            yield part
        case list():
            for each in part:
                yield from in_nav(each)
        case dict():
            for each in part.values():
                yield from in_nav(each)


def test_every_page_is_in_the_nav():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    shown, there = list(in_nav(nav)), {page.name for page in DOCS.glob("*.md")}
    assert set(shown) == there, "name each page of docs/ in the nav of mkdocs.yml"
    assert len(shown) == len(set(shown))


def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "tutorial.html").exists()
    page = (tmp_path / "site" / "index.html").read_text()
    assert not re.findall(r'<(?:script|link)[^>]* (?:src|href)="https?://(?!localhost)[^"]*"', page)


def messages() -> list[str]:
    """Return every text of the code, with `…` for what is put into it."""
    found = []
    for path in (ROOT / "src" / "tidegate").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def test_every_message_of_the_troubleshooting_page_is_one_of_the_code():
    page, known = (DOCS / "troubleshooting.md").read_text(), messages()
    headings = re.findall(r'^### "(.*)"$', page, re.MULTILINE)
    assert len(headings) > 10
    for heading in headings:
        pattern = re.compile(".*".join(map(re.escape, heading.split("…"))), re.DOTALL)
        assert any(pattern.search(text) for text in known), heading


@pytest.mark.postgres
@pytest.mark.thorough
def test_the_tutorial_works_as_it_is_written(tmp_path):
    """Its blocks are run in their order by a shell, as a reader would, on the server that it starts."""
    page = (DOCS / "tutorial.md").read_text().partition("## Start two databases")[2]
    blocks = re.findall(r"```(python|sh)\n(.*?)```", page, re.DOTALL)
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    script = ["set -e", ". ./urls.sh"]
    for kind, text in blocks:
        if kind == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            (tmp_path / name).write_text(text)
            script += [f"python {name}"] if name != "servers.py" else []
        elif "tidegate ui" not in text:
            script.append(text)
    with (tmp_path / "urls.sh").open("w") as urls:
        server = subprocess.Popen([sys.executable, "servers.py"], cwd=tmp_path, stdout=urls, stderr=subprocess.PIPE)
    try:
        while (tmp_path / "urls.sh").read_text().count("\n") < 2:
            assert server.poll() is None
            time.sleep(0.05)
        command = ["bash", "-c", "\n".join(script)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    told = re.findall(r"^(?:run|verify|repair): .*?(?=,? \(?[\d.]+ s\))", done.stdout, re.MULTILINE)
    assert told == [
        "run: done, 5,002 rows extracted, 5,002 loaded",
        "verify: the target equals the source within its scope (5 values and 1 whole table, 5,002 rows in the target",
        "run: done, 1,002 rows extracted, 1,001 loaded",
        "verify: the target differs from the source (6 values and 1 whole table, 6,002 rows in the target",
        "repair: done, 1,000 rows extracted, 1,000 loaded",
        "verify: the target equals the source within its scope (6 values and 1 whole table, 6,002 rows in the target",
    ]
    assert "exit code 3" in lines

"""The contenders, each in an environment of its own that this run makes: nothing of one is seen by another."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
MAVEN = "https://repo1.maven.org/maven2"
JARS = {
    "org/postgresql/postgresql/42.7.7/postgresql-42.7.7.jar": (
        "157963d60ae66d607e09466e8c0cdf8087e9cb20d0159899ffca96bca2528460"
    ),
    "org/mariadb/jdbc/mariadb-java-client/3.5.3/mariadb-java-client-3.5.3.jar": (
        "85c4ba2f221d0dfd439c26affbb294f784960763544263c65aba9c2c76858706"
    ),
}


@dataclass(frozen=True)
class Tool:
    """A contender: how it is called, what it needs, and what it can do."""

    name: str
    script: str
    works: frozenset[str]
    needs: tuple[str, ...] = ()
    """Packages of an environment of its own; without any it runs in ours."""
    databases: frozenset[str] = frozenset({"postgresql"})
    is_limit: bool = False

    def python(self, folder: Path) -> str:
        return str(folder / self.name / "bin" / "python") if self.needs else sys.executable


PYSPARK = "pyspark==4.1.*"
TOOLS = (
    Tool("limit", "limit.py", frozenset({"extract"}), is_limit=True),
    Tool("tidegate", "tidegate_project.py", frozenset({"start", "extract", "load", "nothing", "plan"})),
    Tool("plain Python", "plain.py", frozenset({"extract", "load"})),
    Tool("Spark JDBC", "spark_jdbc.py", frozenset({"start", "extract", "load"}), (PYSPARK,)),
    Tool("onETL", "onetl_tool.py", frozenset({"extract"}), (PYSPARK, "onetl[spark]==0.14.*", "setuptools")),
    Tool(
        "dlt",
        "dlt_tool.py",
        frozenset({"extract", "load", "nothing"}),
        ("dlt[postgres,sql_database,filesystem,parquet]==1.*",),
    ),
    Tool("Sling", "sling_tool.py", frozenset({"extract", "load", "nothing"}), ("sling-linux-amd64==1.4.*",)),
)


def install(tools: list[Tool], folder: Path) -> dict[str, str]:
    """Make the environments. Returns why a contender cannot take part."""
    missing = {}
    for tool in tools:
        if tool.needs and not (folder / tool.name / "installed").exists():
            try:
                _install(tool, folder)
            except subprocess.CalledProcessError as problem:
                missing[tool.name] = f"it cannot be installed: {problem.stderr.decode().strip().splitlines()[-1]}"
    return missing


def _install(tool: Tool, folder: Path) -> None:
    place, uv = folder / tool.name, [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--clear", str(place)], check=True, capture_output=True)
    subprocess.run(
        [*uv, "pip", "install", "--python", tool.python(folder), *tool.needs], check=True, capture_output=True
    )
    (place / "installed").touch()


def jars(folder: Path) -> str:
    """The drivers that JDBC needs, from Maven Central."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for path, expected in JARS.items():
        place = folder / Path(path).name
        if not place.exists():
            with urllib.request.urlopen(f"{MAVEN}/{path}") as answer:
                content = answer.read()
            if hashlib.sha256(content).hexdigest() != expected:
                raise SystemExit(f"{path} is not what it was: its hash is {hashlib.sha256(content).hexdigest()}")
            part = place.with_suffix(".part")
            part.write_bytes(content)
            os.replace(part, place)
        found.append(str(place))
    return ",".join(found)

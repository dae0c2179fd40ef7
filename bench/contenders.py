"""The contenders, each in an environment of its own that this run makes: nothing of one is seen by another."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
DRIVERS = (
    "org.postgresql:postgresql:42.7.7",
    "org.mariadb.jdbc:mariadb-java-client:3.5.3",
    "com.microsoft.sqlserver:mssql-jdbc:12.10.1.jre11",
)
ALL = frozenset({"postgresql", "mysql", "sqlserver"})
POSTGRESQL = frozenset({"postgresql"})


@dataclass(frozen=True)
class Tool:
    """A contender: how it is called, what it needs, and what it can do."""

    name: str
    script: str
    works: frozenset[str]
    needs: tuple[str, ...] = ()
    """Packages of an environment of its own; without any it runs in ours."""
    databases: frozenset[str] = POSTGRESQL
    makes_table: bool = True
    """Whether a load makes the target's table."""
    is_limit: bool = False
    """Not a tool, but what the wire and the server allow: there is no result to compare."""
    is_warm: bool = False
    """Its time is that of the work alone, in a session that was there before."""
    options: tuple[tuple[str, str], ...] = ()

    def python(self, folder: Path) -> str:
        return str(folder / self.name / "bin" / "python") if self.needs else sys.executable


PYSPARK = "pyspark==4.1.*"
TOOLS = (
    Tool("limit", "limit.py", frozenset({"extract", "load"}), makes_table=False, is_limit=True, is_warm=True),
    Tool(
        "limit, 1 connection",
        "limit.py",
        frozenset({"extract"}),
        is_limit=True,
        is_warm=True,
        options=(("connections", "1"),),
    ),
    Tool(
        "tidegate",
        "tidegate_tool.py",
        frozenset({"start", "extract", "load", "daily", "append", "plan"}),
        databases=ALL,
    ),
    Tool(
        "tidegate, warm engine",
        "tidegate_tool.py",
        frozenset({"daily", "append"}),
        databases=ALL,
        options=(("engine", "warm"),),
    ),
    Tool(
        "tidegate, process",
        "tidegate_tool.py",
        frozenset({"daily", "append"}),
        databases=ALL,
        options=(("engine", "process"),),
    ),
    Tool(
        "tidegate on Spark",
        "tidegate_tool.py",
        frozenset({"extract", "load"}),
        databases=ALL,
        options=(("master", "local[2]"),),
    ),
    Tool(
        "tidegate, warm",
        "tidegate_tool.py",
        frozenset({"extract", "load", "window", "across"}),
        databases=ALL,
        is_warm=True,
    ),
    Tool(
        "tidegate, 2 tasks",
        "tidegate_tool.py",
        frozenset({"window"}),
        databases=ALL,
        is_warm=True,
        options=(("split_rows", "250_000"),),
    ),
    Tool(
        "tidegate, 1 core",
        "tidegate_tool.py",
        frozenset({"extract"}),
        is_warm=True,
        options=(("master", "local[1]"),),
    ),
    Tool(
        "tidegate + verify",
        "tidegate_tool.py",
        frozenset({"daily"}),
        databases=ALL,
        options=(("verify", "yes"),),
    ),
    Tool("plain Python", "plain.py", frozenset({"extract", "load", "daily"}), makes_table=False),
    Tool(
        "Spark JDBC",
        "spark_jdbc.py",
        frozenset({"start", "extract", "load", "append"}),
        (PYSPARK, "pandas", "pyarrow"),
        ALL,
        False,
    ),
    Tool("onETL", "onetl_tool.py", frozenset({"extract", "append"}), (PYSPARK, "onetl[spark]==0.14.*", "setuptools")),
    Tool(
        "dlt",
        "dlt_tool.py",
        frozenset({"extract", "load", "daily"}),
        ("dlt[postgres,sql_database,filesystem,parquet]==1.*", "pymysql"),
    ),
    # Sling takes no part in loads: of 200,000 rows in ten files it had not loaded all after two minutes.
    Tool("Sling", "sling_tool.py", frozenset({"extract", "daily", "append"}), ("sling-linux-amd64==1.4.*",), ALL),
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
    # Compiled once, as pip would: no contender is to compile itself anew in every run.
    install = ["pip", "install", "--compile-bytecode", "--python", tool.python(folder), *tool.needs]
    subprocess.run([*uv, *install], check=True, capture_output=True)
    (place / "installed").touch()


def jars(tools: list[Tool], folder: Path) -> str:
    """The drivers that JDBC needs, resolved once by Spark itself: no contender's time has that in it."""
    over_jdbc = next((tool for tool in tools if PYSPARK in tool.needs), None)
    if over_jdbc is None:
        return ""
    place = folder / "jars.txt"
    if not place.exists():
        argv = [over_jdbc.python(folder), str(HERE / "tools" / "drivers.py"), str(folder / "ivy"), *DRIVERS]
        told = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        place.write_text(told.strip().splitlines()[-1])
    return place.read_text()

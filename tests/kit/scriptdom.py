"""ScriptDom, Microsoft's parser of T-SQL, which checks generated statements without a server.

Facts that shape this file
 * It is a .NET library. Wheels contain it (mssql-cli), a .NET runtime (dotnetcore2) and a bridge (pythonnet). Only this
   file needs them, and some have Microsoft's license, so they are in a cache folder, not in the environment.
 * A .NET runtime handles signals and does not survive a fork. It runs in a separate process, which runs this file.
 * It checks the grammar only. Names, types and permissions are checked by a server.
 * Newer versions are less strict: 18.0 accepts `||` for 2022 and CREATE TABLE AS SELECT for every year.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any

_PARSERS = {2016: "TSql130Parser", 2017: "TSql140Parser", 2019: "TSql150Parser"}
_LIBRARY = "mssqlcli/mssqltoolsservice/bin/Microsoft.SqlServer.TransactSql.ScriptDom.dll"
_FOLDER = "scriptdom-15.0-1"  # the last number counts changes of its content
_WHEELS = (
    "mssql-cli==1.0.0",
    "dotnetcore2==3.1.23",
    "pythonnet==3.1.0",
    "clr_loader==0.3.1",
    "cffi==2.0.0",
    "pycparser==2.23",
)
_RUNTIME = {"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"}}}
_SETTINGS = {
    "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",  # otherwise it needs an old ICU, which machines no longer have
    "COMPlus_EnableDiagnostics": "0",  # otherwise it leaves pipes in the temporary folder
}


class NoScriptDom(Exception):
    """The parser is not available. The text is one sentence: the reason and the remedy."""

    def __init__(self, why: object) -> None:
        super().__init__(
            f"ScriptDom, the parser of T-SQL, is not here and could not be fetched ({why}): "
            "on Linux with x86-64, let the pip of a Python from 3.10 to 3.13 reach its package index once."
        )


class _Ended(Exception):
    """The parser's process has ended. The text gives the reason, without a full stop."""


def problems(sql: str, year: int = 2019) -> list[str]:
    """Return every syntax error with its line and column, counted from 1. Raises NoScriptDom.

    Args:
        sql: one batch, or several separated by GO, which only clients understand: drivers must not send it.
        year: the SQL Server version of the grammar: 2016, 2017 or 2019. Quoted identifiers are on.
    """
    parser = _parser()
    if isinstance(parser, str):
        raise NoScriptDom(parser)
    try:
        return parser.ask({"parser": _PARSERS[year], "sql": sql})
    except (_Ended, OSError) as why:
        _parser.cache_clear()
        raise RuntimeError(f"ScriptDom ended over this statement: {why}") from why


class _Parser:
    """The process with the .NET runtime. It ends with its standard input, so also when the test process is killed."""

    def __init__(self, folder: Path) -> None:
        self._complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env={**os.environ, **_SETTINGS},
            start_new_session=True,  # Ctrl-C is for the tests
        )
        atexit.register(self.close)
        self._answer()

    def ask(self, question: dict[str, str]) -> Any:
        assert self._process.stdin is not None
        _send(question, self._process.stdin)
        return self._answer()

    def close(self) -> None:
        atexit.unregister(self.close)
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            return json.loads(line)
        self._process.wait()
        self._complaints.seek(0)
        why = _last_line(self._complaints.read())
        self.close()
        raise _Ended(why)


@functools.cache
def _parser() -> _Parser | str:
    """Return the parser of this process, or the reason why there is none. Failed downloads are not repeated."""
    try:
        return _started(_folder())
    except (_Ended, OSError) as why:
        return str(why)


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidegate"
    # Machines may share a home folder, and one of the wheels is for one Python version only.
    return cache / f"{_FOLDER}-{sys.implementation.cache_tag}-{platform.machine()}"


def _started(folder: Path) -> _Parser:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent test workers download it once
        try:
            return _Parser(folder)
        except _Ended:
            _fetch(folder)
            return _Parser(folder)


def _fetch(folder: Path) -> None:
    # On the same disk, so that renaming the complete folder is atomic.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as place:
        wheels, draft = Path(place) / "wheels", Path(place) / "draft"
        _download(wheels)
        for wheel in wheels.iterdir():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(draft, [_LIBRARY] if _LIBRARY in archive.namelist() else None)
        (draft / "runtime.json").write_text(json.dumps(_RUNTIME))
        _Parser(draft).close()
        if folder.exists():
            folder.rename(Path(place) / "broken")
        draft.rename(folder)


def _download(wheels: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
    download = ["download", "--no-deps", "--only-binary", ":all:", "--dest", str(wheels), *_WHEELS]
    done = subprocess.run([*pip, *download], capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise _Ended(_last_line(done.stderr))


def _last_line(output: str) -> str:
    return (output.strip().splitlines() or ["it did not say why"])[-1].strip()


def _send(what: object, listener: IO[str]) -> None:
    listener.write(json.dumps(what) + "\n")
    listener.flush()


def _serve(folder: Path) -> None:
    """Run the parser process: each input line is a question, each output line an answer. It first prints `ready`."""
    sys.path.insert(0, str(folder))
    from clr_loader import get_coreclr
    from pythonnet import set_runtime

    dotnet = str(folder / "dotnetcore2" / "bin")
    set_runtime(get_coreclr(runtime_config=str(folder / "runtime.json"), dotnet_root=dotnet))
    import clr

    clr.AddReference(str(folder / _LIBRARY))
    from Microsoft.SqlServer.TransactSql import ScriptDom
    from System.IO import StringReader

    _send("ready", sys.stdout)
    for line in sys.stdin:
        question = json.loads(line)
        _, errors = getattr(ScriptDom, question["parser"])(True).Parse(StringReader(question["sql"]))
        found = [f"line {error.Line}, column {error.Column}: {error.Message} ({error.Number})" for error in errors]
        _send(found, sys.stdout)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))

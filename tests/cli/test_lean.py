"""What the command does without: pandas, where nobody else has to; and taking itself apart in the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGINS = """
import sys
from tidegate.cli.main import main
try: main(["plugins"])
except SystemExit as end: assert not end.code
import pyarrow
exec("import pyarrow\\npyarrow.array([1])", {"__name__": "tidegate.hashing.test"})
assert "pandas" not in sys.modules
"""


@pytest.mark.parametrize(
    "code",
    [
        "import pandas; assert pandas.Series([1]).sum() == 1",
        "assert pyarrow.table({'a': [1]}).to_pandas()['a'].sum() == 1",
        "import pyspark.sql.pandas.utils as utils; utils.require_minimum_pandas_version()",
    ],
    ids=["whoever imports it", "whoever asks pyarrow for it", "Spark"],
)
def test_pandas_is_importable(code: str):
    done = subprocess.run([sys.executable, "-c", BEGINS + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("arguments", "exit_code"), [(["plugins"], 0), (["run", "--config", "nowhere.yml"], 2)])
def test_process_ends_with_exit_code_and_full_output(arguments: list[str], exit_code: int):
    code = (
        "import atexit, sys\n"
        "from tidegate.cli.main import process\n"
        "class TakenApart:\n"
        "    def __del__(self): print('taken apart')\n"
        "left = TakenApart()\n"
        "atexit.register(print, 'called in the end')\n"
        "process()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (exit_code, ["called in the end"])
    assert ("nowhere.yml" in done.stderr) == bool(exit_code)

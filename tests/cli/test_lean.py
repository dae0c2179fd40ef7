"""The command does without pandas where it can, and nobody else has to."""

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
exec("import pyarrow\\npyarrow.array([1])", {"__name__": "tidegate.rows.test"})
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
def test_pandas_is_there_for_whoever_needs_it(code: str):
    done = subprocess.run([sys.executable, "-c", BEGINS + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

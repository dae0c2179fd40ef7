"""Why a slice has no facts: Spark's long answers in one line."""

from __future__ import annotations

import pytest

from tidegate.spark.slices import _reason

IN_A_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "session.py", line 18, in <module>
    import psycopg
ModuleNotFoundError: No module named 'psycopg'

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:645)
"""
IN_THE_JVM = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times: Python worker exited unexpectedly.
	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:624)
"""


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (None, "no answer"),
        (Exception(IN_A_WORKER), "ModuleNotFoundError: No module named 'psycopg'"),
        (
            Exception(IN_THE_JVM),
            "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times: Python worker exited unexpectedly",
        ),
        (ConnectionError("[Errno 111] Connection refused"), "[Errno 111] Connection refused"),
    ],
    ids=["nothing", "in a worker", "in the JVM", "on the way"],
)
def test_the_reason_is_what_python_raised_or_the_first_line(problem: Exception | None, reason: str):
    assert _reason(problem) == reason

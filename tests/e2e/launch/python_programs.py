"""Python programs under rtrain launch, and what they print."""

import sys

import pytest


@pytest.fixture
def python(rtrain):
    """Writes a script that the Python of these tests runs."""
    rtrain.env["RTRAIN_PYTHON"] = sys.executable
    return lambda text: rtrain.script(text, "train.py")


def launched(rtrain, *args):
    result = rtrain("launch", *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def lines_of(result):
    """Returns the lines of all ranks, without the prefix that names the rank."""
    return sorted(line.split("] ", 1)[1] for line in result.stdout.splitlines() if line.startswith("[rank "))

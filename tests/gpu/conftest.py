"""Provides the fixtures of tests/e2e for tests that need a GPU; without a device all tests are skipped, with the
reason.
"""

import json
import pathlib
import subprocess
import sys

import pytest

E2E = pathlib.Path(__file__).resolve().parent.parent / "e2e"
sys.path.insert(0, str(E2E))

from borrowed import NAMES, e2e

globals().update(NAMES)


def missing_device():
    done = subprocess.run([e2e.RTRAIN, "env", "--json"], capture_output=True, text=True, check=True)
    cuda = json.loads(done.stdout)["cuda"]
    return None if cuda["devices"] > 0 else f"no CUDA device: {cuda['reason']}"


def pytest_collection_modifyitems(items):
    reason = missing_device()
    for item in items if reason else []:
        item.add_marker(pytest.mark.skip(reason=reason))

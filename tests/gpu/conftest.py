"""The fixtures of tests/e2e for tests that need a GPU; without a device all of them are skipped, with the reason."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

E2E = pathlib.Path(__file__).resolve().parent.parent / "e2e"
sys.path.insert(0, str(E2E))

# By its own name: this file is `conftest` to those that import it.
_spec = importlib.util.spec_from_file_location("e2e_conftest", E2E / "conftest.py")
_e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_e2e)
globals().update({name: value for name, value in vars(_e2e).items() if not name.startswith("_")})


def missing_device():
    done = subprocess.run([_e2e.RTRAIN, "env", "--json"], capture_output=True, text=True, check=True)
    cuda = json.loads(done.stdout)["cuda"]
    return None if cuda["devices"] > 0 else f"no CUDA device: {cuda['reason']}"


def pytest_collection_modifyitems(items):
    reason = missing_device()
    for item in items if reason else []:
        item.add_marker(pytest.mark.skip(reason=reason))

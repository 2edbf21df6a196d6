"""The documents that scripts/documents generates are up to date: behaviours, environment variables, absent names."""

import importlib.machinery
import importlib.util
import os
import subprocess

import pytest

from conftest import RTRAIN, SOURCE

SCRIPT = SOURCE / "scripts" / "documents"


def loaded():
    loader = importlib.machinery.SourceFileLoader("documents", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("documents", loader))
    loader.exec_module(module)
    return module


def test_no_generated_document_is_stale():
    env = {**os.environ, "RTRAIN": str(RTRAIN), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run([SCRIPT, "--check"], env=env, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def test_behaviours_come_from_the_markers_above_the_tests(tmp_path):
    (tmp_path / "a_test.cpp").write_text("// behaviour: a shape\n// fault: SIGTERM\nTEST_F(Group, IsRound) {}\n")
    (tmp_path / "b_test.lua").write_text("-- behaviour: a shape\nfunction TestB:test_is_flat() end\n")
    (tmp_path / "test_c.py").write_text("# fault: no disk\n@mark\ndef test_waits(rtrain):\n    pass\n")
    page, folder = loaded().behaviours(tmp_path), tmp_path.name
    assert f"| a shape | `IsRound`, `is_flat` | `{folder}/a_test.cpp`, `{folder}/b_test.lua` |" in page
    assert f"| SIGTERM | `IsRound` | `{folder}/a_test.cpp` |" in page
    assert f"| no disk | `waits` | `{folder}/test_c.py` |" in page


def test_a_page_is_stale_when_a_marker_was_added(tmp_path):
    documents = loaded()
    (tmp_path / "test_a.py").write_text("# fault: no disk\ndef test_waits(rtrain):\n    pass\n")
    path = tmp_path / "BEHAVIOURS.md"
    path.write_text(documents.behaviours(tmp_path))
    assert documents.stale({path: documents.behaviours(tmp_path)}) == []
    (tmp_path / "test_b.py").write_text("# fault: no network\ndef test_goes_on(rtrain):\n    pass\n")
    assert documents.stale({path: documents.behaviours(tmp_path)}) == [path]


def test_a_marker_without_a_test_is_refused(tmp_path):
    (tmp_path / "test_a.py").write_text("# fault: no disk\nWAIT = 1\n")
    with pytest.raises(SystemExit, match="no test follows the marker 'no disk'"):
        loaded().behaviours(tmp_path)

"""Known programs of PyTorch, ported: each runs, and prints the same lines as its original in Python.

programs/NAME.lua is run by `rtrain exec`, programs/NAME.py by Python where it has torch. Both make the same small data from
the same seed, so that all lines agree: texts exactly, numbers but for rounding.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.lua"))

# How far numbers may be apart, relative to their size, where rounding grows faster than elsewhere.
TOLERANCE = {}

missing = [name for name in ("torch", "torchvision") if importlib.util.find_spec(name) is None]


def run_lua(rtrain, name):
    rtrain.env["OMP_NUM_THREADS"] = "1"
    result = rtrain("exec", FOLDER / f"{name}.lua", timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()


def run_python(rtrain, name):
    folder = rtrain.folder / "python"
    folder.mkdir()
    result = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\bnan\b|-?\binf\b")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs(rtrain, name):
    lines = run_lua(rtrain, name)
    assert len(lines) > 3
    assert not re.search(r"\bnan\b|\binf\b", "\n".join(lines))


@pytest.mark.skipif(bool(missing), reason=f"Python has no {', '.join(missing)}: scripts/test --oracle installs it")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_equals_its_original_step_by_step(rtrain, name):
    ours, theirs = run_lua(rtrain, name), run_python(rtrain, name)
    assert [NUMBER.sub("#", line) for line in ours] == [NUMBER.sub("#", line) for line in theirs]
    for our_line, their_line in zip(ours, theirs, strict=True):
        found, wanted = ([float(number) for number in NUMBER.findall(line)] for line in (our_line, their_line))
        assert found == pytest.approx(wanted, rel=TOLERANCE.get(name, 1e-4), abs=2e-6), f"{our_line}\n{their_line}"

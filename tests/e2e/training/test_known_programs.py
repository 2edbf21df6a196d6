"""Well-known programs of PyTorch, ported to Lua: each prints the same lines as its original in Python.

`rtrain exec` runs programs/NAME.lua; Python runs programs/NAME.py if it has torch. Both generate the same small data
from the same seed, so all lines agree: text exactly, numbers up to rounding, and what prints bytes in every digit.
"""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from conftest import ALL, SOURCE, nightly

FOLDER = SOURCE / "tests" / "e2e" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.lua"))

# Program → the relative tolerance of its numbers, where rounding errors grow faster than elsewhere.
TOLERANCE = {}

# These print the bytes of their numbers.
LONG = {"word_language_model"}
EXACT = {"half_numbers", "one_assignment"}

missing = [name for name in ("torch", "torchvision") if importlib.util.find_spec(name) is None]


PRINTED = {}  # program → the output that it has printed


def run_lua(rtrain, name):
    if name not in PRINTED:
        rtrain.env["OMP_NUM_THREADS"] = "1"
        result = rtrain("exec", FOLDER / f"{name}.lua", timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
        PRINTED[name] = result.stdout.splitlines()
    return PRINTED[name]


# Runs each program in a process that has already imported torch, which takes longer than most programs. Its output goes
# to the file `1` of the current folder, its errors to the file `2`.
ORIGINALS = """
import os, runpy, sys, torch, torchvision
for path in map(str.strip, sys.stdin):
    pid = os.fork()
    if pid == 0:
        for stream in 1, 2:
            os.dup2(os.open(str(stream), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
        sys.argv = [path]
        runpy.run_path(path, run_name="__main__")
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def run_python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("python")
    originals = subprocess.Popen(
        [sys.executable, "-c", ORIGINALS],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )

    def run(name):
        originals.stdin.write(f"{FOLDER / name}.py\n")
        originals.stdin.flush()
        code = originals.stdout.readline()
        printed, errors = ((folder / stream).read_text() for stream in ("1", "2"))
        assert code == "0\n", printed + errors
        return printed.splitlines()

    yield run
    originals.stdin.close()
    assert originals.wait(60) == 0


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\bnan\b|-?\binf\b")


@pytest.mark.skipif(not missing and not ALL, reason="the next test runs each program, next to its original")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs(rtrain, name):
    lines = run_lua(rtrain, name)
    assert len(lines) > 3
    assert not re.search(r"\bnan\b|\binf\b", "\n".join(lines))


@pytest.mark.skipif(bool(missing), reason=f"Python has no {', '.join(missing)}: scripts/test --oracle installs it")
@pytest.mark.parametrize("name", [pytest.param(name, marks=nightly if name in LONG else ()) for name in PROGRAMS])
def test_a_program_equals_its_original_step_by_step(rtrain, run_python, name):
    ours, theirs = run_lua(rtrain, name), run_python(name)
    if name in EXACT:
        assert ours == theirs
        return
    assert [NUMBER.sub("#", line) for line in ours] == [NUMBER.sub("#", line) for line in theirs]
    for our_line, their_line in zip(ours, theirs, strict=True):
        found, wanted = ([float(number) for number in NUMBER.findall(line)] for line in (our_line, their_line))
        assert found == pytest.approx(wanted, rel=TOLERANCE.get(name, 1e-4), abs=2e-6), f"{our_line}\n{their_line}"

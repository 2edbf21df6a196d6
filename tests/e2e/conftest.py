"""Fixtures for tests that drive the real executable as a black box."""

import os
import pathlib
import signal
import subprocess
import textwrap
import time

import pytest

RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))


class Rtrain:
    """Runs rtrain with its own storage folder, home and working directory."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.storage = self.folder / "storage"
        self.env = {**os.environ, "RTRAIN_STORAGE": str(self.storage), "HOME": str(self.folder), "NO_COLOR": "1"}

    def script(self, text, name="train.lua"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def popen(self, *args, **kwargs):
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        kwargs.setdefault("text", True)
        return subprocess.Popen([RTRAIN, *map(str, args)], cwd=self.folder, env=self.env, **kwargs)

    def __call__(self, *args, timeout=120):
        process = self.popen(*args, start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(f"{process.args} did not end within {timeout} s\n{out}\n{err}")
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def processes_of(storage):
    """Pids of live processes that were started with this storage folder: the controller and its workers."""
    wanted = b"RTRAIN_STORAGE=" + os.fsencode(str(storage))
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until(condition, timeout_s=30, message="the condition"):
    """Polls until the condition holds and returns its value; fails the test at the deadline."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    pytest.fail(f"{message} did not hold within {timeout_s} s")


@pytest.fixture
def rtrain(tmp_path):
    runner = Rtrain(tmp_path)
    yield runner
    deadline = time.monotonic() + 3
    while (leaked := processes_of(runner.storage)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in leaked:
        os.kill(pid, signal.SIGKILL)
    assert not leaked, f"processes left behind: {leaked}"

"""Runs saver.lua with a fault and checks the disk and the remaining processes afterwards."""

import contextlib
import json
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "e2e"))

import checker
from conftest import RTRAIN, Rtrain, Running, fault_tool

FORBIDDEN = 77
# The tools recognize a worker by its command line, so workers must be executed rather than forked.
STARTED = {"RTRAIN_ZYGOTE": "off"}


class Saver:
    """One folder in which saver.lua runs repeatedly, each time from the start."""

    def __init__(self, folder):
        self.rtrain = folder if isinstance(folder, Rtrain) else Rtrain(folder)
        self.rtrain.script((HERE / "saver.lua").read_text(), "saver.lua")
        self.log = self.rtrain.folder / "faults"

    @property
    def acks(self):
        return checker.acknowledged(self.rtrain.folder / "acknowledged")

    def clear(self):
        for path in (self.rtrain.storage, self.rtrain.temp):
            shutil.rmtree(path, ignore_errors=True)
        self.rtrain.temp.mkdir()
        for path in [self.log, self.rtrain.folder / "acknowledged", *self.rtrain.folder.glob("std*-*")]:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def run(self, env=None, wrapper=(), options=(), timeout=120):
        env = {**self.rtrain.env, **(env or {})}
        command = [*map(str, wrapper), RTRAIN, "run", str(self.rtrain.folder / "saver.lua"), *options]
        return Running(command, self.rtrain.folder, env).wait(timeout)

    def run_with_point(self, plan, **kwargs):
        """Runs with a fault at a named point of the code (host/base/fault.h)."""
        return self.run({"RTRAIN_FAULT": plan, **kwargs})

    def run_with_io(self, rules, options=(), **kwargs):
        """Runs with failing system calls (libfaultio.cpp). `fired` then lists the calls that failed."""
        return self.run(
            {
                "RTRAIN_FAULTIO": rules,
                "RTRAIN_FAULTIO_LOG": str(self.log),
                "LD_PRELOAD": str(fault_tool("libfaultio.so")),
                **STARTED,
                **kwargs,
            },
            options=options,
        )

    @property
    def fired(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def run_killed_at_syscall(self, role, n):
        """Runs with a process that is killed as it enters its n-th system call (kill_at_syscall.cpp)."""
        result = self.run(STARTED, wrapper=(fault_tool("kill_at_syscall"), role, n))
        if result.returncode == FORBIDDEN:
            pytest.skip("this machine forbids ptrace")
        line = next((line for line in result.stdout.splitlines() if line.startswith('{"count"')), None)
        assert line, result.stdout + result.stderr
        return json.loads(line)

    def check(self, controller_died=False):
        self.rtrain.wait_for_processes()
        checker.check(self.rtrain.storage, self.acks, controller_died)

    def close(self):
        shutil.rmtree(self.rtrain.runtime, ignore_errors=True)

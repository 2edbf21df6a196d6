#!/usr/bin/python3
"""Injects a fault at the 1st, 2nd, 3rd … place until a run completes without it, and checks the disk after each
(checker.py).

  sweep.py points                 kills at every fault point, in the controller and in either worker
  sweep.py io [--errno ENOSPC]    every system call on the storage fails once; also short writes and EINTR
  sweep.py kills [--kills 10000]  kills at every system call of the saves, repeated up to this number of kills

tests/e2e/runs/test_fault_sweep.py runs a sample of each. Prints a line for every thousand kills and each failure; the exit
status is 1 if there were failures.
"""

import argparse
import itertools
import pathlib
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from saver import Saver

IO_CALLS = (
    "open|opendir|read|pread|write|pwrite|copy_file_range|fsync|fdatasync|ftruncate|rename|mkdir|unlink|rmdir|mmap|lock"
)
PROCESSES = ("controller", "rank=0", "rank=1")


class Tally:
    """Counts the faults tried and collects the failures."""

    def __init__(self, verbose=None):
        self.verbose = verbose
        self.tried = 0
        self.broken = []

    def add(self, what, attempt):
        self.tried += 1
        try:
            attempt()
        except (AssertionError, pytest.fail.Exception) as error:
            self.broken.append(f"{what}: {error}")
            print(self.broken[-1], file=sys.stderr, flush=True)
        if self.verbose and self.tried % self.verbose == 0:
            print(f"{self.tried} tried, {len(self.broken)} broken", flush=True)


def at_points(saver, tally, every=1):
    """Sends SIGKILL at each passage of each fault point."""
    for process in PROCESSES:
        for n in itertools.count(1, every):
            saver.clear()
            result = saver.run_with_point(f"*:{n}:kill:{process}")
            if result.returncode == 0:
                break
            tally.add(f"kill at point {n} of {process}", lambda: saver.check(controller_died=process == "controller"))


def at_calls(saver, tally, reason, every=1):
    """Lets the n-th system call on a file of the storage fail in one process."""
    for process in PROCESSES:
        for n in itertools.count(1, every):
            saver.clear()
            tally.add(
                f"{reason} at call {n} of {process}",
                lambda: check_after_error(saver, f"{IO_CALLS}:{n}:{reason}:path=/storage:{process}"),
            )
            if not saver.fired:
                break


def check_after_error(saver, rules):
    result = saver.run_with_io(rules)
    saver.check()
    assert result.returncode in (0, 3, 4), f"status {result.returncode}\n{result.stdout}{result.stderr}"
    assert result.returncode == 0 or "rtrain: " in result.stderr, "no message"


def at_syscalls(saver, tally, kills):
    """Kills at each system call of the saves, repeatedly: the order of the threads differs in each run."""
    while tally.tried < kills:
        for role in ("controller", "worker"):
            for n in itertools.count(1):
                if tally.tried == kills or not kill_at_syscall(saver, tally, role, n):
                    break


def sample_of_syscalls(saver, tally, kills):
    """Makes `kills` kills, evenly spread over the system calls of one run."""
    for role in ("controller", "worker"):
        saver.clear()
        count = saver.run_killed_at_syscall(role, 0)["count"]
        for i in range(kills // 2):
            kill_at_syscall(saver, tally, role, 1 + count * i // (kills // 2))


def kill_at_syscall(saver, tally, role, n):
    """Returns False if the run ended before the kill."""
    saver.clear()
    outcome = saver.run_killed_at_syscall(role, n)
    if outcome["killed_at"] < 0:
        return False
    tally.add(
        f"{role} killed at system call {n} ({outcome['killed_at']})",
        lambda: saver.check(controller_died=role == "controller"),
    )
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sweep", choices=("points", "io", "kills"))
    parser.add_argument("--every", type=int, default=1, help="points, io: only each n-th place")
    parser.add_argument("--errno", action="append", help="for io; ENOSPC and EIO")
    parser.add_argument("--kills", type=int, default=10000)
    options = parser.parse_args()
    tally = Tally(verbose=1000 if options.sweep == "kills" else 100)
    with tempfile.TemporaryDirectory() as folder:
        saver = Saver(folder)
        try:
            if options.sweep == "points":
                at_points(saver, tally, options.every)
            elif options.sweep == "io":
                for reason in options.errno or ("ENOSPC", "EIO"):
                    at_calls(saver, tally, reason, options.every)
            else:
                at_syscalls(saver, tally, options.kills)
        finally:
            saver.close()
    print(f"{tally.tried} faults, {len(tally.broken)} broken promises")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs that are killed at random moments and continue end with the bits of a run that was not.

    run.py [--runs N] [--seed S] [--kills K] [--workers W] [--threads T] [--sharded] [--asynchronous]
           [--keep]

One run of resumable.lua is left alone; N are killed, each up to K times: a worker, rank 0, or the controller, at a moment
that the seed chooses. A killed controller's run is started again (resume = 'auto'). What every rank wrote at its end
(parameters, buffers, optimizer, next random numbers) must be equal byte by byte, the reports must be numbered without a
gap, and nothing may be left running. With --sharded the ranks divide the model (fully_shard), and its checkpoints; with
--asynchronous they save while training goes on. The executable is $RTRAIN.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))
TARGETS = ("worker", "rank 0", "controller")
RUN_TIMEOUT_S = 300


class KilledRun:
    """One run of the script in its own folder."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.storage, self.runtime = folder / "storage", folder / "rt"
        self.runtime.mkdir(parents=True)
        self.env = {
            **os.environ,
            "RTRAIN_STORAGE": str(self.storage),
            "RTRAIN_RUNTIME_DIR": str(self.runtime),
            "HOME": str(folder),
            "TMPDIR": str(folder),
        }
        self.process = None
        self.kills = []

    def start(self):
        settings = [f"out={self.folder}/last", f"loader_threads={self.options.threads}"]
        settings += [f"sharded={self.options.sharded}".lower(), f"async={self.options.asynchronous}".lower()]
        command = [RTRAIN, "run", str(HERE / "resumable.lua"), "-q", "-n", str(self.options.workers)]
        for setting in settings:
            command += ["--set", setting]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command,
                env=self.env,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def workers(self):
        """Returns the pids of the newest attempt's workers, by rank."""
        with contextlib.suppress(sqlite3.Error):
            with contextlib.closing(
                sqlite3.connect(f"file:{self.storage}/rtrain.db?mode=ro", uri=True, timeout=5)
            ) as db:
                return [
                    pid
                    for (pid,) in db.execute(
                        "SELECT pid FROM workers WHERE attempt = (SELECT max(attempt) FROM attempts) ORDER BY rank"
                    )
                ]
        return []

    def kill(self, target, number):
        if target == "controller":
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.start()
        else:
            pids = self.workers()
            if not pids:
                return False
            victim = pids[0] if target == "rank 0" else pids[number % len(pids)]
            if not is_ours(victim, self.storage):
                return False
            os.kill(victim, signal.SIGKILL)
        self.kills.append(target)
        return True

    def finish(self, moments=()):
        """Runs to the end with kills at these moments (seconds after the previous one, target, number). Returns the
        final files by rank.
        """
        self.start()
        for delay_s, target, number in moments:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(delay_s)
                break  # the run has ended before this kill
            self.kill(target, number)
        if self.process.wait(RUN_TIMEOUT_S) != 0:
            raise AssertionError(f"the run ended with {self.process.returncode}: see {self.folder}/log")
        return [(self.folder / f"last-rank-{rank}").read_bytes() for rank in range(self.options.workers)]

    def check_history(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.storage}/rtrain.db?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT idx, rank FROM reports WHERE superseded = 0 ORDER BY rank, idx").fetchall()
            steps = max(idx for idx, _ in rows) + 1
            assert rows == [(idx, rank) for rank in range(self.options.workers) for idx in range(steps)], rows
            assert db.execute("SELECT count(*), min(status) FROM runs").fetchone() == (1, "FINISHED")
        return steps


def is_ours(pid, storage):
    with contextlib.suppress(OSError):
        return f"RTRAIN_STORAGE={storage}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def moments(choice, kills, length_s):
    """Returns random kills as (seconds after the previous one, target, number). `length_s` is the time of an
    undisturbed run.
    """
    return [
        (choice.uniform(0, length_s), choice.choice(TARGETS), choice.randrange(100))
        for _ in range(choice.randint(1, kills))
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kills", type=int, default=3, help="at most, of one run")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0, help="loader threads of each worker")
    parser.add_argument("--sharded", action="store_true", help="the ranks divide the model")
    parser.add_argument("--asynchronous", action="store_true", help="saves while training goes on")
    parser.add_argument("--keep", action="store_true", help="leave the folders of the runs")
    options = parser.parse_args()
    choice = random.Random(options.seed)
    place = pathlib.Path(tempfile.mkdtemp(prefix="rk-"))
    begun = time.monotonic()
    straight = KilledRun(place / "straight", options)
    wanted = straight.finish()
    steps, length_s = straight.check_history(), time.monotonic() - begun
    print(f"seed {options.seed}: {steps} steps in {length_s:.1f} s, {options.workers} workers", flush=True)
    failed, kills = 0, dict.fromkeys(TARGETS, 0)
    for number in range(options.runs):
        run = KilledRun(place / f"run-{number}", options)
        plan = moments(choice, options.kills, length_s)
        try:
            found = run.finish(plan)
            differing = [rank for rank, data in enumerate(found) if data != wanted[rank]]
            assert not differing, f"other bits on ranks {differing}: {run.folder}"
            assert run.check_history() == steps
        except AssertionError as problem:
            failed += 1
            print(f"run {number}, killed {run.kills}: {problem}", flush=True)
        else:
            if not options.keep:
                shutil.rmtree(run.folder)
        for target in run.kills:
            kills[target] += 1
    told = ", ".join(f"{count} × {target}" for target, count in kills.items())
    print(f"{options.runs} runs, {told} killed: {failed} failed")
    if not failed and not options.keep:
        shutil.rmtree(place)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

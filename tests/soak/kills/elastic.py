#!/usr/bin/env python3
"""A run in train.elastic whose workers are killed at random moments ends with the bits of a calm one.

    elastic.py [--kills N] [--seed S] [--workers W] [--hosts H | --gpus FOLDER | --sharded] [--spares] [--keep]

elastic.lua runs twice: once left alone, once with N kills: any rank, rank 0 too, two at once, while others are being replaced.
One rank that holds the state is always spared; without it there is nothing to continue with. What every rank wrote at its end
must be equal byte by byte, the reports must be those of the calm run, every attempt but the last must be HEALED, and the
processes that were not killed must be the same in the next attempt. With `--hosts` the workers are on that many nodes, which
are namespaces (tests/cluster/hosts.py). With `--gpus` each has a GPU that is simulated: FOLDER is that of libfake_gpu.so
(tests/README.md). With `--sharded` each has rows of the model and a copy of the rows of the rank before it: of a lost rank
both neighbors are spared. With `--spares` workers are killed only while there is a spare, which takes the place of the first
one, or is killed too. The executable is $RTRAIN.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "cluster"))

from hosts import Hosts
from launchers import Task, slurm

RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))
LOG_SHOWN = 4000  # characters from the end of the log
STEPS_A_KILL = 25
STEPS_A_SPARE = 400  # the steps of 4 ms in which a spare is made


class ElasticRun:
    """One run of the script in its own folder."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.storage, self.runtime = folder / "storage", folder / "rt"
        self.runtime.mkdir(parents=True)
        self.killed, self.spares = set(), set()
        self.hosts = Hosts(folder / "hosts", options.hosts) if options.hosts > 1 else None
        self.process, self.agents = None, []

    def start(self):
        command = [
            RTRAIN,
            "run",
            str(HERE / "elastic.lua"),
            "-q",
            "-n",
            str(self.options.workers),
            "--set",
            f"out={self.folder}/last",
            "--set",
            f"steps={self.options.steps}",
        ]
        if self.options.gpus:
            command += ["--gpus", str(self.options.workers), "--set", "gpus=true"]
        if self.options.sharded:
            command += ["--set", "sharded=true"]
        with open(self.folder / "log", "wb") as log:
            self.process, *self.agents = [self.start_on(host, command, log) for host in range(self.options.hosts)]

    def start_on(self, number, command, log):
        runtime = self.runtime / str(number)
        runtime.mkdir(mode=0o700)
        env = {
            **os.environ,
            "RTRAIN_STORAGE": str(self.storage),
            "RTRAIN_RUNTIME_DIR": str(runtime),
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
        }
        if self.options.gpus:
            env.update(
                LD_LIBRARY_PATH=str(self.options.gpus),
                LD_PRELOAD=str(self.options.gpus / "libfake_gpu.so"),
                FAKE_CUDA_DEVICES=str(self.options.workers),
            )
        if self.hosts:
            variables = slurm(Task(number, 0, [1] * self.options.hosts), os.getpid())
            env.update(
                {name: str(value) for name, value in variables.items()}, RTRAIN_RENDEZVOUS=str(self.folder / "job")
            )
            command = self.hosts[number].command(*command, folder=self.folder)
        return subprocess.Popen(
            command, env=env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(f"file:{self.storage}/rtrain.db?mode=ro", uri=True, timeout=5)) as db:
            return db.execute(sql).fetchall()

    def newest(self):
        """Returns the pids of the newest attempt, and whether all its ranks hold the state."""
        with contextlib.suppress(sqlite3.Error):
            rows = self.query(
                "SELECT attempt, heal_s, pid FROM attempts LEFT JOIN workers USING(run_id, attempt) "
                "WHERE attempt = (SELECT max(attempt) FROM attempts) ORDER BY rank"
            )
            if rows and rows[0][0] == 1:
                return [pid for _, _, pid in rows], bool(self.query("SELECT 1 FROM reports LIMIT 1"))
            if rows:
                return [pid for _, _, pid in rows if pid], rows[0][1] is not None
        return [], False

    def choose_spared(self, alive, choice):
        if self.options.sharded:
            on_each = self.options.workers // self.options.hosts
            ring = sorted(range(len(alive)), key=lambda rank: (rank % on_each, rank))
            return [alive[rank] for rank in ring[choice.choice([0, 1]) :: 2]]
        return [choice.choice(alive)]

    def harass(self, choice):
        """Kills workers until the requested number of kills is reached or the run has ended."""
        spared, kills_of_a_heal = [], 0
        while len(self.killed) < self.options.kills and self.process.poll() is None:
            pids, is_whole = self.newest()
            alive = [pid for pid in pids if pid not in self.killed]
            if is_whole and len(alive) == self.options.workers:
                spared, kills_of_a_heal = self.choose_spared(alive, choice), 0
            victims = [pid for pid in alive if pid not in spared and is_ours(pid, self.storage)]
            # A run gives up if its replacements die too often.
            if self.options.spares and not kills_of_a_heal and victims and not self.find_spare(pids, choice):
                victims = []
            if spared and victims and kills_of_a_heal < 5:
                kills_of_a_heal += 1
                for pid in choice.sample(victims, min(len(victims), choice.choice([1, 1, 1, 2]))):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    self.killed.add(pid)
            time.sleep(choice.choice([choice.uniform(0, 0.05), choice.uniform(0, 0.7)]))

    def find_spare(self, pids, choice):
        """Returns whether there is a spare. Kills some of them."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
        for pid in [int(pid) for path in children for pid in path.read_text().split()]:
            if pid in pids or pid in self.killed or not is_worker(pid):
                continue
            self.spares.add(pid)
            if choice.random() < 0.2:
                os.kill(pid, signal.SIGKILL)
                self.killed.add(pid)
            return True
        return False

    def num_spares_used(self):
        return len(self.spares & {pid for (pid,) in self.query("SELECT pid FROM workers")})

    def finish(self):
        codes = [process.wait(7200) for process in (self.process, *self.agents)]
        if self.hosts:
            self.hosts.end()
        if any(codes):
            log = (self.folder / "log").read_text(errors="replace")
            raise AssertionError(f"the run in {self.folder} ended with {codes}:\n{log[-LOG_SHOWN:]}")
        return [(self.folder / f"last-rank-{rank}").read_bytes() for rank in range(self.options.workers)]

    def check_history(self):
        rows = self.query("SELECT idx, rank, json_extract(metrics, '$.step') FROM reports WHERE superseded = 0")
        assert len(rows) == len({(idx, rank) for idx, rank, _ in rows}), "a report is there twice"
        # Some rank may lack a report: a rank lost between its step and its report takes that report along.
        found, wanted = {idx for idx, _, _ in rows}, set(range(self.options.steps // 10))
        assert found == wanted, f"reports missing: {wanted - found}, too many: {found - wanted}: {self.folder}"
        assert all(step == 10 * (idx + 1) for idx, _, step in rows), "a report of another step"
        statuses = [status for (status,) in self.query("SELECT status FROM attempts ORDER BY attempt")]
        assert statuses == ["HEALED"] * (len(statuses) - 1) + ["FINISHED"], statuses
        by_attempt = {}
        for attempt, rank, pid in self.query("SELECT attempt, rank, pid FROM workers ORDER BY attempt, rank"):
            by_attempt.setdefault(attempt, {})[rank] = pid
        whole = {1} | {attempt for (attempt,) in self.query("SELECT attempt FROM attempts WHERE heal_s IS NOT NULL")}
        for attempt in range(2, len(statuses) + 1):
            if attempt - 1 not in whole:
                continue  # the next loss ended this attempt before the replacement had the state
            for rank, pid in by_attempt[attempt - 1].items():
                # A rank has no row if the next loss came before its process existed.
                replaced = by_attempt[attempt].get(rank) != pid
                assert pid in self.killed or not replaced, f"rank {rank} of attempt {attempt} is another process"
        return [seconds for (seconds,) in self.query("SELECT heal_s FROM attempts WHERE heal_s IS NOT NULL")]


def is_worker(pid):
    """Whether it is a process with a rank, or a spare."""
    with contextlib.suppress(OSError):
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return words[1:2] == [b"--worker"] and words[2].strip() != b"-1"
    return False


def is_ours(pid, storage):
    with contextlib.suppress(OSError):
        return f"RTRAIN_STORAGE={storage}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--gpus", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--sharded", action="store_true")
    parser.add_argument("--spares", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the folders of the runs")
    options = parser.parse_args()
    options.steps = 100 + (STEPS_A_SPARE if options.spares else STEPS_A_KILL) * options.kills
    place = pathlib.Path(tempfile.mkdtemp(prefix="rk-"))
    calm, harassed = ElasticRun(place / "calm", options), ElasticRun(place / "harassed", options)
    calm.start()
    wanted = calm.finish()
    calm.check_history()
    begun = time.monotonic()
    harassed.start()
    harassed.harass(random.Random(options.seed))
    found = harassed.finish()
    heals = harassed.check_history()
    differing = [rank for rank, data in enumerate(found) if data != wanted[rank]]
    assert not differing, f"other bits on ranks {differing}: {place}"
    assert len(harassed.killed) >= min(options.kills, 3), f"only {len(harassed.killed)} kills: the run was too short"
    if options.spares:
        print(f"{harassed.num_spares_used()} spares took a rank's place")
    print(
        f"seed {options.seed}: {len(harassed.killed)} workers killed in {time.monotonic() - begun:.1f} s, {len(heals)} heals, "
        f"median {statistics.median(heals) * 1000:.0f} ms, longest {max(heals) * 1000:.0f} ms: the same bits"
    )
    if not options.keep:
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Trainings over virtual workers end with the bits of a calm one, whatever is lost and however many processes there are.

    virtual.py [--schedules 1000] [--seed 0] [--hosts] [--net conv | packed | resnet18] [--keep]

Each schedule (tests/e2e/virtual/schedules.py) says which ranks are killed, and when, which processes do not start, so that
the group becomes smaller and grows again, and what is trained: by a loop or by train.loop, compiled or not, over a
DataLoader or a dataset. With `--hosts` the workers are on several nodes, which are namespaces (tests/cluster/hosts.py), and
nodes are lost and come back. What it ends with, and its reports, must be those of one process that is left alone. Prints each
schedule that ends otherwise, and exits with 1 then. The executable is $RTRAIN.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
E2E = HERE.parent.parent / "e2e"
sys.path[:0] = [str(E2E / "virtual"), str(HERE.parent.parent / "cluster")]

from hosts import Hosts
from launchers import Task, slurm
from schedules import drawn

RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))
TIMEOUT_S = 300
LOG_SHOWN = 3000  # characters from the end of the log
MOST_NODES = 4


class Job:
    """A job on several nodes. A node that is lost is started again if the schedule says so."""

    def __init__(self, ended, hosts, nodes):
        self.ended, self.hosts, self.nodes = ended, hosts, nodes
        self.log = open(ended.folder / "log", "w+b")
        self.lost_at = {}
        self.processes = [self.start(number) for number in range(nodes.count)]

    def start(self, number):
        runtime = self.ended.folder / f"rt-{number}"
        runtime.mkdir(mode=0o700, exist_ok=True)
        env = {
            **self.ended.env,
            "RTRAIN_RUNTIME_DIR": str(runtime),
            "RTRAIN_RENDEZVOUS": str(self.ended.folder / "job"),
            "SLURM_CPUS_ON_NODE": str(self.nodes.cores * (2 if self.nodes.is_spread else 1)),
            **{name: str(value) for name, value in slurm(Task(number, 0, [1] * self.nodes.count), os.getpid()).items()},
        }
        command = self.hosts[number].command(RTRAIN, "run", "train.lua", folder=self.ended.folder)
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        (self.ended.folder / f"agent-{number}").write_text(str(process.pid))
        return process

    def bring_back(self, number):
        lost_at = self.lost_at.setdefault(number, time.monotonic())
        if self.nodes.returns_s is not None and time.monotonic() >= lost_at + self.nodes.returns_s:
            del self.lost_at[number]
            self.processes[number] = self.start(number)

    def wait(self):
        """Returns what all nodes have printed."""
        first, deadline = self.processes[0], time.monotonic() + TIMEOUT_S
        while first.poll() is None and time.monotonic() < deadline:
            for number, process in enumerate(self.processes):
                if process.poll() is not None and number > 0:
                    self.bring_back(number)
            time.sleep(0.02)
        for process in self.processes[1:]:
            self.end(process, 20)
        self.end(first, 0)
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        if first.returncode != 0:
            raise RuntimeError(f"node 0 ended with {first.returncode}:\n{text[-LOG_SHOWN:]}")
        return text

    def end(self, process, patience_s):
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Ended:
    """What a schedule has ended with, in a folder of its own."""

    def __init__(self, folder, schedule, name, hosts=None):
        self.folder, self.name = folder, name
        self.env = {
            **os.environ,
            "RTRAIN_STORAGE": str(folder / "storage"),
            "RTRAIN_RUNTIME_DIR": str(folder / "rt"),
            "RTRAIN_FAULT": schedule.fault,
            "HOME": str(folder),
            "LUA_PATH": f"{E2E}/scripts/?.lua;;",
        }
        folder.mkdir()
        (folder / "rt").mkdir(mode=0o700)
        (folder / "train.lua").write_text(schedule.text(name))
        if schedule.nodes:
            self.log = Job(self, hosts, schedule.nodes).wait()
        else:
            self.call("resources", "--set", f"cpus={schedule.workers}")
            self.log = self.call("run", "train.lua")
        rows = json.loads(self.call("metrics", name, "--ranks", "--superseded", "--json"))
        self.reports = [row["ranks"][0] for row in rows if not row["superseded"]]
        self.out = (folder / f"out-{name}").read_text()
        self.attempts = [attempt["status"] for attempt in json.loads(self.call("show", name, "--json"))["attempts"]]

    def call(self, *args):
        done = subprocess.run(
            [RTRAIN, *args],
            cwd=self.folder,
            env={**self.env, "RTRAIN_FAULT": self.env["RTRAIN_FAULT"] if args[0] == "run" else ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{args} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-LOG_SHOWN:]}")
        return done.stdout

    def difference(self, calm):
        """Returns how it differs from a calm run, or None."""
        if self.attempts[-1] != "FINISHED":
            return f"its attempts are {self.attempts}"
        if len(self.reports) != len(calm.reports):
            return f"{len(self.reports)} reports instead of {len(calm.reports)}"
        for number, (mine, other) in enumerate(zip(self.reports, calm.reports)):
            differing = [key for key in ("loss", "norm", "step", "drawn") if mine.get(key) != other.get(key)]
            if differing:
                return f"report {number} has another {', '.join(differing)}"
        return None if self.out == calm.out else "parameters or optimizer state"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hosts", action="store_true", help="on several nodes, some of which are lost")
    parser.add_argument("--net", choices=["conv", "packed", "resnet18"])
    parser.add_argument("--keep", action="store_true", help="keep the folders of schedules that differ")
    options = parser.parse_args()
    calm, differing, counts = {}, 0, collections.Counter()
    root = pathlib.Path(tempfile.mkdtemp(prefix="rts-", dir="/tmp"))
    hosts = Hosts(root / "hosts", MOST_NODES) if options.hosts else None
    begun = time.monotonic()
    for number, seed in enumerate(range(options.seed, options.seed + options.schedules), start=1):
        schedule = drawn(seed, options.net, options.hosts)
        training = schedule.training()
        if training not in calm:
            calm[training] = Ended(root / f"calm-{len(calm)}", schedule.calm(), "calm")
        folder = root / str(seed)
        try:
            ended = Ended(folder, schedule, "run", hosts)
            problem = ended.difference(calm[training])
            counts.update(ended.attempts)
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            problem = str(e)
        counts[schedule.net] += 1
        if problem:
            differing += 1
            print(f"seed {seed}: {problem}\n  {schedule}", flush=True)
        if not (problem and options.keep):
            shutil.rmtree(folder, ignore_errors=True)
        if number % 20 == 0 or number == options.schedules:
            mean_s = (time.monotonic() - begun) / number
            print(f"{number} schedules, {differing} end otherwise, {mean_s:.1f} s each: {dict(counts)}", flush=True)
    if hosts:
        hosts.end()
    if not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()

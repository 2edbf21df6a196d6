#!/usr/bin/env python3
"""Trainings over virtual workers end with the bits of a calm one, whatever is lost and however many processes there are.

    virtual.py [--schedules 1000] [--seed 0] [--net conv | packed | resnet18] [--keep]

Each schedule (tests/e2e/virtual/schedules.py) says which ranks are killed, and when, which processes do not start, so that
the group becomes smaller and grows again, and what is trained: by a loop or by train.loop, compiled or not, over a
DataLoader or a dataset. What it ends with, and its reports, must be those of one process that is left alone. Prints each
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

HERE = pathlib.Path(__file__).resolve().parent
E2E = HERE.parent.parent / "e2e"
sys.path.insert(0, str(E2E / "virtual"))

from schedules import drawn

RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))
TIMEOUT_S = 300
LOG_SHOWN = 3000  # characters from the end of the log


class Ended:
    """What a schedule has ended with, in a folder of its own."""

    def __init__(self, folder, schedule, name):
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
        self.call("resources", "--set", "cpus=4")
        self.log = self.call("run", "train.lua")
        rows = json.loads(self.call("metrics", name, "--ranks", "--superseded", "--json"))
        self.reports = [row["ranks"][0] for row in rows if not row["superseded"]]
        self.out = (folder / f"out-{name}").read_text()
        self.attempts = [attempt["status"] for attempt in json.loads(self.call("show", name, "--json"))["attempts"]]

    def call(self, *args):
        done = subprocess.run(
            [RTRAIN, *args],
            cwd=self.folder,
            env=self.env,
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
    parser.add_argument("--net", choices=["conv", "packed", "resnet18"])
    parser.add_argument("--keep", action="store_true", help="keep the folders of schedules that differ")
    options = parser.parse_args()
    calm, differing, counts = {}, 0, collections.Counter()
    root = pathlib.Path(tempfile.mkdtemp(prefix="rts-", dir="/tmp"))
    for seed in range(options.seed, options.seed + options.schedules):
        schedule = drawn(seed, options.net)
        training = schedule.training()
        if training not in calm:
            calm[training] = Ended(root / f"calm-{len(calm)}", schedule.calm(), "calm")
        folder = root / str(seed)
        try:
            ended = Ended(folder, schedule, "run")
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
        if (seed + 1 - options.seed) % 20 == 0:
            print(f"{seed + 1 - options.seed} schedules, {differing} differ: {dict(counts)}", flush=True)
    if not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{options.schedules} schedules, {differing} end otherwise: {dict(counts)}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()

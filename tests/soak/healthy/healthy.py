#!/usr/bin/env python3
"""Trainings in which no rank is slow: nobody is to be named.

    healthy.py [--hours 24] [--seconds 120] [--seed 0]

Each training is drawn: its net, batches, loaders, checkpoints, number of workers, and programs that compute or write to the
disk next to all of its ranks. Prints each rank that is named, and the hours of all ranks; exits with 1 where one is named in
a training without such programs. The executable is $RTRAIN.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))
LATE_S = 300
SPIN = "import os\nwhile os.getppid() == {parent}:\n    for _ in range(10**6): pass"
WRITE = (
    "import os\nwhile os.getppid() == {parent}:\n"
    "    with open('written', 'wb') as file:\n"
    "        for _ in range(64): file.write(bytes(2**20))\n"
    "        os.fsync(file.fileno())"
)


def drawn(seed):
    """Returns the settings of a training, and what runs next to it."""
    draws = random.Random(seed)
    settings = {
        "net": draws.choice(["mlp", "wide", "conv"]),
        "batch_size": draws.choice([8, 16, 32, 64]),
        "threads": draws.choice([0, 0, 1, 2]),
        "saves": draws.choice(["none", "none", "first", "sync", "async"]),
        "report_every": draws.choice([1, 5, 20, 50]),
        "evaluates": draws.choice(["true", "false"]),
    }
    return settings, draws.choice([2, 2, 3, 4]), draws.choice(["", "", "", "spin", "write"])


@contextlib.contextmanager
def neighbours(kind, folder):
    """Programs that need as much of each core."""
    count = len(os.sched_getaffinity(0)) if kind == "spin" else 1
    program = {"spin": SPIN, "write": WRITE, "": ""}[kind].replace("{parent}", str(os.getpid()))
    processes = []
    for _ in range(count if program else 0):
        command = [sys.executable, "-c", program]
        processes.append(subprocess.Popen(command, cwd=folder, start_new_session=True))
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.wait()


def named(settings, workers, seconds, folder):
    """Trains, and returns the events that name a rank."""
    env = {
        **os.environ,
        "RTRAIN_STORAGE": f"{folder}/storage",
        "RTRAIN_RUNTIME_DIR": f"{folder}/rt",
        "HOME": str(folder),
    }
    (folder / "rt").mkdir(mode=0o700)
    command = [RTRAIN, "run", HERE / "healthy.lua", "-n", str(workers), "--oversubscribe", "--json"]
    for name, value in {**settings, "seconds": seconds}.items():
        command += ["--set", f"{name}={value}"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds + LATE_S)
    if done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return [each for each in events if each["event"] == "straggler" and not each["has_passed"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--seconds", type=int, default=120, help="of each training")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end = time.monotonic() + 3600 * options.hours
    hours = {"": 0.0, "spin": 0.0, "write": 0.0}
    names = dict.fromkeys(hours, 0)
    seed = options.seed
    while time.monotonic() < end:
        settings, workers, kind = drawn(seed)
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="healthy-") as folder, neighbours(kind, folder):
            found = named(settings, workers, options.seconds, pathlib.Path(folder))
        hours[kind] += workers * (time.monotonic() - begun) / 3600
        names[kind] += len(found)
        for event in found:
            print(f"seed {seed}, {workers} workers, {settings}, next to {kind or 'nothing'}: {event}", flush=True)
        seed += 1
        told = ", ".join(f"{names[each]} in {hours[each]:.2f} h next to {each or 'nothing'}" for each in hours)
        print(f"{seed - options.seed} trainings, named ranks by hours of ranks: {told}", flush=True)
    sys.exit(1 if names[""] > 0 else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs calls.lua in processes of its own and continues behind a crash.

    run.py [--seed S] [--calls N | --seconds T] [--memory-mib M] [--call-seconds C]

A call that crashes or gives an internal error fails the run; its seed is printed. One that takes longer than
--call-seconds is ended and printed: huge sizes may take long. The executable is $RTRAIN. Memory is bounded by the
limit on address space: operators that ask for more must raise an error.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CHUNK = 20000  # calls of one process


def bounded(mebibytes):
    def apply():
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return apply


class Run:
    def __init__(self, options, folder):
        self.options, self.folder, self.progress = options, folder, folder / "call"
        self.problems = []

    def current(self):
        """Returns (seed, operator) of the current call."""
        text = self.progress.read_text().split() if self.progress.exists() else []
        return (int(text[0]), text[1]) if len(text) >= 2 else None

    def wait(self, process):
        """Returns True if the process ended by itself or the deadline has passed. Kills a process that hangs or is
        late.
        """
        last, since = None, time.monotonic()
        while True:
            try:
                process.wait(0.5)
                return True
            except subprocess.TimeoutExpired:
                now = self.current()
            if now != last:
                last, since = now, time.monotonic()
            late = time.monotonic() > self.options.deadline
            if late or time.monotonic() - since > self.options.call_seconds:
                process.kill()
                process.wait()
                if not late:
                    print(f"slow: seed {last[0]}: {last[1]}", flush=True)
                return late

    def part(self, seed, calls):
        """Makes up to `calls` calls in one process. Returns how many were made."""
        self.progress.unlink(missing_ok=True)
        environment = {**os.environ, "LUA_PATH": f"{HERE}/?.lua;;", "OMP_NUM_THREADS": "1"}
        command = [os.environ["RTRAIN"], "exec", str(HERE / "calls.lua"), str(seed), str(calls), str(self.progress)]
        with open(self.folder / "out", "w+") as out, open(self.folder / "err", "w+") as err:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=out,
                stderr=err,
                preexec_fn=bounded(self.options.memory_mib),
            )
            ended = self.wait(process)
            out.seek(0)
            lines = out.read().splitlines()
            err.seek(0)
            last_words = " / ".join(line for line in err.read().splitlines()[-3:] if not line.startswith("warning"))
        self.problems += [line for line in lines if line.startswith("seed ")]
        if process.returncode in (0, 1) and lines and "complaints" in lines[-1]:
            print(lines[-1], flush=True)
            return calls
        at = self.current()
        if at is None:
            sys.exit(f"calls.lua did not start: {last_words}")
        if ended and time.monotonic() < self.options.deadline:
            self.problems.append(f"seed {at[0]}: {at[1]}: ended with status {process.returncode}: {last_words}")
        return at[0] - seed + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--memory-mib", type=int, default=4000)
    parser.add_argument("--call-seconds", type=float, default=30)
    options = parser.parse_args()
    options.deadline = time.monotonic() + options.seconds
    seed, end = options.seed, options.seed + options.calls
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, pathlib.Path(folder))
        while seed < end and time.monotonic() < options.deadline:
            seed += run.part(seed, min(CHUNK, end - seed))
    print(
        "\n".join(
            run.problems + [f"{seed - options.seed} calls from seed {options.seed}, {len(run.problems)} problems"]
        )
    )
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""A started program with all its descendants: marks, memory, and an end that leaves nothing behind."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections import namedtuple

from harness.benchmark import BenchError

Event = namedtuple("Event", "time pid name value")

POLL_S = 0.003
STOP_S = 15


class Job:
    """`command` is a function of the job's folders: command(storage, events) -> list of arguments."""

    def __init__(self, name, command, environment):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix=f"bench-{name}-")
        self.storage = os.path.join(self.folder, "storage")
        self.events_folder = os.path.join(self.folder, "events")
        os.mkdir(self.storage)
        os.mkdir(self.events_folder)
        self._marker = f"BENCH_JOB={uuid.uuid4()}"
        self._log_path = os.path.join(self.folder, "log")
        key, value = self._marker.split("=")
        with open(self._log_path, "wb") as log:
            self.started = time.monotonic()
            self._process = subprocess.Popen(
                command(self.storage, self.events_folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment, key: value},
                start_new_session=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        return self._process.pid

    def is_running(self):
        return self._process.poll() is None

    def log(self):
        with open(self._log_path, errors="replace") as file:
            return file.read()

    def fail(self, what):
        tail = "\n".join(self.log().splitlines()[-30:])
        raise BenchError(f"{self.name}: {what}. The end of its output:\n{tail}")

    def wait_for(self, condition, what, timeout_s, poll_s=POLL_S):
        """Returns the first true value of condition(); fails at the deadline, and if the program ends before."""
        deadline = time.monotonic() + timeout_s
        while True:
            ended = not self.is_running()
            value = condition()
            if value:
                return value
            if ended:
                self.fail(f"ended with status {self._process.returncode} before {what}")
            if time.monotonic() > deadline:
                self.fail(f"no sign of {what} after {timeout_s} s")
            time.sleep(poll_s)

    def wait_end(self, timeout_s):
        """Returns the program's exit status; fails at the deadline."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.fail(f"still running after {timeout_s} s")

    def finish(self, timeout_s):
        """Returns the seconds from the start to the end; fails unless the program ends with status 0."""
        status = self.wait_end(timeout_s)
        if status != 0:
            self.fail(f"ended with status {status}")
        return time.monotonic() - self.started

    def events(self, rank):
        try:
            with open(os.path.join(self.events_folder, f"events.{rank}")) as file:
                text = file.read()
        except FileNotFoundError:
            return []
        lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]  # the last line may be incomplete
        return [Event(float(time_), int(pid), name, float(value)) for time_, pid, name, value in lines]

    def mark(self, rank, name):
        """Returns the first event of that name, or None."""
        return next((event for event in self.events(rank) if event.name == name), None)

    def processes(self):
        """Returns every living process of the job, daemons included: they inherit the job's mark in their environment."""
        marker = self._marker.encode()
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if marker in file.read().split(b"\0"):
                        found.append(int(entry))
            except OSError:
                continue
        return found

    def close(self):
        if self.is_running():
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                pass
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def proportional_bytes(pid):
    """Returns the PSS: the memory that a process uses alone, and its share of shared memory."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"^Pss:\s+(\d+) kB", file.read(), re.MULTILINE).group(1)) * 1024


def mapped_libtorch(pid):
    """Returns the paths of LibTorch's libraries in a process's memory; empty if there are none."""
    with open(f"/proc/{pid}/maps") as file:
        return sorted({line.split()[-1] for line in file if "libtorch" in line})


def check_libtorch(config, job, pid):
    """Raises BenchError unless the worker has loaded the same LibTorch as all other sides."""
    loaded = [path for path in mapped_libtorch(pid) if os.path.basename(path) == "libtorch_cpu.so"]
    if [os.path.realpath(path) for path in loaded] != [os.path.realpath(config.libtorch_file)]:
        raise BenchError(f"{job.name}: a worker runs {loaded}, not {config.libtorch_file}")


def pin_threads(pid, cores):
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cores)

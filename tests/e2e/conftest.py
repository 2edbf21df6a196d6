"""Fixtures for tests that drive the real executable as a black box.

Each test has its own folder: working directory, HOME, TMPDIR and storage of every process that it starts. A test fails
if it leaves a process or a temporary file behind.
"""

import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time

import pytest

# For every process that a test starts, and for Python's torch: threads that wait for each other are slow while other
# tests run.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # for tests that ask for more threads

# The process that started the tests may ignore signals (nohup, a background job of a shell), and rtrain would inherit
# that. Python ignores SIGPIPE and SIGXFSZ itself, and Popen restores them.
for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])

# Set by scripts/test --nightly: run every case where a change runs a sample.
ALL = os.environ.get("RTRAIN_TEST_ALL") == "1"


def sample(*cases):
    """Returns cases for parametrize that exercise the same code: only the last case by day, all of them by night."""
    return cases if ALL else cases[-1:]


# A test by night alone: another test covers its subject in part by day. As `pytestmark` it marks a file.
nightly = pytest.mark.skipif(not ALL, reason="scripts/test --nightly runs it")

needs_avx512 = pytest.mark.skipif(
    "avx512bw" not in pathlib.Path("/proc/cpuinfo").read_text(), reason="this processor has no AVX-512"
)


RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))
SOURCE = pathlib.Path(os.environ.get("RTRAIN_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "soak" / "faults"))
# Tests of other folders use helpers of these by their name alone.
sys.path += sorted({str(path.parent) for path in pathlib.Path(__file__).parent.glob("*/test_*.py")})


def fault_tool(name):
    """Returns the path of a library or program that tests/soak/faults builds. Fails the test if it is not built."""
    path = pathlib.Path(RTRAIN).parent / "tests" / "soak" / "faults" / name
    if not path.exists():
        pytest.fail(f"{path} is not built: run scripts/build {path.stem.removeprefix('lib')}")
    return path


def script_module(name):
    """Imports a Python script of scripts/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(SOURCE / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


# Reports one epoch after the other without end; the ranks synchronize in between. It saves no checkpoint, so a graceful
# shutdown has no checkpoint to wait for.
ENDLESS = """
local torch = require 'torch'
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    for epoch = 1, math.huge do
      torch.distributed.barrier()
      train.report{epoch = epoch}
      os.execute('sleep 0.02')
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'endless', failure_config = train.FailureConfig{preemption_grace_s = 0.5}},
}:fit()
"""


class Running:
    """A running process. Its output goes to files, so that it never blocks on a reader."""

    def __init__(self, args, folder, env):
        self.args = args
        self._files = [folder / f"{stream}-{time.monotonic_ns()}" for stream in ("stdout", "stderr")]
        with open(self._files[0], "wb") as out, open(self._files[1], "wb") as err:
            self.process = subprocess.Popen(
                args, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        self.pid = self.process.pid

    @property
    def stdout(self):
        return self._files[0].read_text(errors="replace")

    @property
    def stderr(self):
        return self._files[1].read_text(errors="replace")

    @property
    def running(self):
        return self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=120):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"{self.args} did not end within {timeout} s\n{self.stdout}\n{self.stderr}")
        return subprocess.CompletedProcess(self.args, code, self.stdout, self.stderr)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


class Rtrain:
    """Runs rtrain with its own storage folder, home and working directory."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.storage = self.folder / "storage"
        self.temp = self.folder / "tmp"
        self.temp.mkdir()
        # Each test has its own folder, so that parallel tests do not wait for each other's cores. Its name is short
        # because paths of sockets are limited.
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="rt-", dir="/tmp"))
        # No series of the node: otherwise the content of the store would depend on how long the test took.
        self.env = {
            **os.environ,
            "RTRAIN_STORAGE": str(self.storage),
            "HOME": str(self.folder),
            "NO_COLOR": "1",
            "TMPDIR": str(self.temp),
            "RTRAIN_RUNTIME_DIR": str(self.runtime),
            "RTRAIN_HOST_SAMPLE_S": "0",
            "LUA_PATH": f"{SOURCE}/tests/e2e/scripts/?.lua;{os.environ.get('LUA_PATH', ';;')}",
        }

    def fail_calls(self, rules, **env):
        """Makes system calls of every process started from now on fail by these rules (tests/soak/faults/libfaultio.cpp)."""
        # A process chooses its rules by its rank when it starts, so each worker must be started, not forked from the
        # zygote.
        self.env.update(LD_PRELOAD=str(fault_tool("libfaultio.so")), RTRAIN_FAULTIO=rules, RTRAIN_ZYGOTE="off")
        self.env.update(env)

    def script(self, text, name="train.lua"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return path

    def popen(self, *args, **kwargs):
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        kwargs.setdefault("text", True)
        return subprocess.Popen([RTRAIN, *map(str, args)], cwd=self.folder, env=self.env, **kwargs)

    def start(self, *args):
        return Running([RTRAIN, *map(str, args)], self.folder, self.env)

    def __call__(self, *args, timeout=120):
        return self.start(*args).wait(timeout)

    def run(self, text, *args, timeout=120):
        """Runs `rtrain run` with a script of this text."""
        return self("run", self.script(text), *args, timeout=timeout)

    def run_ok(self, text, *args, timeout=120):
        result = self.run(text, *args, timeout=timeout)
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    def json(self, command, *args):
        """Returns the parsed JSON that a listing command prints."""
        result = self(command, *args, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def reports(self, run="last", *args):
        return [row["metrics"] for row in self.json("metrics", run, *args)]

    def statuses(self, run="last"):
        """Returns the statuses of the run's attempts."""
        return [attempt["status"] for attempt in self.json("show", run)["attempts"]]

    def run_folder(self, name):
        return self.storage / name

    @contextlib.contextmanager
    def database(self):
        connection = sqlite3.connect(f"file:{self.storage / 'rtrain.db'}?mode=ro", uri=True, timeout=5)
        try:
            yield connection
        finally:
            connection.close()

    def query(self, sql, *parameters):
        """Returns rows of the store; an empty list until a command has created it."""
        try:
            with self.database() as db:
                return db.execute(sql, parameters).fetchall()
        except sqlite3.OperationalError as error:
            if not re.search("unable to open|no such table|locked", str(error)):
                raise
            return []

    def pids(self, run):
        """Returns the pids of the newest attempt's workers by rank; an empty list while they start."""
        return [
            pid
            for (pid,) in self.query(
                "SELECT pid FROM workers JOIN runs USING(run_id) WHERE name = ? AND attempt = "
                "(SELECT max(attempt) FROM attempts WHERE run_id = runs.run_id) ORDER BY rank",
                run,
            )
        ]

    def wait_for_reports(self, running, count):
        """Waits until rank 0 has made `count` reports, over all runs and attempts, and the other ranks have begun
        too."""

        def reported():
            if not running.running:
                pytest.fail(f"the run ended early\n{running.stdout}\n{running.stderr}")
            begun = "rank = 0 AND status NOT IN ('INITIALIZING', 'SCHEDULING')"
            return (
                len(self.query(f"SELECT 1 FROM reports JOIN runs USING (run_id) WHERE {begun} LIMIT ?", count)) == count
            )

        wait_until(reported, message=f"report {count}")

    def started(self, *args, reports=1):
        """Starts `rtrain …` and returns once its run has made that many reports."""
        running = self.start(*args)
        try:
            self.wait_for_reports(running, reports)
        except BaseException:
            running.kill()
            raise
        return running

    def wait_for_processes(self):
        """Waits until every process that the runs have started has ended."""
        wait_until(lambda: not processes_of(self.storage), message="the end of all processes")


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


def sockets_of(pids):
    """Inodes of the sockets that these processes hold."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    inodes.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(f"/proc/{pid}/fd/{fd}")))
    return inodes


def tcp_listeners(inodes):
    """Local addresses (hexadecimal, as in /proc/net/tcp) of the listening sockets among these."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.append(fields[1].split(":")[0])
    return found


def open_sockets(inodes):
    """Returns the sockets among `inodes` that still exist on the machine."""
    existing = set()
    for table, column in (("tcp", 9), ("tcp6", 9), ("udp", 9), ("unix", 6)):
        for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            existing.add(line.split()[column])
    return inodes & existing


def leftovers(folder):
    """Returns every path below a folder, parts of which may disappear meanwhile; an empty list if it does not exist."""
    found = []
    for parent, folders, files in os.walk(folder):  # os.walk skips folders that have disappeared
        found += [str(pathlib.Path(parent, name).relative_to(folder)) for name in folders + files]
    return sorted(found)


def refused(result, *words):
    """Asserts that a command was refused as a usage error, and that its message has these words."""
    assert result.returncode == 2, result.stdout + result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def wait_until(condition, timeout_s=60, message="the condition"):
    """Polls until the condition holds and returns its value; fails the test at the deadline.

    The deadline only allows for machines that are busy: it does not measure any promise of rtrain.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = 0.005
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(pause_s)
        pause_s = min(0.05, 1.2 * pause_s)  # many conditions start a process or ask a server
    pytest.fail(f"{message} did not hold within {timeout_s} s")


def no_process(number):
    """Returns the fault with which a node starts no process of that number, counted from 1, and no spare."""
    return f"group.spawn:{number}:errno=EAGAIN:controller,spare.start:1+:errno=EAGAIN:controller"


def set_cpus(rtrain, cpus):
    """Offers that many cores to the runs of `rtrain`."""
    result = rtrain("resources", "--set", f"cpus={cpus}")
    assert result.returncode == 0, result.stderr


@pytest.fixture
def rtrain(tmp_path):
    runner = Rtrain(tmp_path)
    yield runner
    deadline = time.monotonic() + 30
    while (leaked := processes_of(runner.storage)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in leaked:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(runner.runtime)
    assert not leaked, f"processes left behind: {leaked}"
    assert not leftovers(runner.temp), "temporary files left behind"


@pytest.fixture
def trained(rtrain, results):
    """A runner with a copy of the store `results`, which each test file builds once."""
    shutil.copytree(results, rtrain.storage)
    return rtrain


@pytest.fixture
def saver(rtrain):
    """Runs tests/soak/faults/saver.lua with faults."""
    from saver import Saver  # imported here because saver imports this file

    return Saver(rtrain)


@pytest.fixture
def small_disk(rtrain):
    """Mounts a tmpfs of the given size."""
    mounted = []

    def mount(size):
        folder = rtrain.folder / "disk"
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
        if done.returncode != 0:
            pytest.skip(f"a small disk needs the right to mount: {done.stderr.decode().strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        wait_until(lambda: subprocess.run(["umount", folder], capture_output=True).returncode == 0)

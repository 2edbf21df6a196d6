"""rtrain watch: unfinished runs, on a terminal and as lines."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import pytest

from conftest import RTRAIN, wait_until

# Makes the number of reports that a file says, and ends when the file says so.
STEPPED = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    local done = 0
    while true do
      local file = io.open(config.file)
      local wanted = file and file:read 'n' or 0
      if file then file:close() end
      if wanted < 0 then return end
      while done < wanted do
        done = done + 1
        train.log({speed = done * 2}, {step = done * 10})
        torch.distributed.barrier()
        train.report {loss = 1 / done, epoch = done, rank = rank}
      end
      os.execute 'sleep 0.02'
    end
  end,
  train_loop_config = {file = ''},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()
"""


class Stepped:
    """A run that makes as many steps as a test requests."""

    def __init__(self, rtrain, name, script=STEPPED):
        self._rtrain, self._file, self.name = rtrain, rtrain.folder / f"{name}.steps", name
        self.running = rtrain.start(
            "run", rtrain.script(script), "--name", name, "--set", f"file={self._file}", "--oversubscribe", "-q"
        )
        self.go_to(1)
        wait_until(lambda: len(self._reports()) == 1, message="the first report")

    def _reports(self):
        return self._rtrain.query(
            "SELECT 1 FROM reports JOIN runs USING(run_id) WHERE rank = 1 AND name = ?", self.name
        )

    def go_to(self, reports):
        new = self._file.with_suffix(".new")
        new.write_text(str(reports))
        new.rename(self._file)

    def end(self):
        self.go_to(-1)
        assert self.running.wait().returncode == 0


@pytest.fixture
def stepped(rtrain):
    runs = []

    def start(name):
        runs.append(Stepped(rtrain, name))
        return runs[-1]

    yield start
    for run in runs:
        run.running.kill()


class Screen:
    """A command on a terminal, and the terminal's content."""

    def __init__(self, rtrain, *args, columns=100, rows=24):
        self._master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            [RTRAIN, *map(str, args)],
            cwd=rtrain.folder,
            env=rtrain.env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=self._take_terminal,
        )
        os.set_blocking(self._master, False)
        self.raw = b""

    def _take_terminal(self):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self._master, keys)

    def read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            while part := os.read(self._master, 65536):
                self.raw += part
        return self.raw

    def lines(self):
        """Returns the lines of the alternate screen after the newest frame."""
        frames = self.read().rpartition(b"\x1b[1;1H")[2]
        assert b"\n" not in frames.split(b"\x1b[?1049l")[0], "nothing that could scroll"
        text = frames.split(b"\x1b[?25h")[0].decode()
        return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in re.split(r"\x1b\[\d+;1H", text)]

    def fits(self):
        return all(len(line) < self.columns for line in self.lines()) and len(self.lines()) <= self.rows + 1

    def wait_for(self, pattern):
        wait_until(lambda: re.search(pattern, "\n".join(self.lines())), message=pattern)
        return "\n".join(self.lines())

    def end(self):
        """Returns the command's exit code, and the terminal's content afterwards."""
        wait_until(lambda: self.read() is not None and self.process.poll() is not None, message="its end")
        assert termios.tcgetattr(self._slave) == self.before, "the terminal is as it was"
        os.close(self._slave)
        raw = self.read()
        os.close(self._master)
        assert raw.count(b"\x1b[?1049h") == raw.count(b"\x1b[?1049l") >= 1
        return self.process.returncode, raw.rpartition(b"\x1b[?1049l")[2].decode().replace("\r\n", "\n")


def test_a_run_is_shown_until_it_ends(rtrain, stepped):
    run = stepped("mine")
    screen = Screen(rtrain, "watch", "mine", "--interval", 0.1)
    text = screen.wait_for(r"mine +RUNNING .* 1 +epoch 1  step 10  loss 1 ")
    assert "1 run goes on" in text
    run.go_to(4)
    text = screen.wait_for(r"mine +RUNNING .* 4 +\S+/s +epoch 4  step 40  loss 0.25  rank 0  speed 8")
    header, zero, one = text.split("\n\n")[2].splitlines()
    pids = rtrain.pids("mine")
    assert header.split() == ["RUN", "RANK", "HOST", "PID", "DEVICE", "CPU", "MEMORY", "METRICS"]
    assert zero.split()[1::2][:2] == ["0", str(pids[0])] and one.split()[1::2][:2] == ["1", str(pids[1])]
    assert re.search(r" cpu +\d+ % +\d[\d.]* MB$", zero.rstrip()), zero
    assert re.search(r" cpu +\d+ % +\d[\d.]* MB +epoch 4  loss 0.25  rank 1", one), one
    run.end()
    code, left = screen.end()
    assert code == 0
    assert re.search(r"^mine +FINISHED .*loss 0.25", left, re.M) and left.endswith("rtrain show mine\n")
    code, left = Screen(rtrain, "watch", "mine").end()
    assert code == 0 and "FINISHED" in left, "one that is over already"


def test_all_runs_and_the_ways_to_leave(rtrain, stepped):
    screen = Screen(rtrain, "watch", "--interval", 0.1)
    screen.wait_for("0 runs go on")
    first, second = stepped("first"), stepped("second")
    screen.wait_for("(?s)2 runs go on.*second +RUNNING.*first +RUNNING.*first +0 .*first +1 ")
    second.end()
    text = screen.wait_for("(?s)1 run goes on.*first +RUNNING.*second +FINISHED")  # a finished run stays
    assert not re.search(r"second +\d ", text), "and has no ranks"
    screen.type(b"x")
    screen.type(b"q")
    code, left = screen.end()
    assert code == 0 and "first" in left and "rtrain show" not in left

    screen = Screen(rtrain, "watch", "--interval", 60)
    screen.wait_for("1 run goes on")
    screen.type(b"\x03")
    code, left = screen.end()
    assert code == -signal.SIGINT and "first" in left
    first.end()


def test_another_size_and_a_suspension(rtrain, stepped):
    run = stepped("a-run-with-a-long-name")
    screen = Screen(rtrain, "watch", "--interval", 60, columns=120)
    text = screen.wait_for("epoch 1")
    assert "MEMORY" in text and screen.fits()
    screen.resize(40, 6)
    screen.wait_for("more lines")
    assert screen.fits() and len(screen.lines()) == 6
    screen.resize(200, 50)
    screen.wait_for(r"(?s)1 run goes on.*a-run-with-a-long-name +1")
    os.kill(screen.process.pid, signal.SIGTSTP)
    wait_until(lambda: b"\x1b[?1049l" in screen.read(), message="the screen is left")
    wait_until(
        lambda: open(f"/proc/{screen.process.pid}/stat").read().rpartition(")")[2].split()[0] == "T",
        message="it is suspended",
    )
    os.kill(screen.process.pid, signal.SIGCONT)
    wait_until(lambda: screen.read().count(b"\x1b[?1049h") == 2, message="the screen is taken again")
    screen.wait_for("1 run goes on")
    screen.type(b"q")
    assert screen.end()[0] == 0
    run.end()


def test_lines_and_documents_where_there_is_no_terminal(rtrain, stepped):
    run = stepped("mine")
    lines = rtrain.start("watch", "mine", "--interval", 0.1)
    documents = rtrain.start("watch", "mine", "--interval", 0.1, "--json")
    for reports in (2, 3):
        run.go_to(reports)
        for process in (lines, documents):
            wait_until(
                lambda: re.search(rf"{reports} reports|\"reports\": ?{reports}", process.stdout), message="a line"
            )
    run.end()
    shown, given = lines.wait(), documents.wait()
    assert (shown.returncode, given.returncode) == (0, 0)
    assert "\x1b" not in shown.stdout
    shown = shown.stdout.splitlines()
    assert all(re.match(r"\S+Z  mine  [A-Z]+  attempt 1  \d reports?  ", line) for line in shown)
    assert len({re.sub(r"^\S+", "", line) for line in shown}) == len(shown), "each tells something new"
    assert "  FINISHED  attempt 1  3 reports  " in shown[-1] and "epoch 3  step 30  loss 0.33333" in shown[-1]
    given = [json.loads(line) for line in given.stdout.splitlines()]
    last = given[-1]
    assert (last["status"], last["reports"], last["attempt"]) == ("FINISHED", 3, 1)
    assert last["logged"] == {"speed": 6.0, "step": 30} and last["reports_per_s"] > 0
    assert [rank["metrics"]["rank"] for rank in last["ranks"]] == [0, 1]
    live = [row for row in given if row["status"] == "RUNNING"]
    assert all(rank["memory_bytes"] > 1 << 20 for rank in live[0]["ranks"])
    # A rank that has ended uses no memory, although the run continues.
    assert all(rank["memory_bytes"] is None or rank["memory_bytes"] > 1 << 20 for row in live for rank in row["ranks"])
    listed = rtrain.json("ls")[0]
    assert {key: last[key] for key in listed} == listed


def test_what_cannot_be_watched(rtrain):
    result = rtrain("watch", "none")
    assert result.returncode == 2 and "there are no runs in" in result.stderr
    result = rtrain("watch", "--interval", "0")
    assert result.returncode == 2 and "--interval" in result.stderr

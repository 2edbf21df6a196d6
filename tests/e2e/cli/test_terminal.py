"""Terminal output: data cannot control the terminal, lines fit its width, and the live block of a run.

Files and pipes get the data unchanged.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import RTRAIN

# Changes the terminal's title, clears the screen, also with C1 codes, and leaves the colour red.
HOSTILE = b"a\x1b]0;owned\x07\x1b[2J\xc2\x9b2J\x00\xff\x1b[31mred"
SHOWN = b"a\\x1b]0;owned\\x07\\x1b[2J\\u009b2J\\x00\\xff\x1b[31mred\x1b[0m"

SCRIPT = r"""
    local train = require 'rtrain'
    local HOSTILE = 'a\27]0;owned\7\27[2J\194\1552J\0\255\27[31mred'
    train.DataParallelTrainer({
      train_loop_per_worker = function()
        print(HOSTILE)
        io.stderr:write(HOSTILE, '\n')
        train.annotate(HOSTILE)
        train.tempdir(function(dir)
          train.report({text = HOSTILE}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
        error(HOSTILE)
      end,
      run_config = train.RunConfig {name = 'mine'},
    }):fit()
    """


class OnTerminal:
    """A command with stdout and stderr on a terminal of that width. With `has_keys` stdin is the terminal, too, and
    Ctrl-C a signal. `program`: the words before the command's."""

    def __init__(self, rtrain, *args, columns=80, has_keys=False, program=(RTRAIN,)):
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        own = {"stdin": slave, "start_new_session": True, "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}
        self.process = subprocess.Popen(
            [*program, *map(str, args)],
            cwd=rtrain.folder,
            env=rtrain.env,
            stdout=slave,
            stderr=slave,
            **(own if has_keys else {"stdin": subprocess.DEVNULL}),
        )
        os.close(slave)
        self.output = b""

    def write(self, keys):
        os.write(self._master, keys)

    def resize(self, columns):
        """Resizes the terminal while the program is stopped; returns the program's output until then."""
        os.kill(self.process.pid, signal.SIGSTOP)
        before = len(self.output)
        while select.select([self._master], [], [], 0.2)[0]:
            self.output += os.read(self._master, 65536)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.kill(self.process.pid, signal.SIGCONT)
        return self.output[before:]

    def read_until(self, pattern, timeout_s=60, shown=lambda output: output):
        """Reads until `shown(output)` matches the pattern; with None, until the end of the output."""
        deadline = time.monotonic() + timeout_s
        while pattern is None or not re.search(pattern, shown(self.output)):
            ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
            assert ready, (pattern, self.output)
            try:
                part = os.read(self._master, 65536)
            except OSError:
                part = b""  # the terminal's other end is closed
            if not part:
                assert pattern is None, (pattern, self.output)
                break
            self.output += part
        return self.output

    def end(self):
        output = self.read_until(None)
        os.close(self._master)
        self.process.wait(60)
        return output.replace(b"\r\n", b"\n")


def on_terminal(rtrain, *args, columns=80):
    """Returns the command's output on the terminal."""
    return OnTerminal(rtrain, *args, columns=columns).end()


def without_what_is_ours(output):
    """Removes the colours and the live block's cursor movements, which contain no text."""
    for ours in (b"\x1b[A\x1b[2K", b"\x1b[31m", b"\x1b[0m", b"\r"):
        output = output.replace(ours, b"")
    return output


def test_a_run_and_every_command_that_shows_it(rtrain):
    script = rtrain.script(SCRIPT)
    output = on_terminal(rtrain, "run", script, "--note", HOSTILE.replace(b"\0", b"").decode(errors="surrogateescape"))
    assert b"[rank 0] " + SHOWN in output
    assert output.count(SHOWN) == 2, "on stdout and on stderr"
    assert output.count(SHOWN[:-4]) > 2, "in the error"
    outputs = {"run": output}
    for args in (
        ["ls"],
        ["show", "mine"],
        ["metrics", "mine"],
        ["checkpoint", "ls", "mine"],
        ["logs", "mine"],
        ["logs", "mine", "-f"],
        ["sql", "SELECT metrics, error FROM reports, attempts"],
    ):
        outputs[" ".join(args)] = on_terminal(rtrain, *args)
    assert b"[rank 0] " + SHOWN[:-4] in outputs["logs mine"]
    assert b"\\x1b]0;owned\\x07" in outputs["show mine"]
    for command, text in outputs.items():
        assert b"owned" in text or command == "checkpoints mine", command
        left = without_what_is_ours(text)
        assert not any(byte < 0x20 and byte not in b"\n\t" for byte in left), (command, left)
        assert b"\xc2\x9b" not in left, command


def test_files_and_pipes_get_the_bytes_as_they_are(rtrain):
    script = rtrain.script(SCRIPT)
    run = subprocess.run([RTRAIN, "run", script], cwd=rtrain.folder, env=rtrain.env, capture_output=True)
    assert b"[rank 0] " + HOSTILE + b"\n" in run.stdout
    assert b"[rank 0] " + HOSTILE + b"\n" in run.stderr
    logs = subprocess.run([RTRAIN, "logs", "mine"], cwd=rtrain.folder, env=rtrain.env, capture_output=True)
    assert b"[rank 0] " + HOSTILE + b"\n" in logs.stdout


# --- lines that fit the width ---

MANY = """
    local train = require 'rtrain'
    train.DataParallelTrainer({
      train_loop_per_worker = function()
        for step = 1, 3 do
          local v = step / 7
          local metrics = {zeta = v, step = step, alpha = v, a_metric_with_a_long_name = v, validation_accuracy = v, beta = v,
            another_metric_with_a_long_name = v, perplexity = v, learning_rate = v, gradient_norm = v, gamma = v, omega = v}
          train.tempdir(function(dir)
            train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
          end)
        end
      end,
      train_loop_config = {learning_rate = 0.1, momentum = 0.9, weight_decay = 0.01, epochs = 30, label_smoothing = 0.2},
      run_config = train.RunConfig {name = 'a_run_with_quite_a_long_name'},
    }):fit()
    """
COMMANDS = (["ls"], ["show", "last"], ["metrics", "last"], ["metrics", "last", "--ranks"], ["checkpoint", "ls", "last"])


def rows_of(output):
    return [line.decode() for line in output.split(b"\n")]


@pytest.mark.parametrize("columns", [80, 120])
def test_listings_fit_the_terminal(rtrain, columns):
    rtrain.run_ok(MANY, "--note", "a note " * 30)
    for command in COMMANDS:
        for line in rows_of(on_terminal(rtrain, *command, columns=columns)):
            # A path is one word, which is never broken.
            assert len(line) <= columns or len(max(line.split(), key=len)) > columns - 20, (command, line)
    text = on_terminal(rtrain, "metrics", "last", columns=columns).decode()
    assert text.count("INDEX") > 1, "columns that do not fit go on below, with their row's name"
    assert {"zeta", "omega", "a_metric_with_a_long_name"} <= set(text.split())


def test_what_is_escaped_counts_with_its_escapes(rtrain):
    rtrain.run_ok(SCRIPT.replace("error(HOSTILE)", ""), "--note", 20 * "a\x1b]0;b\x07 ", "-q")
    for command in (
        ["ls"],
        ["show", "mine"],
        ["metrics", "mine"],
        ["sql", "SELECT note, 1 AS one, text FROM runs, annotations"],
    ):
        output = on_terminal(rtrain, *command)
        assert b"\\x1b]0;" in output and b"\x1b" not in output, command
        assert command[0] == "sql" or max(len(line) for line in rows_of(output) if "x1b" in line) <= 80, command
    assert rows_of(output)[1].index("  1  a") == rows_of(output)[0].index("  one") + 2, "a table is one in its columns"


def test_wide_and_piped_listings_have_one_line_a_row(rtrain):
    rtrain.run_ok(MANY)
    for command in COMMANDS:
        wide = [line.rstrip() for line in rows_of(on_terminal(rtrain, *command, "--wide"))]
        assert wide == rtrain(*command).stdout.split("\n"), command
    assert len(rtrain("metrics", "last").stdout.splitlines()) == 1 + 3
    rtrain.env["COLUMNS"] = "60"
    assert max(map(len, rtrain("metrics", "last").stdout.splitlines())) <= 60


def test_metrics_are_in_the_scripts_order_everywhere(rtrain):
    result = rtrain.run_ok(MANY)
    names = ["zeta", "step", "alpha", "a_metric_with_a_long_name", "validation_accuracy", "beta"]
    pattern = ".*".join(rf"\b{name}\b" for name in names)
    assert re.search(r"report 0  " + pattern, result.stderr), result.stderr
    for command in (["ls"], ["show", "last"], ["metrics", "last"], ["checkpoint", "ls", "last"]):
        assert re.search(pattern, rtrain(*command).stdout), command
    assert list(rtrain.reports()[0])[:6] == names


# --- the live block ---

LIVE = r"""
    local files, train = require 'files', require 'rtrain'
    train.DataParallelTrainer({
      train_loop_per_worker = function(config)
        for epoch = 1, 3 do train.report {epoch = epoch, loss = 1 / epoch} end
        train.log {lr = 0.5}
        io.write '\r 25%'
        io.write '\r 50%'
        io.stdout:flush()
        files.wait_for 'seen'
        print '\r100%'
      end,
      train_loop_config = {epochs = 10},
      run_config = train.RunConfig {name = 'live'},
    }):fit()
    """


def test_the_live_block_of_a_run(rtrain):
    run = OnTerminal(rtrain, "run", rtrain.script(LIVE))
    try:
        for shown in (
            rb"\[rank 0\]  50%\r\n",
            rb"log  lr=0\.5\r\n",
            rb"epoch=3 loss=0\.33333  \(3 reports, [^)]*ETA [^)]*\)\r\n",
        ):
            run.read_until(shown)
        assert b"report 0  epoch=1 loss=1\r\nreport 1  epoch=2 loss=0.5\r\n" in without_block(run.output)
        (rtrain.folder / "seen").touch()
        output = run.end()
    finally:
        with contextlib.suppress(ProcessLookupError):
            run.process.kill()
        run.process.wait()
    left = without_block(output).replace(b"\r\n", b"\n")
    assert b"report 1  epoch=2 loss=0.5\nreport 2  epoch=3 loss=0.33333\n[rank 0] 100%\nrun live FINISHED" in left, left


def test_in_local_mode_the_terminal_is_the_train_functions(rtrain):
    (rtrain.folder / "seen").touch()
    output = on_terminal(rtrain, "run", rtrain.script(LIVE), "--local")
    assert b"\x1b[" not in output, "no block is drawn over what it writes"
    assert b"\r 25%\r 50%\r100%\n" in output and b"report 2  epoch=3 loss=0.33333\n" in output


def without_block(output):
    """Returns the lines that stay above the live block: each block ends with movements that erase it line by line."""
    lines = []
    for line in output.split(b"\n"):
        while (moved := line.find(b"\x1b[A\x1b[2K")) >= 0:
            del lines[-1]
            line = line[moved + len(b"\x1b[A\x1b[2K") :].removeprefix(b"\r")
        lines.append(line)
    return b"\n".join(lines)

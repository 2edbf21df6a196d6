#!/usr/bin/python3
"""Writes the pictures of examples/pictures/: what a terminal of 96 columns shows of real runs, as SVG.

    examples/pictures/take.py [NAME …]     those whose names contain one of these; without, all. About two minutes on two cores

story.svg is a recording: it plays what the terminal shows. The others are one screen each.

Needs build/rtrain and Debian's python3-pyte, which is the terminal.
"""

import codecs
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time

import pyte
import terminal_svg
from pyte.screens import Char

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RTRAIN = os.environ.get("RTRAIN", ROOT / "build" / "rtrain")
HOME = pathlib.Path("/tmp/ada")  # as the pictures show it
PICTURES = ROOT / "examples" / "pictures"
COLUMNS, MOST_ROWS = 96, 60
FILM_ROWS = 21
SHORTEST_S, LONGEST_S = 0.12, 0.8  # of a picture of a recording

WRONG = """\
local torch = require 'torch'
local train = require 'rtrain'

train.TorchTrainer({
  train_loop_per_worker = function(config)
    local model = train.torch.prepare_model(torch.nn.Linear(784, 10))
    local x = torch.rand(64, 28, 28)
    local logits = model(x)
    train.report({loss = logits:mean():item()})
  end,
  scaling_config = train.ScalingConfig({num_workers = 2}),
}):fit()
"""


class Terminal:
    """What a command shows on a terminal, until it ends or until `stop` says that enough is seen."""

    def __init__(self, command, env, folder):
        self.screen = pyte.Screen(COLUMNS, MOST_ROWS)
        self._stream = pyte.Stream(self.screen)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", MOST_ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            executable=RTRAIN,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=folder,
            start_new_session=True,
        )
        os.close(slave)

    def read(self, stop=lambda screen: False, timeout_s=120):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and not stop(self.screen):
            if not select.select([self._master], [], [], 0.2)[0]:
                continue
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # the command has ended
                break
            self._stream.feed(decoder.decode(chunk))
        return self

    def wait(self):
        self.read()
        self.process.wait(timeout=60)
        os.close(self._master)


def lines_of(screen):
    """Cells of each line, without what is empty at the end."""
    lines = [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(MOST_ROWS)]
    while lines and all(cell.data in (" ", "") for cell in lines[-1]):
        lines.pop()
    return lines


def typed(command, prompt="$ "):
    """The cells of a command line."""
    return [Char(c, fg="green" if i < len(prompt) else "default", bold=True) for i, c in enumerate(prompt + command)]


def write(name, text):
    (PICTURES / f"{name}.svg").write_text(text)
    print(f"wrote examples/pictures/{name}.svg")


def write_svg(name, command, screen):
    write(name, terminal_svg.picture(command, [typed(command), *lines_of(screen)], COLUMNS))


class Desk:
    """A folder with a store of its own, where the commands are given."""

    def __init__(self, folder, wanted):
        self.folder, self._wanted = pathlib.Path(folder), wanted
        self.env = {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
        }

    def quietly(self, *words):
        subprocess.run(
            ["rtrain", *words],
            executable=RTRAIN,
            env=self.env,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )

    def picture(self, name, *words, stop=None):
        if self._wanted and not any(part in name for part in self._wanted):
            return
        terminal = Terminal(["rtrain", *words], self.env, self.folder)
        if stop:
            terminal.read(stop)
            write_svg(name, " ".join(["rtrain", *words]), terminal.screen)
            terminal.wait()
        else:
            terminal.wait()
            write_svg(name, " ".join(["rtrain", *words]), terminal.screen)


def text_of(screen):
    return "\n".join(screen.display)


def shows(pattern):
    return lambda screen: re.search(pattern, text_of(screen), re.DOTALL)


class Film:
    """A recording: what the screen shows one after the other, and below it a line of another terminal."""

    def __init__(self, desk):
        self._desk, self._frames, self._other = desk, [], ""

    def hold(self, rows, seconds):
        below = [typed(self._other)] if self._other else [[]]
        rows = [*rows[:FILM_ROWS], *[[]] * (FILM_ROWS - len(rows)), *below]
        self._frames.append((rows, seconds))

    def scene(self, command, *words, look=lambda screen: None, end_s=2.0):
        """Begins with an empty screen and types the command. `look` sees the screen and may act."""
        self.hold([typed(command)], 1.2)
        terminal = Terminal(["rtrain", *words], self._desk.env, self._desk.folder)
        began = time.monotonic()

        def watch(screen):
            nonlocal began
            rows, now = [typed(command), *lines_of(screen)], time.monotonic()
            last, _ = self._frames[-1]
            if rows[:FILM_ROWS] == last[: len(rows)]:
                return
            if now - began < SHORTEST_S:  # a part of what is being written
                self._frames.pop()
            else:
                self._frames[-1] = (last, min(now - began, LONGEST_S))
                began = now
            self.hold(rows, LONGEST_S)
            look(screen)

        terminal.read(watch)
        terminal.process.wait(timeout=60)
        self._frames[-1] = (self._frames[-1][0], end_s)

    def type_elsewhere(self, command):
        self._other = command
        rows, _ = self._frames[-1]
        self.hold(rows[:FILM_ROWS], 1.5)

    def write(self, name, title):
        write(name, terminal_svg.recording(title, self._frames, COLUMNS))


def record_story(desk):
    """init, a run whose worker is killed, its curve."""
    film = Film(desk)
    film.scene("rtrain init mnist digits && cd digits", "init", "mnist", "digits")
    desk.folder = desk.folder / "digits"
    is_killed = False

    def kill_a_worker(screen):
        nonlocal is_killed
        if is_killed or "report 1 " not in text_of(screen):
            return
        is_killed = True
        with sqlite3.connect(desk.folder.parent / "rtrain_results" / "rtrain.db") as store:
            [[pid]] = store.execute("SELECT pid FROM workers WHERE rank = 1")
        film.type_elsewhere(f"kill -9 {pid}    # rank 1, in another terminal")
        os.kill(pid, signal.SIGKILL)

    words = ["run", "train.lua", "-n", "2", "--name", "first", "--max-failures", "1"]
    film.scene(" ".join(["rtrain", *words]), *words, look=kill_a_worker)
    film.scene("rtrain plot first loss", "plot", "first", "loss", "--height", "12", end_s=4.0)
    film.write("story", "rtrain init, rtrain run, kill -9 of a worker, rtrain plot")


def take(desk):
    desk.quietly("init", "mnist", "digits")
    desk.folder = desk.folder / "digits"
    (desk.folder / "wrong.lua").write_text(WRONG)
    desk.picture("check", "check", "train.lua", "-n", "2")
    desk.picture("error", "run", "wrong.lua")
    desk.picture(
        "run", "run", "train.lua", "-n", "2", "--set", "limit=60000", stop=shows("batch +[23][0-9]{2}/469 .*epoch=2")
    )
    for name, lr in (("slow", "0.0001"), ("middle", "0.001"), ("fast", "0.01")):
        desk.quietly("run", "train.lua", "-n", "2", "--name", name, "--set", f"lr={lr}", "--quiet")
    desk.picture("ls", "ls")
    desk.picture("show", "show", "last")
    desk.picture("plot", "plot", "slow", "middle", "fast", "loss")
    desk.picture("diff", "diff", "slow", "fast")
    desk.picture("lr-find", "check", "train.lua", "--lr", "-n", "2")


def main():
    wanted = sys.argv[1:]
    for part in [take, *[record_story] * (not wanted or any(name in "story" for name in wanted))]:
        HOME.mkdir()
        try:
            part(Desk(HOME, wanted))
        finally:
            shutil.rmtree(HOME)


if __name__ == "__main__":
    main()

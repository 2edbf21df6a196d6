#!/usr/bin/python3
"""Writes the pictures of examples/pictures/: what a terminal of 96 columns shows of real runs, as SVG.

    examples/pictures/take.py [NAME …]     those whose names contain one of these; without, all. About two minutes on two cores

Needs build/rtrain and Debian's python3-pyte, which is the terminal.
"""

import codecs
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time

import pyte

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RTRAIN = ROOT / "build" / "rtrain"
HOME = pathlib.Path("/tmp/ada")  # as the pictures show it
PICTURES = ROOT / "examples" / "pictures"
COLUMNS, MOST_ROWS = 96, 60
CELL_WIDTH, LINE_HEIGHT, MARGIN, FONT_SIZE = 8.4, 18, 14, 14
PALETTE = {
    "black": "#3b4048",
    "red": "#f47067",
    "green": "#7ec699",
    "brown": "#e0c285",
    "blue": "#6cb6ff",
    "magenta": "#dcbdfb",
    "cyan": "#76d9e6",
    "white": "#c9d1d9",
    "brightblack": "#8b949e",
    "brightred": "#ff938a",
    "brightgreen": "#a5e0b3",
    "brightbrown": "#f2dca8",
    "brightblue": "#96d0ff",
    "brightmagenta": "#eedcff",
    "brightcyan": "#a5ecf5",
    "brightwhite": "#ffffff",
}
INK, PAPER = "#c9d1d9", "#1c2128"

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


def colour(name, default):
    return default if name == "default" else PALETTE.get(name) or "#" + name


def svg_line(cells, y):
    """Neighbours that look alike are one text; each is as wide as its cells, whatever the font."""
    out, x = [], 0
    while x < len(cells):
        first = x
        style = (cells[x].fg, cells[x].bg, cells[x].bold)
        while x < len(cells) and (cells[x].fg, cells[x].bg, cells[x].bold) == style:
            x += 1
        text = "".join(cell.data for cell in cells[first:x])
        left, width = MARGIN + first * CELL_WIDTH, (x - first) * CELL_WIDTH
        if style[1] != "default":
            out.append(
                f'<rect x="{left:.1f}" y="{y - 13:.1f}" width="{width:.1f}" height="{LINE_HEIGHT}" '
                f'fill="{colour(style[1], PAPER)}"/>'
            )
        if text.strip():
            weight = ' font-weight="bold"' if style[2] else ""
            kept = text.rstrip()
            out.append(
                f'<text x="{left:.1f}" y="{y:.1f}" '
                f'textLength="{len(kept) * CELL_WIDTH:.1f}" fill="{colour(style[0], INK)}"{weight}'
                f' xml:space="preserve">{html.escape(kept)}</text>'
            )
    return "".join(out)


def write_svg(name, command, screen):
    lines = lines_of(screen)
    prompt = [pyte.screens.Char(c, fg="green" if i < 2 else "default", bold=True) for i, c in enumerate(f"$ {command}")]
    lines = [prompt, *lines]
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, len(lines) * LINE_HEIGHT + 2 * MARGIN
    body = "\n".join(svg_line(cells, MARGIN + 13 + i * LINE_HEIGHT) for i, cells in enumerate(lines))
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}">\n'
        f"<title>{html.escape(command)}</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
        f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT_SIZE}">\n{body}\n</g>\n</svg>\n'
    )
    print(f"wrote examples/pictures/{name}.svg")


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


def shows(pattern):
    return lambda screen: re.search(pattern, "\n".join(screen.display), re.DOTALL)


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
    HOME.mkdir()
    try:
        take(Desk(HOME, sys.argv[1:]))
    finally:
        shutil.rmtree(HOME)


if __name__ == "__main__":
    main()

"""A story: commands that a user types at a terminal, one after the other, and what the screen finally shows.

The screens are compared with golden/stories/NAME.txt, without the parts that differ between runs and machines. With
RTRAIN_WRITE_GOLDEN=1 they are written to that file instead: read the diff before you commit it.
"""

import os
import pathlib
import re
import socket

from screen import Screen
from test_terminal import OnTerminal

GOLDEN = pathlib.Path(__file__).parent / "golden" / "stories"
COLUMNS = 300  # wide enough for the names of test folders

# Applied in this order: (pattern, replacement) of text that differs between runs and machines.
CHANGING = [
    (r"(?<=checkpoint: )\S+/rtrain(?= run)", "rtrain"),
    (r"train-(sweep-)?\d{8}-[0-9a-f]{4}|train-sweep-[0-9a-f]{4}", "RUN"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?", "DATE"),
    (r"(?m)^(host|machine|variables|command) .*(\n {8,}.*)*", r"\1  …"),
    (r"(?<=no CUDA device: ).*(?=\. To train)", "…"),
    (r"\b(pid|timestamp) \d+", r"\1 N"),
    (r"\b\d+ h \d\d min|\b\d+ min \d\d s|\b\d+(\.\d+)? s\b|\b\d+(\.\d+)? ms\b", "TIME"),
    (r"one in TIME|\d+(\.\d+)?/s|\d+(\.\d+)? it/s", "RATE"),
    (r"(?<=time  TIME: ).*", "…"),
    (r", ETA TIME", ""),
    (r"\b[0-9a-f]{16}\b", "ID"),
    (r"-?\d+\.\d+(e[-+]\d+)?", "#"),
    (r"\b\d+ declarations", "N declarations"),
    (r"\b\d+(?= bytes| MiB| MB| KiB| kB)", "#"),
    (r"(?m)^.*[│┤].*\n", ""),  # curves
    (r"[\u2801-\u28ff]+( *[\u2801-\u28ff]+)*", "⠿"),
    (r"─+", "─"),
    (r"(?<=\S)  +", "  "),  # the width of a column depends on its values
]


def normalised(rows, folder):
    text = "\n".join(rows).replace(str(folder), "DIR")
    text = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "HOST", text)
    for pattern, shown in CHANGING:
        text = re.sub(pattern, shown, text)
    return text


class Story:
    def __init__(self, rtrain, name):
        self.rtrain, self._name, self._screens = rtrain, name, []
        self._root = rtrain.storage.parent
        rtrain.env.update(TERM="xterm", CUDA_VISIBLE_DEVICES="")
        rtrain.env.pop("RTRAIN_DATA", None)

    def type(self, *args, code=0):
        """Returns the rows of the terminal after `rtrain ARGS`, which must exit with that code."""
        return self.end(self.start(*args), code)

    def start(self, *args, has_keys=False):
        terminal = OnTerminal(self.rtrain, *args, columns=COLUMNS, has_keys=has_keys)
        terminal.args = args
        return terminal

    def end(self, terminal, code=0):
        rows = Screen(COLUMNS).feed(terminal.end().replace(b"\n", b"\r\n")).rows()
        self._screens.append(normalised(["$ rtrain " + " ".join(map(str, terminal.args)), *rows], self._root))
        assert terminal.process.returncode == code, "\n".join(rows)
        return rows

    def check(self):
        """Asserts that the commands and their screens equal the golden file."""
        path, text = GOLDEN / f"{self._name}.txt", "\n\n".join(self._screens) + "\n"
        if os.environ.get("RTRAIN_WRITE_GOLDEN"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert text == path.read_text()

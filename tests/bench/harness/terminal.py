"""A command at a terminal, typed as by a user: its output, and when the output appeared."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from harness.benchmark import BenchError

ROWS, COLUMNS = 40, 120
CONTROL = re.compile(rb"\x1b\[[?\d;]*[A-Za-z]|\r|\x08")


class Terminal:
    def __init__(self, command, folder, environment):
        self._command = " ".join(map(str, command))
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env={**environment, "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._output = b""

    @property
    def text(self):
        """All output, without colours and cursor movements."""
        return CONTROL.sub(b"", self._output).decode(errors="replace")

    def type(self, keys):
        """Sends the keys and forgets the earlier output. Returns the time."""
        self._output = b""
        os.write(self._master, keys.encode())
        return time.monotonic()

    def read_until(self, pattern, timeout_s):
        """Waits until the text has a match. Returns the time."""
        while not re.search(pattern, self.text):
            if not self._read(timeout_s):
                raise BenchError(f"{self._command}: ended without /{pattern}/:\n{self.text[-2000:]}")
        return time.monotonic()

    def end(self, timeout_s, code=0):
        """Waits for the end with this exit code. Returns the time."""
        while self._read(timeout_s):
            pass
        os.close(self._master)
        if (got := self._process.wait(timeout_s)) != code:
            raise BenchError(f"{self._command}: ended with {got}, not {code}:\n{self.text[-2000:]}")
        return time.monotonic()

    def _read(self, timeout_s):
        if not select.select([self._master], [], [], timeout_s)[0]:
            self._process.kill()
            raise BenchError(f"{self._command}: nothing new for {timeout_s} s:\n{self.text[-2000:]}")
        try:
            part = os.read(self._master, 1 << 16)
        except OSError:
            part = b""  # the other end is closed
        self._output += part
        return part != b""

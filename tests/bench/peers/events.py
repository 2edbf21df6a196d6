"""Marks moments of a run for the driver: one file for each rank, lines of "seconds pid name value" (monotonic clock)."""

import os
import time


class Events:
    def __init__(self, folder, rank):
        path = os.path.join(folder, f"events.{rank}")
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._pid = os.getpid()

    def mark(self, name, value=0):
        os.write(self._file, f"{time.monotonic():.6f} {self._pid} {name} {value:.9g}\n".encode())

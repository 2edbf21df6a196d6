"""The process that runs the cells: `rtrain repl --messages`, and the conversation with it.

modules/rtrain/notebook/README.md documents the messages.
"""

import codecs
import contextlib
import json
import os
import queue
import selectors
import signal
import socket
import subprocess
import threading

from . import executable

_LONGEST = 16 << 20  # bytes: the process accepts no longer line
_CHUNK = 1 << 16
_MOST_EVENTS = 1000
_LOOK_S = 0.2  # how often a wait looks whether the process is there
_END_S = 4  # how long a process may take to end before it is killed


class Ended(Exception):
    """The process has ended."""


class Repl:
    """One process. While `ask` waits, its thread calls `on_output(name, text)` with what the process prints, and
    `on_message(message)` with what it shows, in their order. Otherwise events wait, and when there are many the process
    does: it cannot print more.
    """

    def __init__(self, on_output, on_message):
        self._on_output, self._on_message = on_output, on_message
        ours, theirs = socket.socketpair()
        # Blocked until the process ignores it between cells.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self._process = self._start(theirs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            theirs.close()
        self._socket = ours
        self._events = queue.Queue(_MOST_EVENTS)
        self._is_closed = False
        self._number = 0
        self._reader = threading.Thread(target=self._read, name="rtrain-repl", daemon=True)
        self._reader.start()

    @staticmethod
    def _start(theirs):
        return subprocess.Popen(
            [executable.find(), "repl", "--messages", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            # A session of its own: a signal to the kernel's process group is passed on once, by interrupt().
            start_new_session=True,
        )

    @property
    def pid(self):
        return self._process.pid

    def ask(self, what, **values):
        """Returns the answer. Ended if the process ends before it. One thread at a time."""
        self._number += 1
        line = json.dumps({"id": self._number, "what": what, **values}, separators=(",", ":")).encode() + b"\n"
        if len(line) > _LONGEST:
            return {
                "error": {"code": "usage", "message": f"the cell has {len(line)} bytes, at most {_LONGEST} are read"}
            }
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise Ended(self.end_text()) from error
        while True:
            message = self._next_event()
            if "stream" in message:
                self._on_output(message["stream"], message["text"])
            elif message["type"] != "answer":
                self._show(message)
            elif message["id"] == self._number:
                return message

    def _next_event(self):
        while True:
            is_over = not self._reader.is_alive()
            try:
                return self._events.get(timeout=_LOOK_S)
            except queue.Empty:
                if is_over:
                    raise Ended(self.end_text()) from None

    def _show(self, message):
        self._on_message(message)
        if message["type"] == "display":
            try:
                self._socket.sendall(b'{"type":"seen"}\n')
            except OSError:
                pass  # it has ended, which the next event says

    def interrupt(self):
        """Stops the cell that runs."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def end_text(self):
        """How the process has ended."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return "rtrain does not answer any more"
        if code < 0:
            return f"rtrain was ended by {signal.Signals(-code).name}"
        return f"rtrain has ended with exit code {code}"

    def close(self):
        """Ends the process, and with it the workers of a run: within seconds."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has ended
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._is_closed = True
        while self._reader.is_alive():
            with contextlib.suppress(queue.Empty):
                self._events.get_nowait()
            self._reader.join(0.01)
        self._socket.close()

    def _put(self, event):
        if not self._is_closed:
            self._events.put(event)

    def _read(self):
        ways = selectors.DefaultSelector()
        decode = codecs.getincrementaldecoder("utf-8")
        streams = {
            self._process.stdout: ("stdout", decode("replace")),
            self._process.stderr: ("stderr", decode("replace")),
        }
        for stream in streams:
            os.set_blocking(stream.fileno(), False)
            ways.register(stream, selectors.EVENT_READ)
        ways.register(self._socket, selectors.EVENT_READ)
        lines, is_open = b"", True
        while is_open:
            ready = [key.fileobj for key, _ in ways.select()]
            # The process waits for an answer after each message that has a place among its output, so that what its
            # streams hold by now came before the message.
            for stream in list(streams):
                if stream in ready or self._socket in ready:
                    self._drain(stream, streams, ways)
            if self._socket not in ready:
                continue
            try:
                chunk = self._socket.recv(_CHUNK)
            except OSError:
                chunk = b""
            is_open = chunk != b""
            *whole, lines = (lines + chunk).split(b"\n")
            for line in whole:
                for stream in list(streams):
                    self._drain(stream, streams, ways)
                self._put(json.loads(line))
        for stream in list(streams):
            self._drain(stream, streams, ways)

    def _drain(self, stream, streams, ways):
        name, decoder = streams[stream]
        while True:
            try:
                chunk = os.read(stream.fileno(), _CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                ways.unregister(stream)
                del streams[stream]
                return
            text = decoder.decode(chunk)
            if text:
                self._put({"stream": name, "text": text})

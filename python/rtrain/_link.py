"""The link between this process and the rtrain worker that started it: JSON, one message a line, over a descriptor."""

import itertools
import json
import math
import os
import queue
import socket
import threading

_AT_ONCE = 16384  # bytes: the kernel writes up to that many atomically
_LONGEST = 1 << 20  # bytes: the worker accepts no longer line
_LOCK = threading.RLock()
_link = None


class Link:
    """Messages to the worker, and its answers. Any thread may call it, and a handler of a signal too, whose exception may end a
    call that waits: Python runs handlers in the main thread alone, so other threads read, and send what the kernel may take in
    parts.
    """

    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._pid = os.getpid()
        self._numbers = itertools.count(1)
        self._sending = threading.RLock()
        self._waiting = {}  # number of a call → the queue for its answer; None in the queue: the worker has ended
        self._has_ended = False
        threading.Thread(target=self._read, name="rtrain-link", daemon=True).start()

    def tell(self, call, **values):
        """Sends without waiting. An error of the call ends the process."""
        self._send({"call": call, **values})

    def ask(self, call, **values):
        """Sends, and waits for the answer. RuntimeError with the worker's message."""
        self._check_process(call)
        number, answers = next(self._numbers), queue.SimpleQueue()
        self._waiting[number] = answers
        try:
            self._send({"call": call, "id": number, **values})
            answer = None if self._has_ended else answers.get()
        finally:
            self._waiting.pop(number, None)
        if answer is None:
            raise RuntimeError(f"{call}: the worker of rtrain has ended")
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer.get("value")

    def _check_process(self, call):
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"{call}: only the process that rtrain has started may call it, not one that it has forked"
            )

    def _send(self, message):
        self._check_process(message["call"])
        line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if len(line) > _LONGEST:
            raise ValueError(f"{message['call']}: {len(line)} bytes as JSON, at most {_LONGEST} are read")
        if len(line) <= _AT_ONCE:
            self._send_line(line)
            return
        failures = []
        thread = threading.Thread(target=self._send_line, args=(line, failures), daemon=True)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    def _send_line(self, line, failures=None):
        try:
            with self._sending:
                self._socket.sendall(line)
        except OSError as error:
            if failures is None:
                raise
            failures.append(error)

    def _read(self):
        with self._socket.makefile("rb") as lines:
            for line in lines:
                answer = json.loads(line)
                # The call is gone if an exception has ended it.
                answers = self._waiting.get(answer["id"])
                if answers is not None:
                    answers.put(answer)
        self._has_ended = True  # for later calls; waiting calls are notified below
        for answers in list(self._waiting.values()):
            answers.put(None)


def link():
    """The Link of this process; None if rtrain has not started it."""
    global _link
    if _link is None and os.environ.get("RTRAIN_PROGRAM_FD"):
        with _LOCK:
            if _link is None:
                _link = Link(int(os.environ["RTRAIN_PROGRAM_FD"]))
    return _link


def plain(value, where="metrics"):
    """Plain data of it: numbers of numpy and torch with one element become numbers. TypeError that names the place."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, float):
        return (
            value
            if math.isfinite(value)
            else {"$float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
        )
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where}: the key {key!r} is a {type(key).__name__}, expected a string")
            _text(key, where)
        return {key: plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_item(item, f"{where}[{i}]") for i, item in enumerate(value)]
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "size", 1) is not None:
        try:
            return plain(item(), where)
        except (ValueError, RuntimeError) as error:
            raise TypeError(
                f"{where}: a {type(value).__name__} with more than one number: report {where}.mean() or the like"
            ) from error
    raise TypeError(f"{where} is a {type(value).__name__}, expected numbers, strings, booleans, lists and dicts")


def _item(value, where):
    if value is None:
        raise TypeError(f"{where} is None: a list has a value at each place")
    return plain(value, where)


def _text(value, where):
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise TypeError(f"{where}: {value!r} is not text that UTF-8 can hold") from error
    return value

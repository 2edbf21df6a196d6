"""The line between this process and the worker of rtrain that has started it: JSON, a message each line, over a descriptor."""

import json
import math
import os
import socket
import threading

_LOCK = threading.Lock()
_link = None


class Link:
    """Messages to the worker, and its answers."""

    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._file = self._socket.makefile("rb")
        self._pid = os.getpid()
        self._last = 0

    def tell(self, call, **values):
        """Sends without waiting. An error of it ends the process."""
        self._send({"call": call, **values})

    def ask(self, call, **values):
        """Sends, and waits for the answer. RuntimeError with the worker's message."""
        with _LOCK:
            self._last += 1
            self._send({"call": call, "id": self._last, **values})
            line = self._file.readline()
        if not line:
            raise RuntimeError(f"{call}: the worker of rtrain has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer.get("value")

    def _send(self, message):
        if os.getpid() != self._pid:
            raise RuntimeError(f"{message['call']}: only the process that rtrain has started may call it, not one that it has forked")
        self._socket.sendall(json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n")


def link():
    """The Link of this process; None where rtrain has not started it."""
    global _link
    if _link is None and os.environ.get("RTRAIN_PROGRAM_FD"):
        _link = Link(int(os.environ["RTRAIN_PROGRAM_FD"]))
    return _link


def plain(value, where="metrics"):
    """Plain data of it: numbers of numpy and torch with one element become numbers. TypeError that names the place."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where}: the key {key!r} is a {type(key).__name__}, expected a string")
        return {key: plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "size", 1) is not None:
        try:
            return plain(item(), where)
        except (ValueError, RuntimeError) as error:
            raise TypeError(f"{where}: a {type(value).__name__} with more than one number: report {where}.mean() or the like") from error
    raise TypeError(f"{where} is a {type(value).__name__}, expected numbers, strings, booleans, lists and dicts")

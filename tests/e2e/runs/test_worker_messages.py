"""A worker that sends an invalid message is ended with an error, and its controller survives. Covers each message of
the channel between them, with fields missing, of another type, out of range and deeply nested, and frames without a
message."""

import itertools
import re
import struct

import pytest

from conftest import ALL, SOURCE

# Sends the frames of the file `frames` over its channel, one by one. A worker killed for a frame begins with the next
# one.
SENDER = """
local files, train = require 'files', require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    local ffi = require 'ffi'
    ffi.cdef 'long write(int, const void *, size_t);'
    local frames = loadfile 'frames.lua'()
    while true do
      local next = tonumber(files.read 'next')
      if not frames[next] then return end
      files.write('next', tostring(next + 1))
      local frame = frames[next]:gsub('..', function(hex) return string.char(tonumber(hex, 16)) end)
      local done = 0
      while done < #frame do
        local n = tonumber(ffi.C.write(3, frame:sub(done + 1), #frame - done))
        if n <= 0 then break end
        done = done + n
      end
      -- The controller kills this worker for the frame before report() returns.
      pcall(train.report, {sent = next})
      train.collective.barrier()
    end
  end,
  run_config = train.RunConfig {failure_config = train.FailureConfig {max_failures = 1}},
}:fit()
"""

HEADER = SOURCE / "host/loop/messages/to_controller.h"
MOST = 2**63 - 1
VALUES = [None, True, -1, MOST, 1e300, "x", b"\xff", [], {}, [0] * 3000, {"a": {"a": [[{}]]}}]


def pack(value):
    """Encodes a value as MessagePack."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">Bq", 0xD3, value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, (str, bytes)):
        text = value.encode() if isinstance(value, str) else value
        return struct.pack(">BI", 0xDB, len(text)) + text
    if isinstance(value, list):
        return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(pack, value))
    return struct.pack(">BI", 0xDF, len(value)) + b"".join(pack(key) + pack(item) for key, item in value.items())


def frame(body):
    return struct.pack("<I", len(body)) + body


def messages():
    """Returns, for each type of message, its fields and whether they are required, read from the header."""
    found = {}
    text = HEADER.read_text().split("namespace rtrain::message {")[1]
    for part in text.split("kType = ")[1:]:
        name, fields = re.match(r'"(\w+)"', part).group(1), re.findall(r'(required|optional)\("(\w+)"', part)
        found[name] = [(field, kind == "required") for kind, field in fields]
    return found


# Fields whose plausible value is a string; the values of all other fields are integers.
TEXTS = {
    "version",
    "build_id",
    "name",
    "upload",
    "folder",
    "directory_name",
    "key",
    "data",
    "severity",
    "text",
    "kind",
    "what",
    "place",
    "path",
    "problem",
    "collective",
    "state",
    "setting",
    "note",
}
OTHERS = {
    "metrics": {},
    "files": [],
    "gpus": [],
    "names": [],
    "values": [],
    "summaries": [],
    "threads": [],
    "reports": [],
    "validated": [],
    "error": {"code": "user", "message": "x"},
    "value": None,
    "argument": None,
    "events": [],
    "is": True,
    "is_conclusive": False,
    "lua": "",
    "data": "x",
    "checkpoint": {},
    "partial": False,
    "repeat": False,
    "kind": "text",
}


def plausible(field):
    return OTHERS.get(field, "x" if field in TEXTS else 1)


# By day each field gets one wrong value, and the values take turns; by night each field gets all of them.
turns = itertools.cycle(VALUES)


def broken(name, fields):
    whole = {"type": name, **{field: plausible(field) for field, _ in fields}}
    for field, is_required in fields:
        if is_required:
            yield {key: value for key, value in whole.items() if key != field}
        for value in VALUES if ALL else [next(turns)]:
            yield {**whole, field: value}


def no_messages():
    """Frames whose body is not a valid message."""
    yield frame(b"")
    yield frame(b"\xdd\xff\xff\xff\xff")
    yield frame(b"\xdf\xff\xff\xff\xff")
    yield frame(b"\xdb\xff\xff\xff\xff")
    yield frame(b"\xc7\x01\x01\x00")
    yield frame(b"\xc1")
    yield frame(b"\x91" * 100 + b"\xc0")
    yield frame(pack({"type": "hello"})[:-3])
    yield frame(pack({"type": "hello"}) + b"\x00")
    yield frame(pack({"type": 3}))
    yield frame(pack({"type": "no such message"}))
    yield frame(pack({}))
    yield frame(pack([]))
    yield frame(b"\xcf" + b"\xff" * 8)
    yield struct.pack("<I", 0xFFFFFFFF)
    yield struct.pack("<I", (1 << 20) + 1)


def check_survives(rtrain, frames):
    (rtrain.folder / "frames.lua").write_text("return {\n" + "".join(f"'{each.hex()}',\n" for each in frames) + "}\n")
    (rtrain.folder / "next").write_text("1")
    before = 0
    while (sent := int((rtrain.folder / "next").read_text())) <= len(frames):
        assert sent > before, f"the run ended before it sent frame {sent}"
        before = sent
        result = rtrain.run(SENDER, "-q", timeout=300)
        told = f"frames {sent} to {(rtrain.folder / 'next').read_text()}\n{result.stderr[-3000:]}"
        assert result.returncode in (0, 1, 4, 5, 6), f"{result.returncode}: {told}"
        assert "missing declaration" not in result.stderr, told
        assert "bug of rtrain" not in result.stderr and "constraint failed" not in result.stderr, told


def test_frames_that_are_no_message(rtrain):
    check_survives(rtrain, list(no_messages()))


@pytest.mark.parametrize("name", sorted(messages()))
def test_messages_with_broken_fields(rtrain, name):
    check_survives(rtrain, [frame(pack(each)) for each in broken(name, messages()[name])])

"""train.log_video: the animated PNG that it stores, chunk by chunk, and what the command line and TensorBoard make of it."""

import struct
import zlib

import pytest

from conftest import Rtrain
from test_series import script

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LOGGING = script(
    """
    local torch = require 'torch'
    local rising = torch.arange(5):reshape(5, 1, 1, 1):expand(5, 3, 6, 4):to('uint8')
    train.log_video('rising', rising, {step = 3, fps = 12.5})
    train.log_video('rising', torch.zeros(2, 1, 3, 3))
    train.log_video('two', torch.stack({torch.zeros(2, 1, 4, 4), torch.ones(2, 1, 4, 4)}))
    train.report {}
""",
    workers=1,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    rtrain.run_ok(LOGGING)
    return rtrain.storage


@pytest.fixture
def store(rtrain, results):
    rtrain.env["RTRAIN_STORAGE"] = str(results)
    rtrain.storage = results
    return rtrain


def chunks(png):
    """Returns the (type, data) pairs of a PNG file, whose checksums must be right."""
    assert png.startswith(SIGNATURE)
    out, at = [], len(SIGNATURE)
    while at < len(png):
        [size] = struct.unpack(">I", png[at : at + 4])
        body = png[at + 4 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size]) == (zlib.crc32(body),)
        out.append((body[:4].decode(), body[4:]))
        at += 12 + size
    return out


def frames(png):
    """Returns (width, height, channels), the milliseconds of a frame, and the rows of each frame with their filter bytes."""
    parts = chunks(png)
    assert parts[0][0] == "IHDR" and parts[1][0] == "acTL" and parts[-1] == ("IEND", b"")
    width, height, depth, colours = struct.unpack(">IIBB", parts[0][1][:10])
    count, plays = struct.unpack(">II", parts[1][1])
    assert (depth, plays) == (8, 0), "a video starts again after its end"
    numbers, delays, data = [], set(), []
    for kind, body in parts[2:-1]:
        if kind == "fcTL":
            number, w, h, x, y, delay, of, dispose, blend = struct.unpack(">IIIIIHHBB", body)
            assert (w, h, x, y, dispose, blend) == (width, height, 0, 0, 0, 0)
            numbers.append(number)
            delays.add(1000 * delay / of)
            data.append(b"")
        elif kind == "fdAT":
            numbers.append(struct.unpack(">I", body[:4])[0])
            data[-1] += body[4:]
        else:
            assert kind == "IDAT" and len(data) == 1, "the first frame is what other programs show"
            data[-1] += body
    assert numbers == list(range(len(numbers))) and len(data) == count
    return (width, height, {0: 1, 2: 3}[colours]), *delays, [zlib.decompress(each) for each in data]


def test_each_frame_is_in_the_file(store):
    rows = store.json("show", "run", "--media", "-o", "files")
    assert [(row["kind"], row["name"], row["step"]) for row in rows] == [
        ("video", "rising", 3),
        ("video", "rising", 4),
        ("video", "two", 0),
    ]
    assert [row["path"] for row in rows] == [f"files/{name}-rank0.png" for name in ("rising-3", "rising-4", "two-0")]
    size, delay, data = frames((store.folder / "files/rising-3-rank0.png").read_bytes())
    assert (size, delay, len(data)) == ((4, 6, 3), 80, 5)
    for at, rows_of_frame in enumerate(data):
        assert len(rows_of_frame) == 6 * (1 + 4 * 3)
        assert rows_of_frame[1:4] == bytes([at] * 3), "the first pixel has no neighbours: each filter leaves it"
    assert frames((store.folder / "files/rising-4-rank0.png").read_bytes())[:2] == ((3, 3, 1), 250)
    assert frames((store.folder / "files/two-0-rank0.png").read_bytes())[0] == (8, 4, 1), "next to each other"


def test_the_command_line_lists_it(store):
    lines = store("show", "run", "--media").stdout.splitlines()
    assert [line.split()[:4] for line in lines[1:3]] == [["video", "rising", "3", "0"], ["video", "rising", "4", "0"]]


def test_tensorboard_shows_its_first_frame(store):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert store("export", "run", "--format", "tensorboard", "-o", "tb").returncode == 0
    events = accumulator.EventAccumulator(str(store.folder / "tb/run"), size_guidance={"images": 0})
    events.Reload()
    first = events.Images("rising")[0]
    assert (first.step, first.width, first.height) == (3, 4, 6)
    assert len(frames(first.encoded_image_string)[2]) == 5


def test_what_is_wrong_is_said(rtrain):
    rtrain.run_ok(
        script(
            """
      local torch = require 'torch'
      local errors = {}
      for _, call in ipairs {
        {'a', {1}}, {'a', torch.zeros(3, 4, 4)}, {'a', torch.zeros(2, 8, 8, 3)}, {'a', torch.zeros(0, 3, 4, 4)},
        {'a', torch.zeros(2, 3, 0, 4)}, {'a', torch.zeros({2, 1, 4, 4}, {dtype = 'int64'})},
        {'a', torch.zeros(2, 1, 4, 4), {fps = 0}}, {'a', torch.zeros(2, 1, 4, 4), {fps = 0 / 0}},
        {'a', torch.zeros(2, 1, 4, 4), {rate = 8}}, {'long', torch.rand(20, 3, 200, 200)}, {'', torch.zeros(2, 1, 4, 4)},
      } do
        local ok, err = pcall(function() train.log_video(unpack(call)) end)
        errors[#errors + 1] = ok and 'no error' or tostring(err)
      end
      train.report {errors = errors}
    """,
            workers=1,
        )
    )
    errors = rtrain.json("metrics", "run")[0]["metrics"]["errors"]
    for error, words in zip(
        errors,
        [
            "expected a tensor, got table",
            "the tensor has the shape {3, 4, 4}: expected {t, c, h, w} or {n, t, c, h, w}",
            "would have 8 channels, expected 1 to 4: is it {t, h, w, c}? Permute it",
            "has no frame",
            "the frames have 0 x 4 pixels, expected 1 to 8192 on each side",
            "log_video: the dtype is int64: expected uint8, bool, or floating point from 0 to 1",
            "fps = 0: expected a number from 0.1 to 60",
            "fps = nan: expected a number from 0.1 to 60",
            "unknown option 'rate': valid names: step, fps",
            "as an animated PNG, at most 1000000 are allowed: log fewer or smaller frames",
            "expected a string, got an empty one",
        ],
        strict=True,
    ):
        assert words in error, error
    assert rtrain.query("SELECT count(*) FROM media") == [(0,)]

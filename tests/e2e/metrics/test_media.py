"""train.log_image and similar functions: how the command line shows the media, their files, and TensorBoard's view."""

import collections
import contextlib
import csv
import io
import json
import sqlite3
import struct
import subprocess
import zlib

import pytest

import sixel
from conftest import RTRAIN, Rtrain
from test_series import script
from test_terminal import OnTerminal

LOGGING = script("""
    local torch = require 'torch'
    local image = torch.zeros({3, 4, 6}, {dtype = 'uint8'})
    image[0]:fill_(255)
    for step = 0, 2 do
      train.log_image('samples/red', image, {step = step})
      train.log_image('ramp', torch.linspace(-0.5, 1.5, 8):view(2, 4), {step = 10 * step, dataformats = 'HW'})
    end
    train.log_text('story', 'once, "upon"\\na time')
    train.log_text('story', 'rank ' .. rank)
    train.log_histogram('weights', torch.tensor {0, 0.1, 0.9, 1, 0 / 0}, {bins = 2})
    train.log_histogram('weights', {5, 5})
    train.log_table('wrong', {columns = {'digit', 'said'}, rows = {{7, 'nine, or "9"'}, {1, 'four'}}})
    train.log_table('wrong', {loss = torch.tensor {0.5, 0.25}, ok = {true, false}})
    train.report {}
""")


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


def media(rtrain, *args):
    return rtrain.json("show", "run", "--media", *args)


def pixels(png):
    """Returns width, height, channels and bytes of an 8-bit PNG whose rows use any filter except Paeth."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and depth == 8
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[kind]
    data, at = b"", 8
    while at < len(png):
        size = struct.unpack(">I", png[at : at + 4])[0]
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, channels, len(zlib.decompress(data))


def test_everything_is_listed_and_stored_once(store):
    rows = media(store)
    assert set(rows[0]) == {"kind", "name", "step", "rank", "attempt", "time", "bytes", "hash", "path"}
    assert collections.Counter((row["kind"], row["name"]) for row in rows) == {
        ("image", "samples/red"): 6,
        ("image", "ramp"): 6,
        ("text", "story"): 4,
        ("histogram", "weights"): 4,
        ("table", "wrong"): 4,
    }
    steps = {
        name: sorted({row["step"] for row in rows if row["name"] == name}) for name in ("ramp", "story", "weights")
    }
    assert steps == {"ramp": [0, 10, 20], "story": [0, 1], "weights": [0, 1]}
    assert len({row["hash"] for row in rows if row["name"] == "samples/red"}) == 1, "one content for six rows"
    assert all(row["path"] is None and row["attempt"] == 1 for row in rows)
    stored = store.query("SELECT hash, length(data) FROM media_contents")
    assert dict(stored) == {row["hash"]: row["bytes"] for row in rows} and len(stored) == len(dict(stored))
    lines = store("show", "run", "--media", "--json=lines").stdout.splitlines()
    assert [json.loads(line) for line in lines] == rows


def test_a_pipe_gets_the_list_and_the_newest_of_what_is_text(store):
    shown = store("show", "run", "--media").stdout
    assert shown.startswith("KIND") and "samples/red" in shown and "▀" not in shown and "\x1b" not in shown
    assert "text story, step 1, rank 1\nrank 1\n" in shown and "once" not in shown
    assert "histogram weights, step 1, rank 0\n" in shown and "5 to 5, 2 numbers" in shown
    assert "LOSS  OK" in shown.upper() and "0.25" in shown


def test_a_terminal_shows_pictures(store):
    del store.env["NO_COLOR"]
    store.env.update(TERM="xterm", COLORTERM="truecolor")
    screen = OnTerminal(store, "show", "run", "--media").end().decode()
    red = "\x1b[38;2;255;0;0;48;2;255;0;0m" + "▀" * 6 + "\x1b[0m"
    assert screen.count(red) == 2 * 2, "two lines for each rank"
    assert "image samples/red, step 2, rank 1" in screen


QUESTION = rb"\x1b\[c"  # primary device attributes
PALETTE = 2  # a palette has percents; one is 2.55 of 255


def shown_by(store, answer, *args):
    """Returns the output for a terminal that gives this answer to the query."""
    del store.env["NO_COLOR"]
    store.env["TERM"] = "xterm"
    terminal = OnTerminal(store, *args, has_keys=True)
    terminal.read_until(QUESTION)
    terminal.write(answer)
    return terminal.end()


def enlarged(rows, factor):
    return [[pixel for pixel in row for _ in range(factor)] for row in rows for _ in range(factor)]


def is_near(a, b, by):
    return all(
        abs(x - y) <= by
        for row_a, row_b in zip(a, b, strict=True)
        for pixel_a, pixel_b in zip(row_a, row_b, strict=True)
        for x, y in zip(pixel_a, pixel_b)
    )


def test_a_terminal_that_says_that_it_has_sixel_gets_it(store):
    output = shown_by(store, b"\x1b[?62;4;22c", "show", "run", "--media")
    ramp = [int(255 * min(max(-0.5 + 2 * i / 7, 0), 1) + 0.5) for i in range(8)]
    expected = {
        "ramp": (64, [[(value,) * 3 for value in ramp[:4]], [(value,) * 3 for value in ramp[4:]]]),
        "samples/red": (42, [[(255, 0, 0)] * 6] * 4),
    }
    found = sixel.pictures(output)
    assert len(found) == 4 and "▀" not in output.decode()
    for name, (width, height, rows) in zip(["ramp", "ramp", "samples/red", "samples/red"], found):
        factor, small = expected[name]
        assert (width, height) == (len(small[0]) * factor, len(small) * factor)
        assert is_near(rows, enlarged(small, factor), PALETTE), name
    left = sixel.without_pictures(output).decode()
    assert "image ramp, step 20, rank 1\n\n" in left
    assert left.replace("\x1b[c", "").count("\x1b") == 0, "the question, the pictures and text"


def test_more_colours_than_a_palette_has_become_similar_ones(rtrain):
    rtrain.run_ok(
        script(
            """
      local torch = require 'torch'
      local ramp = torch.arange(100):mul(2):to('uint8')
      local image = torch.stack({ramp:view(1, 100):expand(100, 100), ramp:view(100, 1):expand(100, 100),
                                 torch.full({100, 100}, 9, {dtype = 'uint8'})}, 0)
      train.log_image('ramps', image)
      train.report {}
    """,
            workers=1,
        )
    )
    [(width, height, rows)] = sixel.pictures(shown_by(rtrain, b"\x1b[?4c", "show", "run", "--media"))
    image = [[(2 * column, 2 * row, 9) for column in range(100)] for row in range(100)]
    assert (width, height) == (200, 200)
    assert is_near(rows, enlarged(image, 2), 12) and len({pixel for row in rows for pixel in row}) <= 256


@pytest.mark.parametrize("answer", [b"\x1b[?62;22;44c", b"q", b"\x1b[?"])
def test_a_terminal_that_does_not_say_so_gets_blocks(store, answer):
    """Terminals whose answer has no sixel support, and terminals that never answer."""
    output = shown_by(store, answer, "show", "run", "--media")
    assert sixel.pictures(output) == [] and "▀" * 6 in output.decode()


def test_the_form_can_be_said(store):
    piped = subprocess.run(
        [RTRAIN, "show", "run", "--media", "--images", "sixel"],
        cwd=store.folder,
        env=store.env,
        capture_output=True,
        check=True,
    ).stdout
    assert [picture[:2] for picture in sixel.pictures(piped)] == [(256, 128)] * 2 + [(252, 168)] * 2
    assert "▀" in store("show", "run", "--media", "--images", "blocks").stdout, "also into a pipe"
    asked = OnTerminal(store, "show", "run", "--media", "--images", "blocks", has_keys=True).end()
    assert b"\x1b[c" not in asked and "▀" in asked.decode()
    image = store.folder / "i.png"
    [path, *_] = [row["path"] for row in media(store, "-o", "files") if row["kind"] == "image"]
    image.write_bytes((store.folder / path).read_bytes())
    store.env["NO_COLOR"] = "1"
    peeked = subprocess.run(
        [RTRAIN, "peek", image, "--images", "sixel"], cwd=store.folder, env=store.env, capture_output=True, check=True
    ).stdout
    assert len(sixel.pictures(peeked)) == 1
    assert store("show", "run", "--images", "sixel").returncode == 2


def test_nobody_is_asked_where_it_is_not_our_terminal(store):
    """Without keys as input, without colours, and with output for programs."""
    store.env["TERM"] = "xterm"
    for args, has_keys in [([], True), (["--json"], True)]:
        assert b"\x1b[c" not in OnTerminal(store, "show", "run", "--media", *args, has_keys=has_keys).end()
    del store.env["NO_COLOR"]
    for args, has_keys in [([], False), (["--json"], True)]:
        assert b"\x1b[c" not in OnTerminal(store, "show", "run", "--media", *args, has_keys=has_keys).end()
    store.env["TERM"] = "dumb"
    assert b"\x1b[c" not in OnTerminal(store, "show", "run", "--media", has_keys=True).end()


def test_files_are_written(store):
    rows = media(store, "-o", "files")
    paths = [store.folder / row["path"] for row in rows]
    assert len(set(paths)) == len(rows) == len(list((store.folder / "files").iterdir()))
    for row, path in zip(rows, paths):
        if row["kind"] != "table":
            assert path.stat().st_size == row["bytes"]

    def file(name):
        return (store.folder / "files" / name).read_bytes()

    assert pixels(file("samples_red-2-rank0.png")) == (6, 4, 3, 4 * (1 + 6 * 3))
    assert pixels(file("ramp-20-rank1.png")) == (4, 2, 1, 2 * (1 + 4))
    assert file("story-0-rank0.txt") == b'once, "upon"\na time'
    table = list(csv.reader(io.StringIO(file("wrong-0-rank1.csv").decode(), newline="")))
    assert table == [["digit", "said"], ["7", 'nine, or "9"'], ["1", "four"]]
    table = list(csv.DictReader(io.StringIO(file("wrong-1-rank0.csv").decode(), newline="")))
    assert [(float(row["loss"]), row["ok"]) for row in table] == [(0.5, "true"), (0.25, "false")]
    histogram = json.loads(file("weights-0-rank0.json"))
    assert (histogram["counts"], histogram["num"], histogram["nonfinite"]) == ([2, 2], 4, 1)
    assert histogram["edges"] == [0, 0.5, 1] and histogram["sum"] == pytest.approx(2)
    histogram = json.loads(file("weights-1-rank0.json"))
    assert sum(histogram["counts"]) == 2 and (histogram["min"], histogram["max"], len(histogram["counts"])) == (
        5,
        5,
        64,
    )


def test_pillow_reads_the_pixels(store):
    image = pytest.importorskip("PIL.Image")
    media(store, "-o", "files")
    red = image.open(store.folder / "files/samples_red-0-rank0.png")
    assert red.mode == "RGB" and set(red.get_flattened_data()) == {(255, 0, 0)}
    ramp = image.open(store.folder / "files/ramp-0-rank0.png")
    values = [min(max(-0.5 + 2 * i / 7, 0), 1) for i in range(8)]
    assert ramp.mode == "L" and list(ramp.get_flattened_data()) == [int(255 * value + 0.5) for value in values]


def test_tensorboards_own_reader_opens_what_was_exported(store):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert store("export", "run", "--format", "tensorboard", "-o", "tb").returncode == 0
    events = accumulator.EventAccumulator(
        str(store.folder / "tb/run"), size_guidance={"images": 0, "histograms": 0, "tensors": 0}
    )
    events.Reload()
    tags = events.Tags()
    assert set(tags["images"]) == {"samples/red", "ramp", "rank-1/samples/red", "rank-1/ramp"}
    images = events.Images("samples/red")
    assert [(image.step, image.width, image.height) for image in images] == [(0, 6, 4), (1, 6, 4), (2, 6, 4)]
    assert pixels(images[0].encoded_image_string)[:3] == (6, 4, 3)
    first = events.Histograms("weights")[0]
    value = first.histogram_value
    assert (first.step, value.num, value.min, list(value.bucket), list(value.bucket_limit)) == (
        0,
        4,
        0,
        [2, 2],
        [0.5, 1],
    )
    assert (value.max, value.sum, value.sum_squares) == pytest.approx((1, 2, 1.82))
    texts = events.Tensors("story")
    assert [(text.step, text.tensor_proto.string_val[0]) for text in texts] == [
        (0, b'once, "upon"\na time'),
        (1, b"rank 0"),
    ]
    assert events.SummaryMetadata("story").plugin_data.plugin_name == "text"


def test_what_is_wrong_is_said_at_the_users_line(rtrain):
    rtrain.run_ok(
        script(
            """
      local torch = require 'torch'
      local errors = {}
      for _, call in ipairs {
        {'log_image', 'a', torch.zeros(5, 5, 3)}, {'log_image', 'a', torch.zeros(2, 2), {stp = 1}},
        {'log_image', 'a', torch.zeros(2, 2), {dataformats = 'CWH'}}, {'log_image', 'a', {1}},
        {'log_image', 'a', torch.zeros({2, 2}, {dtype = 'int64'})}, {'log_image', '', torch.zeros(2, 2)},
        {'log_image', 'noise', torch.rand(3, 700, 700)}, {'log_text', 'a', 7}, {'log_text', 'a', ('x'):rep(1000001)},
        {'log_histogram', 'a', {0 / 0}}, {'log_histogram', 'a', torch.zeros(2), {bins = 0}}, {'log_histogram', 'a', {'x'}},
        {'log_table', 'a', {columns = {'x', 'y'}, rows = {{1, 2}, {3}}}}, {'log_table', 'a', {x = {1}, y = {1, 2}}},
        {'log_table', 'a', {columns = {'x'}, rows = {}, row = {}}}, {'log_table', 'a', {}},
        {'log_text', 'a', 'x', {step = 0.5}},
      } do
        local name = table.remove(call, 1)
        local ok, err = pcall(function() train[name](unpack(call)) end)
        errors[#errors + 1] = ok and 'no error' or tostring(err)
      end
      local ok, err = pcall(function() return train.log_imag end)
      errors[#errors + 1] = tostring(err)
      train.report {errors = errors}
    """,
            workers=1,
        )
    )
    errors = rtrain.json("metrics", "run")[0]["metrics"]["errors"]
    for error, words in zip(
        errors,
        [
            "is it {dataformats = 'HWC'}?",
            "did you mean 'step'",
            "did you mean 'CHW'",
            "expected a tensor, got table",
            "the dtype is int64: expected uint8",
            "expected a string, got an empty one",
            "as a PNG, at most 1000000 are allowed",
            "expected a string, got number",
            "'a' has 1000001 bytes, at most 1000000 are allowed",
            "no finite number among the 1",
            "bins = 0: expected an integer from 1 to 512",
            "value 1 is a string",
            "row 2, column 'y' is a nil",
            "the column 'y' has 2 rows, 'x' has 1",
            "did you mean 'rows'",
            "the table has no column",
            "step = 0.5",
            "did you mean 'log_image'",
        ],
        strict=True,
    ):
        assert words in error, error
    assert rtrain.query("SELECT count(*) FROM media") == [(0,)]
    outside = rtrain.run("require('rtrain').log_text('a', 'b')")
    assert outside.returncode == 1 and "train.log_text() works in the train function only" in outside.stderr
    raised = rtrain.run(script("train.log_text('a')", workers=1), "--name", "raised")
    assert "train.lua:4" in raised.stderr and "log_text: expected a string, got nil" in raised.stderr


def test_ten_thousand_are_allowed(rtrain):
    result = rtrain.run(script("for step = 1, 10001 do train.log_text('a', 'same', {step = step}) end", workers=1))
    assert result.returncode == 1 and "log_text: this rank has logged 10000" in result.stderr
    assert rtrain.query("SELECT attempt, count(*), max(step) FROM media GROUP BY attempt") == [
        (1, 10000, 10000),
        (2, 10000, 10000),
    ]
    assert rtrain.query("SELECT count(*) FROM media_contents") == [(1,)]


def test_a_later_attempt_supersedes_what_it_logs_again(rtrain):
    rtrain.run_ok(
        script(
            """
      local attempt = io.open('second') and 2 or 1
      for step = attempt == 1 and 0 or 2, 3 do train.log_text('a', attempt .. ' ' .. step, {step = step}) end
      if attempt == 1 then
        io.open('second', 'w'):close()
        error('once')
      end
      train.report {}
    """,
            workers=1,
        )
    )
    assert [(row["attempt"], row["step"]) for row in media(rtrain)] == [(1, 0), (1, 1), (2, 2), (2, 3)]


def test_contents_go_with_their_run_and_gc_leaves_them(rtrain):
    rtrain.run_ok(LOGGING)
    rtrain.run_ok(LOGGING, "--name", "other")
    assert rtrain.json("gc") == [] and len(media(rtrain)) == 24
    rtrain.json("edit", "run", "--name", "new name")
    assert len(rtrain.json("show", "new name", "--media")) == 24
    assert rtrain("rm", "new name", "--yes").returncode == 0
    other = rtrain.json("show", "other")["run_id"]
    assert rtrain.query("SELECT run_id FROM media UNION SELECT run_id FROM media_contents") == [(other,)]
    assert len(rtrain.json("show", "other", "--media")) == 24
    assert rtrain("rm", "other", "--yes").returncode == 0
    assert rtrain.query("SELECT (SELECT count(*) FROM media), (SELECT count(*) FROM media_contents)") == [(0, 0)]
    assert rtrain.json("gc") == []


def test_runs_without_any_say_so(rtrain):
    rtrain.run_ok(script("train.report {}", workers=1))
    shown = rtrain("show", "run", "--media")
    assert (shown.returncode, shown.stdout) == (0, "") and "has logged no images" in shown.stderr
    assert media(rtrain) == []
    refused = rtrain("show", "run", "-o", "x")
    assert refused.returncode == 2 and "say --media too" in refused.stderr
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
        db.executescript("DROP TABLE media; DROP TABLE media_contents; PRAGMA user_version = 5;")
    assert media(rtrain) == [], "a store of an older rtrain"

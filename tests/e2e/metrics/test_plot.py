"""`rtrain plot`: curves in the terminal, as SVG and as PNG."""

import contextlib
import json
import re
import shutil
import sqlite3
import struct
import xml.etree.ElementTree
import zlib

import pytest

from conftest import Rtrain
from test_terminal import on_terminal

SCRIPT = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function(config)
    for epoch = 0, 9 do
      for step = epoch * 10, epoch * 10 + 9 do train.log({loss = config.start / (step + 1)}, {step = step}) end
      train.report {loss = config.start / (epoch + 1), acc = epoch / 10, odd = epoch % 2 == 0 and 0/0 or epoch, name = 'x'}
    end
  end,
  train_loop_config = {start = 1},
}:fit()
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the runs a and b of ten reports each."""
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    rtrain.run_ok(SCRIPT, "--name", "a", "--tag", "pair", "-q")
    rtrain.run_ok(SCRIPT, "--name", "b", "--tag", "pair", "--set", "start=2", "-q")
    shutil.rmtree(rtrain.runtime)
    return rtrain.storage


@pytest.fixture
def store(rtrain, results):
    rtrain.env["RTRAIN_STORAGE"] = str(results)
    return rtrain


def points(store, *args):
    return {curve["name"]: curve["points"] for curve in store.json("plot", *args)}


def test_curves_have_axes_ticks_and_a_legend(store):
    lines = store("plot", "a", "b", "loss", "--width", "60", "--height", "16").stdout.splitlines()
    assert lines[0].strip() == "loss" and len(lines) == 16 + 2
    assert all(len(line) <= 60 for line in lines[:-2])
    assert [line.split("┤")[0].strip() for line in lines if "┤" in line] == ["2.0", "1.5", "1.0", "0.5"]
    assert re.fullmatch(r" +0 +2 +4 +6 +8 +step", lines[-3]), lines[-3]
    assert re.search(r"⠤⠤⠤⠤ a  last 0.1  min 0.1 at 9  max 1 at 0$", lines[-2]), lines[-2]
    assert re.search(r"⠤⠤⠤  b  last 0.2  min 0.2 at 9  max 2 at 0$", lines[-1]), lines[-1]
    assert "\x1b" not in "".join(lines)


def test_runs_are_chosen_by_tag_and_by_every_kind_of_name(store):
    assert set(points(store, "--tag", "pair", "loss")) == {"a", "b"}
    assert set(points(store, "last", "loss")) == {"b"}
    assert set(points(store, "best:loss:min", "loss")) == {"a"}


def test_points_are_reports_or_what_was_logged(store):
    assert points(store, "a", "loss")["a"] == [[float(x), 1 / (x + 1)] for x in range(10)]
    logged = points(store, "a", "loss", "--logged")["a"]
    assert logged == [[float(x), 1 / (x + 1)] for x in range(100)]
    seconds = [x for x, _ in points(store, "a", "loss", "--by", "time")["a"]]
    assert seconds[0] == 0 and seconds == sorted(seconds)
    assert points(store, "a", "odd")["a"][:3] == [[0.0, "NaN"], [1.0, 1.0], [2.0, "NaN"]]
    smooth = points(store, "a", "acc", "--smooth", "0.5")["a"]
    assert smooth[0][1] == 0 and abs(smooth[1][1] - 0.1 * 2 / 3) < 1e-12
    (line,) = store("plot", "a", "loss", "--json=lines").stdout.splitlines()
    assert json.loads(line)["metric"] == "loss"


def test_several_metrics_are_named(store):
    text = store("plot", "a", "loss,acc").stdout
    assert re.search(r"⠤ loss  last 0.1 ", text) and re.search(r" acc   last 0.9 ", text)
    assert "b acc" in store("plot", "a", "b", "loss,acc").stdout


def test_logarithmic_axes_leave_out_what_has_no_place(store):
    result = store("plot", "a", "acc", "--log-y", "--log-x")
    assert result.returncode == 0 and "1 point left out: not above zero" in result.stderr
    ticks = re.findall(r"(\S+) ┤", store("plot", "a", "loss", "--log-y", "--height", "20").stdout)
    assert ticks == ["1", "0.5", "0.2", "0.1"]


def test_the_ranks_that_have_points_are_named(rtrain):
    rtrain.run_ok(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer({train_loop_per_worker = function()
          local rank = train.get_context():get_world_rank()
          if rank == 1 then train.log({lr = 1}, {step = 1}) end
          train.report {loss = rank == 2 and 'text' or 0/0, acc = 1}
        end, scaling_config = train.ScalingConfig {num_workers = 4}}):fit()
    """,
        "--name",
        "run",
        "-q",
    )
    for metric, rank, ranks in (
        ("acc", 9, "ranks 0-3 have some"),
        ("loss", 2, "ranks 0-1, 3 have some"),
        ("lr", 0, "rank 1 has some"),
    ):
        result = rtrain("plot", "run", metric, "--rank", rank)
        assert result.returncode == 2 and f"of rank {rank} in run: {ranks}\n" in result.stderr, result.stderr


@pytest.mark.parametrize(
    "args, words",
    [
        (["loss"], ["RUN… METRIC"]),
        (["a", "los"], ["no points of 'los'", "did you mean 'loss'?"]),
        (["a", "name"], ["no points of 'name'"]),
        (["nothing", "loss"], ["no run 'nothing'"]),
        (["--tag", "none", "loss"], ["no run has the tag none"]),
        (["a", "loss", "-o", "x.pdf"], ["ends in .svg or .png"]),
        (["a", "loss", "--by", "epoch"], ["epoch"]),
        (["a", "loss", "--smooth", "2"], ["--smooth"]),
        (["a", "loss", "--rank", "3"], ["no points of 'loss' of rank 3 in a: rank 0 has some"]),
        (["a", "b", "loss", "--rank", "3"], ["no points of 'loss' of rank 3 in 2 runs: in a rank 0 has some"]),
        (["a", "acc", "--logged"], ["no points of 'acc' of rank 0 in a: valid names: loss"]),
    ],
)
def test_what_cannot_be_drawn_is_said(store, args, words):
    result = store("plot", *args)
    assert result.returncode == 2 and result.stdout == "", result.stdout + result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


LONG = """
local train = require 'rtrain'
train.DataParallelTrainer({
  train_loop_per_worker = function()
    for step = 0, 199999 do
      local x = 1 + step % 97 / 1000
      if step == 123456 then x = 9 elseif step == 45678 then x = -3 elseif step % 50000 == 7 then x = 1 / 0 end
      if step % 1000 == 500 then x = 0 / 0 end
      train.log({x = x}, {step = step})
    end
    train.report {epoch = 1}
  end,
  run_config = train.RunConfig {name = 'long'},
}):fit()
"""


def test_however_long_a_series_is_its_extrema_are_drawn(rtrain):
    rtrain.run_ok(LONG)

    def drawn(*args):
        result = rtrain("plot", "long", "x", *args)
        assert result.returncode == 0, result.stderr
        assert "4 points left out: infinite" in result.stderr
        return result.stdout.splitlines()

    def legend():
        (found,) = re.findall(r"⠤ long  last (\S+)  min (\S+) at (\S+)  max (\S+) at (\S+)", drawn()[-1])
        return found

    assert legend() == ("1.082", "-3", "45678", "9", "123456")
    points = rtrain.json("plot", "long", "x")[0]["points"]
    assert len(points) == 200000 and points[123456] == [123456, 9], "programs get all"
    legend_of_smooth = drawn("--smooth", "0.5")[-1]
    smooth = rtrain.json("plot", "long", "x", "--smooth", "0.5")[0]["points"]
    average, weight, finite = 0, 0, [(x, y) for x, y in points if not isinstance(y, str)]
    averages = {}
    for x, y in finite:
        average, weight = 0.5 * average + 0.5 * y, 0.5 * weight + 0.5
        averages[x] = average / weight
    assert len(smooth) == 200000 and all(averages[x] == pytest.approx(y) for x, y in smooth if not isinstance(y, str))
    lowest, highest = min(averages, key=averages.get), max(averages, key=averages.get)
    [shown] = re.findall(r"min (\S+) at (\S+)  max (\S+) at (\S+)", legend_of_smooth)
    assert [float(number) for number in shown] == pytest.approx(
        [averages[lowest], lowest, averages[highest], highest], rel=1e-3
    )
    seconds = drawn("--by", "time")
    assert re.search(r"min -3 at .* max 9 at ", seconds[-1])
    svg = rtrain.folder / "x.svg"
    drawn("-o", svg)
    assert svg.stat().st_size < 200_000
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
        least, most, points = db.execute(
            "SELECT min, max, points FROM series_summaries JOIN series USING(series_id) "
            "WHERE key = 'x' ORDER BY level DESC"
        ).fetchone()
        assert (least, most, points) == (-3, 9, 200000)
        db.executescript("DROP TABLE series_summaries; PRAGMA user_version = 6;")
    assert legend() == ("1.082", "-3", "45678", "9", "123456"), "a store of an older rtrain"


def test_a_run_without_the_metric_is_named_and_left_out(store, results):
    shutil.copytree(results, store.storage)
    store.env["RTRAIN_STORAGE"] = str(store.storage)
    store.run_ok(
        "local train = require 'rtrain' train.DataParallelTrainer(function() train.report {other = 1} end):fit()",
        "--name",
        "c",
        "-q",
    )
    result = store("plot", "a", "c", "loss")
    assert result.returncode == 0 and "the run c has no 'loss'" in result.stderr and " a  last" in result.stdout


def test_svg_is_xml_with_a_line_for_each_curve(store):
    result = store("plot", "a", "b", "loss", "-o", "x.svg", "--smooth", "0.6")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "wrote x.svg\n")
    root = xml.etree.ElementTree.parse(store.folder / "x.svg").getroot()
    space = {"s": "http://www.w3.org/2000/svg"}
    strokes = [line.get("stroke") for line in root.findall("s:polyline", space)]
    assert strokes.count("#0068b2") == 3 and strokes.count("#d55e00") == 3, "smoothed, as it was, legend"
    assert {"loss", "step", "a", "b"} <= {text.text for text in root.findall("s:text", space)}
    result = store("plot", "a", "loss", "-o", "missing/x.svg")
    assert result.returncode == 4 and "cannot write 'missing/x.svg'" in result.stderr


def pixels(png):
    """Decodes an RGB PNG without a library; returns its width, height and set of colours."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size]) == (zlib.crc32(kind + body),)
        if kind == b"IHDR":
            width, height, *rest = struct.unpack(">IIBBBBB", body)
            assert rest == [8, 2, 0, 0, 0]
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    rows = zlib.decompress(data)
    assert len(rows) == height * (1 + 3 * width)
    return width, height, {rows[y * (1 + 3 * width) + 1 + 3 * x :][:3] for y in range(height) for x in range(width)}


def test_png_shows_each_curve_in_its_colour(store):
    assert store("plot", "a", "b", "loss", "-o", "x.png", "--width", "300", "--height", "200").returncode == 0
    width, height, colours = pixels((store.folder / "x.png").read_bytes())
    assert (width, height) == (300, 200)
    assert {bytes((0, 104, 178)), bytes((213, 94, 0)), b"\xff\xff\xff"} <= colours


def test_on_a_terminal_curves_have_colours_and_fit(store):
    del store.env["NO_COLOR"]
    text = on_terminal(store, "plot", "a", "b", "loss", columns=50).decode()
    assert "\x1b[36m" in text and "\x1b[33m" in text
    plain = re.sub(r"\x1b\[\d*m", "", text).splitlines()
    assert max(map(len, plain[:-2])) <= 50 and len(plain) <= 24

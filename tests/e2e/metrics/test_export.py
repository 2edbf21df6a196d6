"""`rtrain export`: its files, read by other programs, agree with `rtrain metrics --json`."""

import csv
import io
import json
import math
import shutil
import struct

import pytest

from conftest import Rtrain

SCRIPT = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    for epoch = 0, 4 do
      for step = 0, 2 do train.log({grad = 0.5 * step, loss = 1 / (step + 1)}, {step = epoch * 3 + step}) end
      train.report {epoch = epoch, loss = 1 / 3 ^ epoch, val = {acc = epoch / 10}, note = epoch == 1 and 'a "b", c' or nil,
                    odd = epoch == 2 and 0/0 or epoch == 3 and 1/0 or 1.5, done = epoch == 4, list = {1, 2}}
    end
  end,
}:fit()
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the runs a and b."""
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    for name in "ab":
        rtrain.run_ok(SCRIPT, "--name", name, "--tag", "pair", "-q")
    shutil.rmtree(rtrain.runtime)
    return rtrain.storage


@pytest.fixture
def store(rtrain, results):
    rtrain.env["RTRAIN_STORAGE"] = str(results)
    return rtrain


def number(value):
    """Returns a JSON number as a float: JSON has infinity and NaN as strings."""
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else value


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def check_table(store, rows, run="a"):
    """Compares rows that have a column for each metric with the run's reports, for any file format."""
    reports = store.json("metrics", run)
    assert len(rows) == len(reports) == 5
    for row, report in zip(rows, reports):
        metrics = report["metrics"]
        assert (row["run"], int(row["index"]), int(row["attempt"]), row["time"]) == (
            run,
            report["index"],
            1,
            report["time"],
        )
        assert float(row["loss"]) == metrics["loss"] and float(row["val/acc"]) == metrics["val"]["acc"]
        assert int(row["epoch"]) == metrics["epoch"] and same(float(row["odd"]), number(metrics["odd"]))
        assert json.loads(row["list"]) == [1, 2]


def test_csv_has_a_row_for_each_report(store):
    text = store("export", "a").stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    check_table(store, rows)
    assert [row["note"] for row in rows] == ["", 'a "b", c', "", "", ""]
    assert [row["done"] for row in rows] == ["false"] * 4 + ["true"]
    assert (store("export", "a", "-o", "m.csv").stdout, (store.folder / "m.csv").read_text()) == ("", text)
    both = list(csv.DictReader(io.StringIO(store("export", "--tag", "pair", "a").stdout)))
    assert [row["run"] for row in both].count("b") == 5


FORMULAS = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    train.report {a = '=1+2', b = '@SUM(A1)', c = -5, d = -1/0, e = '-5', f = '+1', g = '-x',
      h = 'x=1', i = '\\t=1', ['=j'] = 1,
                  k = '=HYPERLINK("x", 1)'}
    train.report {c = 'x'}
    train.log_table('t', {columns = {'=n'}, rows = {{'=2'}, {-1}, {'plain'}}})
  end,
}:fit()
"""


def test_a_text_that_a_spreadsheet_would_compute_may_be_escaped(rtrain):
    rtrain.run_ok(FORMULAS, "--name", "run", "-q")
    plain = next(csv.DictReader(io.StringIO(rtrain("export", "run").stdout, newline="")))
    assert plain["a"] == "=1+2" and plain["k"] == '=HYPERLINK("x", 1)'
    escaped = next(csv.DictReader(io.StringIO(rtrain("export", "run", "--escape-formulas").stdout, newline="")))
    assert {name: escaped[name] for name in [*"abcdefghik", "'=j"]} == {
        "a": "'=1+2",
        "b": "'@SUM(A1)",
        "c": "-5",
        "d": "-inf",
        "e": "-5",
        "f": "+1",
        "g": "'-x",
        "h": "x=1",
        "i": "'\t=1",
        "k": '\'=HYPERLINK("x", 1)',
        "'=j": "1",
    }
    assert rtrain("show", "run", "--media", "-o", "files", "--escape-formulas").returncode == 0
    assert (rtrain.folder / "files" / "t-0-rank0.csv").read_text() == "'=n\n'=2\n-1\nplain\n"
    for refused, why in [
        (("export", "run", "--format", "json"), "is for --format csv"),
        (("export", "run", "--html"), "is for --format csv"),
        (("show", "run"), "-o FOLDER"),
    ]:
        result = rtrain(*refused, "--escape-formulas")
        assert result.returncode == 2 and why in result.stderr


def test_json_lines_are_the_rows_of_metrics(store):
    lines = [json.loads(line) for line in store("export", "a", "b", "--format", "json").stdout.splitlines()]
    assert lines == [{"run": run, **row} for run in "ab" for row in store.json("metrics", run)]


def test_series_have_a_row_for_each_point(store):
    rows = list(csv.DictReader(io.StringIO(store("export", "a", "--logged").stdout)))
    assert {row["key"] for row in rows} == {"grad", "loss"} and len(rows) == 30
    wanted = [(point["step"], point["value"]) for point in store.json("metrics", "a", "--series", "loss")]
    assert [(int(row["step"]), float(row["value"])) for row in rows if row["key"] == "loss"] == wanted
    lines = [json.loads(line) for line in store("export", "a", "--logged", "--format", "json").stdout.splitlines()]
    assert [(line["step"], line["value"]) for line in lines if line["key"] == "loss"] == wanted


def test_parquet_is_what_arrow_and_pandas_read(store):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert store("export", "a", "--format", "parquet", "-o", "m.parquet").returncode == 0
    table = parquet.read_table(store.folder / "m.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (
        types.items()
        >= {"run": "large_string", "index": "int64", "loss": "double", "epoch": "int64", "done": "bool"}.items()
    )
    rows = table.to_pylist()
    check_table(store, rows)
    assert [row["note"] for row in rows] == [None, 'a "b", c', None, None, None]
    assert [row["done"] for row in rows] == [False] * 4 + [True]


MIXED = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    train.report {a = 1, b = 1, c = true, run = 'mine'}
    train.report {a = 0.5, b = 'x', c = false, late = {deep = {1}}}
    train.report {b = 2.5, none = {}}
  end,
}:fit()
"""


def test_a_column_has_the_type_that_holds_all_its_cells(rtrain):
    rtrain.run_ok(MIXED, "--name", "mixed", "-q")
    rows = list(csv.DictReader(io.StringIO(rtrain("export", "mixed").stdout, newline="")))
    assert [(row["a"], row["b"], row["c"]) for row in rows] == [
        ("1", "1", "true"),
        ("0.5", "x", "false"),
        ("", "2.5", ""),
    ]
    assert rows[1]["late/deep"] == "[1]" and rows[0]["metrics/run"] == "mine" and rows[0]["run"] == "mixed"
    parquet = pytest.importorskip("pyarrow.parquet")
    assert rtrain("export", "mixed", "--format", "parquet", "-o", "m.parquet").returncode == 0
    table = parquet.read_table(rtrain.folder / "m.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["a"], types["b"], types["c"], types["late/deep"]) == (
        "double",
        "large_string",
        "bool",
        "large_string",
    )
    assert table["a"].to_pylist() == [1.0, 0.5, None] and table["b"].to_pylist() == ["1", "x", "2.5"]


def test_a_run_without_reports_has_the_columns_of_all(rtrain):
    rtrain.run_ok(
        "local train = require 'rtrain' train.DataParallelTrainer(function() end):fit()", "--name", "bare", "-q"
    )
    assert rtrain("export", "bare").stdout == "run,index,attempt,time\n"
    assert rtrain("export", "bare", "--logged").stdout == "run,key,rank,step,time,value\n"
    parquet = pytest.importorskip("pyarrow.parquet")
    assert rtrain("export", "bare", "--format", "parquet", "-o", "m.parquet").returncode == 0
    table = parquet.read_table(rtrain.folder / "m.parquet")
    assert (table.num_rows, table.column_names) == (0, ["run", "index", "attempt", "time"])


def test_parquet_of_series_is_written_in_pieces(rtrain):
    rtrain.run_ok(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer(function()
          for step = 1, 100000 do train.log({x = step / 8}, {step = step}) end
        end):fit()
    """,
        "--name",
        "run",
        "-q",
    )
    parquet = pytest.importorskip("pyarrow.parquet")
    assert rtrain("export", "run", "--logged", "--format", "parquet", "-o", "s.parquet").returncode == 0
    table = parquet.read_table(rtrain.folder / "s.parquet")
    assert table["step"].to_pylist() == list(range(1, 100001))
    assert table["value"].to_pylist() == [step / 8 for step in range(1, 100001)]
    assert set(table["key"].to_pylist()) == {"x"} and str(table.schema.field("rank").type) == "int64"


def checksum(data):
    """Returns the masked CRC-32C of an event file's record, computed bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Returns the fields of a protocol buffer: number → last value."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = 8 if key & 7 == 1 else 4
            value, at = struct.unpack("<d" if size == 8 else "<f", data[at : at + size])[0], at + size
        found[key >> 3] = value
    return found


def scalars(path):
    """Returns the scalars of an event file: tag → list of (step, time, value)."""
    data, at, found, first = path.read_bytes(), 0, {}, None
    while at < len(data):
        (size,) = struct.unpack("<Q", data[at : at + 8])
        assert struct.unpack("<I", data[at + 8 : at + 12]) == (checksum(data[at : at + 8]),)
        body = data[at + 12 : at + 12 + size]
        assert struct.unpack("<I", data[at + 12 + size : at + 16 + size]) == (checksum(body),)
        at += 16 + size
        event = fields(body)
        if first is None:
            first = event[3]
            continue
        value = fields(fields(event[5])[1])
        found.setdefault(value[1].decode(), []).append((event.get(2, 0), event[1], value[2]))
    assert first == b"brain.Event:2"
    return found


def test_tensorboard_events_are_records_of_scalars(store):
    assert store("export", "a", "b", "--format", "tensorboard", "-o", "tb").returncode == 0
    (path,) = (store.folder / "tb/a").iterdir()
    found = scalars(path)
    assert set(found) == {"epoch", "loss", "odd", "val/acc", "grad", "logged/loss"}
    reports = store.json("metrics", "a")
    assert [step for step, _, _ in found["loss"]] == [report["index"] for report in reports]
    for (_, _, value), report in zip(found["odd"], reports):
        assert same(value, number(report["metrics"]["odd"]))
    for (_, _, value), report in zip(found["loss"], reports):
        assert value == struct.unpack("f", struct.pack("f", report["metrics"]["loss"]))[0]
    assert [step for step, _, _ in found["logged/loss"]] == list(range(15))
    assert (store.folder / "tb/b").is_dir()


def test_events_come_report_by_report(rtrain):
    """All metrics of a report are written together, in one pass, whatever their names."""
    rtrain.run_ok(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer{train_loop_per_worker = function()
          for i = 0, 2 do train.report{['a"b'] = i, late = i > 0 and i / 2 or nil, odd = i == 1 and 0/0 or 1, yes = true} end
        end}:fit()
    """,
        "--name",
        "run",
        "-q",
    )
    assert rtrain("export", "run", "--format", "tensorboard", "-o", "tb").returncode == 0
    (path,) = (rtrain.folder / "tb/run").iterdir()
    found = scalars(path)
    assert set(found) == {'a"b', "late", "odd"}
    assert [value for _, _, value in found['a"b']] == [0, 1, 2]
    assert [(step, value) for step, _, value in found["late"]] == [(1, 0.5), (2, 1)]
    assert [math.isnan(value) for _, _, value in found["odd"]] == [False, True, False]
    data = path.read_bytes()
    names = [name for at in range(len(data)) for name in (b'a"b', b"odd") if data.startswith(name, at)]
    assert sorted(names[0:2]) == sorted(names[2:4]) == sorted(names[4:6])


def test_tensorboards_own_reader_agrees(store):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert store("export", "a", "--format", "tensorboard", "-o", "tb").returncode == 0
    events = accumulator.EventAccumulator(str(store.folder / "tb/a"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("epoch")] == [(n, float(n)) for n in range(5)]


@pytest.mark.parametrize(
    "args, words",
    [
        ([], "give a RUN, or --tag TAG"),
        (["nothing"], "no run 'nothing'"),
        (["a", "--format", "parquet"], "say -o FILE"),
        (["a", "--format", "tensorboard"], "say -o FOLDER"),
        (["a", "--format", "xls"], "xls"),
    ],
)
def test_what_cannot_be_exported_is_said(store, args, words):
    result = store("export", *args)
    assert result.returncode == 2 and result.stdout == "" and words in result.stderr, result.stderr


def test_a_file_that_cannot_be_written_is_named(store):
    result = store("export", "a", "-o", "missing/m.csv")
    assert result.returncode == 4 and "cannot write 'missing/m.csv'" in result.stderr

"""`rtrain import`: makes runs from TensorBoard's event files and CSV tables."""

import json
import math
import os
import struct

import pytest

SCRIPT = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function(config)
    for epoch = 0, 4 do
      for step = 0, 2 do train.log({grad = 0.5 * step, lr = 1 / (step + 3)}, {step = epoch * 3 + step}) end
      train.report {epoch = epoch, loss = 1 / 3 ^ epoch, val = {acc = epoch / 10, deep = {x = 1.5}},
                    note = epoch == 1 and 'a "b", c\\nd' or nil, odd = epoch == 2 and 0/0 or epoch == 3 and 1/0 or 1.5,
                    done = epoch == 4, list = {1, 2}, time = 7, whole = 2 ^ epoch, zero = -0.0}
      if config.fail and epoch == 2 and not train.get_checkpoint() then
        train.tempdir(function(dir) train.report({epoch = -1}, {checkpoint = train.Checkpoint.from_directory(dir)}) end)
        error 'once'
      end
    end
  end,
  train_loop_config = {fail = false},
  run_config = train.RunConfig {failure_config = train.FailureConfig {max_failures = 1}},
}:fit()
"""
NUMBERS = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    for epoch = 0, 4 do train.report {epoch = epoch, ['val/loss'] = 1 / 2 ^ epoch, odd = epoch == 2 and 0/0 or 1/0} end
  end,
}:fit()
"""


@pytest.fixture
def other(rtrain):
    """A second, empty store."""

    def run(*args):
        return rtrain(*args, "--storage", rtrain.folder / "other")

    return run


def document(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def imported(other, *args):
    result = other("import", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize("fail", ["false", "true"])
def test_what_was_exported_as_csv_is_the_same_run(rtrain, other, fail):
    rtrain.run_ok(SCRIPT, "--name", "a", "--set", f"fail={fail}", "-q")
    rtrain.run_ok(SCRIPT, "--name", "b", "-q")
    assert rtrain("export", "a", "b", "-o", "m.csv").returncode == 0
    assert [line.split(",")[0] for line in imported(other, "m.csv")] == ["imported a", "imported b"]
    for name in "ab":
        assert document(other("metrics", name, "--json")) == rtrain.json("metrics", name)
        assert '"zero":-0.0' in other("metrics", name, "--json").stdout.replace(": ", ":")
    attempts = document(other("show", "a", "--json"))["attempts"]
    assert [attempt["attempt"] for attempt in attempts] == ([1, 2] if fail == "true" else [1])
    row, before = document(other("ls", "--json"))[-1], rtrain.json("ls")[-1]
    assert (row["name"], row["status"], row["metrics"]) == ("a", "FINISHED", before["metrics"])
    reports = rtrain.json("metrics", "a")
    assert (row["started_at"], row["ended_at"]) == (reports[0]["time"], reports[-1]["time"])
    again = other("export", "a", "b")
    assert again.stdout == (rtrain.folder / "m.csv").read_text()


def test_exported_series_are_the_same_series(rtrain, other):
    rtrain.run_ok(SCRIPT, "--name", "a", "-q")
    assert rtrain("export", "a", "--logged", "-o", "s.csv").returncode == 0
    assert imported(other, "s.csv") == ["imported a, 2 logged series"]
    for key in ("grad", "lr"):
        assert document(other("metrics", "a", "--series", key, "--json")) == rtrain.json(
            "metrics", "a", "--series", key
        )
    assert other("plot", "a", "grad").returncode == 0


def test_exported_events_are_the_same_numbers(rtrain, other):
    rtrain.run_ok(NUMBERS, "--name", "a", "-q")
    assert rtrain("export", "a", "--format", "tensorboard", "-o", "tb").returncode == 0
    assert imported(other, "tb") == ["imported a, 5 reports"]
    assert document(other("metrics", "a", "--json")) == rtrain.json("metrics", "a")


def test_an_imported_run_is_a_run_like_others(rtrain, other):
    (rtrain.folder / "wide.csv").write_text("step,loss,acc\n0,1,0.25\n10,0.5,0.5\n20,0.25,\n")
    assert imported(other, "wide.csv", "--tag", "base", "--tag", "old", "--note", "from afar") == [
        "imported wide, 3 reports"
    ]
    show = document(other("show", "wide", "--json"))
    assert (show["tags"], show["checkpoints"], show["metrics"]) == (["base", "old"], [], {"loss": 0.25})
    assert "from afar" in other("show", "wide").stdout
    assert document(other("ls", "--where", "loss < 0.3", "--json"))[0]["name"] == "wide"
    assert document(other("show", "best:loss:min", "--json"))["name"] == "wide"
    points = document(other("plot", "wide", "loss", "--json"))[0]["points"]
    assert points == [[0.0, 1.0], [10.0, 0.5], [20.0, 0.25]]
    assert other("edit", "wide", "--name", "slim").returncode == 0 and other("logs", "slim").stdout == ""
    assert other("gc", "--dry-run").returncode == 0
    assert other("rm", "slim", "--yes").returncode == 0 and document(other("ls", "--json")) == []


def test_tables_of_other_programs(rtrain, other):
    (rtrain.folder / "board.csv").write_text("Wall time,Step,Value\r\n1700000000.5,5,0.5\r\n1700000001.25,10,0.25\r\n")
    (rtrain.folder / "odd.csv").write_text('\ufeff"a ""b""",text,flag,x/y\n1,"two\nlines",true,nan\n2.5,,false,-inf\n')
    imported(other, "board.csv", "odd.csv")
    assert document(other("metrics", "board", "--json")) == [
        {"index": 5, "attempt": 1, "time": "2023-11-14T22:13:20.500Z", "metrics": {"Value": 0.5}},
        {"index": 10, "attempt": 1, "time": "2023-11-14T22:13:21.250Z", "metrics": {"Value": 0.25}},
    ]
    rows = document(other("metrics", "odd", "--json"))
    assert [row["metrics"] for row in rows] == [
        {'a "b"': 1.0, "text": "two\nlines", "flag": True, "x": {"y": "NaN"}},
        {'a "b"': 2.5, "flag": False, "x": {"y": "-Infinity"}},
    ]
    assert [row["index"] for row in rows] == [0, 1]
    (rtrain.folder / "n.csv").write_text("n,time,v\n7,2024-01-02 03:04:05+01:00,1\n8,,2\n")
    os.utime(rtrain.folder / "n.csv", (1, 1_600_000_000))
    imported(other, "n.csv", "--step", "n", "--name", "named")
    assert [(row["index"], row["time"]) for row in document(other("metrics", "named", "--json"))] == [
        (7, "2024-01-02T02:04:05.000Z"),
        (8, "2020-09-13T12:26:40.000Z"),
    ]


def rows_of(rtrain, other, text, *args):
    (rtrain.folder / "t.csv").write_text(text)
    result = other("import", "t.csv", *args)
    assert result.returncode == 0, result.stderr
    rows = [row["metrics"] for row in document(other("metrics", "t", "--json"))]
    assert other("rm", "t", "--yes").returncode == 0
    return rows, result.stderr


def test_names_with_a_slash_are_metrics_in_maps(rtrain, other):
    rows, _ = rows_of(rtrain, other, "step,val/loss,val/top/5,lr/,/x\n0,0.5,1,2,3\n1,,2,,\n")
    assert rows == [{"val": {"loss": 0.5, "top": {"5": 1}}, "lr/": 2, "/x": 3}, {"val": {"top": {"5": 2}}}]
    rows, _ = rows_of(rtrain, other, "val/loss/min,val,val/loss,lr/a\n1,2,3,4\n")
    assert rows == [{"val/loss/min": 1, "val": 2, "val/loss": 3, "lr": {"a": 4}}], "nothing is replaced"


def test_the_rows_of_one_step_are_one_report(rtrain, other):
    """Lightning's CSVLogger writes training and validation metrics in separate rows."""
    rows, _ = rows_of(
        rtrain,
        other,
        "epoch,step,train/loss,val/loss,val/acc,odd\n0,9,0.5,,,nan\n0,9,,0.7,0.5,nan\n1,19,0.25,,,\n"
        "1,19,,0.375,0.75,\n1,29,0.125,,,\n",
    )
    assert rows == [
        {"epoch": 0, "train": {"loss": 0.5}, "odd": "NaN", "val": {"loss": 0.7, "acc": 0.5}},
        {"epoch": 1, "train": {"loss": 0.25}, "val": {"loss": 0.375, "acc": 0.75}},
        {"epoch": 1, "train": {"loss": 0.125}},
    ]


def test_cells_are_read_as_pandas_reads_them(rtrain, other):
    words = ["", "None", "NA", "N/A", "n/a", "null", "NULL", "<NA>", "#N/A", "  ", " NA "]
    rows, said = rows_of(
        rtrain,
        other,
        " step , loss ,\tval/acc\n"
        + "".join(f"{i}, {word} , {i}\n" for i, word in enumerate(words))
        + f"{len(words)}, 0.5 , 7 \n",
    )
    assert rows == [{"val": {"acc": i}} for i in range(len(words))] + [{"loss": 0.5, "val": {"acc": 7}}]
    assert "text" not in said
    rows, said = rows_of(rtrain, other, "a,b,c,d\nnan,inf,True,1\nNaN,-Infinity,FALSE,1e999\n-nan,+2,true,1e-999\n")
    assert (
        rows
        == [
            {"a": "NaN", "b": "Infinity", "c": True, "d": 1},
            {"a": "NaN", "b": "-Infinity", "c": False, "d": "Infinity"},
            {"a": "NaN", "b": 2, "c": True, "d": 0},
        ]
        and "text" not in said
    )


@pytest.mark.parametrize("separator", [";", "\t"])
def test_another_separator_is_found(rtrain, other, separator):
    lines = [["step", '"a, b, c"', "d"], ["3", "1", "2.5"], ["4", "", '"x;y\tz"']]
    rows, _ = rows_of(rtrain, other, "\n".join(separator.join(line) for line in lines) + "\n")
    assert rows == [{"a, b, c": 1, "d": "2.5"}, {"d": "x;y\tz"}]


def test_columns_of_text_are_named_and_those_without_a_name_left_out(rtrain, other):
    rows, said = rows_of(rtrain, other, ',step,loss,note,,\n0,7,0.5,good,,\n1,8,"0,25",,,\n')
    assert rows == [{"loss": "0.5", "note": "good"}, {"loss": "0,25"}]
    assert (
        "rtrain: t.csv: text, which has no curve, in the columns loss ('0,25' in line 3), note ('good' in line 2)\n"
        in said
    )
    _, said = rows_of(rtrain, other, "a\x1b\nlong " + 40 * "x" + "\n")
    assert "in the column a\\x1b ('long xxxxxxxxxxxxxxxxxxx…' in line 2)" in said


@pytest.mark.parametrize(
    "text, args, words",
    [
        ("", [], "the table is empty"),
        ("step,loss\n", [], "the table has no rows"),
        ("step,loss\n1,2,3\n", [], "line 2: 3 cells, expected 2"),
        ("step,loss\n1,2\nx,3\n", [], "line 3: step is 'x': expected an integer"),
        ("step,loss\n1,2\n1,3\n", [], "line 3: step 1 has a second value of loss: name another column with --step"),
        ("step,val/loss\n1,2\n1,3\n", [], "line 3: step 1 has a second value of loss"),
        ("step,loss\n-1,2\n", [], "line 2: step -1 is below 0"),
        ("a,a\n1,2\n", [], "two columns are called 'a'"),
        ('a,b\n1,"2\n', [], "line 2: a quoted cell has no end"),
        ('a,b\n1,"2"3\n', [], "line 2: a cell goes on behind its quotes"),
        ("step,loss\n1,2\n", ["--step", "stop"], "no column 'stop': did you mean 'step'?"),
        ("time,loss\nnoon,2\n", [], "line 2: time is 'noon'"),
        ("loss\n2\n", ["--name", "a/b"], "'a/b' cannot be a run's name"),
        ("loss\n2\n", ["--tag", ""], "cannot be a tag"),
        ("loss\n2\n", ["--format", "tensorboard"], "a record is damaged|no scalars"),
    ],
)
def test_what_cannot_be_imported_is_said(rtrain, other, text, args, words):
    (rtrain.folder / "t.csv").write_text(text)
    result = other("import", "t.csv", *args)
    assert result.returncode == 2 and any(word in result.stderr for word in words.split("|")), result.stderr
    assert not rtrain.query("SELECT 1 FROM runs")


# fault: a hostile CSV table or event file
def test_tables_that_ask_for_much(rtrain, other):
    """Each refusal names its file; memory grows only with the size of the file."""
    tables = {
        "quote": (b'step,a\n1,"' + b"x\n" * 4_000_000, "line 2: a quoted cell has no end"),
        "step": (
            b"step,a\n99999999999999999999999,1\n",
            "line 2: step is '99999999999999999999999': expected an integer",
        ),
        "same": (b"step,a,a\n1,2,3\n", "two columns are called 'a'"),
        "columns": (
            b"step" + b"".join(b",c%d" % i for i in range(50_000)) + b"\n" + b",".join([b"1"] * 50_001) + b"\n",
            None,
        ),
        "cell": (b"step,a\n1," + b"x" * 10_000_000 + b"\n", None),
        "zeros": (b"step,a\n1,\0\0\n2,\xff\xfe\n", None),
        "nested": (b'step,a\n1,"' + b"[" * 1_000_000 + b'"\n', None),
        "large": (b"step,a\n1,1e400\n2,-1e400\n3,1e-400\n", None),
    }
    for name, (text, refusal) in tables.items():
        (rtrain.folder / f"{name}.csv").write_bytes(text)
        result = other("import", f"{name}.csv")
        if refusal:
            assert result.returncode == 2 and f"import: {name}.csv: " in result.stderr, result.stderr
            assert refusal in result.stderr and len(result.stderr) < 500
        else:
            assert result.returncode == 0, f"{name}: {result.stderr[:500]}"
    for name, record in {"length": b"\xff" * 8 + bytes(100), "zeros": bytes(1000), "nothing": b""}.items():
        (rtrain.folder / f"events.out.tfevents.1.{name}").write_bytes(record)
        result = other("import", f"events.out.tfevents.1.{name}")
        assert result.returncode == 2 and f"events.out.tfevents.1.{name}" in result.stderr, result.stderr
    names = {run["name"] for run in document(other("ls", "--json"))}
    assert names == {name for name, (_, refusal) in tables.items() if refusal is None}


def test_a_name_that_is_taken_and_all_or_none(rtrain, other):
    (rtrain.folder / "one.csv").write_text("loss\n1\n")
    (rtrain.folder / "two.csv").write_text("loss\n1\n")
    imported(other, "one.csv")
    for paths in (["one.csv"], ["two.csv", "one.csv"]):
        result = other("import", *paths)
        assert result.returncode == 2 and "there is a run 'one'" in result.stderr
    assert [run["name"] for run in document(other("ls", "--json"))] == ["one"]
    result = other("import", "one.csv", "two.csv", "--name", "same")
    assert result.returncode == 2 and "two runs would be called 'same'" in result.stderr
    assert other("import", "none.csv").returncode == 2


# --- event files that TensorBoard's own writers made ---


@pytest.fixture
def writer():
    pytest.importorskip("tensorboard")
    return pytest.importorskip("torch.utils.tensorboard").SummaryWriter


def as_float(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def test_tensorboards_writers(rtrain, other, writer):
    folder = rtrain.folder / "runs"
    for name, is_new in (("base", False), ("wide/lr1", True)):
        with writer(folder / name) as board:
            for step in range(100):
                board.add_scalar(
                    "train/loss", 1 / (step + 3), step * 10, walltime=1_700_000_000 + step / 4, new_style=is_new
                )
                if step % 10 == 0:
                    board.add_scalar("val", step, step * 10, walltime=1_700_000_000 + step / 4, double_precision=True)
            board.add_text("note", "hello")
            board.add_histogram("weights", __import__("torch").ones(10), 5)
    assert imported(other, "runs") == ["imported base, 100 reports", "imported wide-lr1, 100 reports"]
    for name in ("base", "wide-lr1"):
        rows = document(other("metrics", name, "--json"))
        assert [row["index"] for row in rows] == [step * 10 for step in range(100)]
        assert [row["metrics"]["train/loss"] for row in rows] == [as_float(1 / (step + 3)) for step in range(100)]
        assert [row["metrics"].get("val") for row in rows] == [
            None if step % 10 else float(step) for step in range(100)
        ]
        assert rows[3]["time"] == "2023-11-14T22:13:20.750Z"
    [file] = (folder / "base").iterdir()
    assert imported(other, file, "--name", "one") == ["imported one, 100 reports"]
    assert document(other("metrics", "one", "--json")) == document(other("metrics", "base", "--json"))


def test_a_file_that_is_still_written_and_a_damaged_one(rtrain, other, writer):
    with writer(rtrain.folder / "runs") as board:
        for step in range(10):
            board.add_scalar("loss", step, step)
    [file] = (rtrain.folder / "runs").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-7])
    result = other("import", "runs", "--name", "cut")
    assert (
        result.returncode == 0
        and "ends within a record" in result.stderr
        and result.stdout == "imported cut, 9 reports\n"
    )
    file.write_bytes(whole[:-7] + bytes([whole[-7] ^ 1]) + whole[-6:])
    result = other("import", "runs", "--name", "damaged")
    assert result.returncode == 2 and "a record is damaged at byte" in result.stderr


def test_steps_that_were_trained_again(rtrain, other, writer):
    for part, (first, scale) in enumerate([(0, 1), (3, 2)]):
        with writer(rtrain.folder / "runs", filename_suffix=f".{part}") as board:
            for step in range(first, 6):
                board.add_scalar("loss", step * scale, step, walltime=1_700_000_000 + part * 100 + step)
    imported(other, "runs", "--name", "again")
    rows = document(other("metrics", "again", "--json"))
    assert [row["metrics"]["loss"] for row in rows] == [0, 1, 2, 6, 8, 10]
    assert not any(math.isnan(row["metrics"]["loss"]) for row in rows)

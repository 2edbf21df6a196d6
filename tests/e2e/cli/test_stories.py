"""Stories of a first hour with only the executable: the commands of a user, and the screens that follow."""

import os
import re
import signal
import time

import pytest

from conftest import nightly, wait_until
from story import Story

CONTROL = re.compile(rb"\x1b\[[?\d;]*[A-Za-z]|\r|\x08")
FEW_STEPS = ["--set", "epochs=2", "--set", "limit=256", "--set", "test_limit=64"]


@pytest.fixture
def story(rtrain):
    def begin(name):
        return Story(rtrain, name)

    return begin


@pytest.fixture
def in_project(rtrain):
    """A folder with the blank template, in which the commands are typed."""
    assert rtrain("init", "blank", "hello").returncode == 0
    rtrain.folder = rtrain.folder / "hello"
    return rtrain


def test_hello_training(story, rtrain):
    told = story("u1_hello_training")
    usage = rtrain()
    assert usage.returncode == 2 and re.findall(r"^  rtrain (\w+) ", usage.stderr, re.MULTILINE) == [
        "init",
        "run",
        "ls",
        "doc",
    ]
    told.type("init", "mnist", "hello")
    rtrain.folder = rtrain.folder / "hello"
    rows = told.type("run", "train.lua", *FEW_STEPS, "--name", "first")
    assert "rtrain show first" in rows[-1]
    told.check()


@nightly
def test_a_sweep_by_hand_and_a_comparison(story, in_project):
    told = story("u3_sweep_and_compare")
    for lr in ("1e-1", "1e-2", "1e-3"):
        told.type(
            "run", "train.lua", "--set", f"lr={lr}", "--set", "epochs=3", "--tag", "lrs", "-q", "--name", f"lr-{lr}"
        )
    table = told.type("ls", "--tag", "lrs", "--sort", "-accuracy")
    accuracies = [in_project.reports(row.split()[0])[-1]["accuracy"] for row in table if row.startswith("lr-")]
    assert " * " in table[1] and "* has the largest accuracy" in table[-1]
    assert len(accuracies) == 3 and accuracies == sorted(accuracies, reverse=True)
    told.type("diff", "lr-1e-1", "lr-1e-3")
    curves = told.type("plot", "--tag", "lrs", "loss", "--height", "8")
    assert len([row for row in curves if re.search("[\u2801-\u28ff] +lr-", row)]) == 3
    assert len([row for row in curves if re.search("[│┤].*[\u2801-\u28ff]", row)]) >= 3
    told.type(
        "sweep", "train.lua", "--grid", "lr=1e-1,1e-2,1e-3", "--set", "epochs=3", "--jobs", "1", "--name", "swept"
    )
    told.check()


@nightly
def test_scale_up(story, in_project):
    told = story("u4_scale_up")
    told.type("run", "train.lua", "--set", "epochs=8", "--name", "one")
    told.type("run", "train.lua", "--set", "epochs=8", "--name", "two", "-n", "2")
    one, two = (in_project.reports(name)[-1] for name in ("one", "two"))
    assert abs(one["loss"] - two["loss"]) < 0.1
    assert in_project("resources", "--set", "cpus=2").returncode == 0
    told.type("run", "train.lua", "--set", "epochs=1", "--name", "eight", "-n", "8")
    told.type("run", "train.lua", "--set", "epochs=1", "--gpus", "all", code=4)
    told.check()


SLOW = """
local train, torch = require 'rtrain', require 'torch'
train.TorchTrainer({
  train_loop_per_worker = function()
    local checkpoint, first = train.get_checkpoint(), 1
    if checkpoint then first = torch.load(checkpoint.path .. '/state.pt').epoch + 1 end
    for epoch = first, 6 do
      train.tempdir(function(folder)
        torch.save({epoch = epoch}, folder .. '/state.pt')
        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(folder)})
      end)
      while epoch == 3 and not io.open 'go' and not train.stop_requested() do os.execute 'sleep 0.02' end
      if train.stop_requested() then return end
    end
  end,
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {name = 'slow', failure_config = train.FailureConfig {max_failures = 3}},
}):fit()
"""


def epochs(rtrain, run="slow"):
    return [report["epoch"] for report in rtrain.reports(run)]


def test_a_crash_and_a_resume(story, rtrain):
    told = story("u5_crash_and_resume")
    rtrain.script(SLOW)
    run = told.start("run", "train.lua")
    run.read_until(rb"epoch=3")
    wait_until(lambda: len(rtrain.pids("slow")) == 2)
    os.kill(rtrain.pids("slow")[1], signal.SIGKILL)
    run.read_until(rb"attempt 2 begins")
    (rtrain.folder / "go").touch()
    rows = told.end(run)
    assert epochs(rtrain) == [1, 2, 3, 4, 5, 6], "the steps go on without a jump"
    assert re.search("rank 1 .*SIGKILL", " ".join(rows))
    told.check()


def test_ctrl_c_once_and_twice(story, rtrain):
    told = story("u5_ctrl_c")
    rtrain.script(SLOW)
    run = told.start("run", "train.lua", has_keys=True)
    run.read_until(rb"epoch=3")
    run.write(b"\x03")
    told.end(run, code=130)
    assert epochs(rtrain) == [1, 2, 3]
    (rtrain.folder / "go").touch()
    told.end(told.start("run", "train.lua", "--resume", "must"))
    assert epochs(rtrain) == [1, 2, 3, 4, 5, 6] and len(rtrain.json("ls")) == 1
    told.check()


def test_ctrl_c_twice_leaves_nothing(rtrain):
    rtrain.script(
        SLOW.replace("not train.stop_requested()", "true").replace("if train.stop_requested() then return end", "")
    )
    told = Story(rtrain, "")
    run = told.start("run", "train.lua", has_keys=True)
    run.read_until(rb"epoch=3")
    run.write(b"\x03")
    run.read_until(rb"once more: kill it")
    time.sleep(0.5)  # signals within a moment count as one
    run.write(b"\x03")
    told.end(run, code=130)
    rtrain.wait_for_processes()
    assert rtrain.json("show", "slow")["status"] == "ABORTED" and rtrain.query("PRAGMA integrity_check") == [("ok",)]


def test_results_as_data(story, in_project):
    told = story("u6_results_as_data")
    told.type("run", "train.lua", "--set", "epochs=2", "--name", "first", "-q")
    told.type("show", "last")
    told.type("export", "last", "--format", "csv", "-o", "m.csv")
    told.type("export", "last", "--format", "tensorboard", "-o", "events")
    told.type("sql", "SELECT name, max(json_extract(metrics, '$.accuracy')) AS accuracy FROM metric_list GROUP BY name")
    views = {name for (name,) in in_project.query("SELECT name FROM sqlite_master WHERE type = 'view'")}
    assert {"run_list", "metric_list", "checkpoint_list", "series_list"} <= views
    assert (in_project.folder / "m.csv").read_text().count("\n") == 3
    told.check()


def test_lines_of_lua_and_what_they_give(story, rtrain):
    told = story("u8_repl")
    repl = told.start("repl", has_keys=True)
    repl.read_until(rb"> $")

    def type_line(keys, shown):
        seen = len(repl.output)
        repl.write(keys)
        repl.read_until(shown + rb"[^>]*> $", shown=lambda output: CONTROL.sub(b"", output[seen:]))

    type_line(b"t = torch.arange(6):reshape(2, 3)\n", rb"\n")
    type_line(b"t\n", rb"int64|\n")
    type_line(b"t:sum(5)\n", rb"dim|Dimension")
    type_line(b"t.shape\n", rb"\n")
    repl.write(b"torch.matm\t")
    repl.read_until(rb"torch\.matmul", shown=lambda output: CONTROL.sub(b"", output))
    repl.write(b"(t, t:t())\n")
    repl.read_until(rb"50[^>]*> $", shown=lambda output: CONTROL.sub(b"", output))
    type_line(b"? torch.matmul\n", rb"matmul")
    repl.write(b"\x04")
    told.end(repl)
    told.check()


def test_a_model_of_a_run_in_the_repl(story, in_project):
    told = story("u8_best_of_a_run")
    for name, lr in [("calm-otter", "1e-1"), ("wild-otter", "1e-4")]:
        assert (
            in_project("run", "train.lua", "-q", "--set", f"lr={lr}", "--set", "epochs=3", "--name", name).returncode
            == 0
        )
    rows = told.type("ls")
    assert [row.split()[0] for row in rows if "-otter * " in row] == ["calm-otter"]
    repl = told.start("repl", has_keys=True)
    repl.read_until(rb"> $")
    for line, shown in [
        ("ckpt = train.best('calm-otter'):load()", rb"\n"),
        ("ckpt['0.weight'].shape", rb"torch\.Size"),
        ("net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))", rb"\n"),
        ("net:load_state_dict(ckpt)", rb"\n"),
        ("net(torch.zeros(1, 2)).shape", rb"torch\.Size"),
        ("train.best('calm-oter')", rb"did you mean"),
    ]:
        seen = len(repl.output)
        repl.write(line.encode() + b"\n")
        repl.read_until(shown + rb"[^>]*> $", shown=lambda output, seen=seen: CONTROL.sub(b"", output[seen:]))
    repl.write(b"\x04")
    told.end(repl)
    told.check()


def test_own_data_and_own_model(story, in_project):
    told = story("u10_own_data")
    write = (
        "require('rtrain.data').from_items({{x = 0.5, y = 1, who = 'a'}, {x = -1.5, y = 0, "
        "who = 'b'}}):write_parquet('table')"
    )
    assert in_project("exec", "-e", write).returncode == 0
    [path] = (in_project.folder / "table").iterdir()
    path.rename(in_project.folder / "my.parquet")
    told.type("peek", "my.parquet")
    told.type("check", "train.lua", "-n", "2")
    assert in_project.json("ls") == [], "no run is recorded"
    script = in_project.folder / "train.lua"
    text = script.read_text()
    script.write_text(
        text.replace(
            "train.report({epoch", "if train.get_context():get_world_rank() == 0 then train.report({epoch", 1
        ).replace("from_directory(dir)})", "from_directory(dir)}) end", 1)
    )
    in_project.env["RTRAIN_REPORT_WARN_INTERVAL_S"] = "0.5"
    run = told.start("run", "train.lua", "-n", "2", "--set", "epochs=2", "--name", "forgotten")
    run.read_until(rb"rank 1 (\(pid \d+\) )?[^\n]*report|report [^\n]*rank 1")
    run.process.send_signal(signal.SIGTERM)
    run.end()
    told.check()

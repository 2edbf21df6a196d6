"""Answers of rtrain dash that its pages need and no command has: sources of curves, what a sweep looks for, flame graphs."""

import json
import xml.etree.ElementTree

from conftest import ENDLESS
from dash_server import Dash, dash, results  # noqa: F401  (fixtures)
from test_watch import Stepped

BOTH = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    for step = 0, 9 do train.log({loss = 100 + step, speed = step}, {step = 10 * step}) end
    for index = 0, 2 do train.report {loss = index, val = {loss = index}} end
  end,
}:fit()
"""


def test_a_metric_is_reported_or_logged_or_both(rtrain):
    rtrain.run_ok(BOTH, "--name", "both", "-q")
    server = Dash(rtrain)
    answer = server.json("/api/runs/both/curves")
    own = [name for name in answer["logged"] if "/" not in name]
    assert own == ["loss", "speed"] and answer["reported"] == ["loss", "val/loss"]
    assert set(answer["names"]) == {*answer["logged"], *answer["reported"]}
    reported = server.json("/api/runs/both/curve", name="loss")
    assert reported["steps"] == [0, 1, 2] and reported["min"] == [0, 1, 2]
    logged = server.json("/api/runs/both/curve", name="loss", logged=1)
    assert logged["steps"] == list(range(0, 100, 10)) and logged["min"] == list(range(100, 110))
    assert server.json("/api/runs/both/curve", name="val/loss", logged=1)["total"] == 0
    assert server.stop().returncode == 0


def test_a_file_has_both_sources_of_a_metric(rtrain):
    rtrain.run_ok(BOTH, "--name", "both", "-q")
    page = rtrain("export", "both", "--html").stdout
    answers = json.loads(page.split('id="stored">')[1].split("</script>")[0])["answers"]
    path = "api/runs/both/curve\nname=loss\nrank=0"
    assert answers[path]["steps"] == [0, 1, 2] and answers[path + "\nlogged=1"]["min"][0] == 100
    assert "api/runs/both/curve\nname=speed\nrank=0\nlogged=1" not in answers


SWEPT = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config) train.report {score = config.width} end,
  train_loop_config = {width = 1},
}:fit()
"""


NOTHING = {"metric": None, "mode": None, "time_attr": None, "milestones": []}


def test_a_sweep_says_what_it_looks_for(rtrain):
    script = rtrain.script(SWEPT)
    command = ["sweep", script, "--grid", "width=1,2", "--name", "scored"]
    assert rtrain(*command, "--metric", "score", "--mode", "max").returncode == 0
    assert rtrain("sweep", script, "--grid", "width=1,2", "--name", "plain").returncode == 0
    server = Dash(rtrain)
    assert server.json("/api/sweep", name="scored") == {**NOTHING, "name": "scored", "metric": "score", "mode": "max"}
    for name in ("plain", "none", "", ".", "..", "../.sweeps/scored", "scored/../scored", "/etc"):
        assert server.json("/api/sweep", name=name) == {**NOTHING, "name": name}, name
    assert rtrain(*command, "--metric", "score", "--mode", "min", "--resume", "auto").returncode == 0
    assert server.json("/api/sweep", name="scored")["mode"] == "min", "of the last command"
    (rtrain.storage / ".sweeps/scored/objective.json").write_text('{"metric": 3, "mode"')
    assert server.json("/api/sweep", name="scored")["metric"] is None
    page = rtrain("export", "--tag", "sweep:plain", "--html").stdout
    answers = json.loads(page.split('id="stored">')[1].split("</script>")[0])["answers"]
    assert answers["api/sweep\nname=plain"]["metric"] is None
    assert server.stop().returncode == 0


SAMPLES = {
    "name": "rank 0",
    "shared": {
        "frames": [
            {"name": "train (train.lua:3)", "file": "train.lua", "line": 3},
            {"name": "at::native::mm<x>", "file": "libtorch_cpu.so"},
        ]
    },
    "profiles": [{"type": "sampled", "name": "main", "samples": [[0, 1], [0]], "weights": [3, 1]}],
}


def test_the_newest_samples_of_a_rank_are_a_flame_graph(dash, trained):
    folder = trained.run_folder("two") / "profiles"
    folder.mkdir(exist_ok=True)
    (folder / "20261122-01-attempt-1-rank0.speedscope.json").write_text("{")
    (folder / "20261122-02-attempt-1-rank0.speedscope.json").write_text(json.dumps(SAMPLES))
    (folder / "20261122-03-attempt-1-rank1.speedscope.json").write_text('{"profiles": 3}')
    server = dash()
    flame = server.json("/api/runs/two/flame")["flame"]
    assert flame["file"] == "20261122-02-attempt-1-rank0.speedscope.json" and flame["seconds"] == 4
    boxes = [(box["name"], box["depth"], box["begin"], box["width"]) for box in flame["boxes"]]
    assert boxes == [
        ("all", 0, 0, 1),
        ("main", 1, 0, 1),
        ("train (train.lua:3)", 2, 0, 1),
        ("at::native::mm<x>", 3, 0, 0.75),
    ]
    picture = server.ask("/api/runs/two/flame/file")
    assert picture.getheader("Content-Type") == "application/octet-stream"
    assert picture.getheader("Content-Disposition") == 'attachment; filename="flame.svg"', "saved, not shown"
    titles = [each.text for each in xml.etree.ElementTree.fromstring(picture.body).iter() if each.tag.endswith("title")]
    assert titles[-1] == "at::native::mm<x> (75.00 %, 3.000 s)"
    assert server.error("/api/runs/two/flame?rank=1")[0] == 503, "a file that is none"
    assert server.json("/api/runs/two/flame", rank=2)["flame"] is None
    assert server.error("/api/runs/two/flame/file?rank=2") == (404, "not_found")


def test_samples_are_recorded_as_the_command_does(rtrain):
    running = rtrain.started("run", rtrain.script(ENDLESS))
    server = Dash(rtrain)
    answer = server.post("/api/runs/endless/profile", {"rank": 1, "seconds": 0.3, "flame": True, "idle": True})
    (profile,) = json.loads(answer.body)["profiles"]
    assert profile["path"].endswith("-rank1.speedscope.json") and profile["events"] > 0, profile
    flame = server.json("/api/runs/endless/flame", rank=1)["flame"]
    assert profile["path"].endswith(flame["file"]) and flame["title"] == "rank 1"
    assert any("train.lua:" in box["name"] for box in flame["boxes"])
    running.kill()
    assert server.stop().returncode == 0


SAVED = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    for epoch = 1, 2 do
      train.tempdir(function(dir)
        torch.save({epoch}, dir .. '/state.pt')
        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
  end,
}:fit()
"""


def test_a_checkpoint_is_an_event(rtrain):
    run = Stepped(rtrain, "live")
    server = Dash(rtrain)
    with server.events("/api/runs/live/events") as events:
        name, (seen,) = next(events)
        assert name == "runs" and seen["last_checkpoint"] is None
    run.end()
    rtrain.run_ok(SAVED, "--name", "saved", "-q")
    with server.events("/api/runs/saved/events") as events:
        assert next(events)[1][0]["last_checkpoint"] == server.json("/api/runs/saved")["checkpoints"][-1]["name"]
    assert server.stop().returncode == 0

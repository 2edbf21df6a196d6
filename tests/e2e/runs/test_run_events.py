"""rtrain run --json: the events of a run as JSON lines, each valid by tests/e2e/events.schema.json and described in the
guide."""

import json
import os
import re
import signal
import subprocess

import pytest

from conftest import RTRAIN, SOURCE

SCHEMA = json.loads((SOURCE / "tests" / "e2e" / "events.schema.json").read_text())
GUIDE = (SOURCE / "modules" / "rtrain" / "guide" / "events.md").read_text()

SCRIPT = """
local train = require 'rtrain'
print 'the script prints'
local function train_func(config)
  print 'a worker prints'
  local rank, is_first = train.get_context():get_world_rank(), train.get_checkpoint() == nil
  for step = 1, config.steps do
    train.log{rate = step}
    train.tempdir(function(folder)
      io.open(folder .. '/file', 'w'):close()
      train.report({loss = 1 / step, bad = config.bad and 0 / 0 or nil, rank = rank},
        {checkpoint = train.Checkpoint.from_directory(folder)})
    end)
    if config.waits then os.execute 'sleep 0.05' end
  end
  if config.fails == 2 or config.fails == 1 and is_first then error 'no luck' end
end
local result = train.TorchTrainer{
  train_loop_per_worker = train_func, train_loop_config = {steps = 2, fails = 0, bad = false, waits = false},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
print('the result is ' .. tostring(result.error == nil))
"""


def events_of(text):
    return [json.loads(line) for line in text.splitlines()]


def run(rtrain, *args):
    result = rtrain("run", rtrain.script(SCRIPT), "--json", "--name", "mine", *args)
    return result, events_of(result.stdout)


def check(events):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is missing: scripts/test --oracle installs it")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for event in events:
        validator.validate(event)


def of(events, name):
    return [event for event in events if event["event"] == name]


def test_a_run_that_goes_well(rtrain):
    result, events = run(rtrain)
    assert result.returncode == 0, result.stderr
    check(events)
    assert events[0]["event"] == "run" and events[-1]["event"] == "finished"
    assert {event["run"] for event in events} == {"mine"}
    shown = rtrain.json("show", "mine")
    assert (events[0]["run_id"], events[0]["path"], events[0]["config"]) == (
        shown["run_id"],
        shown["path"],
        shown["config"],
    )
    reports = of(events, "report")
    assert [report["metrics"] for report in reports] == rtrain.reports("mine")
    assert [(report["index"], report["metrics"]["loss"]) for report in reports] == [(0, 1), (1, 0.5)]
    assert [[ranks["rank"] for ranks in report["ranks"]] for report in reports] == [[0, 1], [0, 1]]
    assert [report["checkpoint"] for report in reports] == [
        row["path"] for row in rtrain.json("checkpoint", "ls", "mine")
    ]
    assert sorted((line["rank"], line["stream"], line["text"]) for line in of(events, "output")) == [
        (0, "stdout", "a worker prints"),
        (1, "stdout", "a worker prints"),
    ]
    assert {line["rank"] for line in of(events, "log")} == {0, 1} and of(events, "log")[-1]["metrics"] == {"rate": 2}
    assert (events[-1]["status"], events[-1]["reports"], events[-1]["checkpoint"]["index"]) == ("FINISHED", 2, 1)
    assert "the script prints" in result.stderr and "the result is true" in result.stderr and "error" not in events[-1]


def test_a_failure_and_a_retry(rtrain):
    result, events = run(rtrain, "--set", "fails=1", "--max-failures", "2")
    assert result.returncode == 0, result.stderr
    check(events)
    (failed,) = of(events, "attempt_failed")
    assert (
        failed["will_retry"]
        and failed["next_attempt"] == 2
        and re.search("train.lua:15: no luck", failed["error"]["message"])
    )
    assert set(failed["error"]["ranks"]) <= {"0", "1"} and failed["attempt"] == 1
    assert [event["first_index"] for event in of(events, "attempt")] == [0, 2]
    assert events[-1]["attempts"] == 2 and events[-1]["status"] == "FINISHED"


def test_a_run_that_fails(rtrain):
    result, events = run(rtrain, "--set", "fails=2")
    assert result.returncode == 1
    check(events)
    assert events[-1]["status"] == "ERRORED" and "no luck" in events[-1]["error"]["message"]
    assert not of(events, "attempt_failed")[0]["will_retry"] and "no luck" in result.stderr


def test_numbers_that_json_does_not_have(rtrain):
    result, events = run(rtrain, "--set", "bad=true")
    assert result.returncode == 0, result.stderr
    check(events)
    assert of(events, "report")[0]["metrics"]["bad"] == "NaN"
    (notice,) = of(events, "notice")
    assert notice["level"] == "warning" and "bad is nan" in notice["text"]


def test_a_run_that_is_asked_to_end(rtrain):
    running = rtrain.started(
        "run", rtrain.script(SCRIPT), "--json", "--name", "mine", "--set", "steps=100000", "--set", "waits=true"
    )
    os.kill(running.pid, signal.SIGTERM)
    result = running.wait()
    events = events_of(result.stdout)
    check(events)
    assert result.returncode == 75 and of(events, "stopping")[0]["grace_s"] > 0
    assert events[-1]["status"] == rtrain.json("show", "mine")["status"]


def test_without_workers(rtrain):
    result, events = run(rtrain, "--local")
    assert result.returncode == 0, result.stderr
    check(events)
    assert events[-1]["status"] == "FINISHED" and "a worker prints" in result.stderr


def test_a_run_that_cannot_begin_prints_no_event(rtrain):
    assert run(rtrain)[0].returncode == 0
    result, events = run(rtrain)
    assert result.returncode == 3 and events == [] and "mine" in result.stderr
    result = rtrain("run", rtrain.script("nonsense("), "--json")
    assert result.returncode != 0 and result.stdout == ""


def test_nobody_has_to_read(rtrain):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [RTRAIN, "run", rtrain.script(SCRIPT), "--json", "--name", "mine"],
        cwd=rtrain.folder,
        env=rtrain.env,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert rtrain.json("show", "mine")["status"] == "FINISHED"


def test_the_guide_names_every_event_and_key():
    shapes = {shape["properties"]["event"]["const"]: set(shape["properties"]) - {"event"} for shape in SCHEMA["oneOf"]}
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", GUIDE, re.MULTILINE))
    assert set(rows) == set(shapes)
    for name, keys in shapes.items():
        assert keys <= set(re.findall(r"`(\w+)`", rows[name])), name


def test_quiet_is_another_wish(rtrain):
    result = rtrain("run", rtrain.script(SCRIPT), "--json", "-q")
    assert result.returncode == 2 and "--json" in result.stderr


LOADER = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local set = torch.utils.data.TensorDataset(torch.arange(40))
    local loader = train.torch.prepare_data_loader(torch.utils.data.DataLoader(set, {batch_size = 4}))
    for _ in loader do os.execute 'sleep 0.15' end
    train.report{loss = 1}
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def test_the_progress_of_an_epoch(rtrain):
    result = rtrain("run", rtrain.script(LOADER), "--json")
    assert result.returncode == 0, result.stderr
    events = events_of(result.stdout)
    check(events)
    seen = of(events, "progress")
    assert [event["rank"] for event in seen] == [0] * len(seen) and all(event["batch_size"] == 4 for event in seen)
    assert all(event["batches"] == 5 for event in seen), seen
    batches = [event["batch"] for event in seen]
    assert batches[0] == 1 and batches[-1] == 5 and batches == sorted(batches) and len(batches) >= 3
    assert 1 < seen[-1]["rate"] < 7, "batches take 0.15 s and more"

"""rtrain sweep --json: the events of a sweep as JSON lines, each valid by tests/e2e/events.schema.json and described in
the guide."""

import os
import signal
import subprocess

from conftest import RTRAIN, wait_until
from test_run_events import check, events_of, of

SCRIPT = """
local train = require 'rtrain'
print 'the script prints'
train.TorchTrainer({
  train_loop_per_worker = function(config)
    if config.lr == config.bad then error 'too fast' end
    for step = 1, 4 do
      train.report {loss = config.lr + 1 / step, odd = 0 / 0}
      if config.waits ~= '' then
        io.open(config.waits, 'w'):close()
        while not train.stop_requested() do os.execute 'sleep 0.02' end
      end
    end
  end,
  train_loop_config = {lr = 1, bad = 0, waits = ''},
}):fit()
"""


def sweep(rtrain, *args):
    result = rtrain("sweep", rtrain.script(SCRIPT), "--json", "--name", "mine", *args)
    return result, events_of(result.stdout)


def test_a_sweep_says_what_its_trials_do(rtrain):
    result, events = sweep(rtrain, "--grid", "lr=3,1,2", "--jobs", "2", "--metric", "loss", "--mode", "min")
    assert result.returncode == 0, result.stderr
    check(events)
    assert {event["sweep"] for event in events} == {"mine"}
    first = events[0]
    assert (first["event"], first["trials"], first["metric"], first["mode"], first["is_resumed"]) == (
        "sweep",
        3,
        "loss",
        "min",
        False,
    )
    assert first["storage"] == str(rtrain.storage) and os.path.isdir(first["path"])
    assert {run["name"] for run in rtrain.json("ls", "--tag", first["tag"])} == {"mine-000", "mine-001", "mine-002"}
    assert [(trial["number"], trial["parameters"], trial["reports"]) for trial in of(events, "trial")] == [
        (0, {"lr": "3"}, 0),
        (1, {"lr": "1"}, 0),
        (2, {"lr": "2"}, 0),
    ], "as they were written"
    for trial in of(events, "trial"):
        reports = [event for event in of(events, "trial_report") if event["trial"] == trial["trial"]]
        assert [(event["index"], event["metrics"]["loss"]) for event in reports] == [
            (index, report["loss"]) for index, report in enumerate(rtrain.reports(trial["trial"]))
        ]
        assert {event["metrics"]["odd"] for event in reports} == {"NaN"}
    assert sorted((event["trial"], event["status"], event["reports"]) for event in of(events, "trial_ended")) == [
        (f"mine-00{i}", "FINISHED", 4) for i in range(3)
    ]
    assert events[-1]["event"] == "sweep_finished"
    assert (events[-1]["is_complete"], events[-1]["ended"], events[-1]["failed"]) == (True, 3, 0)
    assert events[-1]["best"] == {"trial": "mine-001", "metric": "loss", "value": 1.25, "parameters": {"lr": "1"}}


def test_trials_that_are_stopped_or_fail(rtrain):
    result, events = sweep(
        rtrain,
        "--grid",
        "lr=1,2,3",
        "--jobs",
        "1",
        "--metric",
        "loss",
        "--mode",
        "min",
        "--scheduler",
        "asha(max_t=9, grace_period=2, reduction_factor=2)",
        "--set",
        "bad=3",
    )
    assert result.returncode == 1
    check(events)
    ended = {event["trial"]: event for event in of(events, "trial_ended")}
    assert [ended[f"mine-00{i}"]["status"] for i in range(3)] == ["FINISHED", "STOPPED", "ERRORED"]
    assert ended["mine-001"]["reports"] == 2 and ended["mine-001"]["reason"]
    assert "too fast" in ended["mine-002"]["error"] and "metrics" not in ended["mine-002"]
    assert (events[-1]["is_complete"], events[-1]["failed"]) == (True, 1)


def test_a_sweep_that_is_asked_to_end_and_goes_on(rtrain):
    seen = rtrain.folder / "seen"
    options = ["--grid", "lr=1,2", "--jobs", "1", "--set", f"waits={seen}"]
    running = rtrain.start("sweep", rtrain.script(SCRIPT), "--json", "--name", "mine", *options)
    wait_until(seen.exists)
    running.send(signal.SIGTERM)
    result = running.wait()
    events = events_of(result.stdout)
    check(events)
    assert result.returncode == 75 and "asked to save and end" in of(events, "notice")[0]["text"]
    assert events[-1]["event"] == "sweep_finished" and not events[-1]["is_complete"]
    rtrain.wait_for_processes()
    running = rtrain.start("sweep", rtrain.script(SCRIPT), "--json", "--name", "mine", "--resume", "auto", *options)
    wait_until(lambda: '"event":"trial"' in running.stdout)
    running.send(signal.SIGTERM)
    again = events_of(running.wait().stdout)
    check(again)
    assert again[0]["is_resumed"] and of(again, "trial")[0]["trial"] == "mine-000"


def test_a_sweep_that_cannot_train_has_no_last_event(rtrain):
    result, events = sweep(rtrain, "--grid", "lrr=1,2")
    assert result.returncode == 3 and "did you mean 'lr'?" in result.stderr
    check(events)
    assert "sweep_finished" not in {event["event"] for event in events}
    result = rtrain("sweep", rtrain.script(SCRIPT), "--json", "-q", "--grid", "lr=1,2")
    assert result.returncode == 2 and "--json" in result.stderr and result.stdout == ""


def test_nobody_has_to_read(rtrain):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [RTRAIN, "sweep", rtrain.script(SCRIPT), "--json", "--name", "mine", "--grid", "lr=1,2"],
        cwd=rtrain.folder,
        env=rtrain.env,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert len(rtrain.json("ls")) == 2

"""train.Tuner: its trials are runs of the store, and its ResultGrid has their outcomes."""

import json
import os
import signal

import pytest

from conftest import nightly, wait_until

GRID = """
local train = require 'rtrain'
local trainer = train.TorchTrainer {
  train_loop_per_worker = function(config)
    for step = 1, config.steps do train.report {loss = (config.lr - 0.3) ^ 2 / step, step = step} end
  end,
  train_loop_config = {steps = 3, lr = 1},
  %s
}
local grid = train.Tuner({
  trainer = trainer,
  param_space = {train_loop_config = {lr = train.tune.grid_search {0.1, 0.2, 0.7}}},
  tune_config = train.tune.TuneConfig {metric = 'loss', mode = 'min', max_concurrent_trials = 2},
  run_config = train.RunConfig {name = 'first'},
}):fit()
"""


def lines(result):
    return result.stdout.splitlines()


def test_a_grid_of_trials_gives_a_result_for_each(rtrain):
    result = rtrain.run_ok(
        GRID % ""
        + """
        print(#grid, grid.num_errors, grid.num_terminated)
        for i, result in grid:iter() do print(i, result.config.lr, result.config.steps, result.metrics.step, result.path) end
        local best = grid:get_best_result()
        print(best.config.lr, best == grid[2], grid:get_best_result('loss', 'max').config.lr)
        print(grid:get_best_result('step', 'min', 'all').metrics.step, #best.metrics_dataframe)
        print(grid:get_dataframe():to_csv())
    """
    )
    out = lines(result)
    assert out[0] == "3\t0\t3"
    assert [line.split("\t")[:4] for line in out[1:4]] == [
        ["1", "0.1", "3", "3"],
        ["2", "0.2", "3", "3"],
        ["3", "0.7", "3", "3"],
    ]
    assert out[4] == "0.2\ttrue\t0.7"
    assert out[5] == "3\t3"
    assert out[6] == "config/lr,config/steps,loss,step,trial_id"
    assert out[7].startswith("0.1") and out[7].endswith(",3,first-000")


def test_its_trials_are_runs_with_a_tag_and_a_best_one(rtrain):
    result = rtrain.run_ok(GRID % "")
    runs = {run["name"]: run for run in rtrain.json("ls", "--tag", "sweep:first")}
    assert sorted(runs) == ["first-000", "first-001", "first-002"]
    assert {run["status"] for run in runs.values()} == {"FINISHED"}
    assert {run["script"] for run in runs.values()} == {str(rtrain.folder / "train.lua")}
    shown = rtrain.json("show", "best:loss:min")
    assert shown["name"] == "first-001" and shown["config"] == {"lr": 0.2, "steps": 3}
    assert "sweep:first" in shown["tags"]
    assert "best trial: first-001 with loss=0.0033333 (lr=0.2)" in result.stderr
    assert "rtrain ls --tag sweep:first" in result.stderr
    assert [line.split()[0] for line in result.stderr.splitlines() if line.startswith("first-")] == [
        "first-000",
        "first-001",
        "first-002",
    ]
    assert "first-001 *" in result.stderr


@pytest.mark.parametrize("scaling", ["num_workers = 0", "num_workers = 2"])
def test_trials_have_the_workers_of_the_trainer(rtrain, scaling):
    rtrain.run_ok(GRID % f"scaling_config = train.ScalingConfig {{{scaling}}},")
    assert {run["num_workers"] for run in rtrain.json("ls")} == {2 if "2" in scaling else 1}
    assert [len(rtrain.reports(f"first-00{i}")) for i in range(3)] == [3, 3, 3]


def test_a_trial_that_fails_is_an_error_of_the_grid_alone(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local grid = train.Tuner(function(config)
          if config.lr == 0.2 then error('bad rate') end
          if config.lr == 0.3 then os.exit(3) end
          return {score = config.lr}
        end, {
          param_space = {lr = train.tune.grid_search {0.1, 0.2, 0.3}},
          run_config = train.RunConfig {name = 'second'},
        }):fit()
        print(#grid, grid.num_errors, grid[1].error, grid[1].metrics.score)
        print(grid[2].error.code, (tostring(grid[2].error):find('bad rate')) ~= nil)
        print(grid[3].error.code, #grid.errors)
        print(grid:get_best_result('score', 'max').config.lr)
        print(pcall(grid.get_best_result, grid, 'loss', 'max'))
        print(pcall(grid.get_best_result, grid))
        print(pcall(function() return grid[0] end))
    """)
    out = lines(result)
    assert out[:4] == ["3\t2\tnil\t0.1", "user\ttrue", "worker_lost\t2", "0.1"]
    assert "no trial has reported a finite number 'loss': they have score" in out[4]
    assert "give the metric and the mode" in out[5]
    assert "counted from 1" in out[6]
    assert "trial second-001 failed" in result.stderr


def test_what_a_trial_captures_and_the_options_of_the_command_reach_it(rtrain):
    rtrain.run_ok(
        """
        local train = require 'rtrain'
        local scale = 10
        local function scaled(x) return x * scale end
        train.Tuner({
          trainer = train.TorchTrainer {
            train_loop_per_worker = function(config) train.report {value = scaled(config.lr), extra = config.extra} end,
            train_loop_config = {extra = 1, model = {width = 2}},
          },
          param_space = {
            train_loop_config = {lr = train.tune.uniform(1, 2), model = {width = train.tune.choice {4, 8}}},
            scaling_config = {num_workers = train.tune.grid_search {1, 2}},
          },
          tune_config = {num_samples = 2, seed = 4},
        }):fit()
    """,
        "--set",
        "extra=7",
        "--name",
        "mine",
        "--tag",
        "t",
        "--note",
        "tried",
    )
    runs = rtrain.json("ls", "--tag", "t")
    assert sorted((run["name"], run["num_workers"]) for run in runs) == [
        ("mine-000", 1),
        ("mine-001", 2),
        ("mine-002", 1),
        ("mine-003", 2),
    ]
    for run in runs:
        shown = rtrain.json("show", run["name"])
        assert shown["config"]["model"]["width"] in (4, 8) and shown["config"]["extra"] == 7
        assert run["metrics"] == {"value": shown["config"]["lr"] * 10, "extra": 7}
    assert rtrain.query("SELECT DISTINCT note FROM runs") == [("tried",)]
    rates = [json.dumps(rtrain.json("show", run["name"])["config"]["lr"]) for run in runs]
    assert len(set(rates)) == 4


def test_a_name_that_is_taken_is_refused(rtrain):
    rtrain.run_ok(GRID % "")
    again = rtrain.run(GRID % "")
    assert again.returncode == 3
    assert "the sweep 'first' is there already" in again.stderr and "--resume auto" in again.stderr
    rtrain.run_ok("require('rtrain').TorchTrainer{train_loop_per_worker = function() end}:fit()", "--name", "other-001")
    other = rtrain.run_ok(GRID.replace("'first'", "'other'") % "")
    assert (
        "trial other-001 failed" in other.stderr
        and "--resume auto" in (rtrain.storage / ".sweeps/other/logs/other-001.log").read_text()
    ), "another's run is left alone"


def test_a_tuner_says_what_is_wrong_with_it(rtrain):
    for text, expected in {
        "train.Tuner {trainer = 3}": "the trainer is 3",
        "train.Tuner {trainr = trainer}": "did you mean 'trainer'",
        "train.Tuner {trainer = trainer, param_space = {train_loop_config = {}, lr = 1}}": "param_space.lr",
        "train.Tuner {trainer = trainer, tune_config = {num_samples = 0}}": "TuneConfig.num_samples = 0",
        "train.Tuner({trainer = trainer, run_config = {name = 'a/b'}}):fit()": "a/b",
    }.items():
        result = rtrain.run(f"""
            local train = require 'rtrain'
            local trainer = train.TorchTrainer {{train_loop_per_worker = function() end}}
            {text}
        """)
        assert result.returncode == 3 and expected in result.stderr, result.stderr


# Each trial creates a file when it begins, saves, and then waits for the file `go`.
PATIENT = """
local torch, train = require 'torch', require 'rtrain'
local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end
local function report(step, config)
  train.tempdir(function(dir)
    torch.save({step = step}, dir .. '/state.pt')
    train.report({step = step, lr = config.lr}, {checkpoint = train.Checkpoint.from_directory(dir)})
  end)
end
train.Tuner(train.TorchTrainer {
  train_loop_per_worker = function(config)
    local checkpoint = train.get_checkpoint()
    local first = checkpoint and torch.load(checkpoint.path .. '/state.pt').step or 0
    if config.lr > 1 then
      while not exists(config.folder .. '/go') do os.execute 'sleep 0.05' end
    end
    for step = first + 1, 4 do
      report(step, config)
      if step == 2 and config.lr == 1 then
        io.open(config.folder .. '/saved', 'w'):close()
        while not exists(config.folder .. '/go') do os.execute 'sleep 0.05' end
      end
    end
  end,
  train_loop_config = {folder = FOLDER},
}, {
  param_space = {lr = train.tune.grid_search {0, 1, 2}},
  tune_config = {metric = 'step', mode = 'max', max_concurrent_trials = 2},
  run_config = train.RunConfig {name = 'patient'},
}):fit()
"""


# fault: SIGKILL of a sweep
def test_a_killed_sweep_ends_its_trials_and_goes_on_where_it_was(rtrain):
    script = rtrain.script(PATIENT.replace("FOLDER", f"'{rtrain.folder}'"))
    running = rtrain.start("run", script)
    wait_until(
        lambda: (
            (rtrain.folder / "saved").exists()
            and rtrain.query("SELECT 1 FROM runs WHERE name = 'patient-000' AND status = 'FINISHED'")
            and rtrain.query("SELECT 1 FROM runs WHERE name = 'patient-002' AND status = 'RUNNING'")
        )
    )
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    # The kill may have truncated the last line.
    with open(rtrain.storage / ".sweeps/patient/journal.jsonl", "a") as journal:
        journal.write('{"event":"rep')
    (rtrain.folder / "go").touch()
    result = rtrain("run", script, "--resume", "auto")
    assert result.returncode == 0, result.stderr
    attempts = {
        name: [
            status
            for (status,) in rtrain.query(
                "SELECT attempts.status FROM attempts JOIN runs USING(run_id) WHERE name = ? ORDER BY attempt", name
            )
        ]
        for name in ("patient-000", "patient-001", "patient-002")
    }
    assert attempts["patient-000"] == ["FINISHED"], "a trial that has ended is not trained again"
    assert attempts["patient-001"] == ["LOST", "FINISHED"]
    assert [report["step"] for report in rtrain.reports("patient-001")] == [1, 2, 3, 4], (
        "it goes on from its checkpoint"
    )
    assert [report["step"] for report in rtrain.reports("patient-002")] == [1, 2, 3, 4]
    assert len(rtrain.json("ls", "--tag", "sweep:patient")) == 3


def test_a_sweep_that_goes_on_has_the_same_search_and_runs_once(rtrain):
    script = rtrain.script(PATIENT.replace("FOLDER", f"'{rtrain.folder}'"))
    running = rtrain.start("run", script)
    wait_until(lambda: (rtrain.folder / "saved").exists())
    second = rtrain("run", script, "--resume", "auto")
    assert second.returncode == 3 and "the sweep 'patient' is going on, in another process" in second.stderr
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    other = rtrain.script(script.read_text().replace("{0, 1, 2}", "{0, 1, 3}"))
    changed = rtrain("run", other, "--resume", "auto")
    assert changed.returncode == 3 and "had another search: train_loop_config.lr=grid_search{0, 1, 2}" in changed.stderr
    assert "there is no sweep" in rtrain("run", other, "--name", "new", "--resume", "must").stderr


TPE = """
local train = require 'rtrain'
local grid = train.Tuner({
  trainer = train.TorchTrainer {
    train_loop_per_worker = function(config)
      train.report {loss = (config.x - 2) ^ 2 + (config.kind == 'a' and 0 or 5)}
    end,
  },
  param_space = {x = train.tune.uniform(-10, 10), kind = train.tune.choice {'a', 'b'}},
  tune_config = train.tune.TuneConfig {
    metric = 'loss', mode = 'min', num_samples = 10, max_concurrent_trials = %d, seed = 2,
    search_alg = train.tune.search.TPESampler {n_startup_trials = 4},
  },
  run_config = train.RunConfig {name = %r},
}):fit()
for _, result in grid:iter() do print(result.config.x, result.config.kind) end
"""


@nightly
# fault: SIGKILL of a sweep with a sampler
def test_a_killed_search_goes_on_with_what_it_would_have_tried(rtrain):
    calm = rtrain.run_ok(TPE % (1, "calm")).stdout
    assert len(calm.splitlines()) == 10
    script = rtrain.script(TPE % (1, "killed"), "killed.lua")
    running = rtrain.start("run", script)
    wait_until(lambda: rtrain.query("SELECT 1 FROM runs WHERE name = 'killed-006'"))
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    result = rtrain("run", script, "--resume", "auto")
    assert result.returncode == 0, result.stderr
    assert result.stdout == calm
    other = rtrain("run", rtrain.script(script.read_text().replace("trials = 4", "trials = 5")), "--resume", "auto")
    assert other.returncode == 3 and "TPESampler n_startup_trials=4" in other.stderr


def test_the_best_result_by_a_nested_metric(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        local grid = train.Tuner({
          trainable = function(config) train.report {val = {loss = (config.lr - 2) ^ 2}} end,
          param_space = {lr = train.tune.grid_search {1, 2, 4}},
          tune_config = {metric = 'val/loss', mode = 'min'},
        }):fit()
        print(grid:get_best_result().config.lr, grid:get_best_result('val/loss', 'max', 'all').config.lr)
    """)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split() == ["2", "4"]


def test_a_search_needs_a_metric_and_a_space_without_grids(rtrain):
    without = rtrain.run((TPE % (1, "first")).replace("metric = 'loss', mode = 'min',", ""))
    assert without.returncode == 3 and "the TPESampler needs a metric and a mode" in without.stderr
    grid = rtrain.run((TPE % (1, "first")).replace("choice", "grid_search"))
    assert grid.returncode == 3 and "a search has no grid_search{'a', 'b'}" in grid.stderr

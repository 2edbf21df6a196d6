"""PopulationBasedTraining: bad trials continue from the checkpoints of good trials, with similar configurations."""

import json
import os
import shutil
import signal

import pytest

from conftest import Rtrain, nightly, wait_until

pytestmark = nightly

# Each step adds the trial's rate to a weight; `by` lists the rates that were added. Trials take turns, one at a time,
# always in the same order.
POPULATION = """
local torch, train = require 'torch', require 'rtrain'
local function report(state, config)
  train.tempdir(function(dir)
    torch.save(state, dir .. '/state.pt')
    train.report({weight = state.weight, rate = config.rate}, {checkpoint = train.Checkpoint.from_directory(dir)})
  end)
end
local grid = train.Tuner({
  trainer = train.TorchTrainer {
    train_loop_per_worker = function(config)
      local checkpoint = train.get_checkpoint()
      local state = checkpoint and torch.load(checkpoint.path .. '/state.pt') or {weight = 0, by = {}, step = 0}
      while state.step < 12 do
        state.step = state.step + 1
        state.weight = state.weight + config.rate
        table.insert(state.by, config.rate)
        if state.step == 9 and HALT then
          io.open(HALT .. '/waits', 'w'):close()
          while not io.open(HALT .. '/go') do os.execute 'sleep 0.05' end
        end
        report(state, config)
      end
    end,
    scaling_config = train.ScalingConfig {num_workers = %d},
    run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 1}},
  },
  param_space = {rate = train.tune.grid_search {1, 2, 50, 100}},
  tune_config = train.tune.TuneConfig {
    metric = 'weight', mode = 'max', max_concurrent_trials = 1,
    scheduler = train.tune.schedulers.PopulationBasedTraining {
      time_attr = 'training_iteration', perturbation_interval = 3,
      hyperparam_mutations = {rate = train.tune.uniform(1, 100), extra = {1, 2, 3}},
    },
  },
  run_config = train.RunConfig {name = %r},
}):fit()
for _, result in grid:iter() do
  local state = torch.load(result.checkpoint.path .. '/state.pt')
  print(result.config.rate, result.config.extra, state.weight, #state.by, result.error)
end
"""


def script_of(rtrain, name, halt="nil", workers=1):
    return rtrain.script(POPULATION.replace("HALT", halt) % (workers, name), f"{name}.lua")


def events(rtrain, name):
    path = rtrain.storage / ".sweeps" / name / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def exploits(rtrain, name):
    return [
        (event["number"], event["donor"], event["config"])
        for event in events(rtrain, name)
        if event["event"] == "exploit"
    ]


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """A sweep without faults: its runner, its result and its exploits."""
    rtrain = Rtrain(tmp_path_factory.mktemp("calm"))
    result = rtrain("run", script_of(rtrain, "calm"))
    assert result.returncode == 0, result.stderr
    yield rtrain, result, exploits(rtrain, "calm")
    shutil.rmtree(rtrain.runtime)


def test_a_bad_trial_takes_a_good_ones_weights_and_another_configuration(calm):
    rtrain, result, found = calm
    assert found and {donor for _, donor, _ in found} <= {2, 3} and {number for number, _, _ in found} <= {0, 1, 2}
    number, donor, config = found[0]
    rates = {1, 2, 50, 100}
    rate = config["train_loop_config"]["rate"]
    assert number in (0, 1) and rate not in rates, "the configuration is near the donor's, and another one"
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [line[3:] for line in lines] == [["12", "nil"]] * 4
    weights = [float(line[2]) for line in lines]
    assert min(weights[:2]) > 12 * 2, "with rates of its own it could not have come so far"
    assert all(line[1] in "123" for line in lines), "what the space does not have is drawn from the mutations"
    assert f"trial calm-00{number} goes on from calm-00{donor}, with rate=" in result.stderr
    assert {run["status"] for run in rtrain.json("ls")} == {"FINISHED"}
    notes = [note["text"] for note in rtrain.json("show", f"calm-00{number}")["annotations"]]
    assert any(f"PopulationBasedTraining: goes on from the checkpoint of trial {donor}" in note for note in notes)
    assert any("it makes way for another trial" in note for note in notes)
    assert list((rtrain.storage / ".sweeps/calm/donated").iterdir()) == [], "copies are dropped at the end"


# fault: SIGKILL of a sweep with population based training
def test_a_killed_sweep_goes_on_to_the_same_decisions(rtrain, calm):
    script = script_of(rtrain, "killed", f"'{rtrain.folder}'")
    running = rtrain.start("run", script)
    wait_until(lambda: (rtrain.folder / "waits").exists())
    assert exploits(rtrain, "killed")
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    (rtrain.folder / "go").touch()
    result = rtrain("run", script, "--resume", "auto")
    assert result.returncode == 0, result.stderr
    assert exploits(rtrain, "killed") == calm[2]
    assert result.stdout == calm[1].stdout


def test_ranks_of_a_trial_go_on_together(rtrain):
    result = rtrain("run", script_of(rtrain, "two", workers=2))
    assert result.returncode == 0, result.stderr
    assert exploits(rtrain, "two") and {run["status"] for run in rtrain.json("ls")} == {"FINISHED"}


def test_it_says_what_is_wrong_with_it(rtrain):
    for text, expected in {
        "{}": "give hyperparam_mutations, or a custom_explore_fn",
        "{hyperparam_mutations = {lr = 3}}": "'lr': expected a list, a space or a function",
        "{hyperparam_mutations = {lr = {1}}, quantile_fraction = 0.7}": "expected a number from 0 to 0.5",
        "{hyperparam_mutations = {lr = {1}}, synch = true}": "trials do not wait for each other",
    }.items():
        result = rtrain.run(f"local s = require('rtrain').tune.schedulers.PopulationBasedTraining {text}")
        assert result.returncode == 3 and expected in result.stderr, result.stderr

"""Shards of datasets for virtual workers: each has its own, and any number of processes ends with the same bits."""

import pytest

SCRIPT = """
local nets = require 'virtual_nets'
local torch, train, data = require 'torch', require 'rtrain', require 'rtrain.data'

local function features(row)
  local out = {}
  for i = 1, 16 do out[i] = math.sin(row.id * i) end
  return {id = row.id, x = require('torch').tensor(out)}
end

local function train_func(config)
  torch.manual_seed(3)
  local model = train.torch.prepare_model(nets.mlp())
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
  local shard = train.get_dataset_shard 'train'
  local state = train.state {model = model, optimizer = optimizer, shard = shard, step = 0, epoch = 0}
  state:load(train.get_checkpoint())
  while state.epoch < 2 do
    for batch in shard:iter_torch_batches {batch_size = 4, dtypes = {x = 'float32'}, @OPTIONS@} do
      state.step = state.step + 1
      if state.step == config.stop_at then error 'stopped' end
      optimizer:zero_grad()
      local loss = torch.nn.functional.cross_entropy(model(batch.x), batch.id % 4)
      loss:backward()
      optimizer:step()
      local metrics = {loss = loss, step = state.step, ids = batch.id:tolist()}
      if config.saves then
        train.tempdir(function(dir)
          state:save(dir)
          train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
      else
        train.report(metrics)
      end
    end
    state.epoch = state.epoch + 1
  end
  local seen = 0
  for batch in train.get_dataset_shard('val'):iter_batches {batch_size = 8} do seen = seen + #batch.id end
  assert(seen == 20, 'not divided')
  if train.get_context():get_world_rank() == 0 then nets.write('out', {model = model.module, optimizer = optimizer}) end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {stop_at = 0, saves = false},
  datasets = {train = data.range(203)@PLAN@:map(features), val = data.range(20)},
  dataset_config = train.DataConfig {datasets_to_split = {'train'}},
  scaling_config = train.ScalingConfig {num_workers = 1, virtual_workers = 8},
}:fit()
"""

PLANS = {
    "plain": ("", ""),
    "shuffled": (":random_shuffle {seed = 7}", ""),
    "local": ("", "local_shuffle_buffer_size = 12, local_shuffle_seed = 5"),
    "filtered": (":filter(function(row) return row.id % 3 ~= 0 end)", ""),
    "dropped": ("", "drop_last = true"),
}


def text(plan, options):
    return SCRIPT.replace("@PLAN@", plan).replace("@OPTIONS@", options)


def ended(rtrain, script, workers, *args):
    rtrain.run_ok(script, "-n", str(workers), "--oversubscribe", *args)
    return (rtrain.folder / "out").read_text(), rtrain.reports()


@pytest.mark.parametrize("plan", PLANS)
def test_any_number_of_processes_ends_with_the_same_bits(rtrain, plan):
    script = text(*PLANS[plan])
    first = ended(rtrain, script, 1)
    assert len(first[1]) >= 8
    for workers in (3, 8):
        assert ended(rtrain, script, workers) == first, workers


@pytest.mark.parametrize("plan", ["shuffled", "filtered"])
def test_a_checkpoint_of_the_end_of_an_epoch_goes_on_with_the_next_one(rtrain, plan):
    script = text(*PLANS[plan]).replace(
        "state.epoch = state.epoch + 1",
        """state.epoch = state.epoch + 1
        train.tempdir(function(dir)
          state:save(dir)
          train.report({step = state.step}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)""",
    )
    straight = ended(rtrain, script, 3)
    stop = straight[1][len(straight[1]) // 2 - 1]["step"] + 1
    named = script.replace("}:fit()", "  run_config = train.RunConfig {name = 'cut'},\n}:fit()")
    assert "stopped" in rtrain.run(named, "-n", "1", "--oversubscribe", "--set", f"stop_at={stop}").stderr
    resumed = ended(rtrain, named, 2, "--resume", "must")
    assert resumed[0] == straight[0] and resumed[1][-3:] == straight[1][-3:]


@pytest.mark.parametrize("plan", ["shuffled", "filtered"])
def test_a_checkpoint_goes_on_with_another_number(rtrain, plan):
    """It is of the second epoch, in the middle."""
    script = text(*PLANS[plan])
    straight = ended(rtrain, script, 3)
    stop = len(straight[1]) - 2
    for before, after in ((1, 8), (5, 2)):
        named = script.replace("}:fit()", f"  run_config = train.RunConfig {{name = 'r{before}'}},\n}}:fit()")
        args = ["-n", str(before), "--oversubscribe", "--set", "saves=true", "--set", f"stop_at={stop}"]
        assert "stopped" in rtrain.run(named, *args).stderr
        resumed = ended(rtrain, named, after, "--resume", "must")
        assert resumed[0] == straight[0] and resumed[1][-3:] == straight[1][-3:]

"""Data that is dealt by steps: a step of all workers has the same samples for any number of workers with the same global batch,
also where the number changes in the middle of an epoch."""

import json

import pytest

from conftest import nightly, no_process, set_cpus

GLOBAL_BATCH = 12

# Makes some steps of an epoch of each dataset and loader, from the state of an earlier run on, and reports the samples.
SCRIPT = """
local data, text, torch, train = require 'rtrain.data', require 'text', require 'torch', require 'rtrain'

local function noisy(row)
  local pytorch = require 'torch'
  row.noise = pytorch.rand({1}, {generator = pytorch.utils.data.sample_generator()}):item()
  return row
end

local function odd(row) return row.id % 2 == 1 end

local function twice(row) return {row, {id = row.id + 1001}} end

local function loader_of(shuffles, sampler)
  local set = torch.utils.data.TensorDataset(torch.arange(101))
  local own = sampler and torch.utils.data.WeightedRandomSampler(torch.arange(101) + 1, 90, true)
  return train.torch.prepare_data_loader(torch.utils.data.DataLoader(set, {
    batch_size = train.torch.local_batch_size(@GLOBAL@), shuffle = shuffles, sampler = own, drop_last = true}))
end

local function ids_of(batch)
  local ids = batch.id or batch.input_ids:select(1, 0)
  if not batch.noise then return torch.list(ids:tolist()) end
  local out = torch.list {}
  for i, id in ipairs(ids:tolist()) do out[i] = ('%d %.7f'):format(id, batch.noise[i - 1]:item()) end
  return out
end

local function train_func(config)
  local sources, seen, states = {}, {}, {}
  for _, name in ipairs(config.names) do
    local shard = train.get_dataset_shard(name)
    local options = {batch_size = train.torch.local_batch_size(@GLOBAL@)}
    sources[name] = {of = shard, loop = function() return shard:iter_torch_batches(options):iter() end, ids = ids_of}
  end
  for name, loader in next, {loader = loader_of(true), weighted = loader_of(nil, true)} do
    loader.sampler:set_epoch(0)
    sources[name] = {of = loader, loop = function() return loader:iter() end,
                     ids = function(x) return torch.list(x:tolist()) end}
  end
  for name, source in next, sources do
    if config.from ~= 'none' then source.of:load_state(torch.load(config.from)[name]) end
    local next_batch, list = source.loop(), torch.list {}
    for step = 1, config.steps do
      local batch = next_batch()
      if batch == nil then break end
      list[step] = source.ids(batch)
    end
    seen[name], states[name] = list, source.of:state()
  end
  if train.get_context():get_world_rank() == 0 then torch.save(states, config.to) end
  train.report(seen)
end

local function items(n)
  local out = {}
  for i = 1, n do out[i] = {id = i - 1} end
  return data.from_items(out)
end

local tokenizer = text.Tokenizer.from_str [[{"model": {"type": "WordLevel", "unk_token": "a", "vocab": @VOCAB@},
  "pre_tokenizer": {"type": "WhitespaceSplit"}}]]
local documents = {}
for i = 0, 99 do documents[i + 1] = {text = ('w%d '):format(i):rep(2)} end
if not require('files').exists 'rows' then data.range(101):write_parquet('rows', {row_group_size = 9}) end
local datasets = {
  shuffled = data.range(101):random_shuffle {seed = 5}:map(noisy),
  memory = items(101):map(noisy),
  mixed = data.range(60):map(noisy):mix(items(41):random_shuffle {seed = 2}:map(noisy), {weights = {0.75, 0.25}}),
  packed = text.pack(data.from_items(documents), {tokenizer = tokenizer, length = 2, separator = false, shuffle = true,
                                                  seed = 3, folder = 'tokens'}),
  shuffled_file = data.read_parquet('rows'):random_shuffle {seed = 4}:map(noisy),
  filtered = data.read_parquet('rows'):flat_map(twice):filter(odd):random_shuffle {seed = 6}:map(noisy),
  @MORE@
}
local names = {}
for name in next, datasets do names[#names + 1] = name end
torch.manual_seed(1)  -- also for random numbers of functions
train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {from = 'none', to = 'state', steps = 100, names = names},
  datasets = datasets,
  dataset_config = train.DataConfig {enable_shard_locality = @LOCALITY@},
  scaling_config = train.ScalingConfig {num_workers = @WORKERS@, resources_per_worker = {CPU = 1}},
}:fit()
"""

# These are dealt by steps with enable_shard_locality = false.
FILES = """
  file = data.read_parquet('rows'):map(noisy),
  file_mix = data.read_parquet('rows'):mix(data.range(40), {weights = {0.5, 0.5}}),
  odd_ones = data.range(202):filter(odd):random_shuffle {seed = 8},
  twice = data.read_parquet('rows'):flat_map(twice):map(noisy),
"""


def steps_of(rtrain, script, workers, *args):
    """Returns name → the samples of each step of all ranks, in their order."""
    rtrain.run_ok(script.replace("@WORKERS@", str(workers)), *args)
    ranks = rtrain.json("metrics", "last", "--ranks")[-1]["ranks"]
    assert len(ranks) == (workers if isinstance(workers, int) else 1)
    out = {}
    for name in ranks[0]:
        for rank in ranks:
            assert [len(step) for step in rank[name]] == [len(step) for step in ranks[0][name]], name
        out[name] = [[ids for rank in ranks for ids in rank[name][k]] for k in range(len(ranks[0][name]))]
    # A sampler deals the samples of a step one by one.
    for name in ("loader", "weighted"):
        out[name] = [sorted(step) for step in out[name]]
    return out


def script_of(more="", locality="true"):
    vocab = json.dumps({"a": 100, **{f"w{i}": i for i in range(100)}})
    text = SCRIPT.replace("@MORE@", more).replace("@LOCALITY@", locality).replace("@VOCAB@", vocab)
    return text.replace("@GLOBAL@", str(GLOBAL_BATCH))


def check_schedule(rtrain, script, schedule):
    """Compares the steps of groups of some sizes, one after the other, with those of one worker, which may get a second."""
    set_cpus(rtrain, 1)
    alone = steps_of(rtrain, script, "{1, 2}")
    set_cpus(rtrain, GLOBAL_BATCH)
    done = {name: [] for name in alone}
    for number, (workers, steps) in enumerate(schedule):
        if workers == 1:
            set_cpus(rtrain, 1)
        args = ["--set", f"to=state-{number}", "--set", f"steps={steps}"]
        if number > 0:
            args += ["--set", f"from=state-{number - 1}"]
        for name, own in steps_of(rtrain, script, "{1, 2}" if workers == 1 else workers, *args).items():
            done[name] += own
        set_cpus(rtrain, GLOBAL_BATCH)
    for name, steps in alone.items():
        whole = [step for step in steps if len(step) == GLOBAL_BATCH]
        assert len(whole) >= 7 and done[name][: len(whole)] == whole, name
        # Of the last step, which is not whole, each worker has equally many.
        left = steps[len(whole)] if len(steps) > len(whole) else []
        last = done[name][len(whole)] if len(done[name]) > len(whole) else []
        assert last == left[: len(left) - len(left) % schedule[-1][0]], name


def test_a_step_has_the_same_samples_for_any_number_of_workers(rtrain):
    check_schedule(rtrain, script_of(), [(2, 3), (3, 2), (4, 100)])


def test_files_and_filters_are_dealt_by_steps_where_each_worker_reads_all(rtrain):
    check_schedule(rtrain, script_of(FILES, "false"), [(3, 2), (2, 100)])


@nightly
@pytest.mark.parametrize("schedule", [[(1, 1), (4, 2), (3, 1), (6, 100)], [(6, 4), (2, 1), (1, 100)], [(12, 100)]])
def test_longer_schedules(rtrain, schedule):
    check_schedule(rtrain, script_of(FILES, "false"), schedule)


ELASTIC = """
local files = require 'files'
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'

local function train_func(config)
  torch.manual_seed(1)
  local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-6})
  local shard = train.get_dataset_shard()
  local state = train.state {model = model, optimizer = optimizer, shard = shard, epoch = 0, step = 0}
  train.elastic(state, function()
    local rank = train.get_context():get_world_rank()
    while state.epoch < 2 do
      for batch in shard:iter_torch_batches {batch_size = train.torch.local_batch_size(@GLOBAL@)} do
        state.step = state.step + 1
        optimizer:zero_grad()
        model(batch.id:float():unsqueeze(1)):mean():backward()
        if config.loses and rank == 1 and state.step == 6 and files.once 'lost' then os.execute 'kill -9 $PPID' end
        optimizer:step()
        train.report {step = state.step, ids = torch.list(batch.id:tolist())}
        state:commit()
      end
      state.epoch = state.epoch + 1
    end
  end)
end

train.TorchTrainer {
  train_loop_per_worker = train_func, train_loop_config = {loses = @WORKERS@ > 1},
  scaling_config = train.ScalingConfig {num_workers = {1, @WORKERS@}, resources_per_worker = {CPU = 1}},
  datasets = {train = data.range(96):random_shuffle {seed = 1}},
  run_config = train.RunConfig {name = 'of-@WORKERS@'},
}:fit()
"""


def test_a_smaller_group_goes_on_with_the_next_samples(rtrain):
    set_cpus(rtrain, 3)
    seen = {}
    for workers in (1, 3):
        rtrain.run_ok(ELASTIC.replace("@GLOBAL@", str(GLOBAL_BATCH)).replace("@WORKERS@", str(workers)))
        # Nobody takes the place of a lost worker.
        rtrain.env["RTRAIN_FAULT"] = no_process(4)
        rows = [
            row for row in rtrain.json("metrics", f"of-{workers}", "--ranks", "--superseded") if not row["superseded"]
        ]
        assert [row["ranks"][0]["step"] for row in rows] == list(range(1, 17))
        seen[workers] = [[i for rank in row["ranks"] if rank for i in rank["ids"]] for row in rows]
    sizes = [
        size
        for (size,) in rtrain.query(
            "SELECT attempts.num_workers FROM attempts JOIN runs USING(run_id) WHERE name = 'of-3' ORDER BY attempt"
        )
    ]
    assert sizes == [3, 3, 2]
    assert seen[1] == seen[3]
    assert sorted(i for step in seen[3][:8] for i in step) == list(range(96))

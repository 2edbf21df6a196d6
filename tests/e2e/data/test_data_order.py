"""Which rank gets which samples, in which order."""

SCRIPT = """
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'

local function train_func(config)
  torch.manual_seed(5)
  local dataset = data.TensorDataset(torch.arange(config.size))
  local loader = train.torch.prepare_data_loader(
    data.DataLoader(dataset, {batch_size = 4, shuffle = config.shuffle, num_workers = config.loaders}))
  for epoch = 0, 1 do
    if train.get_context():get_world_size() > 1 then loader.sampler:set_epoch(epoch) end
    local seen, batches = {}, 0
    for batch in loader do
      batches = batches + 1
      for _, i in ipairs((torch.is_tensor(batch) and batch or batch[1]):tolist()) do seen[#seen + 1] = tonumber(i) end
    end
    train.report{seen = seen, batches = batches, length = #loader}
  end
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {size = 40, shuffle = true, loaders = 0},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def epochs(rtrain, *args):
    rtrain.run_ok(SCRIPT, *args)
    rows = [row["ranks"] for row in rtrain.json("metrics", "last", "--ranks")]
    assert all(rank["batches"] == rank["length"] for row in rows for rank in row)
    return [[rank["seen"] for rank in row] for row in rows]


def test_every_sample_is_seen_once_and_each_epoch_is_shuffled_again(rtrain):
    first, second = epochs(rtrain)
    for ranks in (first, second):
        assert sorted(ranks[0] + ranks[1]) == list(range(40))
        assert len(ranks[0]) == len(ranks[1]) == 20
    assert first != second
    assert sorted(first[0]) != list(range(0, 40, 2))


def test_an_uneven_size_is_padded_so_that_ranks_do_equal_steps(rtrain):
    first, _ = epochs(rtrain, "--set", "size=37")
    assert len(first[0]) == len(first[1]) == 19
    assert set(first[0] + first[1]) == set(range(37))


def test_without_shuffling_ranks_take_turns(rtrain):
    first, second = epochs(rtrain, "--set", "shuffle=false")
    assert first == second == [list(range(0, 40, 2)), list(range(1, 40, 2))]


def test_the_order_is_that_of_the_seed_however_many_threads_load(rtrain):
    assert epochs(rtrain) == epochs(rtrain, "--set", "loaders=2")
    assert epochs(rtrain, "-n", "1") == epochs(rtrain, "-n", "1", "--set", "loaders=3")

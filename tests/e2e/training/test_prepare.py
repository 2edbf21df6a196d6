"""train.torch.prepare_model and prepare_data_loader in the workers of a run, and a loader's position that another run
resumes."""

PREPARE = """
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'

local Items = data.Dataset:extend('Items')
function Items:len() return 10 end
function Items:get(i) return torch.full({2}, i), {label = i, name = 'n' .. i, pair = {torch.ones(1) * i, i > 4}} end

local function train_func(config)
  local net = torch.nn.Linear(2, 1)
  local model = train.torch.prepare_model(net)
  local loader = train.torch.prepare_data_loader(
    data.DataLoader(Items(), {batch_size = 2, num_workers = config.loaders, shuffle = true}))
  loader.sampler:set_epoch(0)
  local names, sums, flags, labels = {}, {}, {}, {}
  for x, fields in loader do
    for k, name in ipairs(fields.name) do
      names[#names + 1] = name
      labels[#labels + 1] = fields.label:tolist()[k]
      sums[#sums + 1] = x:sum{dim = 1}:tolist()[k] + fields.pair[1]:tolist()[k][1]
      flags[#flags + 1] = fields.pair[2]:tolist()[k]
    end
  end
  train.report{
    wrapped = model ~= net, inner = train.torch.unwrap(model) == net, parameter = tostring(net.weight.device),
    device = tostring(train.torch.get_device()), devices = #train.torch.get_devices(), steps = #loader, names = names,
    sums = sums, flags = flags, labels = labels,
  }
end

train.TorchTrainer{
  train_loop_per_worker = train_func, train_loop_config = {loaders = 0},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def ranks_of(rtrain, *args):
    rtrain.run_ok(PREPARE, *args)
    return rtrain.json("metrics", "last", "--ranks")[-1]["ranks"]


# behaviour: `prepare_model` wraps
def test_several_workers_get_a_wrapped_model_on_their_device(rtrain):
    for rank in ranks_of(rtrain):
        assert rank["wrapped"] and rank["inner"]
        assert rank["parameter"] == rank["device"]
        assert rank["devices"] == 1


# behaviour: one worker: no wrapper
def test_one_worker_gets_the_model_itself(rtrain):
    (rank,) = ranks_of(rtrain, "-n", "1")
    assert not rank["wrapped"] and rank["inner"]
    assert sorted(rank["names"]) == [f"n{i}" for i in range(10)]


# behaviour: `prepare_data_loader`
def test_each_worker_gets_its_part_and_items_arrive_intact(rtrain):
    for loaders in (0, 2):
        ranks = ranks_of(rtrain, "--set", f"loaders={loaders}")
        assert sorted(ranks[0]["names"] + ranks[1]["names"]) == sorted(f"n{i}" for i in range(10))
        for rank in ranks:
            assert rank["steps"] == 3
            samples = [int(name[1:]) for name in rank["names"]]
            assert rank["labels"] == samples
            assert rank["sums"] == [3 * i for i in samples]
            assert rank["flags"] == [i > 4 for i in samples]


RESUME = """
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'

local function train_func(config)
  local set = data.TensorDataset(torch.arange(config.size))
  local loader = train.torch.prepare_data_loader(
    data.DataLoader(set, {batch_size = 4, shuffle = true, num_workers = config.loaders}))
  if config.state then loader:load_state(torch.load(config.state)) end
  loader.sampler:set_epoch(3)
  local seen = {}
  for i, batch in loader:enumerate() do
    local rows = torch.is_tensor(batch) and batch or batch[1]
    for _, index in ipairs(rows:tolist()) do seen[#seen + 1] = index end
    if i + 1 == config.steps then
      if train.get_context():get_world_rank() == 0 then torch.save(loader:state(), config.path) end
      break
    end
  end
  train.report{seen = seen}
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {size = 61, steps = -1, path = '', state = '', loaders = 0},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
""".replace("if config.state then", "if config.state ~= '' then")


def test_an_epoch_goes_on_in_the_middle_with_other_workers(rtrain, tmp_path):
    def seen(*args):
        rtrain.run_ok(RESUME, *args)
        return [rank["seen"] for rank in rtrain.json("metrics", "last", "--ranks")[-1]["ranks"]]

    path = tmp_path / "loader.pt"
    first = seen("-n", "2", "--set", "steps=3", "--set", f"path={path}", "--set", "loaders=1")
    assert [len(rank) for rank in first] == [12, 12]
    for world in (1, 2, 3):
        rest = seen("-n", str(world), "--set", f"state={path}")
        assert len({len(rank) for rank in rest}) == 1
        together = sum(first + rest, [])
        assert set(together) == set(range(61))
        assert len(together) - 61 < world

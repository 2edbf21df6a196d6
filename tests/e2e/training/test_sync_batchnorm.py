"""SyncBatchNorm: ranks with parts of a batch normalize like one rank with the whole batch."""

# The parts have 3 and 5 rows. DistributedDataParallel averages gradients, so each rank multiplies its sum by `world`.
SCRIPT = """
local torch = require 'torch'
local nn = torch.nn
local train = require 'rtrain'

local function train_func()
  local context = train.get_context()
  local rank, world = context:get_world_rank(), context:get_world_size()
  torch.manual_seed(3)
  local net = nn.Sequential(nn.Conv1d(2, 4, 2), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 3, 1), nn.BatchNorm1d(3))
  net = nn.SyncBatchNorm.convert_sync_batchnorm(net):double()
  local model = train.torch.prepare_model(net)
  local x = torch.randn({8, 2, 5}, {dtype = 'float64', requires_grad = true})
  local part = world == 1 and x or rank == 0 and x:narrow(0, 0, 3) or x:narrow(0, 3, 5)
  for _ = 1, 2 do
    net:zero_grad()
    local loss = model(part):pow(3):sum() * world
    loss:backward()
  end
  local values = {}
  for _, p in ipairs(net:parameters()) do
    for _, value in ipairs(p.grad:flatten():tolist()) do values[#values + 1] = value end
  end
  for name, buffer in net:named_buffers() do
    for _, value in ipairs(buffer:double():reshape(-1):tolist()) do values[#values + 1] = value end
  end
  local eval = net:eval()(x):sum():item()
  train.report{values = values, eval = eval, text = tostring(net[2])}
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def metrics(rtrain):
    (row,) = rtrain.json("metrics", "last")
    return row["metrics"]


def test_two_ranks_are_one_rank_on_the_whole_batch(rtrain):
    rtrain.run_ok(SCRIPT)
    two = metrics(rtrain)
    rtrain.run_ok(SCRIPT, "-n", "1")
    one = metrics(rtrain)
    assert one["text"] == "SyncBatchNorm(4, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"
    assert len(one["values"]) == len(two["values"]) > 50
    assert max(abs(a - b) for a, b in zip(one["values"], two["values"])) <= 1e-8
    assert abs(one["eval"] - two["eval"]) <= 1e-8

"""DistributedDataParallel: several ranks compute what one rank computes on the whole batch."""

import json

import pytest

from conftest import processes_of, sockets_of, tcp_listeners

# Each rank starts with different parameters, so equal results also show the broadcast from rank 0.
# Rank r takes the r-th part of each batch of `batch` rows; the final parameters are written to
# parameters-<world>-<rank>, exactly.
SCRIPT = """
local torch = require 'torch'
local nn = require 'torch.nn'
local F = require 'torch.nn.functional'
local train = require 'rtrain'

local Net = nn.Module:extend('Net')
function Net:init()
  self.conv = nn.Conv2d(1, 4, 3)
  self.norm = nn.LayerNorm{36}
  self.fc = nn.Linear(4 * 36, 5)
end
function Net:forward(x)
  x = F.relu(self.conv(x)):reshape(x:size(0), 4, 36)
  return self.fc(self.norm(x):flatten(1))
end

local function write_parameters(model, path)
  local file = assert(io.open(path, 'w'))
  for name, p in train.torch.unwrap(model):named_parameters() do
    for _, value in ipairs(p:detach():flatten():tolist()) do
      file:write(string.format('%s %a\\n', name, value))
    end
  end
  file:close()
end

local function train_func(config)
  local context = train.get_context()
  local rank, world = context:get_world_rank(), context:get_world_size()
  torch.manual_seed(rank == 0 and 7 or 1000 + rank)
  local model = train.torch.prepare_model(Net())
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.05, momentum = 0.9})
  torch.manual_seed(99)
  local x = torch.randn(config.steps * config.batch, 1, 8, 8)
  local y = torch.randint(0, 5, {config.steps * config.batch})
  local rows = config.batch / world
  for step = 0, config.steps - 1 do
    local first = step * config.batch + rank * rows
    optimizer:zero_grad()
    local micro = rows / config.accumulate
    local function backward(i)
      local part = torch.slice(first + i * micro, first + (i + 1) * micro)
      local loss = F.cross_entropy(model(x[part]), y[part]) / config.accumulate
      loss:backward()
    end
    for i = 0, config.accumulate - 2 do
      if world > 1 then
        model:no_sync(function() backward(i) end)
      else
        backward(i)
      end
    end
    backward(config.accumulate - 1)
    optimizer:step()
  end
  write_parameters(model, ('parameters-%d-%d'):format(world, rank))
  train.report{done = true}
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {batch = 16, steps = 10, accumulate = 1},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def parameters(path):
    return [(name, float.fromhex(value)) for name, value in (line.split() for line in path.read_text().splitlines())]


@pytest.mark.parametrize("accumulate", [1, 4])
def test_two_ranks_on_half_batches_are_one_rank_on_whole_batches(rtrain, accumulate):
    rtrain.run_ok(SCRIPT, "--set", f"accumulate={accumulate}")
    rtrain.run_ok(SCRIPT, "-n", "1")
    one = parameters(rtrain.folder / "parameters-1-0")
    two = parameters(rtrain.folder / "parameters-2-0")
    assert len(one) == len(two) > 700
    assert [name for name, _ in one] == [name for name, _ in two]
    assert max(abs(a - b) for (_, a), (_, b) in zip(one, two)) <= 1e-6


def test_a_static_graph_that_accumulates_first_keeps_the_ranks_equal(rtrain):
    text = SCRIPT.replace(
        "prepare_model(Net())", "prepare_model(Net(), {parallel_strategy_kwargs = {static_graph = true}})"
    )
    rtrain.run_ok(text, "--set", "accumulate=4")
    assert (rtrain.folder / "parameters-2-0").read_text() == (rtrain.folder / "parameters-2-1").read_text()


def test_all_ranks_end_with_bitwise_equal_parameters(rtrain):
    rtrain.run_ok(SCRIPT, "-n", "4")
    texts = {(rtrain.folder / f"parameters-4-{rank}").read_text() for rank in range(4)}
    assert len(texts) == 1


def test_a_rank_may_leave_as_soon_as_it_is_in_the_group(rtrain):
    """A rank may also leave while others still connect to each other; repeated six times because it is a race."""
    rtrain.run_ok("""
        local torch, train = require 'torch', require 'rtrain'
        for _ = 1, 6 do
          train.TorchTrainer{
            train_loop_per_worker = function() torch.distributed.get_world_size() end,
            scaling_config = train.ScalingConfig{num_workers = 4},
          }:fit()
        end
        """)
    assert [run["status"] for run in rtrain.json("ls")] == ["FINISHED"] * 6


@pytest.mark.parametrize(
    "backend, allowed", [("'gloo'", {"0100007F", "00000000000000000000000001000000"}), ("nil", set())]
)
def test_ranks_listen_on_loopback_over_gloo_and_else_nowhere(rtrain, backend, allowed):
    script = rtrain.script(
        """
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            torch.distributed.barrier()
            while not io.open('stop') do
              train.report{}
              os.execute('sleep 0.02')
            end
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          torch_config = train.TorchConfig{backend = BACKEND},
        }:fit()
        """.replace("BACKEND", backend)
    )
    running = rtrain.started("run", script)
    addresses = tcp_listeners(sockets_of(processes_of(rtrain.storage)))
    (rtrain.folder / "stop").touch()
    # The ranks leave the loop at different reports; only the addresses they listened on matter here.
    running.wait()
    assert set(addresses) <= allowed and bool(addresses) == bool(allowed), addresses


def test_collectives_agree_on_every_rank(rtrain):
    rtrain.run_ok("""
        local torch = require 'torch'
        local dist = require 'torch.distributed'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local rank = dist.get_rank()
            local sum = dist.all_reduce(torch.tensor{rank + 1, 10})
            local gathered = dist.all_gather(torch.tensor{rank * 1.5})
            local parts = {}
            for i, t in ipairs(gathered) do parts[i] = t:item() end
            local sent = dist.broadcast(torch.tensor{rank == 1 and 42 or 0}, 1)
            dist.barrier()
            train.report{sum = sum:tolist(), gathered = parts, sent = sent:item(), world = dist.get_world_size()}
          end,
          scaling_config = train.ScalingConfig{num_workers = 3},
        }:fit()
        """)
    (row,) = rtrain.json("metrics", "last", "--ranks")
    expected = {"sum": [6, 30], "gathered": [0, 1.5, 3], "sent": 42, "world": 3}
    assert row["ranks"] == [expected] * 3, json.dumps(row)


HOOK = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    local net = torch.nn.Linear(2, 1, {bias = false})
    local model = train.torch.prepare_model(net)
    model:register_comm_hook(config.hook)
    model(torch.tensor{{rank + 1 / 3, 70000 * (rank + 1)}}):sum():backward()
    train.report{small = net.weight.grad[0][0]:item(), large = net.weight.grad[0][1]:item()}
  end,
  train_loop_config = {hook = ''},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'run'},
}:fit()
"""

# The results of Python's torch with the same hooks over Gloo, for the means of 1/3 and 4/3, and of 70000 and 140000.
HOOKED = {
    "allreduce": (0.8333333730697632, 105000),
    "fp16_compress": (0.8330078125, float("inf")),
    "bf16_compress": (0.8359375, 105472),
}


@pytest.mark.parametrize("hook", HOOKED)
def test_gradients_travel_in_the_format_of_the_hook(rtrain, hook):
    rtrain.run_ok(HOOK, "--set", f"hook={hook}")
    [report] = rtrain.reports("run")
    assert (report["small"], float(report["large"])) == HOOKED[hook]


def test_the_class_itself_averages_gradients_over_the_ranks(rtrain):
    rtrain.run_ok("""
        local torch, train = require 'torch', require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            local net = torch.nn.Linear(1, 1, {bias = false})
            local model = torch.nn.parallel.DistributedDataParallel(net, {broadcast_buffers = false})
            model(torch.full({1, 1}, rank + 1)):sum():backward()
            train.report{grad = net.weight.grad:item()}
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
        }:fit()
        """)
    (row,) = rtrain.json("metrics", "last", "--ranks")
    assert row["ranks"] == [{"grad": 1.5}] * 2


ALONE = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer{
      train_loop_per_worker = function()
        local model = torch.nn.Linear(1, 1)
        BEFORE
        local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
        for _ = 1, 4 do
          optimizer:zero_grad()
          model(torch.ones(1, 1)):sum():backward()
          optimizer:step()
        end
      end,
      scaling_config = train.ScalingConfig{num_workers = WORKERS},
    }:fit()
"""


def test_ranks_that_train_a_model_each_are_told_how_to_train_one(rtrain):
    def told(before, workers=2):
        result = rtrain.run_ok(ALONE.replace("BEFORE", before).replace("WORKERS", str(workers)))
        return result.stderr.count("no gradient was exchanged between the ranks")

    assert told("") == 1
    assert told("torch.distributed.barrier()") == 1
    assert told("model = train.torch.prepare_model(model)") == 0
    assert told("model = train.torch.prepare_model(model, {parallel_strategy = 'none'})") == 0
    mesh = "{mesh = torch.distributed.init_device_mesh('cpu', {2, 2})}"
    assert told(f"torch.distributed.fsdp.fully_shard(model, {mesh})", workers=4) == 0
    assert told("", workers=1) == 0
    result = rtrain.run(
        ALONE.replace("BEFORE", "model = train.torch.prepare_model(model); model.module:train()").replace(
            "WORKERS", "1"
        )
    )
    assert result.returncode == 1 and "train.torch.unwrap(model)" in result.stderr, result.stderr

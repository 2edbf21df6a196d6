"""train.elastic with a step under train.compile: a loss of ranks in a plan or in a recording leaves the bits alone."""

import re

import pytest

# Each rank trains 24 steps and prints the sum of its parameters. KILL runs before each step, in IN_HOOK between the two
# halves of a plan's backward, since a communication hook is called there.
TRAINING = """
local files = require 'files'
local torch, train = require 'torch', require 'rtrain'
local dist = require 'torch.distributed'

local function train_func(config)
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(5 + rank)
  local net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
  local model = train.torch.prepare_model(net, PREPARED)
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
  local state = train.state {model = model, optimizer = optimizer, step = 0}
  if model.register_comm_hook then
    model:register_comm_hook(nil, function(_, bucket)
      IN_HOOK
      local future = dist.all_reduce(bucket:buffer(), {async_op = true}):get_future()
      return future:then_(function(done) return done:value()[1] / 2 end)
    end)
  end
  local function eager(x)
    optimizer:zero_grad()
    local loss = model(x):pow(2):mean()
    loss:backward()
    optimizer:step()
    return loss
  end
  local step = config.compile == 1 and train.compile(eager) or eager
  train.elastic(state, function()
    while state.step < 24 do
      KILL
      step(torch.randn(4, 4))
      state.step = state.step + 1
      state:commit()
    end
  end)
  local sum = 0
  for _, param in ipairs(net:parameters()) do
    local whole = model.register_comm_hook and param or param:full_tensor()
    sum = sum + whole:double():abs():sum():item()
  end
  print(('END %d steps %.17g %s'):format(state.step, sum, config.compile == 1 and step.state or 'eager'))
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {compile = 1},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()
"""
LOSE = "if rank == {rank} and state.step == {step} and files.once 'lost-{step}' then os.execute 'kill -9 $PPID' end"


def ends(result):
    """Returns the steps and the sum that each rank printed, and the states of the compiled steps."""
    found = sorted(re.findall(r"\[rank (\d)\] END (.*) (\w+)\n", result.stdout + result.stderr))
    assert len(found) == 2, result.stdout + result.stderr
    return [(rank, end) for rank, end, _ in found], [state for _, _, state in found]


def script(kill="", in_hook="", prepared="nil"):
    return TRAINING.replace("KILL", kill).replace("IN_HOOK", in_hook).replace("PREPARED", prepared)


# Steps 1 and 2 are recorded, later ones are plans; the rank that takes a lost one's place begins again.
@pytest.mark.parametrize("place", ["before", "inside"])
def test_losses_in_recordings_and_plans_leave_the_bits_alone(rtrain, place):
    calm, _ = ends(rtrain.run_ok(script(), "--set", "compile=0"))
    lose = "\n".join(LOSE.format(rank=step % 2, step=step) for step in (1, 7, 14, 16))
    result = rtrain.run_ok(script(kill=lose) if place == "before" else script(in_hook=lose))
    healed, states = ends(result)
    assert healed == calm
    assert states == ["compiled", "compiled"]
    assert rtrain.statuses() == ["HEALED"] * 4 + ["FINISHED"]


SHARDED = (
    "{parallel_strategy = 'fsdp', parallel_strategy_kwargs = {wrap = torch.nn.Linear, replicas = 1, "
    "reshard_after_forward = RESHARD}}"
)


@pytest.mark.parametrize("backend, reshard", [("shm", "nil"), ("gloo", "nil"), ("gloo", "false")])
def test_losses_of_ranks_with_a_sharded_model_leave_the_bits_alone(rtrain, backend, reshard):
    prepared = SHARDED.replace("RESHARD", reshard)
    with_backend = f"torch_config = {{backend = '{backend}'}},\n}}:fit()"
    calm, _ = ends(rtrain.run_ok(script(prepared=prepared).replace("}:fit()", with_backend), "--set", "compile=0"))
    lose = "\n".join(LOSE.format(rank=step % 2, step=step) for step in (1, 7, 14, 16))
    result = rtrain.run_ok(script(kill=lose, prepared=prepared).replace("}:fit()", with_backend))
    healed, states = ends(result)
    assert healed == calm
    assert states == ["compiled", "compiled"]
    assert rtrain.statuses() == ["HEALED"] * 4 + ["FINISHED"]

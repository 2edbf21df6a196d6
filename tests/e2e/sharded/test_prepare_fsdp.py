"""train.torch.prepare_model with parallel_strategy = 'fsdp': what it shards, and runs of it."""

import json

import pytest

# Trains for 50 steps with each strategy, and prints the losses and the parameters.
FIFTY_STEPS = """
local json, torch, train = require 'json', require 'torch', require 'rtrain'
local nn = torch.nn

local STRATEGIES = {
  ddp = {parallel_strategy = 'ddp'},
  zero1 = {parallel_strategy = 'ddp', parallel_strategy_kwargs = {zero = 1}},
  zero2 = {parallel_strategy = 'ddp', parallel_strategy_kwargs = {zero = 2}},
  fsdp = {parallel_strategy = 'fsdp', parallel_strategy_kwargs = {wrap = nn.TransformerEncoderLayer}},
}

local function trained(strategy, rank)
  torch.manual_seed(1)
  local layer = nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16, dropout = 0, batch_first = true})
  local net = nn.TransformerEncoder(layer, 3):double()
  local model = train.torch.prepare_model(net, strategy)
  local optimizer, losses, values = torch.optim.AdamW(model:parameters(), {lr = 0.01}), {}, {}
  torch.manual_seed(7 + rank)
  for step = 1, 50 do
    local loss = model(torch.randn({4, 3, 8}, {dtype = 'float64'})):sin():mean()
    optimizer:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(model:parameters(), 1)
    optimizer:step()
    losses[step] = loss:item()
  end
  for _, param in ipairs(net:parameters()) do
    local whole = strategy == STRATEGIES.ddp and param or param:full_tensor()
    values[#values + 1] = whole:detach():reshape(-1):tolist()
  end
  return {losses = losses, values = values}
end

train.TorchTrainer{
  train_loop_per_worker = function()
    local rank, out = train.get_context():get_world_rank(), {}
    for name in pairs(STRATEGIES) do out[#out + 1] = name end
    table.sort(out)
    for _, name in ipairs(out) do
      local result = trained(STRATEGIES[name], rank)
      if rank == 0 then print('OUT ' .. json.encode{name, result}) end
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = @RANKS@},
  torch_config = train.TorchConfig{backend = '@BACKEND@'},
}:fit()
"""


@pytest.mark.parametrize(("backend", "ranks"), [("shm", 3), ("gloo", 2)])
def test_fifty_steps_equal_those_of_distributed_data_parallel(rtrain, backend, ranks):
    text = FIFTY_STEPS.replace("@RANKS@", str(ranks)).replace("@BACKEND@", backend)
    result = rtrain.run_ok(text, "--oversubscribe")
    found = dict(json.loads(line.split("OUT ", 1)[1]) for line in result.stdout.splitlines() if "OUT " in line)
    assert sorted(found) == ["ddp", "fsdp", "zero1", "zero2"]
    wanted = found["ddp"]
    assert len(wanted["losses"]) == 50 and abs(wanted["losses"][-1] - wanted["losses"][0]) > 0.01
    for name in ("fsdp", "zero1", "zero2"):
        assert found[name]["losses"] == pytest.approx(wanted["losses"], rel=0, abs=1e-9), name
        for values, others in zip(found[name]["values"], wanted["values"]):
            assert values == pytest.approx(others, rel=0, abs=1e-9), name


def test_prepare_model(rtrain):
    text = """
    local torch, train = require 'torch', require 'rtrain'
    local nn = torch.nn
    local result = train.TorchTrainer{
      train_loop_per_worker = function()
        torch.manual_seed(1)
        local layer = nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16, dropout = 0, batch_first = true})
        local model = train.torch.prepare_model(nn.TransformerEncoder(layer, 3),
          {parallel_strategy = 'fsdp', parallel_strategy_kwargs = {wrap = nn.TransformerEncoderLayer}})
        local optimizer, scaler = torch.optim.AdamW(model:parameters(), {lr = 0.01}), torch.amp.GradScaler{device = 'cpu'}
        local names = {}
        for _, each in ipairs(model:modules()) do
          if each.unshard then names[#names + 1] = each.__class__.__name__ end
        end
        local batch = torch.randn(2, 3, 8)
        for i = 1, 5 do
          optimizer:zero_grad()
          local loss = model(batch):pow(2):mean()
          scaler:scale(i == 2 and train.get_context():get_world_rank() == 1 and loss / 0 or loss):backward()
          local before = model.layers[1].linear1.weight:full_tensor()
          scaler:step(optimizer)
          scaler:update()
          local is_same = torch.equal(before, model.layers[1].linear1.weight:full_tensor())
          train.report{loss = loss:item(), names = table.concat(names, ' '), is_same = is_same}
        end
      end,
      scaling_config = train.ScalingConfig{num_workers = 2},
    }:fit()
    print('names', result.metrics.names)
    for _, row in ipairs(result.metrics_dataframe) do print('row', row.loss, row.is_same) end
    """
    result = rtrain.run_ok(text)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["names", "FSDPTransformerEncoder", *["FSDPTransformerEncoderLayer"] * 3] in lines
    rows = [line for line in lines if line[:1] == ["row"]]
    # A step with an infinity is left out, on both ranks.
    assert [row[2] for row in rows] == ["false", "true", "false", "false", "false"]
    assert float(rows[-1][1]) < float(rows[0][1])


def test_wrap_that_chooses_nothing(rtrain):
    text = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer{
      train_loop_per_worker = function()
        train.torch.prepare_model(torch.nn.Linear(2, 2),
          {parallel_strategy = 'fsdp', parallel_strategy_kwargs = {wrap = torch.nn.TransformerEncoderLayer}})
      end,
      scaling_config = train.ScalingConfig{num_workers = 2},
    }:fit()
    """
    result = rtrain.run(text)
    assert result.returncode == 1
    assert "wrap chooses none of the modules below the model" in result.stderr


def test_the_loss_of_a_rank_restarts_the_group(rtrain):
    text = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer{
      train_loop_per_worker = function()
        torch.manual_seed(1)
        local model = train.torch.prepare_model(torch.nn.Linear(4, 4), {parallel_strategy = 'fsdp'})
        local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.1})
        local state = train.state{model = model, optimizer = optimizer, step = 0}
        local checkpoint = train.get_checkpoint()
        state:load(checkpoint)
        train.elastic(state, function()
          while state.step < 6 do
            state.step = state.step + 1
            optimizer:zero_grad()
            model(torch.ones(2, 4)):pow(2):sum():backward()
            if KILL and state.step == 4 and not checkpoint and train.get_context():get_world_rank() == 1 then
              os.execute 'kill -9 $PPID'
            end
            optimizer:step()
            local sum = model.weight:full_tensor():double():sum():item()
            train.tempdir(function(folder)
              state:save(folder)
              train.report({sum = sum, step = state.step}, {checkpoint = train.Checkpoint.from_directory(folder)})
            end)
            state:commit()
          end
        end)
      end,
      scaling_config = train.ScalingConfig{num_workers = 2},
      run_config = train.RunConfig{failure_config = train.FailureConfig{max_failures = 1}},
    }:fit()
    """
    sums = []
    for kill in ("false", "true"):
        result = rtrain.run_ok(text.replace("KILL", kill))
        assert "restarts the group: its model is sharded, and a lost rank's rows are lost with it" in result.stderr
        sums.append([line.split("sum=")[1].split()[0] for line in result.stderr.splitlines() if "step=6" in line])
    assert len(sums[0]) == 1
    assert sums[0] == sums[1]

-- rtrain/doctor/self_test.lua: the test of `rtrain doctor --train`: two ranks learn a line, in the default storage.

local STEPS, REPORTS = 20, 2
local RANKS = 2

local function train_func()
  local torch = require 'torch'
  local train = require 'rtrain'
  local nn = torch.nn
  torch.manual_seed(0)
  local model = train.torch.prepare_model(nn.Linear(1, 1))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
  local x = torch.linspace(-1, 1, 16):view(16, 1) + train.get_context():get_world_rank()
  for index = 1, REPORTS do
    local loss
    for _ = 1, STEPS do
      optimizer:zero_grad()
      loss = nn.functional.mse_loss(model(x), x * 3 - 1)
      loss:backward()
      optimizer:step()
    end
    local total = loss:detach():clone()
    torch.distributed.all_reduce(total)
    train.tempdir(function(folder)
      torch.save(train.torch.unwrap(model):state_dict(), folder .. '/model.pt')
      train.report({loss = total:item(), index = index}, {checkpoint = train.Checkpoint.from_directory(folder)})
    end)
  end
end

---Trains and prints one line about the result. Raises the error of a failure.
return function()
  local system = require 'base._system'
  local train = require 'rtrain'
  local torch = require 'torch'
  local start = system.monotonic()
  local result = train.TorchTrainer{
    train_loop_per_worker = train_func,
    scaling_config = train.ScalingConfig{num_workers = RANKS},
    run_config = train.RunConfig{name = 'doctor', logging_config = train.LoggingConfig{log_level = 'WARNING'}},
  }:fit()
  local rows = result.metrics_dataframe
  assert(#rows == REPORTS, 'not every report has arrived')
  assert(rows[REPORTS].loss < rows[1].loss, 'the loss has not become less')
  result.checkpoint:with_directory(function(folder)
    assert(torch.load(folder .. '/model.pt').weight:numel() == 1, 'the checkpoint does not hold the model')
  end)
  print(('%d ranks have trained, reported and saved in %.1f s'):format(RANKS, system.monotonic() - start))
end

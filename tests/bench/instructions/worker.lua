-- The counted work of rank 0 of two workers: operators, collectives, a training step, reports.
local torch = require 'torch'
local train = require 'rtrain'

local function train_func(config)
  local nn, F = require 'torch.nn', require 'torch.nn.functional'
  local count
  if train.get_context():get_world_rank() == 0 then
    count = require 'counted'(config.library)
  else  -- makes the same number of calls
    count = function(_, warm, calls, body)
      for _ = 1, warm + calls do body() end
    end
  end
  local warm, calls = config.warm, config.calls
  torch.manual_seed(0)

  local x, y, a = torch.ones(4), torch.ones(4), torch.ones(8, 8)
  local function times(call)
    return function()
      for _ = 1, config.operators do call() end
    end
  end
  count('operator_fast', warm, calls, times(function() return torch.add(x, y) end))
  count('operator_method', warm, calls, times(function() return a:transpose(0, 1) end))
  count('operator_boxed', warm, calls, times(function() return torch.cumsum(x, 0) end))

  local small, large = torch.ones(1024), torch.ones(8192)
  count('all_reduce_4k', warm, calls, function() torch.distributed.all_reduce(small) end)
  count('all_reduce_32k', warm, calls, function() torch.distributed.all_reduce(large) end)

  local model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))
  model = train.torch.prepare_model(model)
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01})
  local images, labels = torch.randn(8, 16), torch.arange(8)
  count('step', warm, calls, function()
    optimizer:zero_grad()
    F.cross_entropy(model(images), labels):backward()
    optimizer:step()
  end)

  count('log', warm, calls, function() train.log {loss = 0.5, rate = 0.01} end)
  count('report', warm, calls, function() train.report {loss = 0.5, step = 100} end)
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {library = '', warm = 20, calls = 15, operators = 50},
  scaling_config = train.ScalingConfig{num_workers = 2, resources_per_worker = {CPU = 1}},
  torch_config = train.TorchConfig{timeout_s = 600},  -- callgrind is slow on a busy machine
}:fit()

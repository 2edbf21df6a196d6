-- Two workers fit a line to noisy points: rtrain run examples/hello.lua
local torch = require 'torch'
local train = require 'rtrain'

local function train_func(config)
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(rank)  -- each worker draws points of its own
  local x = torch.randn(256, 1)
  local y = x * 3 + 1 + torch.randn(256, 1) * 0.1
  -- All workers begin with rank 0's parameters and take steps along the mean of their gradients.
  local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = config.lr})
  for epoch = 1, config.epochs do
    local loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    train.report {epoch = epoch, loss = loss}  -- rank 0's loss is the run's; `rtrain metrics last --ranks` shows all
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 0.3, epochs = 5},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()

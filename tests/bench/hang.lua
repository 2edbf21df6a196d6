-- Two workers that call a collective in every step; the driver stops one of them forever.
local torch = require 'torch'
local train = require 'rtrain'

local function train_func(config)
  local clock = require 'events'
  local events = clock.open(config.events, train.get_context():get_world_rank())
  local x = torch.ones(1000)
  for step = 1, math.huge do
    torch.distributed.all_reduce(x, 'avg')
    clock.sleep(0.01)
    if step % 10 == 0 then
      train.report {step = step}
      events:mark('step', step)
    end
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {events = '.'},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()

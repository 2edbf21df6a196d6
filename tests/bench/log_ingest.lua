-- Each worker calls train.log as fast as the store accepts points: five keys in each step. peers/log_ingest.py is the
-- twin.
local train = require 'rtrain'

local function train_func(config)
  local clock = require 'events'
  local rank = train.get_context():get_world_rank()
  local events = clock.open(config.events, rank)
  train.report{} -- all ranks begin together
  events:mark('begin')
  for step = 1, config.steps do
    train.log({loss = 1 / step, accuracy = 1 - 1 / step, lr = 0.1, grad_norm = (step * 7919) % 1000 / 1000, epoch = 1},
      {step = step})
  end
  events:mark('logged')
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {steps = 1000, events = '.'},
  scaling_config = train.ScalingConfig{num_workers = 8},
}:fit()

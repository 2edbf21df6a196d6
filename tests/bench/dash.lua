-- The live run of the dash benchmark: reports ten times a second until it is stopped.
local train = require 'rtrain'

train.TorchTrainer {
  train_loop_per_worker = function()
    local step = 0
    while not train.stop_requested() do
      step = step + 1
      train.report {loss = 1 / step, accuracy = 1 - 1 / step, step = step}
      os.execute 'sleep 0.1'
    end
  end,
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()

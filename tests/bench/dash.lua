-- The live runs of the dash benchmark: reports repeatedly until it is stopped. `sent` is the time of a report in
-- milliseconds, reduced to the five digits that a page shows.
local system = require 'base._system'
local train = require 'rtrain'

train.TorchTrainer {
  train_loop_per_worker = function(config)
    local step = 0
    while not train.stop_requested() do
      step = step + 1
      train.report {loss = 1 / step, accuracy = 1 - 1 / step, step = step, sent = system.now_ms() % 100000}
      os.execute('sleep ' .. config.pause_s)
    end
  end,
  train_loop_config = {pause_s = 0.1},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()

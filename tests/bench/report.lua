-- Latency of report(): first many reports back to back, then some with pauses, for which the driver watches when they
-- become visible in the store.
local train = require 'rtrain'

local function metrics_of(index)
  local metrics = {}
  for k = 0, 7 do metrics['metric_' .. k] = index + k + 0.5 end
  return metrics
end

local function train_func(config)
  local clock = require 'events'
  local events = clock.open(config.events, train.get_context():get_world_rank())
  local latencies = {}
  for index = 1, config.reports do
    local metrics = metrics_of(index)
    local start = clock.now()
    train.report(metrics)
    latencies[index] = clock.now() - start
  end
  for _, seconds in ipairs(latencies) do events:mark('latency', seconds) end
  for index = config.reports, config.reports + config.spaced - 1 do
    clock.sleep(config.gap)
    events:mark('spaced', index)
    train.report(metrics_of(index))
  end
  clock.sleep(config.gap)
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {reports = 1000, spaced = 20, gap = 0.2, events = '.'},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()

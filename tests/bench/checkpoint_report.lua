-- Repeated reports with a checkpoint of 10 MB; the twin of peers/checkpoint_report.py.
local torch = require 'torch'
local train = require 'rtrain'

local function train_func(config)
  local clock = require 'events'
  local rank = train.get_context():get_world_rank()
  local events = clock.open(config.events, rank)
  local state = {weight = torch.randn(config.megabytes * 250000)}
  for index = 1, config.reports do
    torch.distributed.barrier()
    local start = clock.now()
    if rank > 0 then
      train.report {index = index}
    else
      train.tempdir(function(dir)
        torch.save(state, dir .. '/state.pt')
        train.report({index = index}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
    events:mark('report', clock.now() - start)
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {reports = 1, megabytes = 10, events = '.'},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()

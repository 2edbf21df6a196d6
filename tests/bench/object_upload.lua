-- Repeated checkpoints of two ranks into an object store; the twin of peers/arrow_upload.py.
local train = require 'rtrain'

local FILES = 4  -- of each rank

local function train_func(config)
  local clock = require 'events'
  local torch = require 'torch'
  local rank = train.get_context():get_world_rank()
  local events = clock.open(config.events, rank)
  local part = ('%d'):format(rank):rep(1024 * 1024)
  for index = 1, config.reports do
    train.tempdir(function(dir)
      for number = 1, FILES do
        local file = assert(io.open(('%s/rank-%d-%d'):format(dir, rank, number), 'wb'))
        for _ = 1, config.megabytes / FILES do file:write(part) end
        file:close()
      end
      torch.distributed.barrier()
      local start = clock.now()
      train.report({index = index}, {checkpoint = train.Checkpoint.from_directory(dir)})
      events:mark('upload', clock.now() - start)
    end)
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {reports = 1, megabytes = 200, events = '.'},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()

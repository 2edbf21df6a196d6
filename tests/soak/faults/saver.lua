-- The run that the fault tests disturb: in each epoch a plain report, and a report with a checkpoint of both ranks.
-- Each report() that has returned adds a line "rank epoch kind" to the file `acknowledged`.
local saved, files, train = require 'epochs', require 'files', require 'rtrain'

local epochs = tonumber(os.getenv('SAVER_EPOCHS') or 2)
local max_failures = tonumber(os.getenv('SAVER_MAX_FAILURES') or 0)

local function train_func()
  if os.getenv('SAVER_PRINT') then print('one line for the log') end
  local rank = train.get_context():get_world_rank()

  local function acknowledge(epoch, kind)
    local file = assert(io.open('acknowledged', 'a'))
    assert(file:write(('%d %d %s\n'):format(rank, epoch, kind)))
    assert(file:close())
  end

  local first = saved.of(train.get_checkpoint()) + 1
  io.open('window-opens')
  for epoch = first, epochs do
    train.report{epoch = epoch, kind = 'plain'}
    acknowledge(epoch, 'plain')
    train.tempdir(function(dir)
      files.write(dir .. '/rank-' .. rank, (epoch .. ' '):rep(20000))
      if rank == 0 then files.write(dir .. '/epoch', tostring(epoch)) end
      train.report({epoch = epoch, kind = 'saved'}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
    acknowledge(epoch, 'saved')
  end
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{
    name = 'saver',
    checkpoint_config = train.CheckpointConfig{num_to_keep = 1},
    failure_config = train.FailureConfig{max_failures = max_failures},
  },
}:fit()

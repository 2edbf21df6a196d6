"""Scripts for runs over nodes of ssh. They use no file that only the tests' machine has."""

# Prints a word of a module and of the arguments; each rank reports a word of a data file.
HELLO = """
local train = require 'rtrain'
local greeting = require 'lib.greeting'
train.TorchTrainer{
  train_loop_per_worker = function()
    local file = assert(io.open('data/words.txt'))
    train.report{word = file:read('*l')}
  end,
  scaling_config = train.ScalingConfig{num_workers = 4},
  run_config = train.RunConfig{name = 'nodes'},
}:fit()
print(greeting .. ' ' .. table.concat(arg, ','))
"""

# Saves a checkpoint with a file of each rank at each step, until the file `go` exists in a rank's working folder or a stop
# is requested; goes on from the latest one.
SAVING = """
local train = require 'rtrain'
local trainer = train.TorchTrainer{
  train_loop_per_worker = function()
    local torch = require 'torch'
    local context = train.get_context()
    local name = ('/step-%d.lua'):format(context:get_world_rank())
    local step, checkpoint = 0, train.get_checkpoint()
    if checkpoint then checkpoint:with_directory(function(dir) step = dofile(dir .. name) end) end
    local first = step
    local function is_over()
      local file = io.open('go')
      if file then file:close() end
      local seen = torch.tensor{(file or train.stop_requested()) and 1 or 0}
      torch.distributed.all_reduce(seen, 'max')
      return seen:item() == 1
    end
    print('a rank begins after step ' .. step)
    while not is_over() do
      step = step + 1
      train.tempdir(function(dir)
        local file = assert(io.open(dir .. name, 'w'))
        file:write('return ' .. step)
        file:close()
        train.report({step = step, first = first}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      os.execute('sleep 0.05')
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = WORKERS},
  run_config = train.RunConfig{
    name = 'nodes', checkpoint_config = train.CheckpointConfig{num_to_keep = 2},
    failure_config = train.FailureConfig{FAILURES},
  },
}
trainer:fit()
print 'done'
"""


def saving(failures="", workers="4"):
    return SAVING.replace("FAILURES", failures).replace("WORKERS", workers)

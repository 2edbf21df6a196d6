-- rtrain/tune/child.lua: the process of a Tuner's trial: reads the trainer from the sweep's folder, gets its config
-- from the sweep, and calls fit().

local closure = require 'base._closure'
local command_flags = require 'rtrain.run.command_flags'
local errors = require 'base.errors'
local link = require 'rtrain.trial'
local read_file = require 'base.read_file'
local space = require 'rtrain.tune.space'
local write_file = require 'base.write_file'

local child = {}

-- The script for `rtrain run`.
local SCRIPT = "require('rtrain.tune.child').fit(...)\n"

---Writes the files that the trials' processes need to the sweep's folder.
---@param folder string
---@param job {trainer: DataParallelTrainer, script: string}
---@return string? warning about the serialized values
function child.write(folder, job)
  local bytes, warning = closure.dump(job)
  write_file(folder .. '/trial.lua', SCRIPT)
  write_file(folder .. '/trainer', bytes)
  return warning
end

---Returns the arguments of `rtrain run` for a trial: the script and, after `--`, the folder.
---@param folder string
---@return string script, string[] args
function child.command(folder) return folder .. '/trial.lua', {'--', folder} end

local function read(path)
  local bytes, problem = read_file(path)
  return bytes or errors.raise('environment', 'cannot read ' .. problem)
end

---Trains the trial of this process.
---@param folder string folder of the sweep
function child.fit(folder)
  if not link.begin() then
    errors.raise('usage', 'the process of a trial is started by its sweep alone: run the script again')
  end
  local place = link.current()
  local answer = require('rtrain._tune').connect(place.socket):ask {type = 'config', trial = place.number}
  local job = closure.load(read(folder .. '/trainer'))
  local trainer, config = job.trainer, answer.config
  command_flags.set_script(job.script)
  trainer.train_loop_config = space.joined(trainer.train_loop_config, config.train_loop_config or {})
  if config.scaling_config then trainer.scaling_config = trainer.scaling_config:with(config.scaling_config) end
  trainer:fit()
end

return child

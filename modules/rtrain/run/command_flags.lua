-- rtrain/run/command_flags.lua: the flags of the command that runs this script; they take precedence over the script.
--
-- `rtrain run` and other commands set them once, before the script; under `rtrain exec`, and in workers, they are not
-- set. The fields are those of host/cli/train/run_options.h, and `on_fit`; tests/unit/cli/command_flags_test.cpp
-- compares them.

local record = require 'base.record'

local command_flags = {}

---@class CommandFlags
---@field script? string path of the script
---@field command? string[] the command, as typed
---@field set string[] 'KEY=VALUE': values of train_loop_config
---@field tags string[] tags of the run
---@field note? string note of the run
---@field name? string name of the run
---@field storage? string folder or URI
---@field resume? string 'never', 'auto' or 'must'
---@field num_workers? integer
---@field gpus? string 'all' or a number
---@field max_failures? integer
---@field seed? integer
---@field deterministic? boolean
---@field limit_batches? integer
---@field overfit? integer
---@field launcher? string
---@field oversubscribe? boolean
---@field quiet? boolean
---@field terminal? boolean whether stderr is a terminal
---@field events_fd? integer descriptor to which the run's events are written as JSON lines
---@field has_agents? boolean whether the other nodes of the job have agents of this run
---@field tryout? any set by `rtrain check` and similar commands, see RunFlags
---@field on_fit? fun(trainer: DataParallelTrainer): any replaces the training in fit()

local NAMES = {
  'script', 'command', 'set', 'tags', 'note', 'name', 'storage', 'resume', 'num_workers', 'gpus', 'max_failures', 'seed',
  'deterministic', 'limit_batches', 'overfit', 'launcher', 'oversubscribe', 'quiet', 'terminal', 'events_fd', 'has_agents',
  'tryout', 'on_fit',
}

local given, has_fitted

---@param flags? CommandFlags nil: not set
---Raises code 'argument' for an unknown name. So does reading an unknown field.
function command_flags.set(flags)
  given = flags and record.of('CommandFlags', NAMES, flags)
  if given and given.tryout then require('rtrain.tryout.order_watch').begin() end
end

---@return CommandFlags
function command_flags.get() return given or record.of('CommandFlags', NAMES, {set = {}, tags = {}}) end

---Sets the script of a trial's process, which is that of its sweep.
---@param path string
function command_flags.set_script(path) command_flags.get().script = path end

---Records that the script has called fit().
function command_flags.mark_fit() has_fitted = true end

---@return boolean whether the script has called fit()
function command_flags.has_fitted() return has_fitted == true end

return command_flags

-- rtrain/tune/run_options.lua: RunOptions: the flags of `rtrain run` for a script with a Tuner, or of `rtrain sweep`:
-- the name and the storage apply to the sweep, the others to each trial.

local class = require 'base.class'
local command_flags = require 'rtrain.run.command_flags'
local errors = require 'base.errors'
local random_hex = require 'base.random_hex'
local resume_command = require 'rtrain.run.resume_command'
local run_name = require 'rtrain.launch.run_name'
local system = require 'base._system'

local RunOptions = class('SweepRunOptions')

---@param flags CommandFlags
function RunOptions:init(flags)
  self._flags = flags
  self.quiet, self.terminal = flags.quiet, flags.terminal
  local arg = rawget(_G, 'arg')
  self.script = flags.script or (arg and arg[0]) or 'script'
end

---Returns the options of this process's command; empty under `rtrain exec`.
---@return table
function RunOptions.of_command()
  command_flags.mark_fit()
  return RunOptions(command_flags.get())
end

---@param run_config RunConfig
---@return string name of the sweep
function RunOptions:name_of(run_config)
  local name = self._flags.name or run_config.name
  if name == nil and self:resume_of(run_config) ~= 'never' then
    errors.raise('config', ("resume = '%s' without a name: give the sweep to go on with (--name, RunConfig.name)")
      :format(self:resume_of(run_config)))
  end
  name = name or ('%s-sweep-%s'):format(run_name.base(self.script), random_hex(2))
  local problem = system.run_name_problem(name .. '-000')
  local tag = 'sweep:' .. name
  local tag_problem = system.tag_problem(tag)
  if not problem and tag_problem then problem = ("its runs get the tag '%s', and %s"):format(tag, tag_problem) end
  if problem then errors.raise('config', ("'%s' cannot be a sweep's name: %s"):format(name, problem)) end
  return name
end

---Returns the command that continues the sweep of that name.
---@param name string
---@return string? command nil if this process was not started by a command of rtrain
function RunOptions:resume_command(name) return resume_command(self._flags, name) end

---@param run_config RunConfig
---@return 'never'|'auto'|'must'
function RunOptions:resume_of(run_config) return self._flags.resume or run_config.resume or 'never' end

---@param run_config RunConfig
---@return string folder
function RunOptions:storage_of(run_config)
  local folder = require('rtrain._host').storage_folder(self._flags.storage or run_config.storage_path)
  if not system.is_object_uri(folder) then return folder end
  errors.raise('unsupported', ('a sweep keeps its state in a folder: %s is in an object store'):format(folder))
end

local function add(list, ...)
  for i = 1, select('#', ...) do list[#list + 1] = tostring((select(i, ...))) end
end

---Returns the command of a trial's process: `rtrain run SCRIPT …`.
---@param script string
---@param trial rtrain.tune.Trial
---@param experiment table
---@param rest string[] the following words: the trial's own settings, and the script's arguments
---@return string[] args
function RunOptions:command(script, trial, experiment, rest)
  local flags, out = self._flags, {'run', script, '-q'}
  -- A run of that name belongs to the trial only if the trial has begun before.
  local resume = (experiment.is_resumed or trial.has_begun) and 'auto' or 'never'
  add(out, '--name', trial.name, '--storage', experiment.storage, '--resume', resume, '--tag', experiment:tag())
  for _, tag in ipairs(flags.tags or {}) do add(out, '--tag', tag) end
  for _, setting in ipairs(flags.set or {}) do add(out, '--set', setting) end
  if flags.num_workers then add(out, '-n', flags.num_workers) end
  if flags.max_failures then add(out, '--max-failures', flags.max_failures) end
  if flags.gpus then add(out, '--gpus', flags.gpus) end
  if (flags.note or '') ~= '' then add(out, '--note', flags.note) end
  if flags.oversubscribe then add(out, '--oversubscribe') end
  add(out, unpack(rest))
  return out
end

return RunOptions

-- rtrain/launch/init.lua: who started this process, and what it was allotted.
--
-- A launcher (Slurm, mpirun, Kubernetes, …) leaves variables in the processes that it starts. Each file of
-- `launchers/` knows those of one. (The key `engine` of `rtrain env --json` has its name from before: elsewhere the engine is
-- the library that calls LibTorch.) It is a table with
--
--   name        what --launcher and `rtrain env` call it
--   detect      (getenv, facts) → whether the variables are the launcher's
--   allocation  (getenv, facts): states in `facts` (rtrain.launch.facts) what they say
--
-- and, where `rtrain submit` knows the launcher,
--
--   render          (spec) → the text that starts a script on several hosts
--   submit          (spec, text): hands it to the launcher's program; returns the words of one that runs in the foreground
--   submit_options  the options of `rtrain submit` that have an effect
--   has_own_files   the script is not a file of this host
--   is_gone         (job) → whether it no longer knows a job that `submit` has put into its queue; nil: it does not answer
--
-- A site's launcher is a Lua file that returns such a table. It is asked before those here.

local allocation = require 'rtrain.launch.allocation'
local errors = require 'base.errors'
local Facts = require 'rtrain.launch.facts'
local job_spec = require 'rtrain.launch.job_spec'
local ordered = require 'base.ordered'
local site = require 'rtrain.launch.site'

local launch = {}

-- In the order in which they are asked: whoever started this process comes before whoever started its starter.
local LAUNCHERS = {
  require 'rtrain.launch.launchers.torchrun',
  require 'rtrain.launch.launchers.kubeflow',
  require 'rtrain.launch.launchers.slurm',
  require 'rtrain.launch.launchers.openmpi',
  require 'rtrain.launch.launchers.mpich',
  require 'rtrain.launch.launchers.pmix',
  require 'rtrain.launch.launchers.kubernetes',
  require 'rtrain.launch.launchers.skypilot',
  require 'rtrain.launch.launchers.flux',
  require 'rtrain.launch.launchers.ray',
  require 'rtrain.launch.launchers.local',
}

-- What `parent` is where nobody gives it, and this process.
local function parent_of_this()
  local stat = assert(io.open '/proc/self/stat')
  local own, pid = stat:read('*a'):match '^(%d+) .*%) %a (%d+)'
  stat:close()
  return tonumber(pid), tonumber(own)
end

-- What a process of a job leaves in its environment for those that it starts: itself, and which part of the job it is.
local function mark_of(pid, found) return ('%d %s %d'):format(pid, found.group or '', found.rank or found.node_rank or 0) end

-- Whether a process of the job has started this one: then the launcher's variables are that one's.
local function is_started_by_task(found, getenv, parent)
  local mark = getenv 'RTRAIN_TASK'
  local pid = tonumber((mark or ''):match '^%d+')
  return pid ~= nil and mark == mark_of(pid, found) and pid ~= select(2, parent())
end

---The launcher of that name.
---@param name string
---@return table launcher
---Errors: 'config' for a name that there is not.
function launch.launcher(name)
  local names = {}
  for i, launcher in ipairs(LAUNCHERS) do
    if launcher.name == name then return launcher end
    names[i] = launcher.name
  end
  errors.raise('config', ("there is no launcher '%s'%s; a site's launcher is a file: NAME.lua"):format(name,
    errors.suggestion(name, names)))
end

-- The launcher that was named: one of these by its name, a site's by its file if that detects itself here. Else nil.
local function named_launcher(name, origin, getenv, facts)
  if not site.is_file(name) then return launch.launcher(name), origin end
  local launcher = site.load(name)
  if launcher.detect(getenv, facts) then return launcher, ('%s, which detects itself'):format(origin) end
end

local function detected_launcher(getenv, facts)
  for _, launcher in ipairs(LAUNCHERS) do
    if launcher.detect(getenv, facts) then return launcher, launcher.rule end
  end
end

---What the launcher that started this process allotted to it. Reads what it is given and nothing else, but for a site's file.
---A process that one of the job has started (os.execute) has the same variables, and trains on its host alone.
---@param getenv? fun(name: string): string? os.getenv
---@param options? {launcher?: string, parent?: fun(): integer} launcher: --launcher, a name or a Lua file; without it
---  $RTRAIN_LAUNCHER counts. parent: the processes that started this one, and this one
---@return Allocation
---Errors: 'config' for values that make no sense, with variable and value, and for a launcher that there is not.
---
---```lua
---local launch = require 'rtrain.launch'
---local variables = {RANK = '1', WORLD_SIZE = '2', LOCAL_RANK = '1', LOCAL_WORLD_SIZE = '2', MASTER_ADDR = 'localhost'}
---local allocation = launch.find(function(name) return variables[name] end)
---assert(allocation.engine == 'torchrun' and allocation.rank == 1 and allocation.num_nodes == 1)
---```
function launch.find(getenv, options)
  getenv, options = getenv or os.getenv, options or {}
  local parent = options.parent or parent_of_this
  local facts = Facts('', getenv, parent)  -- for what is asked before there is a launcher
  local name, origin = options.launcher, '--launcher ' .. (options.launcher or '')
  if name == nil then
    name = facts:get 'RTRAIN_LAUNCHER'
    origin = facts:shown 'RTRAIN_LAUNCHER'
  end
  local launcher, rule
  if name then launcher, rule = named_launcher(name, origin, getenv, facts) end
  if launcher == nil then launcher, rule = detected_launcher(getenv, facts) end
  local found = allocation.of(launcher, rule, getenv, parent)
  if options.launcher or not is_started_by_task(found, getenv, parent) then return found end
  return allocation.of(launch.launcher 'local', 'a process of the job has started this one', getenv, parent)
end

local function text_of(value)
  if type(value) ~= 'table' then return tostring(value) end
  if value.addr then return value.port and ('%s:%d'):format(value.addr, value.port) or value.addr end
  return table.concat(value, ' ')
end

-- A line for each field that the launcher's variables say something about.
local function lines_of(found)
  local lines = {('%s: %s'):format(found.engine, found.rule)}
  for _, field in ipairs(found.engine == 'local' and {} or Facts.FIELDS) do
    local value = found[field]
    if value ~= nil then lines[#lines + 1] = ('%-17s  %-10s  (%s)'):format(field, text_of(value), found.origins[field]) end
  end
  for _, warning in ipairs(found.warnings) do lines[#lines + 1] = 'warning: ' .. warning end
  return lines
end

---What the launcher allotted on several hosts, and what RTRAIN_TASK is to be.
---@param launcher? string --launcher
---@return JobSpec? job nil where one host is all there is
---@return string? mark nil without a launcher
function launch.job(launcher)
  local found = launch.find(os.getenv, {launcher = launcher})
  return job_spec.of(found), found.engine ~= 'local' and mark_of(select(2, parent_of_this()), found) or nil
end

---Whether the launcher no longer knows a job.
---@param launcher string its name
---@param job string
---@return boolean? gone nil where it does not answer, and for a launcher that cannot tell
function launch.is_gone(launcher, job)
  for _, each in ipairs(LAUNCHERS) do
    if each.name == launcher and each.is_gone then return each.is_gone(job) end
  end
end

---The command that starts the job of this process again, where it is this process that is to give it: of node 0.
---@param launcher? string --launcher
---@return string? command for a shell
function launch.requeue_command(launcher)
  local found = launch.find(os.getenv, {launcher = launcher})
  if (found.rank or 0) == 0 and (found.node_rank or 0) == 0 then return found.requeue_command end
end

---The allocation of this process for `rtrain env`.
---@param launcher? string --launcher
---@return table map engine, rule, the known fields, origins, warnings; {error = text} where the variables make no sense
---@return string[] lines the same as text
function launch.describe(launcher)
  local ok, found = xpcall(launch.find, errors.wrap, os.getenv, {launcher = launcher})
  if not ok then return {error = found.message}, {'error: ' .. found.message} end
  local out = ordered.new {{'engine', found.engine}, {'rule', found.rule}, {'is_rank', found.is_rank}, {'group', found.group}}
  local origins = ordered.new()
  for _, field in ipairs(Facts.FIELDS) do out[field], origins[field] = found[field], found.origins[field] end
  out.origins = origins
  out.warnings = require('torch').list(found.warnings)
  return out, lines_of(found)
end

return launch

-- rtrain/launch/init.lua: finds the launcher that started this process, and the resources that it allotted.
--
-- A launcher (Slurm, mpirun, Kubernetes, …) sets variables in the processes that it starts. Each file of `launchers/`
-- reads those of one launcher. (The key `engine` of `rtrain env --json` is historical: elsewhere the engine is the
-- library that calls LibTorch.) It is a table with
--
--   name        its name for --launcher and `rtrain env`
--   detect      (getenv, facts) → whether the launcher has set the variables
--   allocation  (getenv, facts): states the facts in the variables in `facts` (rtrain.launch.facts)
--
-- and, if `rtrain submit` supports the launcher,
--
--   render          (spec) → the text that starts a script on several nodes
--   submit      (spec, text): passes it to the launcher's program; returns the words of a program that runs in the
--   foreground
--   submit_options  the options of `rtrain submit` that have an effect
--   has_own_files   the script is not a file of this node
--   is_gone     (job) → whether it no longer knows a job that `submit` has queued; nil if it does not answer
--
-- A site's launcher is a Lua file that returns such a table. It takes precedence over those here.

local allocation = require 'rtrain.launch.allocation'
local errors = require 'base.errors'
local Facts = require 'rtrain.launch.facts'
local job_spec = require 'rtrain.launch.job_spec'
local ordered = require 'base.ordered'
local site = require 'rtrain.launch.site'

local launch = {}

-- The order of detection: the starter of this process comes before the starter of the starter.
local LAUNCHERS = {
  require 'rtrain.launch.launchers.ssh',
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

-- Returns the default of `parent`, and this process.
local function parent_of_this()
  local stat = assert(io.open '/proc/self/stat')
  local own, pid = stat:read('*a'):match '^(%d+) .*%) %a (%d+)'
  stat:close()
  return tonumber(pid), tonumber(own)
end

-- Returns the mark that a process of a job leaves in its environment for its child processes: its pid and its place in
-- the job.
local function mark_of(pid, found) return ('%d %s %d'):format(pid, found.group or '', found.rank or found.node_rank or 0) end

-- Returns whether a process of the job has started this one, which has then inherited the launcher's variables.
local function is_started_by_task(found, getenv, parent)
  local mark = getenv 'RTRAIN_TASK'
  local pid = tonumber((mark or ''):match '^%d+')
  return pid ~= nil and mark == mark_of(pid, found) and pid ~= select(2, parent())
end

---Returns the launcher of that name.
---@param name string
---@return table launcher
---Errors: 'config' for an unknown name.
function launch.launcher(name)
  local names = {}
  for i, launcher in ipairs(LAUNCHERS) do
    if launcher.name == name then return launcher end
    names[i] = launcher.name
  end
  errors.raise('config', ("there is no launcher '%s'%s; a site's launcher is a file: NAME.lua"):format(name,
    errors.suggestion(name, names)))
end

-- Returns the named launcher: a built-in one by its name, or a site's by its file if it detects itself here. Else nil.
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

---Returns the resources that the launcher of this process allotted to it. Reads only its arguments, and a site's file.
---A process that a process of the job has started (os.execute) inherits the variables, and trains on its node alone.
---@param getenv? fun(name: string): string? os.getenv
---@param options? {launcher?: string, parent?: fun(): integer} launcher: --launcher, a name or a Lua file; without it
---  $RTRAIN_LAUNCHER counts. parent: the processes that started this one, and this one
---@return Allocation
---Errors: 'config' for inconsistent values, with variable and value, and for an unknown launcher.
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
  local facts = Facts('', getenv, parent)  -- for variables that are read before the launcher is known
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

-- Returns a line for each field that the launcher's variables state.
local function lines_of(found)
  local lines = {('%s: %s'):format(found.engine, found.rule)}
  for _, field in ipairs(found.engine == 'local' and {} or Facts.FIELDS) do
    local value = found[field]
    if value ~= nil then lines[#lines + 1] = ('%-17s  %-10s  (%s)'):format(field, text_of(value), found.origins[field]) end
  end
  for _, warning in ipairs(found.warnings) do lines[#lines + 1] = 'warning: ' .. warning end
  return lines
end

---Returns the allocation of the launcher on several nodes, and the value for RTRAIN_TASK.
---@param launcher? string --launcher
---@return JobSpec? job nil if the job has a single node
---@return string? mark nil without a launcher
function launch.job(launcher)
  local found = launch.find(os.getenv, {launcher = launcher})
  return job_spec.of(found), found.engine ~= 'local' and mark_of(select(2, parent_of_this()), found) or nil
end

---Returns whether the launcher no longer knows a job.
---@param launcher string its name
---@param job string
---@return boolean? gone nil if it does not answer, and for a launcher that cannot tell
function launch.is_gone(launcher, job)
  for _, each in ipairs(LAUNCHERS) do
    if each.name == launcher and each.is_gone then return each.is_gone(job) end
  end
end

---Returns the command that starts the job of this process again; nil if another process must run it, not node 0's.
---@param launcher? string --launcher
---@return string? command for a shell
function launch.requeue_command(launcher)
  local found = launch.find(os.getenv, {launcher = launcher})
  if (found.rank or 0) == 0 and (found.node_rank or 0) == 0 then return found.requeue_command end
end

---Returns the allocation of this process for `rtrain env`.
---@param launcher? string --launcher
---@return table map engine, rule, the known fields, origins, warnings; {error = text} for inconsistent variables
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

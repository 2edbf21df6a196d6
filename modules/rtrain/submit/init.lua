-- rtrain/submit/init.lua: `rtrain submit`: writes a job script for a launcher and submits it.
--
-- A launcher's `render(spec)` returns the text, its `submit(spec, text)` runs the launcher's own program. Both get a
-- Spec.

local errors = require 'base.errors'
local launch = require 'rtrain.launch'
local ordered = require 'base.ordered'
local run_name = require 'rtrain.launch.run_name'
local shell = require 'rtrain.launch.submit.shell'
local site = require 'rtrain.launch.site'
local sweep = require 'rtrain.submit.sweep'
local system = require 'base._system'

local submit = {}

local LAUNCHERS = {slurm = 'slurm', k8s = 'kubernetes', mpi = 'openmpi', ray = 'ray'}
local NAMES = {'slurm', 'k8s', 'mpi', 'ray', 'ssh'}

---The description of a job. Options that were not given are nil.
---@class SubmitSpec
---@field script string path of the training script
---@field command string the command of each node, for a shell: 'rtrain run train.lua --storage /data'
---@field words string[] the same command as a list of words
---@field args string[] the script's own arguments
---@field program string the command of rtrain on the nodes
---@field nodes integer
---@field ntasks_per_node integer
---@field gpus_per_node? integer
---@field cpus_per_task? integer
---@field time? string time limit in Slurm's format
---@field name? string the run's name
---@field job_name string the run's name, else the script's
---@field storage? string
---@field option string[] further options of the launcher's program
---@field partition? string
---@field image? string
---@field namespace? string
---@field claim? string
---@field credentials? string
---@field jobset? boolean
---@field wait? boolean
---@field hosts? string
---@field hostfile? string
---@field with? string[]
---@field bundle? string
---@field placement_strategy? string
---@field address? string
---@field python? string
---@field sweep? SubmitSweep
---@field record fun(run: string, job: string, words: string[]?) called when the job is queued: `rtrain ls` shows its
---  run as QUEUED; words: the run's command, if it differs from the spec's

local function launcher_of(name)
  if name == 'ssh' then return require 'rtrain.nodes.submit' end
  if site.is_file(name) then
    local launcher = site.load(name)
    for _, method in ipairs {'render', 'submit'} do
      if launcher[method] == nil then errors.raise('config', ('launcher %s: it has no %s'):format(name, method)) end
    end
    return launcher
  end
  if LAUNCHERS[name] == nil then
    errors.raise('usage', ("submit: unknown launcher '%s'%s; a site's own is a file: FILE.lua"):format(name,
      errors.suggestion(name, NAMES)))
  end
  return launch.launcher(LAUNCHERS[name])
end

-- Raises an error for an option without effect. A site's launcher without `submit_options` accepts all.
local function check_options(launcher, request)
  if launcher.submit_options == nil then return end
  local known = {}
  for _, name in ipairs(launcher.submit_options) do known[name] = true end
  for _, name in ipairs(ordered.keys_of(request.options)) do
    if not known[name] then
      errors.raise('usage', ('submit %s: --%s has no effect there'):format(request.engine, (name:gsub('_', '-'))))
    end
  end
end

local function add(words, ...)
  for i = 1, select('#', ...) do words[#words + 1] = tostring((select(i, ...))) end
end

-- Returns the command of every process, without the script's arguments. Each trial has its own name.
local function options_of(request, trials)
  local options = request.options
  local words = {request.program, 'run', request.file}
  if options.name and not trials then add(words, '--name', options.name) end
  if options.storage then add(words, '--storage', options.storage) end
  if options.num_workers then add(words, '-n', options.num_workers) end
  for _, setting in ipairs(options.set or {}) do add(words, '--set', setting) end
  if trials then add(words, '--tag', trials.tag) end
  return words
end

local function arguments_of(request)
  local words = {}
  if #request.args > 0 then add(words, '--', unpack(request.args)) end
  return words
end

local function joined(...)
  local words = {}
  for _, list in ipairs {...} do add(words, unpack(list)) end
  return words
end

-- Returns the storage of $RTRAIN_STORAGE on this node. Launchers that do not pass the environment on have
-- `needs_storage`: 'any', or 'uri' if the nodes have other folders.
local function storage_of(launcher)
  local own = os.getenv 'RTRAIN_STORAGE'
  if launcher.needs_storage == nil or own == nil or own == '' then return nil end
  if system.is_object_uri(own) then return own end
  return launcher.needs_storage == 'any' and system.absolute(own) or nil
end

local function spec_of(request, launcher)
  local spec = {}
  request.options.storage = request.options.storage or storage_of(launcher)
  for name, value in next, request.options do spec[name] = value end
  spec.script, spec.program, spec.args = request.file, request.program, request.args
  spec.nodes = spec.nodes or 1
  spec.ntasks_per_node = spec.ntasks_per_node or 1
  spec.option = spec.option or {}
  spec.sweep = sweep.of(request)
  spec.job_name = spec.sweep and spec.sweep.name or spec.name or run_name.base(request.file)
  local options, arguments = options_of(request, spec.sweep), arguments_of(request)
  spec.words = joined(options, arguments)
  spec.command = shell.command(spec.words)
  if not spec.sweep then return spec end
  spec.command = sweep.command(shell.command(options), shell.command(arguments))
  for _, trial in ipairs(spec.sweep.trials) do trial.words = joined(options, trial.settings, arguments) end
  return spec
end

-- Records the queued run. A store that cannot be written must not undo the submission.
local function record_of(launcher, spec)
  return function(run, job, words)
    local host = require 'rtrain._host'
    local ok, added = xpcall(host.add_queued_run, errors.wrap, host.storage_folder(spec.storage), {
      name = run, script = spec.script, command = words or spec.words, num_workers = spec.num_workers, launcher = launcher.name,
      job = job,
    })
    if not ok then
      io.stderr:write(('rtrain: `rtrain ls` will not show the run as QUEUED: %s\n'):format(added.message))
    elseif not added then
      io.stderr:write(("rtrain: there is a run '%s' already: the job ends with an error, unless its script goes on with "
        .. "that one (RunConfig.resume)\n"):format(run))
    end
  end
end

-- Raises an error for a value with a line break, which would add a line to the script.
local function check_lines(name, value)
  if type(value) == 'table' then
    for _, item in ipairs(value) do check_lines(name, item) end
  elseif type(value) == 'string' and value:find '%c' then
    errors.raise('usage', ('--%s: its value has a control character'):format((name:gsub('_', '-'))))
  end
end

local function check(launcher, request)
  check_options(launcher, request)
  for _, name in ipairs(ordered.keys_of(request.options)) do check_lines(name, request.options[name]) end
  local name = request.options.name
  local problem = name and system.run_name_problem(name)
  if problem then errors.raise('config', ("--name %s: it cannot be a run's name: %s"):format(name, problem)) end
  if not launcher.has_own_files and system.path_kind(request.file) ~= 'file' then
    errors.raise('usage', ('cannot read %s: there is no such file'):format(request.file))
  end
end

---Runs the command.
---@param request {engine: string, file: string, args: string[], program: string, dry_run: boolean, options: table}
---@return string[]|integer? ending the program that replaces this process, if the job runs in the foreground; or the
---  exit code of a job that was waited for
---Errors: 'usage', 'config' for wrong options, 'environment' if the launcher's program is missing or refuses the job.
function submit.run(request)
  local launcher = launcher_of(request.engine)
  check(launcher, request)
  local spec = spec_of(request, launcher)
  spec.record = record_of(launcher, spec)
  local text = launcher.render(spec)
  if request.dry_run then
    io.write(text)
    return nil
  end
  return launcher.submit(spec, text)
end

return submit

-- rtrain/launch.lua: fit(): what the controller is told, and the loop over what it tells back.
--
-- The flags of `rtrain run` override the script; they are in package.loaded['rtrain._flags'], absent under `rtrain exec`.

local closure = require 'rtrain._closure'
local datasets = require 'rtrain.datasets'
local Display = require 'rtrain.display'
local errors = require 'rtrain.errors'
local system = require 'rtrain._system'
local Git = require 'rtrain.git'
local History = require 'rtrain.history'
local overrides = require 'rtrain.overrides'
local Result = require 'rtrain.result'
local run_name = require 'rtrain.run_name'
local ScriptCalls = require 'rtrain.script_calls'
local session = require 'rtrain.session'

local launch = {}

local TICK_S = 0.2

local function flags_of_command() return package.loaded['rtrain._flags'] or {set = {}, tags = {}} end

local function script_path(flags)
  local arg = rawget(_G, 'arg')
  return flags.script or (arg and arg[0]) or 'script'
end

-- Flag, then the script, then the environment, then the home folder.
local function storage_path(flags, run_config)
  local path = flags.storage or run_config.storage_path
  return path and system.absolute(path) or require('rtrain._host').storage_default()
end

-- The command that shows the run from a shell whose environment is this one's.
local function show_command(spec)
  local command = 'rtrain show ' .. spec.name
  if spec.storage_path == require('rtrain._host').storage_default() then return command end
  local path = spec.storage_path
  if path:find('[^%w/._~+-]') then path = "'" .. path:gsub("'", "'\\''") .. "'" end
  return command .. ' --storage ' .. path
end

local function dump_functions(trainer, config)
  return closure.dump {
    train_loop_per_worker = trainer.train_loop_per_worker,
    train_loop_config = config,
    kind = trainer._kind,
    datasets = datasets.for_workers(trainer.datasets, trainer.dataset_config),
  }
end

local function make_spec(trainer, flags)
  local run_config, scaling = trainer.run_config, trainer.scaling_config
  if flags.num_workers then scaling = scaling:with {num_workers = flags.num_workers} end
  local failures = run_config.failure_config
  if flags.max_failures then failures = failures:with {max_failures = flags.max_failures} end
  if flags.name then run_config = run_config:with {name = flags.name} end
  local config = overrides.apply(trainer.train_loop_config, flags.set)
  local script = script_path(flags)
  local git = Git.start(script)
  local functions, warning = dump_functions(trainer, config)
  local commit, dirty = git:finish()
  local resources = scaling.resources_per_worker
  return {
    name = run_config.name or run_name.make(script),
    storage_path = storage_path(flags, run_config),
    script = script,
    command = flags.command or {script},
    tags = flags.tags,
    note = flags.note or '',
    num_workers = scaling.num_workers,
    threads = resources and resources.CPU or 0,
    functions = functions,
    config = config or {},
    scaling = scaling:to_table(),
    checkpoint_config = run_config.checkpoint_config:to_table(),
    max_failures = failures.max_failures,
    backend = trainer.torch_config.backend or 'gloo',
    timeout_s = trainer.torch_config.timeout_s,
    git_commit = commit,
    git_dirty = dirty,
  }, warning
end

-- Takes the controller's events until the run has ended.
local function watch(run, calls, display, history)
  while true do
    local event = run:next_event(TICK_S)
    if event == nil then
      display:tick()
    elseif event.type == 'call' then
      calls:answer(run, event)
    else
      history:add(event)
      display:show(event)
      if event.type == 'finished' then return event end
    end
  end
end

---Trains and returns the Result, also of a run that failed. Raises when the run cannot begin.
---@param trainer DataParallelTrainer
---@return Result
function launch.fit(trainer)
  if session.peek() then
    errors.raise('user', 'fit() inside a train function: a worker cannot start a run')
  end
  local flags = flags_of_command()
  flags.fitted = true
  local spec, warning = make_spec(trainer, flags)
  local display = Display(spec, {
    quiet = flags.quiet,
    terminal = flags.terminal,
    columns = flags.columns,
    show_command = show_command(spec),
    score = trainer.run_config.checkpoint_config,
  })
  if warning then display:notice(warning) end
  local history = History()
  local run = require('rtrain._controller').start(spec)
  local ok, finished = xpcall(watch, errors.wrap, run, ScriptCalls(), display, history)
  run:close()
  if not ok then
    display:clear()
    error(finished, 0)
  end
  return Result.from_event(finished, history:rows(), spec.config)
end

return launch

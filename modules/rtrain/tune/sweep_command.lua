-- rtrain/tune/sweep_command.lua: `rtrain sweep`: runs a training script with many configurations. Each trial is `rtrain
-- run SCRIPT --set KEY=VALUE …`.

local errors = require 'base.errors'
local Experiment = require 'rtrain.tune.experiment'
local FIFOScheduler = require 'rtrain.tune.schedulers.scheduler'
local Objective = require 'rtrain.tune.objective'
local record = require 'base.record'
local RunConfig = require 'rtrain.config.run'
local RunOptions = require 'rtrain.tune.run_options'
local space = require 'rtrain.tune.space'
local SweepDisplay = require 'rtrain.tune.display'
local SweepLines = require 'rtrain.tune.json_lines'
local system = require 'base._system'
local TPESampler = require 'rtrain.tune.search.tpe'
local TrialRunner = require 'rtrain.tune.trial_runner'
local Variants = require 'rtrain.tune.variants'
local written = require 'rtrain.tune.written'

local STDOUT = 1

local sweep_command = {}

---The options of `rtrain sweep`; the fields are those of host/cli/train/sweep.cpp.
---@class SweepRequest
---@field script string
---@field command string[] as typed
---@field args string[] arguments of the script
---@field grid string[] 'KEY=A,B,…'
---@field space string[] 'KEY=SPACE'
---@field set string[] 'KEY=VALUE'
---@field tags string[]
---@field random? integer trials that draw all parameters
---@field jobs? integer trials at a time
---@field seed? integer
---@field num_workers? integer of each trial
---@field max_failures? integer
---@field metric? string
---@field mode? string 'min' or 'max'
---@field scheduler? string
---@field search? string 'random' or 'tpe'
---@field name? string name of the sweep
---@field storage? string folder
---@field note? string
---@field resume? string 'never', 'auto' or 'must'
---@field gpus? string 'all' or a number
---@field oversubscribe boolean
---@field quiet boolean
---@field json boolean
---@field terminal boolean whether stderr is a terminal

local NAMES = {
  'script', 'command', 'args', 'grid', 'space', 'set', 'tags', 'random', 'jobs', 'seed', 'num_workers', 'max_failures',
  'metric', 'mode', 'scheduler', 'search', 'name', 'storage', 'note', 'resume', 'gpus', 'oversubscribe', 'quiet', 'json',
  'terminal',
}

local function searcher_of(request, tree, objective)
  local options = {
    num_samples = request.random or 1, seed = request.seed or 0, metric = objective.metric, mode = objective.mode,
  }
  if request.search ~= 'tpe' then return Variants(tree, options) end
  if request.random == nil then errors.raise('usage', '--search tpe needs --random N: the number of trials') end
  local searcher = TPESampler()
  searcher:set_search_properties(tree, options)
  return searcher
end

-- Schedulers and samplers must know which values are good.
local function check_objective(request, objective)
  local option = request.scheduler and '--scheduler' or request.search == 'tpe' and '--search tpe'
  if not option or (objective.metric and objective.mode) then return end
  errors.raise('usage', option .. ' needs --metric NAME and --mode min|max')
end

local function scheduler_of(request, objective)
  local scheduler = request.scheduler and written.scheduler(request.scheduler) or FIFOScheduler()
  scheduler:set_search_properties(objective.metric, objective.mode, request.seed or 0)
  return scheduler
end

-- Returns a text that is the same for the same search.
local function identity_of(request, tree, scheduler)
  local parts = {}
  for _, leaf in ipairs(space.leaves(tree)) do parts[#parts + 1] = ('%s=%s'):format(leaf.name, tostring(leaf.domain)) end
  parts[#parts + 1] = ('random=%s search=%s seed=%d'):format(tostring(request.random), request.search or 'random',
    request.seed or 0)
  for _, setting in ipairs(request.set) do parts[#parts + 1] = '--set ' .. setting end
  if scheduler.decides then parts[#parts + 1] = scheduler:_identity() end
  return table.concat(parts, ' ')
end

local function command_of(options, request)
  return function(trial, experiment)
    local rest = written.settings(trial.config)
    if #request.args > 0 then rest[#rest + 1] = '--' end
    for _, arg in ipairs(request.args) do rest[#rest + 1] = arg end
    return options:command(request.script, trial, experiment, rest)
  end
end

local function display_of(request, options, objective)
  if request.json then return SweepLines {objective = objective, fd = STDOUT} end
  return SweepDisplay {objective = objective, quiet = options.quiet, terminal = options.terminal, out = io.stdout}
end

local function exit_code(experiment)
  for _, trial in ipairs(experiment.trials) do
    if trial.error then return 1 end
  end
  return 0
end

---Executes the command.
---@param request SweepRequest
---@return integer exit code
---Raises code 'usage' or 'config' for a wrong option, or for a parameter that the script does not have; 'interrupted'
---or 'preempted' after a signal.
function sweep_command.run(request)
  record.of('SweepRequest', NAMES, request)
  local options, none = RunOptions(request), RunConfig {}
  local objective, tree = Objective(request.metric, request.mode), written.param_space(request)
  check_objective(request, objective)
  local searcher, scheduler = searcher_of(request, tree, objective), scheduler_of(request, objective)
  local cores = math.max(1, math.floor(system.cores() / math.max(1, request.num_workers or 1)))
  local experiment = Experiment {
    name = options:name_of(none), storage = options:storage_of(none), space = tree, searcher = searcher,
    scheduler = scheduler, identity = identity_of(request, tree, scheduler), objective = objective,
    display = display_of(request, options, objective),
  }
  experiment:open(options:resume_of(none))
  TrialRunner(experiment, {
    max_concurrent = request.jobs or math.min(cores, searcher.count), command = command_of(options, request),
    is_of_a_script = true, metric = objective.metric, resume_command = options:resume_command(experiment.name),
  }):run()
  return exit_code(experiment)
end

return sweep_command

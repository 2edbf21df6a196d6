-- rtrain/tune/tuner.lua: Tuner: trains with many configurations, each an ordinary run of the store.

local args = require 'base.args'
local child = require 'rtrain.tune.child'
local class = require 'base.class'
local errors = require 'base.errors'
local Experiment = require 'rtrain.tune.experiment'
local failure = require 'rtrain.results.failure'
local FIFOScheduler = require 'rtrain.tune.schedulers.scheduler'
local link = require 'rtrain.trial'
local Objective = require 'rtrain.tune.objective'
local ordered = require 'base.ordered'
local Result = require 'rtrain.results.result'
local ResultGrid = require 'rtrain.tune.result_grid'
local RunConfig = require 'rtrain.config.run'
local RunOptions = require 'rtrain.tune.run_options'
local schema = require 'rtrain.config.schema'
local space = require 'rtrain.tune.space'
local SweepDisplay = require 'rtrain.tune.display'
local system = require 'base._system'
local trainers = require 'rtrain.trainers.trainer'
local TuneConfig = require 'rtrain.tune.config'
local TrialRunner = require 'rtrain.tune.trial_runner'
local Variants = require 'rtrain.tune.variants'

local FIELDS = {'trainer', 'trainable', 'param_space', 'tune_config', 'run_config'}

-- The parts of a param_space; without them it has the fields of train_loop_config itself.
local PARTS = {train_loop_config = true, scaling_config = true}

---@class TunerOptions
---@field trainer? DataParallelTrainer|(fun(config: table): any) the trainer of each trial; a function alone has one
---  worker, and a table that it returns is its report. `trainable` is another name for it
---@field param_space? table values and domains: `{train_loop_config = {lr = train.tune.loguniform(1e-4, 1e-1)}}`,
---  merged with the trainer's. Without train_loop_config and scaling_config it has the fields of train_loop_config
---@field tune_config? TuneConfig the number of trials and the objective
---@field run_config? RunConfig name, storage and resume of the sweep; its other fields apply to each trial, in place of
---  the trainer's

---Trains with many configurations and returns a ResultGrid. Each trial is an ordinary run in a separate process, with
---the name `<name>-<number>` and the tag `sweep:<name>`; trials wait for cores and GPUs like other runs. The sweep ends
---with its process, also if that is killed, and continues with the same name and `resume = 'auto'`. Ray equivalent:
---ray.tune.Tuner.
---
---```lua
---local train = require 'rtrain'
---local tuner = train.Tuner {
---  trainer = train.TorchTrainer {
---    train_loop_per_worker = function(config)
---      for step = 1, config.steps do train.report {loss = (config.lr - 0.3) ^ 2 / step} end
---    end,
---    train_loop_config = {steps = 2},
---  },
---  param_space = {train_loop_config = {lr = train.tune.grid_search {0.1, 0.2}}},
---  tune_config = train.tune.TuneConfig {metric = 'loss', mode = 'min'},
---}
---local best = tuner:fit():get_best_result()
---assert(best.config.lr == 0.2 and best.config.steps == 2)
---```
---@class Tuner
---@overload fun(trainer: TunerOptions|DataParallelTrainer, options?: TunerOptions): Tuner
local Tuner = class('Tuner')

local function as_options(first, options)
  if class.of(first) == nil and type(first) == 'table' then return first end
  local given = {trainer = first}
  for name, value in next, options or {} do given[name] = value end
  return given
end

-- A function may return its metrics instead of reporting them.
local function reporting(fn)
  return function(config)
    local returned = fn(config)
    if type(returned) == 'table' then require('rtrain.functions.report').report(returned) end
    return returned
  end
end

local function as_trainer(value)
  if class.is(value, trainers.DataParallelTrainer) then return value end
  if type(value) == 'function' then return trainers.TorchTrainer {train_loop_per_worker = reporting(value)} end
  errors.raise('config', ('Tuner: the trainer is %s, expected a TorchTrainer or a function'):format(schema.show(value)))
end

-- Raises an error for a misspelt part, which would become a field of train_loop_config that no train function reads.
local function check_part_names(given)
  for _, name in ipairs(ordered.names_of(given)) do
    local suggestion = errors.suggestion(name, {'train_loop_config', 'scaling_config'})
    if type(given[name]) == 'table' and class.of(given[name]) == nil and suggestion:find 'did you mean' then
      errors.raise('config', ('Tuner: param_space.%s: there is no such part%s'):format(name, suggestion))
    end
  end
end

-- Returns the param_space with the names of the parts.
local function whole_space(given)
  if given == nil then return {train_loop_config = {}} end
  if type(given) ~= 'table' then
    errors.raise('config', ('Tuner: param_space is %s, expected a table'):format(schema.show(given)))
  end
  if given.train_loop_config == nil and given.scaling_config == nil then
    check_part_names(given)
    return {train_loop_config = given}
  end
  for name in next, given do
    if not PARTS[name] then
      errors.raise('config', ("Tuner: param_space.%s: next to train_loop_config only scaling_config may be there%s"):format(
        tostring(name), errors.suggestion(tostring(name), {'train_loop_config', 'scaling_config'})))
    end
  end
  return given
end

---Called as `Tuner {trainer = …, …}` or `Tuner(trainer, {…})`.
---@param trainer TunerOptions|DataParallelTrainer|(fun(config: table): any)
---@param options? TunerOptions
---Raises code 'config' for an unknown field or a wrong value.
function Tuner:init(trainer, options)
  local given = args.options(as_options(trainer, options), FIELDS, 'Tuner', 'config')
  self.trainer = as_trainer(given.trainer or given.trainable)
  self.param_space = whole_space(given.param_space)
  self.tune_config = schema.coerce(given.tune_config, TuneConfig, 'tune_config')
  self.run_config = given.run_config and schema.coerce(given.run_config, RunConfig, 'run_config') or self.trainer.run_config
end

-- The sweep's run_config takes precedence over the trainer's; the name is that of the sweep.
local function trial_trainer(self)
  local changes = {}
  for _, field in ipairs(RunConfig._fields) do
    local name = field[1]
    if self.run_config:_was_given(name) then changes[name] = self.run_config[name] end
  end
  changes.name, changes.storage_path, changes.resume = nil, nil, nil
  local copy = setmetatable({}, getmetatable(self.trainer))
  for name, value in next, self.trainer do copy[name] = value end
  copy.run_config = self.trainer.run_config:with(changes)
  return copy
end

-- Returns the number of trials for which this node has cores, or GPUs.
local function default_concurrency(trainer, count)
  local scaling = trainer.scaling_config
  local each = math.max(1, scaling:min_workers()) * (scaling.resources_per_worker and scaling.resources_per_worker.CPU or 1)
  local most = system.cores() / each
  local gpus = scaling:num_gpus_per_worker()
  if gpus > 0 then most = math.min(most, (system.cuda()) / (gpus * math.max(1, scaling:min_workers()))) end
  return math.min(math.max(1, math.floor(most)), math.max(1, count))
end

local function objective_of(self)
  local config, score = self.tune_config, self.run_config.checkpoint_config
  if config.metric or config.mode then return Objective(config.metric, config.mode) end
  return Objective(score.checkpoint_score_attribute, score.checkpoint_score_attribute and score.checkpoint_score_order)
end

-- Returns a text that is the same for the same search: a sweep that continues must have the same text.
local function identity_of(self, searcher, scheduler)
  local texts = {}
  for i, leaf in ipairs(space.leaves(self.param_space)) do texts[i] = ('%s=%s'):format(leaf.name, tostring(leaf.domain)) end
  local config = self.tune_config
  local out = ('%s num_samples=%d seed=%d'):format(table.concat(texts, ' '), config.num_samples, config.seed)
  if config.search_alg then out = ('%s %s'):format(out, searcher:_identity()) end
  return scheduler.decides and ('%s %s'):format(out, scheduler:_identity()) or out
end

local function check_needs(scheduler)
  if not scheduler.decides or (scheduler.metric and scheduler.mode) then return end
  errors.raise('config', ('TuneConfig: the %s needs a metric and a mode'):format(class.of(scheduler).__name))
end

-- Returns grids and random draws, or the search algorithm of the TuneConfig.
local function searcher_of(self, objective)
  local config = self.tune_config
  local options = {num_samples = config.num_samples, seed = config.seed, metric = objective.metric, mode = objective.mode}
  local searcher = config.search_alg
  if searcher == nil then return Variants(self.param_space, options) end
  if objective.metric == nil or objective.mode == nil then
    errors.raise('config', ('TuneConfig: the %s needs a metric and a mode'):format(class.of(searcher).__name))
  end
  searcher:set_search_properties(self.param_space, options)
  return searcher
end

local function results_of(experiment)
  local out = {}
  for i, trial in ipairs(experiment.trials) do
    local path = ('%s/%s'):format(experiment.storage, trial.name)
    local ok, result = pcall(Result.from_path, path)
    if not ok then result = Result {path = path, best_checkpoints = {}} end
    if trial.error and not result.error then result.error = failure.make {code = 'user', message = trial.error} end
    result.config = space.joined(experiment.base_config, trial.config.train_loop_config or {})
    out[i] = result
  end
  return out
end

---Trains all trials; a sweep that continues trains those that an earlier process has not finished. A failed trial
---raises no error: see `errors` of the grid.
---@return ResultGrid
---Raises code 'config' for a name that is already used, 'environment' for storage that cannot be written.
function Tuner:fit()
  link.check_outside()
  local options = RunOptions.of_command()
  local objective, config = objective_of(self), self.tune_config
  local scheduler = config.scheduler or FIFOScheduler()
  scheduler:set_search_properties(objective.metric, objective.mode, config.seed)
  check_needs(scheduler)
  local searcher = searcher_of(self, objective)
  local display = SweepDisplay {objective = objective, quiet = options.quiet, terminal = options.terminal}
  local experiment = Experiment {
    name = options:name_of(self.run_config), storage = options:storage_of(self.run_config), space = self.param_space,
    searcher = searcher, scheduler = scheduler, display = display, identity = identity_of(self, searcher, scheduler),
    objective = objective,
  }
  experiment.base_config = self.trainer.train_loop_config
  experiment:open(options:resume_of(self.run_config))
  local warning = child.write(experiment.folder, {trainer = trial_trainer(self), script = options.script})
  if warning then display:notice(warning) end
  TrialRunner(experiment, {
    metric = objective.metric,
    resume_command = options:resume_command(experiment.name),
    max_concurrent = config.max_concurrent_trials or default_concurrency(self.trainer, searcher.count),
    command = function(trial)
      local script, rest = child.command(experiment.folder)
      return options:command(script, trial, experiment, rest)
    end,
  }):run()
  return ResultGrid(results_of(experiment), {path = experiment.folder, objective = objective})
end

return {Tuner = Tuner}

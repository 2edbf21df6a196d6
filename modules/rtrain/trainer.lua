-- rtrain/trainer.lua: the trainers: a train function and how to run it.
--
-- Everything is checked when the trainer is made, at the user's line; fit() starts the run.

local args = require 'base.args'
local class = require 'base.class'
local DataConfig = require 'rtrain.config.data'
local datasets = require 'rtrain.run.datasets'
local errors = require 'base.errors'
local index_of = require 'base.index_of'
local ordered = require 'base.ordered'
local RunConfig = require 'rtrain.config.run'
local ScalingConfig = require 'rtrain.config.scaling'
local schema = require 'rtrain.config.schema'
local TorchConfig = require 'rtrain.config.torch'
local ValidationConfig = require('rtrain.config.validation').ValidationConfig

local FIELDS = {'train_loop_per_worker', 'train_loop_config', 'scaling_config', 'run_config', 'datasets',
                'dataset_config', 'validation_config'}

local ABSENT = {
  backend_config = "the workers of a DataParallelTrainer have no backend",
}

local REMOVED = {
  resume_from_checkpoint = 'pass the path in train_loop_config',
  metadata = 'pass it in train_loop_config',
}

---@class TrainerOptions
---@field train_loop_per_worker? fun(config?: table): any what every worker runs; rank 0's result is
---  `result.return_value`
---@field train_loop_config? table plain data that the function is called with
---@field scaling_config? ScalingConfig how many workers
---@field run_config? RunConfig name, folder, checkpoints, failures
---@field torch_config? TorchConfig of TorchTrainer: backend and time-out
---@field datasets? table<string, any> name → rtrain.data.Dataset, or a function that makes one, called in each worker at each
---  start of the group: what train.get_dataset_shard gives
---@field validation_config? ValidationConfig what report's `validation` does, in processes of its own
---@field dataset_config? DataConfig which of them are split over the workers

---Runs a function on several worker processes. Ray equivalent: ray.train.DataParallelTrainer.
---
---```lua
---local train = require 'rtrain'
---local result = train.DataParallelTrainer({
---  train_loop_per_worker = function() train.report {rank = train.get_context():get_world_rank()} end,
---  scaling_config = train.ScalingConfig {num_workers = 3},
---}):fit()
---assert(result.metrics.rank == 0)  -- `rtrain metrics RUN --ranks` shows the others'
---```
---@class DataParallelTrainer
---@overload fun(f: TrainerOptions|(fun(config?: table): any), options?: TrainerOptions): DataParallelTrainer
local DataParallelTrainer = class('DataParallelTrainer')
DataParallelTrainer._kind = 'plain'
DataParallelTrainer._fields = FIELDS

-- 'train.lua:12', where the function begins.
local function place(f)
  local info = debug.getinfo(f, 'S')
  return ('%s:%d'):format(info.short_src, info.linedefined)
end

local function check_function(name, f)
  if type(f) ~= 'function' then
    errors.raise('config', ('%s: train_loop_per_worker is %s, expected a function'):format(name, schema.show(f)))
  end
  local info = debug.getinfo(f, 'uS')
  if info.what ~= 'C' and info.nparams > 1 then
    errors.raise('config', ('%s: train_loop_per_worker takes no parameter or one (the config), the one at %s takes %d')
      :format(name, place(f), info.nparams))
  end
end

local function check_plain(value, path, seen)
  local kind = type(value)
  if kind == 'nil' or kind == 'boolean' or kind == 'number' or kind == 'string' then return end
  if kind == 'cdata' and tostring(value):find('^%-?%d+U?LL$') then return end
  if kind ~= 'table' then
    errors.raise('config', ('%s is a %s; the config is plain data, and what a function needs besides travels as its upvalue')
      :format(path, kind))
  end
  if seen[value] then errors.raise('config', ('%s contains itself'):format(path)) end
  seen[value] = true
  for key, item in next, value do
    check_plain(item, type(key) == 'number' and ('%s[%s]'):format(path, key) or ('%s.%s'):format(path, tostring(key)), seen)
  end
  seen[value] = nil
end

-- Where a field of a config belongs that was given to the trainer itself.
local function check_misplaced(self, name)
  for _, config in ipairs {{'scaling_config', ScalingConfig}, {'run_config', RunConfig}} do
    for _, field in ipairs(config[2]._fields) do
      if field[1] == name then
        errors.raise('config', ('%s: %s belongs to %s: %s = train.%s {%s = …}'):format(self.__name, name, config[2].__name,
          config[1], config[2].__name, name))
      end
    end
  end
end

-- A config in the place of the options: `TorchTrainer(f, train.ScalingConfig {…})`.
local function check_options(self, options, position)
  local of = class.of(options)
  if of == nil and (options == nil or type(options) == 'table') then return end
  local field = of == ScalingConfig and 'scaling_config' or of == RunConfig and 'run_config' or of == TorchConfig
    and 'torch_config' or of == DataConfig and 'dataset_config'
  errors.raise('config', ('%s: the %s, got %s%s'):format(self.__name, position,
    of and 'a ' .. of.__name or type(options), field and (': write {%s = …}'):format(field) or ''))
end

-- Raises for unknown and misplaced names.
function DataParallelTrainer:_check_fields(given, names)
  for name in next, given do
    check_misplaced(self, name)
    if REMOVED[name] then
      errors.raise('config', ('%s: %s is not there any more: %s'):format(self.__name, name, REMOVED[name]))
    end
    if ABSENT[name] and not index_of(names, name) then
      errors.raise('unsupported', ('%s: %s is not in this version: %s'):format(self.__name, name, ABSENT[name]))
    end
  end
  args.options(given, names, self.__name, 'config')
end

---`TorchTrainer{train_loop_per_worker = f, …}` or `TorchTrainer(f, {…})`.
---@param f TrainerOptions|(fun(config?: table): any) the function, or one table with everything
---@param options? TrainerOptions
---Raises code 'config' for an unknown or wrong field, 'unsupported' for one that this version does not have.
function DataParallelTrainer:init(f, options)
  local given = options or {}
  if type(f) == 'table' then
    check_options(self, f, 'first argument is the train function, or a table of options')
    given = f
  elseif f ~= nil then
    check_options(self, options, 'second argument is a table of options')
    given = {train_loop_per_worker = f}
    for name, value in next, options or {} do given[name] = value end
  end
  self:_check_fields(given, self._fields)
  check_function(self.__name, given.train_loop_per_worker)
  check_plain(given.train_loop_config, 'train_loop_config', {})
  self.train_loop_per_worker = given.train_loop_per_worker
  self.train_loop_config = given.train_loop_config
  self.scaling_config = schema.coerce(given.scaling_config, ScalingConfig, 'scaling_config')
  self.run_config = schema.coerce(given.run_config, RunConfig, 'run_config')
  self.dataset_config = schema.coerce(given.dataset_config, DataConfig, 'dataset_config')
  self.datasets = datasets.check(self.__name, given.datasets, self.dataset_config)
  self.validation_config = given.validation_config
    and schema.coerce(given.validation_config, ValidationConfig, 'validation_config')
  self.torch_config = schema.coerce(given.torch_config, TorchConfig, 'torch_config')
end

---Runs the train function on all workers until it returns, with the retries of the failure config.
---@param options? {raise: boolean} raise = false gives a failed run's Result instead of raising its error
---@return Result
---
---```lua
---local train = require 'rtrain'
---local trainer = train.TorchTrainer {train_loop_per_worker = function() error('no data') end}
---local result = trainer:fit {raise = false}
---assert(result.error.code == 'user' and tostring(result.error):find 'no data')
---local ok, err = pcall(trainer.fit, trainer)  -- :fit() raises
---assert(not ok and err.ranks[0].message:find 'no data')
---```
---Raises the run's error: code 'user' when the train function raised, 'worker_lost' when a worker died, 'config' for a name
---that is taken, 'environment' for storage that cannot be written; `ranks` maps a rank to its error.
function DataParallelTrainer:fit(options)
  options = args.options(options, {'raise'}, 'fit')
  local result = require('rtrain.run.launch').fit(self)
  if result.error and options.raise ~= false then error(result.error, 0) end
  return result
end

---The configs as plain data, for the run's record.
---@return table map
function DataParallelTrainer:to_table()
  return ordered.new {
    {'scaling_config', self.scaling_config:to_table()},
    {'run_config', self.run_config:to_table()},
    {'torch_config', self.torch_config:to_table()},
    {'dataset_config', self.dataset_config:to_table()},
  }
end

---A trainer whose workers form a process group; `trainer:fit()` trains and returns a train.Result. Ray equivalent:
---ray.train.torch.TorchTrainer.
---
---```lua
---local train = require 'rtrain'
---local trainer = train.TorchTrainer {
---  train_loop_per_worker = function(config) train.report {loss = config.lr} end,
---  train_loop_config = {lr = 0.1},
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}
---local result = trainer:fit()
---assert(result.metrics.loss == 0.1 and result.error == nil)
---```
---@class TorchTrainer: DataParallelTrainer
---@overload fun(f: TrainerOptions|(fun(config?: table): any), options?: TrainerOptions): TorchTrainer
local TorchTrainer = DataParallelTrainer:extend('TorchTrainer')
TorchTrainer._kind = 'torch'
TorchTrainer._fields = {'train_loop_per_worker', 'train_loop_config', 'scaling_config', 'run_config', 'datasets',
                        'dataset_config', 'validation_config', 'torch_config'}

return {DataParallelTrainer = DataParallelTrainer, TorchTrainer = TorchTrainer}

-- rtrain/trainers/trainer.lua: the trainers that run a train function on each worker.

local Backend = require 'rtrain.backends.backend'
local BackendConfig = require 'rtrain.config.backend'
local BaseTrainer = require 'rtrain.trainers.base_trainer'
local class = require 'base.class'
local DataConfig = require 'rtrain.config.data'
local errors = require 'base.errors'
local RunConfig = require 'rtrain.config.run'
local ScalingConfig = require 'rtrain.config.scaling'
local schema = require 'rtrain.config.schema'
local TorchConfig = require 'rtrain.config.torch'
local ValidationConfig = require('rtrain.config.validation').ValidationConfig

---@class TrainerOptions: BaseTrainerOptions
---@field train_loop_per_worker? fun(config?: table): any runs on every worker; rank 0's result is
---  `result.return_value`
---@field train_loop_config? table plain data, the argument of the function
---@field torch_config? TorchConfig for TorchTrainer: backend and time-out
---@field backend_config? BackendConfig|TorchConfig for DataParallelTrainer: functions around the train function; with
---  a TorchConfig it becomes a TorchTrainer
---@field datasets? table<string, any>|fun(config: table): table<string, any> for train.get_dataset_shard: name →
---  rtrain.data.Dataset, or a function that makes one, called in each worker at each start of the group. Or a function of
---  train_loop_config, called once by fit(), that returns such a table: it sees what `--set` says
---@field validation_config? ValidationConfig how report's `validation` is executed, in separate processes
---@field dataset_config? DataConfig which datasets are split over the workers

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
---@class DataParallelTrainer: BaseTrainer
---@overload fun(f: TrainerOptions|(fun(config?: table): any), options?: TrainerOptions): DataParallelTrainer
local DataParallelTrainer = BaseTrainer:extend('DataParallelTrainer')
DataParallelTrainer._kind = 'plain'
DataParallelTrainer._fields = BaseTrainer:_fields_and('train_loop_per_worker', 'train_loop_config', 'dataset_config',
  'validation_config', 'backend_config')

-- Returns 'train.lua:12', the place where the function begins.
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

local function is_subclass(of, base)
  while of and of ~= base do of = rawget(of, '__base') end
  return of == base
end

-- Checks a trainer's backend_config. Raises an error for a value of another type.
local function check_backend(name, given)
  if given == nil then return nil end
  local text = ("%s: backend_config is %s, expected an instance of a class made by train.BackendConfig:extend 'Name', or a "
    .. 'TorchConfig'):format(name, class.is_class(given) and 'the class ' .. given.__name or class.of(given)
    and 'a ' .. class.of(given).__name or schema.show(given))
  if class.is(given, TorchConfig) then return given end
  if not class.is(given, BackendConfig) then errors.raise('config', text) end
  local of = given:backend_cls()
  if class.is_class(of) and is_subclass(of, Backend) then return given end
  errors.raise('config', ("%s: %s:backend_cls() returned %s, expected a class made by train.Backend:extend 'Name'"):format(name,
    class.of(given).__name, class.of(of) and 'a ' .. class.of(of).__name or schema.show(of)))
end

-- Recognizes a config in place of the options: `TorchTrainer(f, train.ScalingConfig {…})`.
local function check_options(self, options, position)
  local of = class.of(options)
  if of == nil and (options == nil or type(options) == 'table') then return end
  local field = of == ScalingConfig and 'scaling_config' or of == RunConfig and 'run_config' or of == TorchConfig
    and 'torch_config' or class.is(options, BackendConfig) and 'backend_config' or of == DataConfig and 'dataset_config'
  errors.raise('config', ('%s: the %s, got %s%s'):format(self.__name, position,
    of and 'a ' .. of.__name or type(options), field and (': write {%s = …}'):format(field) or ''))
end

---Called as `TorchTrainer{train_loop_per_worker = f, …}` or `TorchTrainer(f, {…})`.
---@param f TrainerOptions|(fun(config?: table): any) the function, or one table with everything
---@param options? TrainerOptions
---Raises code 'config' for an unknown field or a wrong value, 'unsupported' for a field that this version does not
---have.
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
  BaseTrainer._check_plain(given.train_loop_config, 'train_loop_config')
  self.train_loop_per_worker = given.train_loop_per_worker
  self.train_loop_config = given.train_loop_config
  self.validation_config = given.validation_config
    and schema.coerce(given.validation_config, ValidationConfig, 'validation_config')
  self:_take(given)
  local backend = check_backend(self.__name, given.backend_config)
  if class.is(backend, TorchConfig) then
    if given.torch_config then
      errors.raise('config', ('%s: give torch_config or backend_config, not both'):format(self.__name))
    end
    self._kind, self.torch_config = 'torch', backend
  else
    self.backend_config = backend
  end
end

---Called by fit() before training_loop, in the script's process. The default does nothing.
function DataParallelTrainer:setup() end  -- luacheck: ignore

---Runs the train function on all workers until it returns. fit() calls it in the script's process. A subclass that
---overrides it must call this one.
---@return Result
function DataParallelTrainer:training_loop()
  self._result = require('rtrain.run.launch').fit(self)
  return self._result
end

function DataParallelTrainer:_run()
  self._result = nil
  self:setup()
  self:training_loop()
  if self._result == nil then
    errors.raise('user', ("%s: training_loop has not called its base's: train.DataParallelTrainer.training_loop(self)"):format(
      self.__name))
  end
  return self._result
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
TorchTrainer._fields = DataParallelTrainer:_fields_and('torch_config')

return {DataParallelTrainer = DataParallelTrainer, TorchTrainer = TorchTrainer}

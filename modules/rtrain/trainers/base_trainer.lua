-- rtrain/trainers/base_trainer.lua: BaseTrainer: the common base of all trainers, and of user-defined trainers.
--
-- All checks run when the trainer is made, at the user's line; fit() starts the run.

local args = require 'base.args'
local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local DataConfig = require 'rtrain.config.data'
local datasets = require 'rtrain.run.datasets'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local RunConfig = require 'rtrain.config.run'
local ScalingConfig = require 'rtrain.config.scaling'
local schema = require 'rtrain.config.schema'
local system = require 'base._system'
local TorchConfig = require 'rtrain.config.torch'

---@class BaseTrainerOptions
---@field scaling_config? ScalingConfig the number of workers
---@field run_config? RunConfig name, folder, checkpoints, failures
---@field datasets? table<string, any> name → rtrain.data.Dataset
---@field metadata? table plain data: returned by `train.get_context():get_metadata()`, and added to the metadata of
---  each checkpoint of the run
---@field resume_from_checkpoint? Checkpoint the result of train.get_checkpoint() until the run has its own checkpoint

---Base of user-defined trainers: a subclass defines `training_loop`, and `setup` for its preparations. Both run in the
---worker, in the order setup, training_loop, with `self`, its fields and `self.datasets`; the result of training_loop
---is `result.return_value`. With several workers (ScalingConfig.num_workers) each runs them, and their collectives
---work. DataParallelTrainer and all other trainers extend it too. Ray equivalent: ray.train.base_trainer.BaseTrainer.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local Halving = train.BaseTrainer:extend 'Halving'
---function Halving:setup() self.loss = torch.tensor(8) end
---function Halving:training_loop()
---  while self.loss:item() > 1 do
---    self.loss = self.loss / 2
---    train.report {loss = self.loss}
---  end
---end
---local result = Halving({metadata = {owner = 'ada'}}):fit()
---assert(result.metrics.loss == 1 and #result.metrics_dataframe == 3)
---```
---@class BaseTrainer
---@field scaling_config ScalingConfig
---@field run_config RunConfig
---@field datasets table<string, any>
---@field metadata table
---@field resume_from_checkpoint? Checkpoint
---@overload fun(options?: BaseTrainerOptions): BaseTrainer
local BaseTrainer = class('BaseTrainer')
BaseTrainer._kind = 'torch'
BaseTrainer._fields = {'scaling_config', 'run_config', 'datasets', 'metadata', 'resume_from_checkpoint'}

-- Returns the fields of a class that has some in addition to these.
function BaseTrainer._fields_and(of, ...)
  local fields = {...}
  for i, name in ipairs(of._fields) do table.insert(fields, i, name) end
  return fields
end

-- Raises an error that names the right config for a field that was given to the trainer itself.
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

-- Raises an error for unknown and misplaced names.
function BaseTrainer:_check_fields(given, names)
  for name in next, given do check_misplaced(self, name) end
  args.options(given, names, self.__name, 'config')
end

-- Returns 'Tensor', or the class of a module; nil for anything else.
local function object_name(value)
  local engine, of = package.loaded['torch._C'], class.of(value)
  if type(value) == 'userdata' and type(engine) == 'table' and engine.is_tensor(value) then return 'Tensor' end
  return of and of.__own_names and of.__name or nil
end

-- Raises an error for a value that is not plain data; `path` names it.
function BaseTrainer._check_plain(value, path, seen)
  local kind = type(value)
  if kind == 'nil' or kind == 'boolean' or kind == 'number' or kind == 'string' then return end
  if kind == 'cdata' and tostring(value):find('^%-?%d+U?LL$') then return end
  local name = object_name(value) or kind ~= 'table' and kind
  if name then
    errors.raise('config', ('%s is a %s; the config is plain data: make it in the train function, or let that use a local '
      .. 'variable of the script, which travels with it'):format(path, name))
  end
  seen = seen or {}
  if seen[value] then errors.raise('config', ('%s contains itself'):format(path)) end
  seen[value] = true
  for key, item in next, value do
    BaseTrainer._check_plain(item, type(key) == 'number' and ('%s[%s]'):format(path, key)
      or ('%s.%s'):format(path, tostring(key)), seen)
  end
  seen[value] = nil
end

local function check_metadata(name, metadata)
  if metadata == nil then return {} end
  if type(metadata) ~= 'table' or class.of(metadata) or #metadata > 0 then
    errors.raise('config', ('%s: metadata is %s, expected a table name → plain data'):format(name, schema.show(metadata)))
  end
  BaseTrainer._check_plain(metadata, 'metadata')
  return metadata
end

local function check_checkpoint(name, checkpoint)
  if checkpoint == nil then return nil end
  if not class.is(checkpoint, Checkpoint) then
    errors.raise('config', ('%s: resume_from_checkpoint is %s, expected a Checkpoint: train.Checkpoint(path), or '
      .. 'result.checkpoint of another run'):format(name, schema.show(checkpoint)))
  end
  if not checkpoint.filesystem and system.path_kind(checkpoint.path) ~= 'folder' then
    errors.raise('config', ('%s: resume_from_checkpoint: there is no folder %s'):format(name, checkpoint.path))
  end
  return checkpoint
end

local function check_rebalance(name, scaling, failure)
  if failure.straggler ~= 'rebalance' or scaling.virtual_workers then return end
  errors.raise('config', ("%s: FailureConfig.straggler = 'rebalance' moves virtual workers from slow ranks to others: set "
    .. 'ScalingConfig.virtual_workers'):format(name))
end

-- Stores the fields that all trainers have.
function BaseTrainer:_take(given)
  self.scaling_config = schema.coerce(given.scaling_config, ScalingConfig, 'scaling_config')
  self.run_config = schema.coerce(given.run_config, RunConfig, 'run_config')
  check_rebalance(self.__name, self.scaling_config, self.run_config.failure_config)
  self.dataset_config = schema.coerce(given.dataset_config, DataConfig, 'dataset_config')
  self._datasets = datasets.check(self.__name, given.datasets, self.dataset_config)
  self.datasets = given.datasets or {}
  self.metadata = check_metadata(self.__name, given.metadata)
  self.resume_from_checkpoint = check_checkpoint(self.__name, given.resume_from_checkpoint)
  self.torch_config = schema.coerce(given.torch_config, TorchConfig, 'torch_config')
end

---A subclass with its own `init` must call `train.BaseTrainer.init(self, options)`.
---@param options? BaseTrainerOptions
---Raises code 'config' for an unknown field or a wrong value, and for a class without training_loop.
function BaseTrainer:init(options)
  if options ~= nil and (type(options) ~= 'table' or class.of(options)) then
    errors.raise('config', ('%s: expected a table of options, got %s'):format(self.__name, schema.show(options)))
  end
  if self.training_loop == BaseTrainer.training_loop then
    errors.raise('config', ("%s has no training_loop: local Mine = train.BaseTrainer:extend 'Mine', then function "
      .. 'Mine:training_loop() … end'):format(self.__name))
  end
  self:_check_fields(options or {}, self._fields)
  self:_take(options or {})
  -- The whole trainer is sent to its workers.
  self.train_loop_per_worker = function()
    self:setup()
    return self:training_loop()
  end
end

---Called before training_loop, in the same process: for preparations that are too heavy for the script's process, such
---as a model. The default does nothing.
function BaseTrainer:setup() end  -- luacheck: ignore

---The training itself; it may call train.report() and all other functions of a train function. Every subclass must
---define it.
---@return any return_value plain data
function BaseTrainer:training_loop()
  errors.raise('config', self.__name .. ' has no training_loop')
end

function BaseTrainer:_run()
  if self.scaling_config == nil then
    errors.raise('user', ('%s: init has not called train.BaseTrainer.init(self, options)'):format(self.__name))
  end
  return require('rtrain.run.launch').fit(self)
end

---Runs the training to its end, with the retries of the failure config.
---@param options? {raise: boolean} raise = false returns a failed run's Result instead of raising its error
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
---Raises the run's error: code 'user' if the train function raised an error, 'worker_lost' if a worker died, 'config'
---for a name that is already used, 'environment' for storage that cannot be written; `ranks` maps a rank to its error.
function BaseTrainer:fit(options)
  options = args.options(options, {'raise'}, 'fit')
  local result = self:_run()
  if result.error and options.raise ~= false then error(result.error, 0) end
  return result
end

---Returns the configs as plain data, for the run's record.
---@return table map
function BaseTrainer:to_table()
  return ordered.new {
    {'scaling_config', self.scaling_config:to_table()},
    {'run_config', self.run_config:to_table()},
    {'torch_config', self.torch_config:to_table()},
    {'dataset_config', self.dataset_config:to_table()},
  }
end

return BaseTrainer

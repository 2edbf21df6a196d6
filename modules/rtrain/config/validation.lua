-- rtrain/config/validation.lua: ValidationConfig and ValidationTaskConfig: how checkpoints are validated during the
-- training.

local args = require 'base.args'
local schema = require 'rtrain.config.schema'

local validation = {}

local function plain_table(value)
  if type(value) ~= 'table' then return 'expected a table' end
  for key in next, value do
    if type(key) ~= 'string' then return 'expected a table of named values' end
  end
end

---The arguments of one validation. Ray equivalent: ray.train.ValidationTaskConfig.
---
---```lua
---local train = require 'rtrain'
---local task = train.ValidationTaskConfig {fn_kwargs = {batches = 10}, timeout_s = 600}
---assert(task.fn_kwargs.batches == 10)
---```
---@class ValidationTaskConfig
---@overload fun(fields?: table): ValidationTaskConfig
---@field fn_kwargs? table plain data: the validation function's second argument
---@field timeout_s? number seconds that the validation may take; nil: no limit
local ValidationTaskConfig = schema.define('ValidationTaskConfig', {
  {'fn_kwargs', check = plain_table},
  {'timeout_s', check = schema.positive},
})

local function check_function(value)
  if type(value) ~= 'function' then return 'expected a function(checkpoint, fn_kwargs) that returns metrics' end
end

-- Checks Ray's options of a task. Here a task is a process, and only num_cpus applies.
local function check_remote_kwargs(value)
  if type(value) ~= 'table' then return 'expected a table' end
  args.options(value, {'num_cpus'}, 'ValidationConfig.ray_remote_kwargs', 'config')
  return value.num_cpus ~= nil and schema.integer(1)(value.num_cpus) or nil
end

---How the checkpoints that `train.report` marks for validation are validated: each in its own process, during the
---training. Ray equivalent: ray.train.ValidationConfig.
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    train.tempdir(function(dir)
---      io.open(dir .. '/model.pt', 'w'):close()
---      train.report({loss = 0.5}, {checkpoint = train.Checkpoint.from_directory(dir), validation = true})
---    end)
---  end,
---  validation_config = train.ValidationConfig {
---    fn = function(checkpoint, options)
---      return checkpoint:with_directory(function() return {accuracy = options.accuracy} end)
---    end,
---    task_config = {fn_kwargs = {accuracy = 0.75}},
---  },
---}):fit()
---assert(result.best_checkpoints[1].metrics.accuracy == 0.75)
---```
---@class ValidationConfig
---@overload fun(fields: table): ValidationConfig
---@field fn fun(checkpoint: Checkpoint, fn_kwargs: table): table returns metrics, which are added to those of the
---  report; a failure leaves the checkpoint unchanged
---@field task_config ValidationTaskConfig for reports without their own; the fn_kwargs of a report replace equal keys
---@field max_concurrent integer how many validations run at a time, default 1; the others wait in order
---@field validation_drain_timeout_s? number how long fit() waits for validations after the training; nil: until they
---  have ended
---@field ray_remote_kwargs? table `{num_cpus = n}`: threads of a validation, default 1
local ValidationConfig = schema.define('ValidationConfig', {
  {'fn', check = check_function},
  {'task_config'},
  {'max_concurrent', default = 1, check = schema.integer(1)},
  {'validation_drain_timeout_s', check = schema.positive},
  {'ray_remote_kwargs', check = check_remote_kwargs},
})

function ValidationConfig:_validate()
  if self.fn == nil then
    require('base.errors').raise('config', 'ValidationConfig.fn is missing: a function(checkpoint, fn_kwargs)')
  end
  self.task_config = schema.coerce(self.task_config, ValidationTaskConfig, 'ValidationConfig.task_config')
end

---Returns the fields that the controller uses.
---@return ValidationSpec
function ValidationConfig:to_spec()
  return {
    max_concurrent = self.max_concurrent,
    validation_drain_timeout_s = self.validation_drain_timeout_s,
    num_cpus = self.ray_remote_kwargs and self.ray_remote_kwargs.num_cpus or 1,
  }
end

validation.ValidationConfig, validation.ValidationTaskConfig = ValidationConfig, ValidationTaskConfig

return validation

-- rtrain/functions/validation.lua: the validation request of a report(), and the process that validates a checkpoint.

local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local errors = require 'base.errors'

local validation = {}

local function merged(defaults, given)
  local out = {}
  for key, value in next, defaults or {} do out[key] = value end
  for key, value in next, given or {} do out[key] = value end
  return out
end

---A requested validation, for the host.
---@class ValidationRequest
---@field fn_kwargs table plain data
---@field timeout_s? number

---Returns the arguments of a report's validation, as plain data; nil if it requests no validation.
---@param wanted boolean|table|nil the option `validation` of report(): true or a ValidationTaskConfig
---@param config? table the trainer's validation_config
---@return ValidationRequest? request
function validation.spec(wanted, config)
  if not wanted then return nil end
  local ValidationTaskConfig = require('rtrain.config.validation').ValidationTaskConfig
  if config == nil then
    errors.raise('argument', 'report: validation: the trainer has no validation_config = train.ValidationConfig {fn = …}')
  end
  if wanted == true then return {fn_kwargs = merged(config.task_config.fn_kwargs), timeout_s = config.task_config.timeout_s} end
  if not class.is(wanted, ValidationTaskConfig) then
    errors.raise('argument', 'report: validation is true or a train.ValidationTaskConfig')
  end
  return {fn_kwargs = merged(config.task_config.fn_kwargs, wanted.fn_kwargs), timeout_s = wanted.timeout_s}
end

---Validates the checkpoint that the process was started for.
---@param job table the data that was sent with the train function
---@param task {checkpoint: string, fn_kwargs: table, timeout_s: number?}
---@return table metrics plain data
function validation.run(job, task)
  local metrics = job.validation_config.fn(Checkpoint(task.checkpoint), task.fn_kwargs)
  if type(metrics) ~= 'table' then
    errors.raise('user', ('the validation function returned %s, expected a table of metrics'):format(type(metrics)))
  end
  return require 'rtrain.metrics.plain'(metrics, 'the validation function')
end

return validation

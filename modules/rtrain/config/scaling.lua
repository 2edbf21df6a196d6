-- rtrain/config/scaling.lua: ScalingConfig: how many workers, and what each of them has.

local errors = require 'rtrain.errors'
local schema = require 'rtrain.config.schema'

local GPU = 'training on GPUs is not in this version'
local ELASTIC = 'the number of workers is fixed in this version: '
  .. "give one number (no range, no 'auto')"
local CLUSTER = 'this version trains on one host'

local function check_num_workers(value)
  if type(value) == 'table' or value == 'auto' then return ELASTIC, 'unsupported' end
  return schema.integer(0)(value)
end

local function check_resources(value)
  if type(value) ~= 'table' then return 'expected a table such as {CPU = 2}' end
  for name, amount in next, value do
    if name == 'GPU' and amount ~= 0 then return GPU, 'unsupported' end
    if name ~= 'CPU' and name ~= 'GPU' then
      return ("unknown resource '%s'%s"):format(tostring(name), errors.suggestion(tostring(name), {'CPU', 'GPU'}))
    end
    local problem = name == 'CPU' and schema.integer(1)(amount)
    if problem then return 'CPU: ' .. problem end
  end
end

---How many workers, and what each of them has. Counterpart: ray.train.ScalingConfig. Raises code 'config' for an unknown or
---wrong field, 'unsupported' for one that this version does not have.
---
---```lua
---local train = require 'rtrain'
---local config = train.ScalingConfig {num_workers = 2, resources_per_worker = {CPU = 3}}
---assert(config:total_resources().CPU == 6)
---```
---@class ScalingConfig
---@overload fun(fields?: table): ScalingConfig
---@field num_workers integer processes that run the train function (default 1); 0 is local mode: the process that calls fit()
---  runs it itself, with all of rtrain around it, for looking into it with print or a debugger
---@field use_gpu boolean false in this version
---@field resources_per_worker? table `{CPU = n}`: threads of each worker (default: the cores divided by the workers)
---@field placement_strategy string accepted for Ray's sake; on one host there is nothing to place
---@field elastic_resize_monitor_interval_s number seconds, 60 in this version
local ScalingConfig = schema.define('ScalingConfig', {
  {'num_workers', default = 1, check = check_num_workers},
  {'use_gpu', default = false, later = GPU},
  {'resources_per_worker', check = check_resources},
  {'placement_strategy', default = 'PACK', check = schema.one_of('PACK', 'SPREAD', 'STRICT_PACK', 'STRICT_SPREAD')},
  {'accelerator_type', later = GPU},
  {'label_selector', later = CLUSTER},
  {'use_tpu', default = false, later = 'there are no TPUs for rtrain'},
  {'topology', later = 'there are no TPUs for rtrain'},
  {'elastic_resize_monitor_interval_s', default = 60, later = 'the number of workers is fixed in this version'},
  {'trainer_resources', removed = 'the controller needs none'},
})

---CPUs of each worker as asked for, 1 without resources_per_worker.
---@return integer
function ScalingConfig:num_cpus_per_worker()
  return self.resources_per_worker and self.resources_per_worker.CPU or 1
end

---GPUs of each worker: none in this version.
---@return integer
function ScalingConfig:num_gpus_per_worker() return 0 end

---Resources per worker other than CPU and GPU: none on one host.
---@return table
function ScalingConfig:additional_resources_per_worker() return {} end

---@return table {CPU = total over all workers}
function ScalingConfig:total_resources() return {CPU = self:num_cpus_per_worker() * math.max(self.num_workers, 1)} end

return ScalingConfig

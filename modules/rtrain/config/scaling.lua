-- rtrain/config/scaling.lua: ScalingConfig: the number of workers and the resources of each.

local errors = require 'base.errors'
local schema = require 'rtrain.config.schema'

local CLUSTER = 'this version trains on the nodes that a launcher allots, and chooses none'
local MOST_WORKERS = 100000  -- a larger number is a mistake that would exhaust the memory
local WORKERS = "expected a number, a range such as {1, 4} or 'auto'"

-- Checks {min, max}, also written {min = …, max = …}.
local function check_range(range)
  local count = 0
  for key in next, range do
    count = count + 1
    if key ~= 1 and key ~= 2 and key ~= 'min' and key ~= 'max' then
      return ("unknown entry '%s' of the range: %s"):format(tostring(key), WORKERS)
    end
  end
  local min, max = range.min or range[1], range.max or range[2]
  if count ~= 2 or min == nil or max == nil then return WORKERS end
  local problem = schema.integer(1)(min)
  if problem then return 'the smaller number: ' .. problem end
  problem = schema.integer(min, MOST_WORKERS)(max)
  if problem then return 'the larger number: ' .. problem end
end

local function check_num_workers(value)
  if value == 'auto' then return nil end
  if type(value) == 'string' then return WORKERS end
  if type(value) == 'table' then return check_range(value) end
  return schema.integer(0, MOST_WORKERS)(value)
end

local function check_gpus(amount)
  local is_part = type(amount) == 'number' and amount >= 0 and amount <= 1
  if not is_part and schema.integer(0)(amount) then return 'expected a part of one up to 1, or a whole number' end
end

local function check_accelerator(value)
  if type(value) ~= 'string' or not value:find '%w' then return "expected a name such as 'H100' or 'A100-80G'" end
end

local function check_resources(value)
  if type(value) ~= 'table' then return 'expected a table such as {CPU = 2, GPU = 1}' end
  for name, amount in next, value do
    if name ~= 'CPU' and name ~= 'GPU' then
      return ("unknown resource '%s'%s"):format(tostring(name), errors.suggestion(tostring(name), {'CPU', 'GPU'}))
    end
    local problem = name == 'CPU' and schema.integer(1)(amount) or name == 'GPU' and check_gpus(amount)
    if problem then return ('%s: %s'):format(name, problem) end
  end
end

---The number of workers and the resources of each. Ray equivalent: ray.train.ScalingConfig. Raises code 'config' for an
---unknown field or a wrong value, 'unsupported' for a field that this version does not have.
---
---With a range the run is **elastic**: it starts as soon as the smaller number of workers fits, with all the workers
---that fit, and until then waits and says which runs it waits for. During training it checks every
---`elastic_resize_monitor_interval_s` seconds whether more or fewer workers fit, asks the train function for a
---checkpoint (`train.stop_requested()`) and continues from it with the new number. Capacity is counted in cores,
---`resources_per_worker.CPU` (or 1) for each worker, and with use_gpu in GPUs too; `rtrain resources` shows both.
---Compute values that depend on the number of workers (the batch size of each, the learning rate) from
---`train.get_context():get_world_size()` at each start of the train function. In `train.elastic` the group also shrinks
---without a restart when a lost worker cannot be replaced, and grows at its next commit, without a checkpoint: compute
---these values there.
---
---```lua
---local train = require 'rtrain'
---local config = train.ScalingConfig {num_workers = 2, resources_per_worker = {CPU = 3}}
---assert(config:total_resources().CPU == 6)
---local elastic = train.ScalingConfig {num_workers = {1, 4}, elastic_resize_monitor_interval_s = 30}
---assert(elastic:elasticity_enabled() and elastic:min_workers() == 1 and elastic:max_workers() == 4)
---```
---@class ScalingConfig
---@overload fun(fields?: table): ScalingConfig
---@field num_workers integer|{min: integer, max: integer}|'auto' processes that run the train function (default 1).
---  `{min, max}`: the largest number that fits; 'auto': at least 1, at most the number that fits the nodes of the job,
---  which are assumed to be like the first (max_workers() counts one node). 0 is local mode: the process that calls
---  fit() runs the train function itself, with all features of rtrain, for debugging with print or a debugger (a train
---  function that has not ended 2 s after a stop and its grace period ends with its process and the run's exit code).
---  Where a launcher (torchrun, `srun --ntasks-per-node=2`) has started each rank, its processes form one run, both for
---  0 and for their number
---@field use_gpu boolean whether each worker has a GPU to itself, or the share in `resources_per_worker.GPU`; without
---  it workers see no GPU (default false)
---@field resources_per_worker? table `{CPU = n}`: cores and threads of each worker, which is bound to them (default:
---  the workers share all cores). `{GPU = x}`, with use_gpu: devices of each worker; 0.5 puts two workers on one device
---@field accelerator_type? string required model of the GPUs, by words of their names: 'H100', 'A100-80G', 'RTX-4090'
---@field placement_strategy string how workers are placed on the nodes of a job; each node holds as many workers as
---  its cores or devices allow: 'SPREAD', one to each node in turn (default; Ray's is PACK); 'PACK', one node after the
---  other; 'STRICT_PACK', all on one node; 'STRICT_SPREAD', each on a different node. The ranks of a node are
---  consecutive
---@field virtual_workers? integer the run is computed as by that many workers, whichever number of processes shares
---  them: 1, 3 or 8 of them, also changing in mid-run, end with the same bits (`rtrain doc guide/reproducibility`). Each
---  computes with `resources_per_worker.CPU` threads, or with one
---@field elastic_resize_monitor_interval_s number seconds between two checks of the capacity for an elastic group
---  (default 60)
local ScalingConfig = schema.define('ScalingConfig', {
  {'num_workers', default = 1, check = check_num_workers},
  {'use_gpu', default = false, check = schema.boolean},
  {'resources_per_worker', check = check_resources},
  {'placement_strategy', default = 'SPREAD', check = schema.one_of('PACK', 'SPREAD', 'STRICT_PACK', 'STRICT_SPREAD')},
  {'accelerator_type', check = check_accelerator},
  {'label_selector', absent = CLUSTER},
  {'use_tpu', default = false, absent = 'there are no TPUs for rtrain'},
  {'topology', absent = 'there are no TPUs for rtrain'},
  {'elastic_resize_monitor_interval_s', default = 60, check = schema.positive},
  {'virtual_workers', check = schema.integer(1, MOST_WORKERS)},
  {'trainer_resources', removed = 'the controller needs none'},
})

-- With 'auto' the group is never larger.
local function check_virtual_workers(config)
  local workers = config.num_workers
  local most = type(workers) == 'table' and (workers.max or workers[2]) or workers
  if config.virtual_workers == nil or workers == 'auto' or config.virtual_workers >= most then return end
  errors.raise('config', ('ScalingConfig.virtual_workers = %d with num_workers = %s: each worker computes at least one virtual '
    .. 'worker; did you mean virtual_workers = %d?'):format(config.virtual_workers,
    type(workers) == 'table' and ('{%d, %d}'):format(config:min_workers(), most) or workers, most))
end

function ScalingConfig:_validate()
  local gpus = self.resources_per_worker and self.resources_per_worker.GPU
  if not self.use_gpu and gpus and gpus > 0 then
    errors.raise('config', ('ScalingConfig.resources_per_worker.GPU = %s without use_gpu = true'):format(gpus))
  end
  check_virtual_workers(self)
  if not self.use_gpu and self.accelerator_type then
    errors.raise('config', ("ScalingConfig.accelerator_type = '%s' without use_gpu = true"):format(self.accelerator_type))
  end
  if self.use_gpu and gpus == 0 then
    errors.raise('config', 'ScalingConfig.use_gpu = true with resources_per_worker.GPU = 0: which of them?')
  end
end

---Returns the least number of workers with which the run continues; 1 in local mode.
---@return integer
function ScalingConfig:min_workers()
  local workers = self.num_workers
  if workers == 'auto' then return 1 end
  return type(workers) == 'table' and (workers.min or workers[1]) or math.max(workers, 1)
end

---Returns the largest number of workers with which the run continues; 1 in local mode.
---@return integer
function ScalingConfig:max_workers()
  local workers = self.num_workers
  if workers == 'auto' then
    local system, gpus = require 'base._system', self:num_gpus_per_worker()
    local room = math.floor(system.cores() / self:num_cpus_per_worker())
    if self.virtual_workers then room = math.min(room, self.virtual_workers) end
    if gpus > 0 then room = math.min(room, math.floor((system.cuda()) / gpus)) end
    return math.max(1, room)
  end
  return type(workers) == 'table' and (workers.max or workers[2]) or math.max(workers, 1)
end

---Returns whether the number of workers may change during the run.
---@return boolean
function ScalingConfig:elasticity_enabled() return type(self.num_workers) == 'table' or self.num_workers == 'auto' end

---Returns the requested CPUs of each worker, 1 without resources_per_worker.
---@return integer
function ScalingConfig:num_cpus_per_worker()
  return self.resources_per_worker and self.resources_per_worker.CPU or 1
end

---Returns the threads of each worker if they must not depend on the number of workers; sums that threads share have other
---bits with another number of them.
---@return integer|nil threads nil without virtual_workers
function ScalingConfig:num_threads() return self.virtual_workers and self:num_cpus_per_worker() or nil end

---Returns the GPUs of each worker: 0 without use_gpu, a fraction when workers share a device.
---@return number
function ScalingConfig:num_gpus_per_worker()
  if not self.use_gpu then return 0 end
  return self.resources_per_worker and self.resources_per_worker.GPU or 1
end

---Returns a config with the same workers on the CPU.
---@return ScalingConfig
function ScalingConfig:without_gpus()
  local given = {}
  for _, field in ipairs(self._fields) do given[field[1]] = self[field[1]] end
  given.use_gpu, given.accelerator_type = nil, nil
  if given.resources_per_worker then given.resources_per_worker = {CPU = given.resources_per_worker.CPU} end
  return ScalingConfig(given)
end

---Returns the resources per worker other than CPU and GPU.
---@return table
function ScalingConfig:additional_resources_per_worker() return {} end

---Returns the resources of all workers together; for an elastic run, of its largest group.
---@return table {CPU = total over all workers, GPU = the same with use_gpu}
function ScalingConfig:total_resources()
  local workers = self:max_workers()
  return {
    CPU = self:num_cpus_per_worker() * workers,
    GPU = self.use_gpu and self:num_gpus_per_worker() * workers or nil,
  }
end

return ScalingConfig

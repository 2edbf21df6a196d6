-- rtrain/config/data.lua: DataConfig: how the trainer's datasets are split over the workers, and which resources read
-- them.

local errors = require 'base.errors'
local schema = require 'rtrain.config.schema'

local OPTIONS = {'threads', 'memory_bytes'}
local check_threads, check_memory = schema.integer(0), schema.integer(2 ^ 20)

local function is_list_of_names(value)
  if type(value) ~= 'table' then return false end
  local count = 0
  for key, name in next, value do
    if type(key) ~= 'number' or type(name) ~= 'string' then return false end
    count = count + 1
  end
  return count == #value
end

local function check_split(value)
  if value ~= 'all' and not is_list_of_names(value) then return "expected 'all' or a list of names of datasets" end
end

local function check_one(options)
  local problem = options.threads ~= nil and check_threads(options.threads)
  if problem then return 'threads: ' .. problem end
  problem = options.memory_bytes ~= nil and check_memory(options.memory_bytes)
  if problem then return 'memory_bytes: ' .. problem end
end

local function is_option(name) return name == OPTIONS[1] or name == OPTIONS[2] end

-- Checks {threads = …} for all datasets, or {train = {threads = …}} by name.
local function check_execution(value)
  if type(value) ~= 'table' then return 'expected {threads = …, memory_bytes = …}, or that for names of datasets' end
  for name, item in next, value do
    if type(item) == 'table' then
      for key in next, item do
        if not is_option(key) then
          return ("%s: unknown option '%s'%s"):format(tostring(name), tostring(key), errors.suggestion(tostring(key), OPTIONS))
        end
      end
      local problem = check_one(item)
      if problem then return ('%s.%s'):format(tostring(name), problem) end
    elseif not is_option(name) then
      return ("unknown option '%s'%s"):format(tostring(name), errors.suggestion(tostring(name), OPTIONS))
    end
  end
  return check_one(value)
end

-- Default number of CPUs of an ingest worker.
local INGEST_CPUS = 1

local function check_ingest_resources(value)
  if type(value) ~= 'table' then return 'expected a table such as {CPU = 1}' end
  for name, amount in next, value do
    if name == 'GPU' then return 'an ingest worker has no GPU: expected a table such as {CPU = 1}' end
    if name ~= 'CPU' then
      return ("unknown resource '%s'%s"):format(tostring(name), errors.suggestion(tostring(name), {'CPU'}))
    end
    local problem = schema.integer(1)(amount)
    if problem then return 'CPU: ' .. problem end
  end
end

---How the trainer's datasets are split over the workers, and which resources read them. Ray equivalent:
---ray.train.DataConfig.
---
---```lua
---local train = require 'rtrain'
---local config = train.DataConfig {datasets_to_split = {'train'}, execution_options = {threads = 2}}
---assert(config:is_split('train') and not config:is_split('valid') and config:execution('valid').threads == 2)
---```
---@class DataConfig
---@overload fun(fields?: table): DataConfig
---@field datasets_to_split string|string[] 'all', or the names of the datasets that are split: each worker gets an
---  equal part; every worker gets the other datasets whole
---@field execution_options? table {threads, memory_bytes} for each worker, or name → such a table: `threads` read and
---  compute ahead (default 1; 0: the loop does it itself), memory_bytes (default 64 MiB) limits the rows that wait
---@field ingest_workers integer processes for each worker that read and compute in place of its threads (default 0).
---  This is the largest number: the run starts one and adds more while the loop waits for rows. Rows, order and resume
---  do not change, and an ingest worker that dies is started again. They run on nodes of the job without ranks, else on
---  the worker's node. Operators that need all rows (`random_shuffle`, `sort`) and loops with `prefetch_batches = 0`
---  run in the worker itself
---@field ingest_resources? table `{CPU = n}` of each ingest worker (default 1). If `resources_per_worker` names CPUs,
---  the run also gets the CPUs of its ingest workers, and each process is bound to its own
---@field enable_shard_locality boolean whether a worker has neighbouring rows where it would have to read all files for
---  others (default true). With false rows are always dealt by steps: a step of all workers has the same rows for any
---  number of workers with the same global batch (`rtrain doc guide/reproducibility`), and each worker reads all files
local DataConfig = schema.define('DataConfig', {
  {'datasets_to_split', default = 'all', check = check_split},
  {'execution_options', check = check_execution},
  {'ingest_workers', default = 0, check = schema.integer(0)},
  {'ingest_resources', check = check_ingest_resources},
  {'enable_shard_locality', default = true, check = schema.boolean},
})

---Returns whether each worker gets a part of that dataset.
---@param name string
---@return boolean
function DataConfig:is_split(name)
  if self.datasets_to_split == 'all' then return true end
  for _, split in ipairs(self.datasets_to_split) do
    if split == name then return true end
  end
  return false
end

---Returns the number of cores of each ingest worker.
---@return integer
function DataConfig:num_cpus_per_ingest_worker() return (self.ingest_resources or {}).CPU or INGEST_CPUS end

---Returns the number of cores of all ingest workers of one worker.
---@return integer
function DataConfig:num_ingest_cpus() return self.ingest_workers * self:num_cpus_per_ingest_worker() end

---Returns the threads and the memory that read a dataset.
---@param name string
---@return {threads?: integer, memory_bytes?: integer}
function DataConfig:execution(name)
  local options = self.execution_options or {}
  local own = type(options[name]) == 'table' and options[name] or {}
  return {threads = own.threads or options.threads, memory_bytes = own.memory_bytes or options.memory_bytes}
end

return DataConfig

-- rtrain/run/datasets.lua: the datasets of a trainer: checked when the trainer is made, counted at fit().
--
-- They are sent with the train function: plans, not rows, except for rows in memory. A common seed for operators
-- without one is drawn at fit(), so that all ranks and attempts of a run see the same order.
-- rtrain.functions.dataset_shards uses them in the workers.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local schema = require 'rtrain.config.schema'
local seeds = require 'base.seed'

local datasets = {}

local function check_value(owner, name, value)
  if type(value) == 'function' or class.is(value, require 'rtrain.data.dataset') then return end
  local found = class.of(value)
  errors.raise('config', ('%s: datasets.%s is %s: expected a dataset of rtrain.data, or a function that makes one%s'):format(
    owner, name, found and 'a ' .. found.__name or schema.show(value),
    found and found.__name == 'DataLoader' and ' (a DataLoader belongs into the train function)' or ''))
end

local function check_table(owner, given, config)
  if type(given) ~= 'table' or class.of(given) then
    errors.raise('config', ('%s: datasets is %s, expected a table name → dataset'):format(owner, schema.show(given)))
  end
  local out, names = {}, {}
  for _, name in ipairs(ordered.keys_of(given)) do
    if type(name) ~= 'string' then
      errors.raise('config', ('%s: datasets is a table name → dataset, got the key %s'):format(owner, tostring(name)))
    end
    check_value(owner, name, given[name])
    out[#out + 1], names[#names + 1] = {name = name, value = given[name]}, name
  end
  for _, name in ipairs(type(config.datasets_to_split) == 'table' and config.datasets_to_split or {}) do
    if given[name] == nil then
      errors.raise('config', ("%s: DataConfig.datasets_to_split names '%s', which datasets has not%s"):format(owner, name,
        errors.suggestion(name, names)))
    end
  end
  return out
end

---Checks the field `datasets` of a trainer.
---@param owner string name of the trainer's class, for messages
---@param given? table|fun(config: table): table name → dataset or a function that makes one; a function of the config
---  that returns such a table
---@param config DataConfig
---@return {name: string, value: any}[]|fun(config: table): table[] list sorted by name; for a function, one that makes it
function datasets.check(owner, given, config)
  if type(given) ~= 'function' then return check_table(owner, given == nil and {} or given, config) end
  return function(train_loop_config)
    return check_table(owner, given(train_loop_config), config)
  end
end

local function draw_seed()
  local engine = package.loaded['torch._C']
  if type(engine) == 'table' then
    return require('torch.utils.data.sampler').draw_seed():bitwise_and(0xFFFFFFFF):item()
  end
  local file = assert(io.open('/dev/urandom', 'rb'))
  local a, b, c, d = file:read(4):byte(1, 4)
  file:close()
  return ((a * 256 + b) * 256 + c) * 256 + d
end

-- Returns the options of rtrain.data.ingest.start.
local function ingest_of(config, num_cpus)
  if config.ingest_workers == 0 then return nil end
  return {workers = config.ingest_workers, threads = config:num_cpus_per_ingest_worker(), num_cpus = num_cpus}
end

---Returns the datasets in the form that is sent to the workers. If ranks must know their parts, files with unknown
---numbers of rows are read once here.
---@param list {name: string, value: any}[] a result of `check`
---@param config DataConfig
---@param num_cpus? integer exclusive cores of each worker, if configured
---@return table[] plain data, except for the datasets
function datasets.for_workers(list, config, num_cpus)
  local out, seed = {}, #list > 0 and draw_seed() or 0
  for i, entry in ipairs(list) do
    local is_split = config:is_split(entry.name)
    if is_split and type(entry.value) ~= 'function' then entry.value._plan:sliceable_rows() end
    out[i] = {
      name = entry.name, value = entry.value, is_split = is_split, execution = config:execution(entry.name),
      ingest = ingest_of(config, num_cpus), seed = seeds.of(seed, i), by_steps = not config.enable_shard_locality,
      context = require('rtrain.data.executor.context').settings()}
  end
  return out
end

return datasets

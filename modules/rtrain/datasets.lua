-- rtrain/datasets.lua: the datasets of a trainer: checked where the trainer is made, counted at fit(), looped over in the
-- workers.
--
-- They travel with the train function: plans, not rows, except for what lies in memory. The seed of what has no seed of its
-- own is drawn at fit(), so that all ranks and attempts of a run see the same order.

local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local ordered = require 'rtrain.ordered'
local schema = require 'rtrain.config.schema'
local seeds = require 'rtrain.seed'
local session = require 'rtrain.session'

local datasets = {}

-- Threads that read for one dataset in a worker: the cores belong to training.
local WORKER_THREADS = 1

-- Session → its shards, in order. Weak, so that nothing in them counts as a part of this module when their functions travel
-- on to threads.
local shards_of = setmetatable({}, {__mode = 'k'})

local function dataset_class() return require 'rtrain.data.dataset' end

local function check_value(owner, name, value)
  if type(value) == 'function' or class.is(value, dataset_class()) then return end
  local found = class.of(value)
  errors.raise('config', ('%s: datasets.%s is %s: expected a dataset of rtrain.data, or a function that makes one%s'):format(
    owner, name, found and 'a ' .. found.__name or schema.show(value),
    found and found.__name == 'DataLoader' and ' (a DataLoader belongs into the train function)' or ''))
end

---Checks the field `datasets` of a trainer.
---@param owner string the trainer's class, for messages
---@param given? table<string, rtrain.data.Dataset|fun(): rtrain.data.Dataset>
---@param config DataConfig
---@return {name: string, value: any}[] in the order of their names
function datasets.check(owner, given, config)
  if given == nil then given = {} end
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

---The datasets as they travel to the workers. Files whose rows nobody has counted are read once, here, where ranks must
---know their parts.
---@param list {name: string, value: any}[] what `check` gave
---@param config DataConfig
---@return table[] plain, but for the datasets
function datasets.for_workers(list, config)
  local out, seed = {}, #list > 0 and draw_seed() or 0
  for i, entry in ipairs(list) do
    local is_split = config:is_split(entry.name)
    if is_split and type(entry.value) ~= 'function' then entry.value._plan:sliceable_rows() end
    out[i] = {name = entry.name, value = entry.value, is_split = is_split, execution = config:execution(entry.name),
              seed = seeds.of(seed, i), context = require('rtrain.data.context').settings()}
  end
  return out
end

local function made(entry)
  if type(entry.value) ~= 'function' then return entry.value end
  local dataset = entry.value()
  if class.is(dataset, dataset_class()) then return dataset end
  errors.raise('user', ('datasets.%s: the function returned %s, expected a dataset of rtrain.data'):format(entry.name,
    schema.show(dataset)))
end

local function device_of(state)
  return state.kind == 'torch' and require('rtrain.torch').get_device() or 'cpu'
end

local function shard_of(state, entry)
  local context = state.context
  require('rtrain.data.context').apply(entry.context)
  local dataset = made(entry)
  local is_dealt = entry.is_split and context.world_size > 1
  local threads = entry.execution.threads or entry.context.num_threads or WORKER_THREADS
  local feed = require 'rtrain.data.feed'(dataset._plan, {
    seed = entry.seed, may_count = entry.is_split,
    options = {num_threads = threads, memory_bytes = entry.execution.memory_bytes}})
  return require 'rtrain.data.iterator' {
    feed = feed, name = entry.name, seed = entry.seed,
    world_size = is_dealt and context.world_size or 1, rank = is_dealt and context.world_rank or 0,
    device = function() return device_of(state) end,
    agreement = {store = require 'rtrain._worker', name = entry.name, rank = context.world_rank,
                 world_size = context.world_size, timeout_s = context.timeout_s},
  }
end

---Makes the shards of this worker: functions that make datasets are called now.
---@param state table the session's
---@param list table[] what `for_workers` gave
function datasets.begin(state, list)
  shards_of[state] = ordered.new()
  for _, entry in ipairs(list or {}) do shards_of[state][entry.name] = shard_of(state, entry) end
end

---Ends the loops that run.
---@param state table the session's
function datasets.finish(state)
  for _, shard in ordered.items(shards_of[state]) do shard:close() end
end

---This worker's part of a dataset of the trainer, or all of it where DataConfig does not split it. The same object at each
---call. Counterpart: ray.train.get_dataset_shard.
---@param dataset_name? string may be left out when there is one dataset
---@return rtrain.data.DataIterator
---
---```lua
---local data, train = require 'rtrain.data', require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local shard = train.get_dataset_shard('train')
---    local rows = 0
---    for batch in shard:iter_torch_batches {batch_size = 4} do rows = rows + #batch.id end
---    train.report {rows = rows}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---  datasets = {train = data.range(21)},
---}):fit()
---assert(result.metrics.rows == 10)  -- 21 // 2: the last row is left out, so that all workers take equal steps
---```
function datasets.get_dataset_shard(dataset_name)
  local state = session.get('train.get_dataset_shard()')
  local shards = shards_of[state]
  local names = ordered.keys(shards)
  if #names == 0 then
    errors.raise('user', 'get_dataset_shard: the trainer has no datasets: TorchTrainer {datasets = {train = dataset}, …}')
  end
  if dataset_name == nil and #names == 1 then dataset_name = names[1] end
  local shard = type(dataset_name) == 'string' and shards[dataset_name]
  if shard then return shard end
  errors.raise('user', ("get_dataset_shard: there is no dataset '%s'%s; the trainer has: %s"):format(tostring(dataset_name),
    errors.suggestion(tostring(dataset_name), names), table.concat(names, ', ')))
end

return datasets

-- rtrain/functions/dataset_shards.lua: get_dataset_shard(), for the train function: a worker's parts of its trainer's datasets.

local class = require 'base.class'
local errors = require 'base.errors'
local monotonic = require('base._system').monotonic
local ordered = require 'base.ordered'
local schema = require 'rtrain.config.schema'
local session = require 'rtrain.session'

local dataset_shards = {}

-- Reader threads for each dataset in a worker: the cores belong to training.
local WORKER_THREADS = 1

-- Session → its shards, in order. Weak, so that the shards are not serialized as a part of this module when their
-- functions are sent to threads.
local shards_of = setmetatable({}, {__mode = 'k'})
-- Session → its ingest workers, if it has some, and the time of the last record.
local ingest_of, recorded = setmetatable({}, {__mode = 'k'}), setmetatable({}, {__mode = 'k'})

local function made(entry)
  if type(entry.value) ~= 'function' then return entry.value end
  local dataset = entry.value()
  if class.is(dataset, require 'rtrain.data.dataset') then return dataset end
  errors.raise('user', ('datasets.%s: the function returned %s, expected a dataset of rtrain.data'):format(entry.name,
    schema.show(dataset)))
end

local function device_of(state)
  return state.kind == 'torch' and require('rtrain.torch').get_device() or 'cpu'
end

-- Returns the iterator of a part of a dataset: the rows of a rank among as many as divide it.
local function iterator_of(state, entry, dataset, ingest, part)
  local threads = entry.execution.threads or entry.context.num_threads or WORKER_THREADS
  local memory = entry.execution.memory_bytes
  local feed = require 'rtrain.data.executor.feed'(dataset._plan, {
    seed = entry.seed, may_count = entry.is_split, by_steps = entry.by_steps,
    options = {num_threads = threads, memory_bytes = memory and math.ceil(memory / part.of), ingest = ingest}})
  return require 'rtrain.data.loop.iterator' {
    feed = feed, name = entry.name, seed = entry.seed, world_size = part.world_size, rank = part.rank,
    device = function() return device_of(state) end,
    from_blocks = require('rtrain.data.dataset').from_blocks,
    agreement = part.agreement,
  }
end

local function agreement_of(state, entry)
  local context = state.context
  return {store = require 'rtrain._worker', name = entry.name, rank = context.world_rank, world_size = context.world_size,
          timeout_s = context.timeout_s, attempt = function() return state.context.attempt end}
end

-- Returns the shards of some virtual ranks, of which this process has as many.
local function shards_of_virtual(state, entry, dataset, ingest, ranks)
  local members = require 'rtrain.data.loop.agreement'(agreement_of(state, entry)):members(#ranks)
  local shards = {}
  for i, rank in ipairs(ranks) do
    shards[i] = iterator_of(state, entry, dataset, ingest,
      {world_size = state.virtual.count, rank = rank, of = #ranks, agreement = members[i]})
  end
  return shards
end

local function shard_of(state, entry, ingest)
  require('rtrain.data.executor.context').apply(entry.context)
  local dataset = made(entry)
  if state.virtual and entry.is_split then
    return require 'rtrain.data.loop.virtual_iterator'(state.virtual, function(ranks)
      return shards_of_virtual(state, entry, dataset, ingest, ranks)
    end)
  end
  local context = state.context
  local is_dealt = entry.is_split and context.world_size > 1
  return iterator_of(state, entry, dataset, ingest, {
    world_size = is_dealt and context.world_size or 1, rank = is_dealt and context.world_rank or 0, of = 1,
    agreement = agreement_of(state, entry)})
end

---Creates the shards of this worker, and calls the functions that make datasets.
---@param state table state of the session
---@param list table[] a result of `rtrain.run.datasets.for_workers`
function dataset_shards.begin(state, list)
  list = list or {}
  local ingest = list[1] and list[1].ingest and require('rtrain.data.ingest').start(list[1].ingest,
    state.context.timeout_s)
  shards_of[state], ingest_of[state] = ordered.new(), ingest
  for _, entry in ipairs(list) do shards_of[state][entry.name] = shard_of(state, entry, ingest) end
end

-- Seconds between two records, which limits their cost.
local RECORD_S = 0.5

-- Adds the statistics of each operator in this epoch, by its place.
local function add_operators(points, name, stats)
  for i, row in ipairs(stats:to_table()) do
    for _, field in ipairs {'rows', 'bytes', 'time_s', 'wait_s'} do
      points[('data/%s/operators/%02d %s/%s'):format(name, i - 1, row.operator, field)] = row[field]
    end
  end
end

local function record_one(host, name, shard, ingest)
  local times, points = shard:times(), {}
  if times.batches == 0 then return end
  for _, field in ipairs {'wait_s', 'ranks_s', 'batching_s', 'collate_s', 'body_s', 'stall_percent'} do
    points[('data/%s/%s'):format(name, field)] = times[field]
  end
  add_operators(points, name, shard:stats().feed)
  if ingest then points[('data/%s/ingest_workers'):format(name)] = ingest:num_active() end
  host.log_own(points, times.batches)
end

---Writes the times of the loops so far into the run's record, at most every RECORD_S seconds.
---@param state table state of the session
---@param is_last? boolean write in any case
function dataset_shards.record(state, is_last)
  local shards, now = shards_of[state], monotonic()
  if shards == nil or not (is_last or now >= (recorded[state] or 0) + RECORD_S) then return end
  recorded[state] = now
  for name, shard in ordered.items(shards) do record_one(require 'rtrain._worker', name, shard, ingest_of[state]) end
end

---Adapts the shards after the session's rank or world size has changed.
---@param state table state of the session
function dataset_shards.set_place(state)
  if shards_of[state] == nil then return end
  local share = {world_size = state.context.world_size, rank = state.context.world_rank}
  for _, shard in ordered.items(shards_of[state]) do shard:set_place(share) end
end

---Ends the running loops.
---@param state table state of the session
function dataset_shards.finish(state)
  dataset_shards.record(state, true)
  for _, shard in ordered.items(shards_of[state]) do shard:close() end
  if ingest_of[state] then ingest_of[state]:close() end
end

---Returns this worker's part of a dataset of the trainer, or all of it if DataConfig does not split it. Each call
---returns the same object. Ray equivalent: ray.train.get_dataset_shard.
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
function dataset_shards.get_dataset_shard(dataset_name)
  local state = session.get('train.get_dataset_shard()')
  session.take_place()
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

return dataset_shards

-- torch/utils/data/fetch.lua: makes one batch of a dataset, in the training thread or in a worker thread.

local collate = require 'torch.utils.data.collate'
local errors = require 'base.errors'
local pinned = require 'torch.utils.data.pin_memory'
local makes_batches = require('torch.utils.data.dataset').makes_batches
local torch = require 'torch'
local worker = require 'torch.utils.data.worker'

local fetch = {}

local function packed(...) return {n = select('#', ...), ...} end

-- Returns a sample as collate_fn gets it: the value, or a list if get returns several.
local function plain_sample(sample)
  if sample.n == 1 then return sample[1] end
  sample.n = nil
  return sample
end

-- Converts a sample without a batch dimension, for batch_size = torch.none.
local function converted(collate_fn, sample)
  if collate_fn then return collate_fn(plain_sample(sample)) end
  return unpack(sample, 1, sample.n)
end

local function joined(collate_fn, samples, dtypes)
  if not collate_fn then return collate.columns(samples, dtypes) end
  for i, sample in ipairs(samples) do samples[i] = plain_sample(sample) end
  return collate_fn(samples)
end

local function whole_batch(dataset, indices)
  local tensor = type(indices) == 'table' and torch.tensor(indices, {dtype = 'int64'}) or indices
  return dataset:get_batch(tensor)
end

-- The work of one loader, shared by workers and the training thread.
---@class data.Fetcher
---@field dataset data.Dataset
---@field collate_fn? fun(samples: any[]): ...
---@field makes_batches boolean whether to ask the dataset for whole batches
---@field pins boolean whether batches go to pinned memory
---@field current? integer the sample being made, for messages
local Fetcher = {}
Fetcher.__index = Fetcher

local function batch_of_samples(self, making, indices)
  local dataset, samples = self.dataset, {}
  for i, index in ipairs(type(indices) == 'table' and indices or indices:tolist()) do
    self.current = index
    worker.begin(making, index)
    samples[i] = packed(dataset:get(index))
  end
  self.current = nil
  return joined(self.collate_fn, samples, dataset.dtypes)
end

-- Returns the whole batch if the dataset made it, else collects the samples.
local function whole_or_samples(self, making, indices, ...)
  if (...) ~= nil then return ... end
  return batch_of_samples(self, making, indices)
end

local function batch(self, making, indices)
  if not self.makes_batches then return batch_of_samples(self, making, indices) end
  worker.begin_batch(making, indices)
  return whole_or_samples(self, making, indices, whole_batch(self.dataset, indices))
end

-- Without batches: returns the dataset's values for an index, or for a list of indices.
local function one(self, making, index)
  if type(index) == 'table' then
    if not self.dataset.get_batch then
      errors.raise('argument', 'DataLoader: the sampler gives lists of indices, so the dataset needs get_batch(indices)')
    end
    worker.begin_batch(making, index)
    return converted(self.collate_fn, packed(whole_batch(self.dataset, index)))
  end
  self.current = index
  worker.begin(making, index)
  return converted(self.collate_fn, packed(self.dataset:get(index)))
end

local function finished(self, ok, ...)
  local current = self.current
  self.current = nil
  worker.finish()
  if ok then
    if self.pins then return pinned(...) end
    return ...
  end
  local err = ...
  if current then err.message = ('sample %d: %s'):format(current, err.message) end
  error(err, 0)
end

---Returns the values of a request; an error names the sample in which it was raised.
---@param making {seed: integer, info: data.WorkerInfo?}
---@param request integer[]|torch.Tensor|integer
---@return any ... values
function Fetcher:fetch(making, request)
  return finished(self, xpcall(self.is_single and one or batch, errors.wrap, self, making, request))
end

---@param loader {dataset: data.Dataset, collate_fn: function?, is_single: boolean}
---@return data.Fetcher
function fetch.fetcher(loader)
  return setmetatable({dataset = loader.dataset, collate_fn = loader.collate_fn, is_single = loader.is_single,
                       makes_batches = makes_batches(loader.dataset) and not loader.collate_fn, pins = loader.pins}, Fetcher)
end

-- Yields batches of an IterableDataset, or its samples one by one: next_batch(making) → true and values; false at its
-- end.
local Stream = {}
Stream.__index = Stream

local function next_sample(self, making)
  self.count = self.count + 1
  local info = making.info
  worker.begin(making, (self.count - 1) * (info and info.num_workers or 1) + (info and info.id or 0))
  local sample = packed(self.next())
  if sample[1] == nil then
    self.is_ended = true
    return nil
  end
  return sample
end

local function stream_batch(self, making)
  self.next = self.next or self.dataset:iter()
  if self.is_single then
    local sample = next_sample(self, making)
    if sample == nil then return false end
    return true, converted(self.collate_fn, sample)
  end
  local samples = {}
  while #samples < self.batch_size do
    local sample = next_sample(self, making)
    if sample == nil then break end
    samples[#samples + 1] = sample
  end
  if #samples == 0 or (self.drop_last and #samples < self.batch_size) then return false end
  return true, joined(self.collate_fn, samples, self.dataset.dtypes)
end

---@param making {seed: integer, info: data.WorkerInfo?}
---@return boolean more
---@return any ... values
function Stream:next_batch(making)
  if self.is_ended then return false end
  worker.begin(making, -1)
  return finished(self, xpcall(stream_batch, errors.wrap, self, making))
end

---Starts one pass over an IterableDataset.
---@param loader table
---@return table stream
function fetch.stream(loader)
  return setmetatable({dataset = loader.dataset, collate_fn = loader.collate_fn, is_single = loader.is_single,
                       batch_size = loader.batch_size, drop_last = loader.drop_last, pins = loader.pins, count = 0}, Stream)
end

-- Calls worker_init_fn once in each worker, before its first sample.
local function initialize(loader, info)
  if not loader.worker_init_fn then return end
  worker.begin({seed = info.seed, info = info}, -1)
  local ok, err = xpcall(loader.worker_init_fn, errors.wrap, info.id)
  worker.finish()
  if not ok then
    err.message = 'worker_init_fn: ' .. err.message
    error(err, 0)
  end
end

---Returns the function that a worker thread runs for each request {indices, seed} or, for an IterableDataset, {loop,
---seed}.
---@param loader table plain: dataset, collate_fn, is_single, batch_size, drop_last, num_workers, worker_init_fn, pins
---@return fun(request: table, worker_id: integer): ... the values of the batch
function fetch.worker(loader)
  local fetcher, stream, loop, is_initialized
  return function(request, id)
    local info = {id = id, num_workers = loader.num_workers, seed = request.seed + id, dataset = loader.dataset}
    local making = {seed = request.seed, info = info}
    if not is_initialized then
      initialize(loader, info)
      is_initialized = true
    end
    if request.indices then
      fetcher = fetcher or fetch.fetcher(loader)
      return fetcher:fetch(making, request.indices)
    end
    if loop ~= request.loop then stream, loop = fetch.stream(loader), request.loop end
    return stream:next_batch(making)
  end
end

return fetch

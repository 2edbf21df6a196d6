-- torch/utils/data/dataloader.lua: DataLoader.
--
-- An epoch is an object with next_batch(): batches come from the dataset's get_batch where it has one, else from get
-- and collate; with num_workers > 0 they come from threads, each with a Lua state of its own.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local fetch = require 'torch.utils.data.fetch'
local sampler = require 'torch.utils.data.sampler'
local torch = require 'torch'

---Batches of a dataset. Arguments: dataset, {batch_size = 1, shuffle = false, sampler, batch_sampler, num_workers =
---0, collate_fn, drop_last = false, generator, prefetch_factor = 2}. Each loop is a new epoch and ends the one
---before it. num_workers counts threads; with 0 the batches are made where they are used. What concerns Python's worker
---processes is refused: timeout, worker_init_fn, multiprocessing_context, persistent_workers, pin_memory_device; pin_memory
---needs a GPU.
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local set = data.TensorDataset(torch.arange(10), torch.arange(10) * 2)
---local loader = data.DataLoader(set, {batch_size = 4, shuffle = true})
---local seen = 0
---for x, y in loader do seen = seen + x.shape[1] end
---assert(seen == 10 and #loader == 3)
---```
---@class data.DataLoader
---@field dataset data.Dataset
---@field sampler data.Sampler
---@field batch_size? integer
---@overload fun(dataset: data.Dataset, options?: table): data.DataLoader
local DataLoader = class('DataLoader', nil, {userdata = true})

local signature = args.signature('DataLoader', {'dataset', {'batch_size'}, {'shuffle'}, {'sampler'}, {'batch_sampler'},
  {'num_workers', 0}, {'collate_fn'}, {'pin_memory', false}, {'drop_last', false}, {'timeout', 0}, {'worker_init_fn'},
  {'multiprocessing_context'}, {'generator'}, {'prefetch_factor'}, {'persistent_workers', false},
  {'pin_memory_device', ''}})

-- Options of PyTorch that mean nothing here, or do not work yet.
local function refuse_others(a)
  local refused = {
    {a.timeout ~= 0, 'timeout: batches have a deadline of 30 minutes in this version'},
    {a.worker_init_fn ~= nil, 'worker_init_fn: workers are threads that are seeded per sample'},
    {a.multiprocessing_context ~= nil, 'multiprocessing_context: workers are threads'},
    {a.persistent_workers, 'persistent_workers: worker threads always live as long as the loader'},
    {a.pin_memory_device ~= '', 'pin_memory_device: pinned memory needs a GPU build'},
    {a.pin_memory and not torch.cuda.is_available(), 'pin_memory: there is no GPU to copy to'},
  }
  for _, entry in ipairs(refused) do
    if entry[1] then errors.raise('argument', 'DataLoader: cannot use ' .. entry[2]) end
  end
end

local function check(a)
  refuse_others(a)
  if a.batch_sampler and (a.batch_size ~= nil or a.shuffle or a.sampler or a.drop_last) then
    errors.raise('argument', 'DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last')
  end
  if a.sampler and a.shuffle then errors.raise('argument', 'DataLoader: sampler excludes shuffle') end
  if a.prefetch_factor and a.num_workers == 0 then
    errors.raise('argument', 'DataLoader: prefetch_factor needs num_workers > 0')
  end
  if type(a.num_workers) ~= 'number' or a.num_workers < 0 or a.num_workers % 1 ~= 0 then
    errors.raise('argument', ('DataLoader: num_workers is a number from 0 on, got %s'):format(tostring(a.num_workers)))
  end
end

function DataLoader:init(...)
  local a = signature:bind(...)
  check(a)
  self.dataset, self.num_workers, self.collate_fn = a.dataset, a.num_workers, a.collate_fn
  self.generator, self.prefetch_factor, self.drop_last = a.generator, a.prefetch_factor, a.drop_last
  self.pin_memory, self.shuffle = a.pin_memory, a.shuffle or false
  if a.batch_sampler then
    self.batch_sampler = a.batch_sampler
    self.sampler = a.batch_sampler.sampler
  else
    self.sampler = a.sampler or (a.shuffle and sampler.RandomSampler(a.dataset, {generator = a.generator}))
      or sampler.SequentialSampler(a.dataset)
    self.batch_size = a.batch_size or 1
    self.batch_sampler = sampler.BatchSampler(self.sampler, self.batch_size, a.drop_last)
  end
  self._epochs = 0
end

---The loader's arguments as a table that DataLoader{…} takes again: for a loader that differs in some of them.
---@return table options
function DataLoader:options()
  local own_batches = self.batch_size == nil
  return {
    dataset = self.dataset, num_workers = self.num_workers, collate_fn = self.collate_fn, generator = self.generator,
    prefetch_factor = self.prefetch_factor, pin_memory = self.pin_memory,
    batch_sampler = own_batches and self.batch_sampler or nil,
    batch_size = self.batch_size, drop_last = not own_batches and self.drop_last or nil,
    sampler = not own_batches and not self.shuffle and self.sampler or nil,
    shuffle = not own_batches and self.shuffle or nil,
  }
end

---@return integer number of batches of an epoch
function DataLoader:len() return self.batch_sampler:len() end

function DataLoader:__len() return self:len() end

-- Batches of indices as int64 tensors, cut from the sampler's order.
local function tensor_batches(order, batch_size, drop_last)
  local start, count = 0, order:size(0)
  return function()
    local size = math.min(batch_size, count - start)
    if size <= 0 or (size < batch_size and drop_last) then return nil end
    local batch = order:narrow(0, start, size)
    start = start + size
    return batch
  end
end

-- Iterates over batches of indices: tensors where the sampler gives one, else lists.
local function index_batches(self)
  local batches = self.batch_sampler
  if class.is(batches, sampler.BatchSampler) and batches.sampler.indices then
    return tensor_batches(batches.sampler:indices(), batches.batch_size, batches.drop_last)
  end
  return batches:iter()
end

local function own_epoch(self)
  local next_indices, dataset, collate_fn = index_batches(self), self.dataset, self.collate_fn
  return function()
    local indices = next_indices()
    if indices == nil then return nil end
    return fetch.batch(dataset, collate_fn, indices)
  end
end

local function threads(self)
  if not self._threads then
    self._threads = require('torch._C').data.Pool{
      fn = fetch.worker(self.dataset, self.collate_fn, self.num_workers), name = 'DataLoader',
      num_workers = self.num_workers, capacity = self.num_workers * (self.prefetch_factor or 2)}
  end
  self._threads:clear()
  return self._threads
end

-- Asks for more batches before the one just taken is used.
local function refilled(fill, ...)
  fill()
  return ...
end

local function threaded_epoch(self)
  local next_indices, loader = index_batches(self), threads(self)
  local seed = self._seed + self._epochs
  local waiting
  local function fill()
    while true do
      waiting = waiting or next_indices()
      if waiting == nil then return end
      local indices = type(waiting) == 'table' and waiting or waiting:tolist()
      if not loader:submit{indices = indices, seed = seed} then return end
      waiting = nil
    end
  end
  return function()
    fill()
    if loader:in_flight() == 0 then return nil end
    return refilled(fill, loader:next())
  end
end

---Begins an epoch.
---@return fun(): ... iterator over batches: what the dataset's get returns, collated
function DataLoader:iter()
  -- Drawn in every epoch, before the sampler's, as PyTorch does: dropout after it gets the same numbers.
  local seed = sampler.draw_seed(self.generator)
  self._seed = self._seed or seed:bitwise_and(0xFFFFFFFF):item()
  local next_batch = self.num_workers > 0 and threaded_epoch(self) or own_epoch(self)
  self._epochs = self._epochs + 1
  self._next = next_batch
  return function()
    if self._next ~= next_batch then
      errors.raise('argument', 'DataLoader: this loop was ended by a newer one over the same loader')
    end
    return next_batch()
  end
end

-- `for x, y in loader do`: Lua calls the object with the first value of the batch before, nil at the beginning.
function DataLoader:__call(_, previous)
  if previous == nil then self:iter() end
  return self._next()
end

---Iterates over i, batch with i from 0.
---@return fun(): integer, ...
function DataLoader:enumerate()
  local next_batch, i = self:iter(), -1
  local function numbered(...)
    if (...) == nil then return nil end
    i = i + 1
    return i, ...
  end
  return function() return numbered(next_batch()) end
end

-- The threads stay behind: a loader that travels starts its own.
function DataLoader.__pack(self)
  local module, name, state = class.pack(self)
  state.fields._threads, state.fields._next = nil, nil
  return module, name, state
end

return {DataLoader = DataLoader}

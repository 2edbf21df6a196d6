-- torch/utils/data/dataloader.lua: DataLoader.
--
-- A loop is an epoch: torch.utils.data.position decides which epoch it is and where it begins, torch.utils.data.epoch
-- makes its batches.

local args = require 'base.args'
local as_sampler = require 'torch.utils.data.list_sampler'
local class = require 'base.class'
local dataset = require 'torch.utils.data.dataset'
local epoch = require 'torch.utils.data.epoch'
local errors = require 'base.errors'
local loop_limit = require 'torch.utils.data.loop_limit'
local loop_variables = require 'torch.utils.data.loop_variables'
local loop_watch = require 'torch.utils.data.loop_watch'
local position = require 'torch.utils.data.position'
local sampler = require 'torch.utils.data.sampler'
local torch = require 'torch'
local BatchSampler = require('torch.utils.data.batch_sampler').BatchSampler

---Loads batches of a dataset. PyTorch equivalent: torch.utils.data.DataLoader. Arguments: dataset, {batch_size = 1,
---shuffle = false, sampler, batch_sampler, num_workers = 0, collate_fn, pin_memory = false, drop_last = false, timeout
---= 0, worker_init_fn, generator, prefetch_factor = 2, persistent_workers = false, in_order = true}.
---
---Each loop is a new epoch and ends the previous one. The order depends only on the seed and the epoch, and
---the numbers that a sample draws from `sample_generator` only on the seed, the epoch and its index: the number of
---workers does not matter.
---* batch_size = torch.none: samples one by one, not collated; if a sampler gives lists of indices, get_batch is
---called.
---* num_workers counts threads, each with a Lua state and a copy of the dataset, whose tensors are shared. With 0 the
---batches
---  are made in the thread of the loop. The threads end with the loop, or stay with persistent_workers = true.
---* timeout: maximal seconds for a batch; 0 means half an hour.
---* in_order = false returns the batch that is finished first.
---* pin_memory = true: batches are in pinned memory, from which x:to(device, {non_blocking = true}) copies while the
---  processor continues; the thread that makes a batch pins it. It has no effect without a GPU; pin_memory_device never
---  has one.
---* multiprocessing_context is refused, since there are no worker processes.
---
---The dataset is a Dataset, or a tensor whose rows are the samples, or a list of samples.
---A sampler is an object with iter() and len(), or a list of indices; a batch_sampler gives lists of indices.
---
---The loop raises a worker's error when it takes the batch, with the worker's id and the sample's index.
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
---@field sampler? data.Sampler
---@field batch_sampler? data.Sampler
---@field batch_size? integer
---@field num_workers integer
---@field drop_last boolean
---@overload fun(dataset: data.Dataset|torch.Tensor|any[], options?: table): data.DataLoader
local DataLoader = class('DataLoader', nil, {userdata = true})

local signature = args.signature('DataLoader', {'dataset', {'batch_size'}, {'shuffle'}, {'sampler'}, {'batch_sampler'},
  {'num_workers', 0}, {'collate_fn'}, {'pin_memory', false}, {'drop_last', false}, {'timeout', 0}, {'worker_init_fn'},
  {'multiprocessing_context'}, {'generator'}, {'prefetch_factor'}, {'persistent_workers', false},
  {'pin_memory_device', ''}, {'in_order', true}})

-- Options that are stored unchanged.
local FIELDS = {'dataset', 'num_workers', 'collate_fn', 'pin_memory', 'timeout', 'worker_init_fn', 'generator',
                'prefetch_factor', 'persistent_workers', 'pin_memory_device', 'in_order'}

local function set_samplers(self, a)
  self.is_single = a.batch_size == torch.none
  if a.batch_sampler then
    self.batch_sampler = as_sampler(a.batch_sampler)
    self.sampler = self.batch_sampler.sampler
    return
  end
  if not self.is_single then self.batch_size = a.batch_size or 1 end
  if self.is_iterable then
    return  -- it has its own order
  end
  self.sampler = as_sampler(a.sampler) or (a.shuffle and sampler.RandomSampler(a.dataset, {generator = a.generator}))
    or sampler.SequentialSampler(a.dataset)
  if not self.is_single then self.batch_sampler = BatchSampler(self.sampler, self.batch_size, a.drop_last) end
end

function DataLoader:init(...)
  local a = signature:bind(...)
  a.dataset = dataset.as_dataset(a.dataset)
  self.is_iterable = class.is(a.dataset, dataset.IterableDataset)
  require 'torch.utils.data.loader_checks'(a, self.is_iterable)
  for _, name in ipairs(FIELDS) do self[name] = a[name] end
  self.pins = a.pin_memory and torch.cuda.is_available()
  self.drop_last, self.shuffle = a.drop_last, a.shuffle or false
  set_samplers(self, a)
end

---Returns the loader's arguments as a table for DataLoader{…}, to make a loader that differs in some of them.
---@return table options
function DataLoader:options()
  local options = {}
  for _, name in ipairs(FIELDS) do options[name] = self[name] end
  if self.batch_sampler and self.batch_size == nil then
    options.batch_sampler = self.batch_sampler
    return options
  end
  options.batch_size = self.is_single and torch.none or self.batch_size
  options.drop_last, options.shuffle = self.drop_last, self.shuffle
  if not self.shuffle then options.sampler = self.sampler end
  return options
end

---@return integer number of batches of an epoch; for an IterableDataset computed from its len()
function DataLoader:len()
  if self.batch_sampler then return loop_limit.count(self.batch_sampler:len()) end
  if not self.is_iterable then return loop_limit.count(self.sampler:len()) end
  local batches = self.dataset:len() / (self.batch_size or 1)
  return loop_limit.count(self.drop_last and math.floor(batches) or math.ceil(batches))
end

function DataLoader:__len() return self:len() end

-- Returns the description of the epoch for loop_watch. An IterableDataset may not know its length.
local function described(self, begun)
  local _, batches = pcall(self.len, self)
  local order = self.batch_sampler and self.batch_sampler.sampler or self.sampler
  return {
    first = begun.batches,
    batches = tonumber(batches),
    batch_size = self.batch_size or self.batch_sampler and self.batch_sampler.batch_size,
    samples = order and order.len and order:len() or nil,
    dataset_size = not self.is_iterable and self.dataset:len() or nil,
  }
end

---Begins an epoch.
---@return fun(): ... iterator over batches: the results of the dataset's get, collated
function DataLoader:iter()
  local begun = position.begin(self)
  local next_batch, is_ended = loop_limit.batches(self, function() return epoch.batches(self, begun) end), false
  next_batch = loop_watch.batches(next_batch, function() return described(self, begun) end)
  local function counted(...)
    if (...) == nil then
      is_ended = true
      position.finish(self)
    else
      begun.taken = begun.taken + 1
    end
    return ...
  end
  local function next_of_loop()
    if self._next ~= next_of_loop then
      errors.raise('argument', 'DataLoader: this loop was ended by a newer one over the same loader')
    end
    if is_ended then return nil end
    return counted(next_batch())
  end
  self._next = next_of_loop
  return next_of_loop
end

-- __call ends with a tail call of this function.
local function first_batch(...)
  loop_variables.check(2, select('#', ...))
  return ...
end

-- `for x, y in loader do`: Lua calls the object with the first value of the previous batch, nil at the beginning.
function DataLoader:__call(_, previous)
  if previous ~= nil then return self._next() end
  self:iter()
  return first_batch(self._next())
end

---Iterates over i, batch with i from `start` on.
---@param start? integer default 0
---@return fun(): integer, ...
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local loader, seen = data.DataLoader(data.TensorDataset(torch.arange(4)), {batch_size = 2}), {}
---for i, x in loader:enumerate(1) do seen[i] = x.shape[1] end
---assert(#seen == 2 and seen[1] == 2)
---```
function DataLoader:enumerate(start)
  if start ~= nil and (type(start) ~= 'number' or start % 1 ~= 0) then
    errors.raise('argument', ('enumerate: start is an integer, got %s'):format(tostring(start)))
  end
  local next_batch, i = self:iter(), (start or 0) - 1
  local function numbered(...)
    if (...) == nil then return nil end
    i = i + 1
    return i, ...
  end
  return function() return numbered(next_batch()) end
end

---Returns the position of the loop, as plain data for torch.save: in the body of the loop, after k batches, the rest of
---the epoch; between two loops, the next epoch. Save it in the checkpoint and pass it to load_state() of a loader over
---the same dataset. With a DistributedSampler every rank has the same state, and any number of ranks can continue from
---it.
---@return table state
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local function new_loader()
---  return data.DataLoader(data.TensorDataset(torch.arange(6)), {batch_size = 2, shuffle = true})
---end
---local loader, state, rest = new_loader(), nil, {}
---for i, x in loader:enumerate() do
---  if i == 0 then state = loader:state() else rest[i] = x end
---end
---local restored = new_loader()
---restored:load_state(state)
---for i, x in restored:enumerate() do assert(torch.equal(x, rest[i + 1])) end
---```
function DataLoader:state() return position.state(self) end

---Makes the next loop continue at the position of the state; `set_epoch` with another epoch starts that epoch
---instead. Raises code 'argument' for a state that does not fit the dataset or the sampler.
---@param state table a result of state()
function DataLoader:load_state(state) position.load(self, state) end

---Ends the worker threads, also those of persistent_workers; the next loop starts new ones.
function DataLoader:close() epoch.close(self) end

-- Threads and the loop are not serialized: a loader that is sent to another process starts its own.
function DataLoader.__pack(self)
  local module, name, state = class.pack(self)
  for _, field in ipairs{'_pools', '_next', '_begun', '_finished'} do state.fields[field] = nil end
  return module, name, state
end

return {DataLoader = DataLoader}

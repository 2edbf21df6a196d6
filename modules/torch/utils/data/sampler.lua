-- torch/utils/data/sampler.lua: the order in which samples are taken.
--
-- A sampler has len() and iter(), an iterator over indices from 0. Those here also have indices(), the indices of
-- the next epoch as one int64 tensor, which the loader cuts into batches without making Lua numbers of them.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local torch = require 'torch'

---Base of the samplers: define `len()` and `iter()`, or `indices()` instead of `iter()`.
---
---```lua
---local data = require 'torch.utils.data'
---local Backwards = data.Sampler:extend('Backwards')
---function Backwards:init(count) self.count = count end
---function Backwards:len() return self.count end
---function Backwards:iter()
---  local i = self.count
---  return function()
---    i = i - 1
---    if i >= 0 then return i end
---  end
---end
---assert(#Backwards(3) == 3 and Backwards(3):iter()() == 2)
---```
---@class data.Sampler
local Sampler = class('Sampler', nil, {userdata = true})

---@return integer number of samples of an epoch
function Sampler:len()
  errors.raise('argument', ('%s: define function %s:len()'):format(class.of(self).__name, class.of(self).__name))
end

function Sampler:__len() return self:len() end

---Chooses the epoch of the next loop. Here it does nothing; samplers whose order depends on the epoch define it, so that a
---script may call it on any loader's sampler.
---@param epoch integer from 0
function Sampler:set_epoch(epoch) end

---Iterates over the indices of the next epoch.
---@return fun(): integer|nil
function Sampler:iter()
  local list, i = self:indices():tolist(), 0
  return function()
    i = i + 1
    return list[i]
  end
end

---0, 1, 2, … len - 1.
---@class data.SequentialSampler: data.Sampler
---@overload fun(data_source: data.Dataset): data.SequentialSampler
local SequentialSampler = Sampler:extend('SequentialSampler')

---@param data_source data.Dataset
function SequentialSampler:init(data_source) self.data_source = data_source end

function SequentialSampler:len() return self.data_source:len() end

function SequentialSampler:indices() return torch.arange(self:len()) end

-- A seed from the generator, or from the default one.
local function draw_seed(generator)
  return torch.empty({}, {dtype = 'int64'}):random_{generator = generator}
end

---A random order. The seed is drawn once, as PyTorch draws it for a first epoch; epoch e uses seed + e, so that the
---order is a function of the seed and the epoch alone. Arguments: data_source, {replacement = false, num_samples,
---generator}.
---@class data.RandomSampler: data.Sampler
---@overload fun(data_source: data.Dataset, options?: table): data.RandomSampler
local RandomSampler = Sampler:extend('RandomSampler')

local random_signature = args.signature('RandomSampler', {'data_source', {'replacement', false}, {'num_samples'},
  {'generator'}})

function RandomSampler:init(...)
  local a = random_signature:bind(...)
  self.data_source, self.replacement, self.generator = a.data_source, a.replacement, a.generator
  self._num_samples, self.epoch = a.num_samples, 0
  if self:len() <= 0 then errors.raise('argument', 'RandomSampler: there are no samples to draw from') end
end

---The next loop runs this epoch (from 0).
---@param epoch integer
function RandomSampler:set_epoch(epoch) self.epoch = epoch end

function RandomSampler:len() return self._num_samples or self.data_source:len() end

local function with_replacement(self, count, options)
  return torch.randint(0, self.data_source:len(), {count}, options)
end

local function permutations(self, count, options)
  local total = self.data_source:len()
  local parts = {}
  for _ = 1, math.ceil(count / total) do parts[#parts + 1] = torch.randperm(total, options) end
  return torch.cat(parts):narrow(0, 0, count)
end

function RandomSampler:indices()
  -- Drawn in every epoch, as PyTorch does, so that what the generator gives others afterwards is the same.
  local seed = draw_seed(self.generator)
  self._seed = self._seed or seed
  local options = {generator = torch.Generator((self._seed + self.epoch):item())}
  self.epoch = self.epoch + 1
  if self.replacement then return with_replacement(self, self:len(), options) end
  return permutations(self, self:len(), options)
end

---The given indices in random order. Arguments: indices, {generator}.
---@class data.SubsetRandomSampler: data.Sampler
---@overload fun(indices: integer[]|torch.Tensor, options?: table): data.SubsetRandomSampler
local SubsetRandomSampler = Sampler:extend('SubsetRandomSampler')

local subset_signature = args.signature('SubsetRandomSampler', {'indices', {'generator'}})

function SubsetRandomSampler:init(...)
  local a = subset_signature:bind(...)
  self._indices = type(a.indices) == 'table' and torch.tensor(a.indices, {dtype = 'int64'}) or a.indices
  self.generator = a.generator
end

function SubsetRandomSampler:len() return self._indices:size(0) end

function SubsetRandomSampler:indices()
  local order = torch.randperm(self:len(), {generator = self.generator})
  return self._indices:index_select(0, order)
end

---Draws each index with a probability in proportion to its weight. Arguments: weights (a list or tensor),
---num_samples, {replacement = true, generator}.
---@class data.WeightedRandomSampler: data.Sampler
---@overload fun(weights: number[]|torch.Tensor, num_samples: integer, options?: table): data.WeightedRandomSampler
local WeightedRandomSampler = Sampler:extend('WeightedRandomSampler')

local weighted_signature = args.signature('WeightedRandomSampler', {'weights', 'num_samples', {'replacement', true},
  {'generator'}})

function WeightedRandomSampler:init(...)
  local a = weighted_signature:bind(...)
  self.weights = type(a.weights) == 'table' and torch.tensor(a.weights, {dtype = 'float64'}) or a.weights:double()
  self.num_samples, self.replacement, self.generator = a.num_samples, a.replacement, a.generator
end

function WeightedRandomSampler:len() return self.num_samples end

function WeightedRandomSampler:indices()
  return torch.multinomial(self.weights, self.num_samples, self.replacement, {generator = self.generator})
end

---Lists of indices, batch_size at a time. Arguments: sampler, batch_size, drop_last.
---
---```lua
---local data = require 'torch.utils.data'
---local torch = require 'torch'
---local order = data.SequentialSampler(data.TensorDataset(torch.arange(5)))
---local batches = data.BatchSampler(order, 2, false)
---assert(#batches == 3 and batches:iter()()[2] == 1)
---```
---@class data.BatchSampler: data.Sampler
---@overload fun(sampler: data.Sampler, batch_size: integer, drop_last: boolean): data.BatchSampler
local BatchSampler = Sampler:extend('BatchSampler')

local batch_signature = args.signature('BatchSampler', {'sampler', 'batch_size', 'drop_last'})

function BatchSampler:init(...)
  local a = batch_signature:bind(...)
  if type(a.batch_size) ~= 'number' or a.batch_size < 1 or a.batch_size % 1 ~= 0 then
    errors.raise('argument', ('batch_size is a positive integer, got %s'):format(tostring(a.batch_size)))
  end
  self.sampler, self.batch_size, self.drop_last = a.sampler, a.batch_size, a.drop_last
end

function BatchSampler:len()
  local batches = self.sampler:len() / self.batch_size
  return self.drop_last and math.floor(batches) or math.ceil(batches)
end

function BatchSampler:iter()
  local next_index = self.sampler:iter()
  return function()
    local batch = {}
    for index in next_index do
      batch[#batch + 1] = index
      if #batch == self.batch_size then return batch end
    end
    if #batch > 0 and not self.drop_last then return batch end
    return nil
  end
end

return {Sampler = Sampler, SequentialSampler = SequentialSampler, RandomSampler = RandomSampler,
        SubsetRandomSampler = SubsetRandomSampler, WeightedRandomSampler = WeightedRandomSampler,
        BatchSampler = BatchSampler, draw_seed = draw_seed}

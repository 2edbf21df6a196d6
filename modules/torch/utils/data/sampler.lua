-- torch/utils/data/sampler.lua: samplers: the order in which samples are used.
--
-- A sampler has len() and iter(), an iterator over indices from 0. The samplers of this file have indices() instead:
-- the indices of the next epoch as one int64 tensor, which the loader cuts into batches without converting them to Lua
-- numbers.
--
-- state(taken) and load_state(state) transfer an order to another process, also in the middle of it, when `taken`
-- samples were used. After load_state, resume() returns once how many samples of the next order to skip, and that order
-- is drawn again without changing a generator.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local torch = require 'torch'

---Base of the samplers: define `len()` and `iter()`, or `indices()` instead of `iter()`. A sampler with a random order
---also needs `state(taken)` and `load_state(state)` for a loader that can be resumed.
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
---@field epoch? integer
local Sampler = class('Sampler', nil, {userdata = true})

---@return integer number of samples of an epoch
function Sampler:len()
  errors.raise('argument', ('%s: define function %s:len()'):format(class.of(self).__name, class.of(self).__name))
end

function Sampler:__len() return self:len() end

---Sets the epoch of the next loop, for samplers whose order depends on it. Other samplers only store it, so that a
---script may call this for any loader's sampler.
---@param epoch integer from 0
function Sampler:set_epoch(epoch)
  if epoch ~= self.epoch then self._resumed = nil end
  self.epoch = epoch
end

---Iterates over the indices of the next epoch.
---@return fun(): integer|nil
function Sampler:iter()
  local list, i = self:indices():tolist(), 0
  return function()
    i = i + 1
    return list[i]
  end
end

---Returns the position of the sampler, as plain data.
---@param taken? integer number of used samples of the last order; nil between two epochs
---@return table state
function Sampler:state(taken) return {kind = class.of(self).__name, epoch = self.epoch, samples = taken} end

---Continues at the position of the state. Raises an error for the state of another kind of sampler.
---@param state table
function Sampler:load_state(state)
  local kind = class.of(self).__name
  if state.kind ~= kind then
    errors.raise('argument', ('load_state: the state is that of a %s, this sampler is a %s'):format(
      tostring(state.kind), kind))
  end
  self.epoch = state.epoch
  self._resumed = state.samples
end

---Returns, once after load_state in the middle of an epoch, how many samples to skip.
---@return integer|nil samples nil: the next order is a new one
function Sampler:resume()
  local samples = self._resumed
  self._resumed, self._replay = nil, samples ~= nil
  return samples
end

-- Returns whether the resumed run has drawn this order before.
local function is_replay(self)
  local replay = self._replay
  self._replay = nil
  return replay
end

---The order 0, 1, 2, … len - 1.
---@class data.SequentialSampler: data.Sampler
---@overload fun(data_source: data.Dataset): data.SequentialSampler
local SequentialSampler = Sampler:extend('SequentialSampler')

---@param data_source data.Dataset
function SequentialSampler:init(data_source) self.data_source = data_source end

function SequentialSampler:len() return self.data_source:len() end

function SequentialSampler:indices() return torch.arange(self:len()) end

function SequentialSampler:state(taken)
  return {kind = 'SequentialSampler', shuffle = false, epoch = self.epoch, samples = taken}
end

-- The common orders of RandomSampler, SequentialSampler and DistributedSampler can be exchanged: a run may continue
-- with another number of workers.
local function check_shuffle(self, state, shuffle)
  if state.shuffle == shuffle then return end
  errors.raise('argument', ('load_state: the state is that of a %s, which %s, this sampler is a %s, which %s'):format(
    tostring(state.kind), state.shuffle and 'shuffles' or 'does not shuffle', class.of(self).__name,
    shuffle and 'shuffles' or 'does not'))
end

function SequentialSampler:load_state(state)
  check_shuffle(self, state, false)
  self.epoch, self._resumed = state.epoch, state.samples
end

-- Draws a seed from the generator, or from the default generator.
local function draw_seed(generator)
  return torch.empty({}, {dtype = 'int64'}):random_{generator = generator}
end

-- Returns the state of the sampler's own generator, if it has one.
local function generator_state(generator) return generator and generator:get_state() end

local function restore_generator(generator, state)
  if generator and state then generator:set_state(state) end
end

-- Returns the generator for a random order of an epoch. The first order with a script's generator is drawn from that
-- (`first` is its state), as in PyTorch; every other order is a function of the seed and the epoch.
local function epoch_generator(seed, epoch, first)
  if epoch ~= 0 or not first then return torch.Generator(seed + epoch) end
  local generator = torch.Generator()
  generator:set_state(first)
  return generator
end

---A random order. Without a generator the seed is drawn once, as PyTorch draws it for a first epoch, and epoch e uses
---seed + e. With a generator, the first epoch's order is drawn from it, as in PyTorch, and so is the seed of later
---epochs: the order depends only on the seed and the epoch. Arguments: data_source, {replacement = false, num_samples,
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
  if type(self.replacement) ~= 'boolean' then
    errors.raise('argument', ('RandomSampler: replacement is true or false, got %s'):format(tostring(a.replacement)))
  end
  local count = self:len()
  if type(count) ~= 'number' or count <= 0 or count % 1 ~= 0 then
    errors.raise('argument', a.num_samples == nil and 'RandomSampler: there are no samples to draw from'
      or ('RandomSampler: num_samples is a positive integer, got %s'):format(tostring(count)))
  end
end

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

-- Draws the seeds of all epochs once, and later as many numbers as PyTorch does, so that later draws of other code from
-- the generator are the same.
local function draw_seeds(self)
  local first = generator_state(self.generator)
  local seed = draw_seed(self.generator)
  if self._seed then return end
  self._seed, self._first = seed:item(), first
end

-- Makes the orders those of a DistributedSampler with that seed, which more workers have.
function RandomSampler:_set_seed(seed) self._seed, self._first = seed, nil end

function RandomSampler:indices()
  if not is_replay(self) then draw_seeds(self) end
  local options = {generator = epoch_generator(self._seed, self.epoch, self._first)}
  self._drawn = self.epoch
  self.epoch = self.epoch + 1
  if self.replacement then return with_replacement(self, self:len(), options) end
  return permutations(self, self:len(), options)
end

-- Returns whether the order is the plain permutation, which other samplers can resume.
local function is_plain(self) return not self.replacement and self._num_samples == nil end

function RandomSampler:state(taken)
  return {kind = 'RandomSampler', shuffle = is_plain(self) or nil, seed = self._seed, first = self._first,
          epoch = taken and self._drawn or self.epoch, samples = taken, generator = generator_state(self.generator)}
end

function RandomSampler:load_state(state)
  if is_plain(self) then
    check_shuffle(self, state, true)
    -- The state of a DistributedSampler has the finished epoch, that of a RandomSampler the next one.
    local is_past = state.kind == 'DistributedSampler' and state.samples == nil
    self.epoch, self._resumed = state.epoch + (is_past and 1 or 0), state.samples
  else
    Sampler.load_state(self, state)
  end
  self._seed, self._first = state.seed, state.first
  restore_generator(self.generator, state.generator)
end

-- Samplers that draw each epoch's order from the generator itself, as PyTorch's do: they save the generator's state.
local DrawingSampler = Sampler:extend('DrawingSampler')

function DrawingSampler:indices()
  if not is_replay(self) then
    self._start = generator_state(self.generator) or torch.get_rng_state()
    return self:draw(self.generator)
  end
  local generator = torch.Generator()
  generator:set_state(self._start)
  return self:draw(generator)
end

function DrawingSampler:state(taken)
  local state = Sampler.state(self, taken)
  state.start, state.generator = taken and self._start, generator_state(self.generator)
  return state
end

function DrawingSampler:load_state(state)
  Sampler.load_state(self, state)
  self._start = state.start
  restore_generator(self.generator, state.generator)
end

---The given indices in random order. Arguments: indices, {generator}.
---@class data.SubsetRandomSampler: data.Sampler
---@overload fun(indices: integer[]|torch.Tensor, options?: table): data.SubsetRandomSampler
local SubsetRandomSampler = DrawingSampler:extend('SubsetRandomSampler')

local subset_signature = args.signature('SubsetRandomSampler', {'indices', {'generator'}})

function SubsetRandomSampler:init(...)
  local a = subset_signature:bind(...)
  self._indices = type(a.indices) == 'table' and torch.tensor(a.indices, {dtype = 'int64'}) or a.indices
  self.generator = a.generator
end

function SubsetRandomSampler:len() return self._indices:size(0) end

---@param generator userdata|nil
---@return torch.Tensor order
function SubsetRandomSampler:draw(generator)
  return self._indices:index_select(0, torch.randperm(self:len(), {generator = generator}))
end

---Draws each index with a probability in proportion to its weight. Arguments: weights (a list or tensor),
---num_samples, {replacement = true, generator}.
---@class data.WeightedRandomSampler: data.Sampler
---@overload fun(weights: number[]|torch.Tensor, num_samples: integer, options?: table): data.WeightedRandomSampler
local WeightedRandomSampler = DrawingSampler:extend('WeightedRandomSampler')

local weighted_signature = args.signature('WeightedRandomSampler', {'weights', 'num_samples', {'replacement', true},
  {'generator'}})

local function check_weighted(a, weights)
  if type(a.num_samples) ~= 'number' or a.num_samples <= 0 or a.num_samples % 1 ~= 0 then
    errors.raise('argument', ('WeightedRandomSampler: num_samples is a positive integer, got %s'):format(
      tostring(a.num_samples)))
  end
  if type(a.replacement) ~= 'boolean' then
    errors.raise('argument', ('WeightedRandomSampler: replacement is true or false, got %s'):format(
      tostring(a.replacement)))
  end
  if weights:dim() ~= 1 then
    errors.raise('argument', ('WeightedRandomSampler: weights are a list of numbers, got a tensor of %d dimensions'):format(
      weights:dim()))
  end
end

function WeightedRandomSampler:init(...)
  local a = weighted_signature:bind(...)
  self.weights = type(a.weights) == 'table' and torch.tensor(a.weights, {dtype = 'float64'}) or a.weights:double()
  check_weighted(a, self.weights)
  self.num_samples, self.replacement, self.generator = a.num_samples, a.replacement, a.generator
end

function WeightedRandomSampler:len() return self.num_samples end

---@param generator userdata|nil
---@return torch.Tensor order
function WeightedRandomSampler:draw(generator)
  return torch.multinomial(self.weights, self.num_samples, self.replacement, {generator = generator})
end

return {Sampler = Sampler, SequentialSampler = SequentialSampler, RandomSampler = RandomSampler,
        SubsetRandomSampler = SubsetRandomSampler, WeightedRandomSampler = WeightedRandomSampler,
        draw_seed = draw_seed, is_replay = is_replay, epoch_generator = epoch_generator}

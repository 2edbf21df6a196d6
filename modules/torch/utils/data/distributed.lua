-- torch/utils/data/distributed.lua: DistributedSampler: the part of a dataset for one rank.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local samplers = require 'torch.utils.data.sampler'
local torch = require 'torch'
local Sampler = samplers.Sampler

---Takes every num_replicas-th sample, beginning at `rank`, of an order that all ranks share: the same indices as
---PyTorch's. Call set_epoch before each epoch, otherwise every epoch has the same order. Arguments: dataset,
---{num_replicas, rank (default: the process group's), shuffle = true, seed = 0, drop_last = false}. Without drop_last
---the first samples are repeated so that all ranks have the same number; with it the last ones are omitted.
---
---Its state can be loaded with another number of ranks: the remaining samples of the epoch are divided again, and
---padded or dropped by the same rule.
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local set = data.TensorDataset(torch.arange(5))
---local sampler = data.DistributedSampler(set, {num_replicas = 2, rank = 1, shuffle = false})
---assert(#sampler == 3 and table.concat(sampler:indices():tolist(), ' ') == '1 3 0')
---```
---@class data.DistributedSampler: data.Sampler
---@overload fun(dataset: data.Dataset, options?: table): data.DistributedSampler
local DistributedSampler = Sampler:extend('DistributedSampler')

-- All existing samplers of this class.
local made = setmetatable({}, {__mode = 'k'})

local signature = args.signature('DistributedSampler', {'dataset', {'num_replicas'}, {'rank'}, {'shuffle', true},
  {'seed', 0}, {'drop_last', false}})

-- Returns how many of `count` samples each rank takes.
local function share(self, count)
  local part = count / self.num_replicas
  return self.drop_last and math.floor(part) or math.ceil(part)
end

function DistributedSampler:init(...)
  local a = signature:bind(...)
  self.dataset, self.shuffle, self.seed, self.drop_last = a.dataset, a.shuffle, a.seed, a.drop_last
  self.num_replicas = a.num_replicas or torch.distributed.get_world_size()
  self.rank = a.rank or torch.distributed.get_rank()
  if self.rank < 0 or self.rank >= self.num_replicas then
    errors.raise('argument', ('DistributedSampler: rank %d is not one of 0 … %d'):format(self.rank,
      self.num_replicas - 1))
  end
  self.epoch, self._seen = 0, 0
  self:set_place(self.num_replicas, self.rank)
  made[self] = true
end

---Returns all existing samplers, in any order, for a group whose size changes.
---@return fun(): data.DistributedSampler|nil
function DistributedSampler.each()
  local sampler
  return function()
    sampler = next(made, sampler)
    return sampler
  end
end

---Takes the part of another rank, possibly with another number of ranks, from the next order on. Its state stays: the
---rest of an epoch is divided again if the state is loaded after this call.
---@param num_replicas integer
---@param rank integer
function DistributedSampler:set_place(num_replicas, rank)
  self.num_replicas, self.rank = num_replicas, rank
  self.num_samples = share(self, self:count())
  self.total_size = self.num_samples * num_replicas
end

function DistributedSampler:len() return self.num_samples end

---@return integer count number of samples that all ranks share
function DistributedSampler:count() return self.dataset:len() end

---Returns how many samples of this rank's order are its own; later ones repeat the first samples of the dataset.
---@param seen? integer samples that all ranks had seen when the order was divided, default 0
---@param rank? integer another rank
---@return integer
function DistributedSampler:num_own(seen, rank)
  if self.wait_for_rank then self.wait_for_rank() end
  local left = math.max(self:count() - (seen or 0), 0)
  return math.min(share(self, left), math.max(math.ceil((left - (rank or self.rank)) / self.num_replicas), 0))
end

---@return integer seen samples that all ranks had seen when the last order was divided
function DistributedSampler:seen() return self._seen end

---Returns the order that all ranks share.
---@return torch.Tensor indices int64
function DistributedSampler:order()
  local total = self:count()
  if not self.shuffle then return torch.arange(total) end
  return torch.randperm(total, {generator = samplers.epoch_generator(self.seed, self.epoch, self._first)})
end

-- Returns the order without its first `seen` samples, padded with its beginning, or cut, to a multiple of the number of
-- ranks.
local function dealt(self, order, seen)
  local count = order:size(0)
  local left = math.max(count - seen, 0)
  local rest = order:narrow(0, count - left, left)
  local size = share(self, left) * self.num_replicas
  if size <= left then return rest:narrow(0, 0, size) end
  local padding = size - left
  return torch.cat{rest, order:tile{math.ceil(padding / count)}:narrow(0, 0, padding)}
end

---Returns the next orders of all ranks, a column for each.
---@return torch.Tensor indices int64
function DistributedSampler:columns()
  self._seen = samplers.is_replay(self) and self._seen_before or 0
  local all = dealt(self, self:order(), self._seen)
  return all:view{all:size(0) / self.num_replicas, self.num_replicas}
end

-- `wait_for_rank` sets the rank of a sampler that was made before its process had one.
function DistributedSampler:indices()
  if self.wait_for_rank then self.wait_for_rank() end
  return self:columns():select(1, self.rank)
end

-- Returns the samples used by all ranks: they take equal steps.
function DistributedSampler:state(taken)
  return {kind = 'DistributedSampler', shuffle = self.shuffle, seed = self.seed, first = self._first, epoch = self.epoch,
          samples = taken and self._seen + taken * self.num_replicas}
end

function DistributedSampler:load_state(state)
  if state.shuffle ~= self.shuffle then
    errors.raise('argument', ('load_state: the state is that of a %s with shuffle = %s, this sampler has shuffle = %s')
      :format(tostring(state.kind), tostring(state.shuffle), tostring(self.shuffle)))
  end
  self.epoch, self.seed, self._first = state.epoch or 0, state.seed or self.seed, state.first
  self._resumed = state.samples
end

-- The next order is the rest itself: nothing of it is skipped.
function DistributedSampler:resume()
  self._seen_before = Sampler.resume(self)
  return self._seen_before and 0
end

---A rank's part of another sampler's order, for orders that DistributedSampler does not support: every num_replicas-th
---sample, padded or cut in the same way. All ranks must get the same order from the sampler. If it draws from the
---default generator, it gets the same random numbers on every rank, determined by the seed and the epoch; a separate
---generator must be seeded equally on every rank. Arguments: sampler, {num_replicas, rank, seed = 0, drop_last =
---false}.
---
---```lua
---local data = require 'torch.utils.data'
---local weighted = data.WeightedRandomSampler({1, 1, 2, 4}, 6)
---local half = data.DistributedSamplerWrapper(weighted, {num_replicas = 2, rank = 0})
---assert(#half == 3 and half:indices():size(0) == 3)
---```
---@class data.DistributedSamplerWrapper: data.DistributedSampler
---@overload fun(sampler: data.Sampler, options?: table): data.DistributedSamplerWrapper
local DistributedSamplerWrapper = DistributedSampler:extend('DistributedSamplerWrapper')

local wrapper_signature = args.signature('DistributedSamplerWrapper', {'sampler', {'num_replicas'}, {'rank'},
  {'seed', 0}, {'drop_last', false}})

function DistributedSamplerWrapper:init(...)
  local a = wrapper_signature:bind(...)
  self.sampler = a.sampler
  DistributedSampler.init(self, false, {num_replicas = a.num_replicas, rank = a.rank, shuffle = false, seed = a.seed,
                                        drop_last = a.drop_last})
end

function DistributedSamplerWrapper:count() return self.sampler:len() end

function DistributedSamplerWrapper:set_epoch(epoch)
  DistributedSampler.set_epoch(self, epoch)
  if self.sampler.set_epoch then self.sampler:set_epoch(epoch) end
end

local function listed(sampler)
  local out = {}
  for index in sampler:iter() do out[#out + 1] = index end
  return torch.tensor(out, {dtype = 'int64'})
end

local function drawn(sampler)
  local has_indices = sampler.indices and sampler.iter == Sampler.iter
  return has_indices and sampler:indices() or listed(sampler)
end

function DistributedSamplerWrapper:order()
  return torch.random.fork_rng(function()
    torch.manual_seed(self.seed + self.epoch)
    return drawn(self.sampler)
  end)
end

function DistributedSamplerWrapper:state(taken)
  local state = DistributedSampler.state(self, taken)
  state.kind, state.inner = 'DistributedSamplerWrapper', self.sampler.state and self.sampler:state(taken and 0)
  return state
end

function DistributedSamplerWrapper:load_state(state)
  if state.kind ~= 'DistributedSamplerWrapper' then
    errors.raise('argument', ('load_state: the state is that of a %s, this sampler splits a %s'):format(
      tostring(state.kind), class.of(self.sampler) and class.of(self.sampler).__name or 'sampler'))
  end
  DistributedSampler.load_state(self, state)
  if state.inner and self.sampler.load_state then self.sampler:load_state(state.inner) end
end

function DistributedSamplerWrapper:resume()
  if self.sampler.resume then self.sampler:resume() end
  return DistributedSampler.resume(self)
end

-- A rank's order without the samples that repeat samples of other ranks: the lengths may differ by one.
local UnpaddedSampler = Sampler:extend('UnpaddedSampler')

function UnpaddedSampler:init(sampler) self.sampler = sampler end

function UnpaddedSampler:len() return self.sampler:num_own() end

function UnpaddedSampler:indices()
  local mine = drawn(self.sampler)
  return mine:narrow(0, 0, math.min(mine:size(0), self.sampler:num_own(self.sampler._seen)))
end

for _, name in ipairs {'set_epoch', 'state', 'load_state', 'resume'} do
  UnpaddedSampler[name] = function(self, ...) return self.sampler[name](self.sampler, ...) end
end

---Returns the same part without padding, for means that count each sample once.
---@return data.Sampler
function DistributedSampler:unpadded() return UnpaddedSampler(self) end

return require 'base.namespace'('torch.utils.data.distributed', nil,
  {DistributedSampler = DistributedSampler, DistributedSamplerWrapper = DistributedSamplerWrapper})

-- rtrain/virtual/batches.lua: VirtualBatches: the batches of this process's virtual ranks: for each step one of each.

local BatchSampler = require('torch.utils.data').BatchSampler

---@class rtrain.VirtualBatches: data.BatchSampler
local VirtualBatches = BatchSampler:extend 'VirtualBatches'

---@param sampler data.DistributedSampler of all virtual ranks
---@param batches {batch_size: integer, drop_last: boolean}
---@param ranks rtrain.VirtualRanks
---@param is_padded boolean whether all virtual ranks have as many samples
function VirtualBatches:init(sampler, batches, ranks, is_padded)
  BatchSampler.init(self, sampler, batches.batch_size, batches.drop_last)
  self._ranks, self._is_padded = ranks, is_padded
end

-- Returns how many batches that many samples have.
local function num_batches(self, samples)
  local count = samples / self.batch_size
  return self.drop_last and math.floor(count) or math.ceil(count)
end

---@return integer steps of an epoch: batches of a virtual rank
function VirtualBatches:num_steps() return num_batches(self, self.sampler:len()) end

-- Returns how many samples of its order a virtual rank has.
local function num_samples(self, rank, seen, size)
  return self._is_padded and size or self.sampler:num_own(seen, rank)
end

-- Returns how many batches this process has.
local function num_batches_of(self, seen, size)
  local first, last = self._ranks:range()
  local count = 0
  for rank = first, last do count = count + num_batches(self, num_samples(self, rank, seen, size)) end
  return count
end

---@return integer batches of an epoch in this process
function VirtualBatches:len() return num_batches_of(self, 0, self.sampler:len()) end

---@return integer batches of the order that was begun last, in this process
function VirtualBatches:num_begun() return self._num_begun end

---Iterates over the indices of each batch.
---@return fun(): torch.Tensor|nil
function VirtualBatches:iter()
  local columns = self.sampler:columns()
  local seen, size, device = self.sampler:seen(), columns:size(0), self.sampler.dataset and self.sampler.dataset.batch_device
  local first, last = self._ranks:range()
  local row, rank = 0, first - 1
  self._num_begun = num_batches_of(self, seen, size)
  return function()
    while true do
      rank = rank + 1
      if rank > last then row, rank = row + self.batch_size, first end
      if row >= size then return nil end
      local count = math.min(self.batch_size, num_samples(self, rank, seen, size) - row)
      if count > 0 and (count == self.batch_size or not self.drop_last) then
        local indices = columns:narrow(0, row, count):select(1, rank):contiguous()
        return device and indices:to(device) or indices
      end
    end
  end
end

return VirtualBatches

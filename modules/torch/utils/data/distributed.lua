-- torch/utils/data/distributed.lua: the part of a dataset that one rank takes.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local Sampler = require('torch.utils.data.sampler').Sampler
local torch = require 'torch'

---Every num_replicas-th sample, beginning at `rank`, of an order that all ranks share: the same numbers as
---PyTorch's. Call set_epoch before each epoch, or every epoch has the same order. Arguments: dataset, {num_replicas,
---rank (default: the process group's), shuffle = true, seed = 0, drop_last = false}. Without drop_last the first
---samples are repeated so that all ranks have equally many.
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

local signature = args.signature('DistributedSampler', {'dataset', {'num_replicas'}, {'rank'}, {'shuffle', true},
  {'seed', 0}, {'drop_last', false}})

function DistributedSampler:init(...)
  local a = signature:bind(...)
  self.dataset, self.shuffle, self.seed, self.drop_last = a.dataset, a.shuffle, a.seed, a.drop_last
  self.num_replicas = a.num_replicas or torch.distributed.get_world_size()
  self.rank = a.rank or torch.distributed.get_rank()
  if self.rank < 0 or self.rank >= self.num_replicas then
    errors.raise('argument', ('DistributedSampler: rank %d is not one of 0 … %d'):format(self.rank,
      self.num_replicas - 1))
  end
  self.epoch = 0
  local total = self.dataset:len()
  local shared = total
  if self.drop_last and total % self.num_replicas ~= 0 then shared = total - self.num_replicas end
  self.num_samples = math.max(0, math.ceil(shared / self.num_replicas))
  self.total_size = self.num_samples * self.num_replicas
end

---Chooses the order of the next loop.
---@param epoch integer
function DistributedSampler:set_epoch(epoch) self.epoch = epoch end

function DistributedSampler:len() return self.num_samples end

local function whole_order(self)
  local total = self.dataset:len()
  if not self.shuffle then return torch.arange(total) end
  return torch.randperm(total, {generator = torch.Generator(self.seed + self.epoch)})
end

function DistributedSampler:indices()
  local order = whole_order(self)
  local count = order:size(0)
  if self.drop_last or count == 0 then
    order = order:narrow(0, 0, self.total_size)
  elseif self.total_size > count then
    local padding = self.total_size - count
    order = torch.cat{order, order:tile{math.ceil(padding / count)}:narrow(0, 0, padding)}
  end
  return order:slice(0, self.rank, self.total_size, self.num_replicas)
end

return {DistributedSampler = DistributedSampler}

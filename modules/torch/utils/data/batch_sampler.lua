-- torch/utils/data/batch_sampler.lua: BatchSampler: divides an order into batches.

local args = require 'base.args'
local errors = require 'base.errors'
local Sampler = require('torch.utils.data.sampler').Sampler

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

local signature = args.signature('BatchSampler', {'sampler', 'batch_size', 'drop_last'})

function BatchSampler:init(...)
  local a = signature:bind(...)
  if type(a.batch_size) ~= 'number' or a.batch_size < 1 or a.batch_size % 1 ~= 0 then
    errors.raise('argument', ('batch_size is a positive integer, got %s'):format(tostring(a.batch_size)))
  end
  if type(a.drop_last) ~= 'boolean' then
    errors.raise('argument', ('drop_last is true or false, got %s'):format(tostring(a.drop_last)))
  end
  self.sampler, self.batch_size, self.drop_last = a.sampler, a.batch_size, a.drop_last
end

function BatchSampler:len()
  local batches = self.sampler:len() / self.batch_size
  return self.drop_last and math.floor(batches) or math.ceil(batches)
end

---Iterates over batches of the values of an iterator.
---@param next_index fun(): integer|nil
---@return fun(): integer[]|nil
function BatchSampler:batches_of(next_index)
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

function BatchSampler:iter() return self:batches_of(self.sampler:iter()) end

---Sets the epoch of the sampler's next order.
---@param epoch integer
function BatchSampler:set_epoch(epoch)
  if self.sampler.set_epoch then self.sampler:set_epoch(epoch) end
end

return {BatchSampler = BatchSampler}

-- rtrain/torch/transfer.lua: Transfer: moves batches to the worker's device.
--
-- With `ahead` the next batch is copied while the loop computes with the current one. On a GPU the copies then use a
-- separate stream and pinned memory, so that neither the host nor the kernels wait for them; the loop's stream waits
-- for a batch when the loop gets it, and the allocator is notified that this stream uses the memory.

local class = require 'base.class'
local each = require 'rtrain.torch.each_tensor'
local torch = require 'torch'

---@class rtrain.Transfer
local Transfer = class 'Transfer'

---@param device string
---@param ahead boolean
function Transfer:init(device, ahead)
  self._device, self._ahead = device, ahead
  self._stream = ahead and device:find '^cuda' and torch.cuda.Stream(device) or nil
end

-- Only CPU tensors are copied asynchronously, from pinned memory.
local function copied(self, tensor, own)
  if self._stream and tensor.device == 'cpu' then
    if not tensor:is_pinned() then tensor = tensor:pin_memory() end
    own[#own + 1] = tensor:to(self._device, {non_blocking = true})
    return own[#own]
  end
  return tensor:to(self._device, {non_blocking = self._ahead})
end

local function begin(self, ...)
  local batch, own = {n = select('#', ...), ...}, {}
  for k = 1, batch.n do
    batch[k] = each(batch[k], function(tensor) return copied(self, tensor, own) end)
  end
  batch.own = own
  return batch
end

---Starts the copy of a batch.
---@param ... any its values: tensors, tables with tensors, anything else
---@return table batch for finish(); its values from 1 to `n`
function Transfer:begin(...)
  if not self._stream then return begin(self, ...) end
  return torch.cuda.stream(self._stream, begin, self, ...)
end

---Waits for a batch before its use: later work of the current stream sees the complete copy.
---@param batch table
function Transfer:finish(batch)
  if #batch.own == 0 then return end
  local current = torch.cuda.current_stream(self._device)
  current:wait_stream(self._stream)
  for _, tensor in ipairs(batch.own) do tensor:record_stream(current) end
  batch.own = {}
end

return Transfer

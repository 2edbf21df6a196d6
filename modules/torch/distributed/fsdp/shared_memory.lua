-- torch/distributed/fsdp/shared_memory.lua: the whole parameters of a group whose ranks are on one node: one copy in
-- memory that all of them share.
--
-- A shard is this rank's rows of that copy, so an optimizer's step is what publishes them, and nothing is gathered. The
-- ranks only wait for each other before the first read and after the last one (pass.lua). In another dtype
-- (MixedPrecisionPolicy.param_dtype) the group has a second copy, in which each rank writes its rows before a pass.

local C = require 'torch._C'
local class = require 'base.class'
local engine = require 'torch.distributed.engine'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

---@class fsdp.SharedMemory
local SharedMemory = class 'SharedMemory'
SharedMemory.is_shared = true

local function shapes_of(entries, dtype)
  local shapes, dtypes = {}, {}
  for i, entry in ipairs(entries) do shapes[i], dtypes[i] = entry.sizes, dtype or entry.shard.dtype end
  return shapes, dtypes
end

---Makes the memory. A collective.
---@param entries table[] of the group
---@param process_group ProcessGroup|nil
---@param param_dtype string|nil
function SharedMemory:init(entries, process_group, param_dtype)
  self._entries = entries
  local dist = engine.joined()
  local shapes, dtypes = shapes_of(entries)
  self.wholes, self._rows = dist.shared_tensors(shapes, dtypes, process_group)
  torch.no_grad(function()
    for i, entry in ipairs(entries) do
      self._rows[i]:copy_(entry.shard)
      entry.shard.data = self._rows[i]
      shards.add(entry.shard, entry.place)  -- the mark is of the data
    end
  end)
  if param_dtype then
    shapes, dtypes = shapes_of(entries, param_dtype)
    self.wholes, self._cast_rows = dist.shared_tensors(shapes, dtypes, process_group)
  end
end

---Returns whether the shards are still those in the memory: a conversion of the model gives them other data.
---@return boolean
function SharedMemory:is_current()
  for i, entry in ipairs(self._entries) do
    if C._storage_ptr(entry.shard) ~= C._storage_ptr(self._rows[i]) then return false end
  end
  return true
end

---Writes this rank's rows for the pass that begins. The others may read them when all ranks have come to a fence.
function SharedMemory:publish()
  if self._cast_rows then torch._foreach_copy_(self._cast_rows, self._rows) end
end

---Does nothing, as the two functions after it: the whole parameters are there all the time.
function SharedMemory:begin() end

---Does nothing.
function SharedMemory:finish() end

---Does nothing.
function SharedMemory:free() end

return SharedMemory

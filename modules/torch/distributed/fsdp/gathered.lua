-- torch/distributed/fsdp/gathered.lua: the whole parameters of a group, gathered by a collective before they are used
-- and freed afterwards.

local batches = require 'torch.distributed.fsdp.batches'
local C = require 'torch._C'
local class = require 'base.class'
local engine = require 'torch.distributed.engine'
local torch = require 'torch'

---@class fsdp.Gathered
local Gathered = class 'Gathered'

---@param entries table[] of the group
---@param process_group ProcessGroup|nil
---@param param_dtype string|nil
---@param device string on which the module computes
function Gathered:init(entries, process_group, param_dtype, device)
  self._entries, self._process_group = entries, process_group
  self.wholes, self._dtype, self._device = {}, entries[1].shard.dtype, entries[1].shard.device
  for i, entry in ipairs(entries) do
    self.wholes[i] = torch.empty(entry.sizes, {dtype = param_dtype or entry.shard.dtype, device = device})
  end
  self._batches = batches(self.wholes)
  self:free()
end

---Returns whether the shards still have the dtype and device with which this was made.
---@return boolean
function Gathered:is_current()
  local shard = self._entries[1].shard
  return shard.dtype == self._dtype and shard.device == self._device
end

-- The sum of the versions, which only grow.
local function version_of(entries)
  local sum = 0
  for _, entry in ipairs(entries) do sum = sum + entry.shard._version end
  return sum
end

---Frees parameters that were kept since an earlier pass, if an optimizer has changed the shards.
function Gathered:publish()
  if (self._work or self._is_whole) and self._version ~= version_of(self._entries) then self:free() end
end

-- Begins to gather the next batch.
local function gather_next(self)
  local wholes, sent = {}, {}
  for k, i in ipairs(self._batches[self._next]) do
    local whole = self.wholes[i]
    wholes[k] = whole
    sent[k] = self._entries[i].shard:detach():to{device = whole.device, dtype = whole.dtype, non_blocking = true}
  end
  self._next = self._next + 1
  self._work = engine.joined().all_gather_shards(wholes, sent, self._process_group, true)
end

---Begins to gather the parameters, unless that has begun.
function Gathered:begin()
  if self._work or self._is_whole then return end
  self._version, self._next = version_of(self._entries), 1
  for _, whole in ipairs(self.wholes) do C._storage_resize(whole, whole:numel() * whole:element_size()) end
  gather_next(self)
end

---Waits until the parameters are gathered; on a GPU, orders the current stream after it.
function Gathered:finish()
  self:begin()
  while self._work do
    local work = self._work
    self._work = nil
    if self._batches[self._next] then gather_next(self) end
    work:wait()
  end
  self._is_whole = true
end

---Frees the memory of the whole parameters. Tensors that a graph has saved keep their place in it: the next gathering
---fills it again.
function Gathered:free()
  if self._work then self._work:wait() end
  self._work, self._is_whole = nil, false
  for _, whole in ipairs(self.wholes) do C._storage_resize(whole, 0) end
end

return Gathered

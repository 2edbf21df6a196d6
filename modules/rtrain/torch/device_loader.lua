-- rtrain/torch/device_loader.lua: a DataLoader whose batches are on the worker's device when the loop gets them.
--
-- The copy of the next batch is started, without waiting for it, before the loop computes with the one at hand; copies
-- and kernels of one stream keep their order, so a batch is complete before it is used. On the CPU there is nothing to
-- move, and prepare_data_loader returns the loader itself.

local class = require 'rtrain.class'
local DataLoader = require('torch.utils.data.dataloader').DataLoader
local torch = require 'torch'

local moved

local function moved_table(value, device, non_blocking)
  local out, is_changed = {}, false
  for key, item in next, value do
    out[key] = moved(item, device, non_blocking)
    is_changed = is_changed or out[key] ~= item
  end
  -- What holds no tensor arrives as it is.
  return is_changed and setmetatable(out, getmetatable(value)) or value
end

-- Tensors are copied, in tables too; everything else stays what it is.
function moved(value, device, non_blocking)
  if type(value) == 'userdata' and torch.is_tensor(value) then
    return value:to(device, {non_blocking = non_blocking})
  end
  local ordered = require 'rtrain.ordered'
  if ordered.is(value) then
    local out = ordered.new()
    for key, item in ordered.items(value) do out[key] = moved(item, device, non_blocking) end
    return out
  end
  if type(value) == 'table' and not class.of(value) then return moved_table(value, device, non_blocking) end
  return value
end

---@class rtrain.DeviceLoader: data.DataLoader
local DeviceLoader = class('DeviceLoader', nil, {userdata = true})

---@param loader data.DataLoader
---@param device string
---@param auto_transfer boolean the copy of the next batch begins early
function DeviceLoader:init(loader, device, auto_transfer)
  self.loader, self.device, self.auto_transfer = loader, device, auto_transfer
  -- What scripts read and set on a loader.
  for _, name in ipairs{'dataset', 'sampler', 'batch_sampler', 'batch_size', 'num_workers', 'drop_last', 'collate_fn',
                        'generator'} do
    self[name] = loader[name]
  end
end

---@return integer number of batches
function DeviceLoader:len() return self.loader:len() end

function DeviceLoader:__len() return self:len() end

local function packed_on(device, non_blocking, ...)
  local batch = {n = select('#', ...), ...}
  for k = 1, batch.n do batch[k] = moved(batch[k], device, non_blocking) end
  return batch
end

---Begins an epoch.
---@return fun(): ... iterator over batches on the device
function DeviceLoader:iter()
  local next_batch, device, ahead = self.loader:iter(), self.device, self.auto_transfer
  local function fetch() return packed_on(device, ahead, next_batch()) end
  local waiting = ahead and fetch() or nil
  self._ahead = waiting and waiting[1] ~= nil and 1 or 0
  self._next = function()
    local batch = waiting or fetch()
    self._is_used = batch[1] ~= nil
    if waiting then
      waiting = batch[1] ~= nil and fetch() or batch
      self._ahead = waiting[1] ~= nil and 1 or 0
    end
    return unpack(batch, 1, batch.n)
  end
  return self._next
end

-- Loops over what iter() gives, as a DataLoader's.
DeviceLoader.__call, DeviceLoader.enumerate = DataLoader.__call, DataLoader.enumerate

---Where the loop stands; a batch that is only on its way to the device counts as not taken.
---@return table state
function DeviceLoader:state()
  return require('torch.utils.data.position').state(self.loader, self._ahead, self._is_used)
end

---@param state table what state() gave
function DeviceLoader:load_state(state)
  self._ahead, self._is_used = 0, false
  self.loader:load_state(state)
end

---Ends the worker threads.
function DeviceLoader:close() self.loader:close() end

return DeviceLoader

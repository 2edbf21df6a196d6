-- rtrain/torch/device_loader.lua: DeviceLoader: a DataLoader that moves its batches to the worker's device.
--
-- With auto_transfer the copy of the next batch starts, asynchronously, before the loop computes with the current one
-- (see transfer.lua). On the CPU nothing has to be moved, and prepare_data_loader returns the loader itself.

local class = require 'base.class'
local DataLoader = require('torch.utils.data.dataloader').DataLoader
local Transfer = require 'rtrain.torch.transfer'

---@class rtrain.DeviceLoader: data.DataLoader
local DeviceLoader = class('DeviceLoader', nil, {userdata = true})

---@param loader data.DataLoader
---@param device string
---@param auto_transfer boolean whether to copy the next batch ahead
function DeviceLoader:init(loader, device, auto_transfer)
  self.loader, self.device, self.auto_transfer = loader, device, auto_transfer
  -- Fields that scripts read and set on a loader.
  for _, name in ipairs{'dataset', 'sampler', 'batch_sampler', 'batch_size', 'num_workers', 'drop_last', 'collate_fn',
                        'generator'} do
    self[name] = loader[name]
  end
end

---@return integer number of batches
function DeviceLoader:len() return self.loader:len() end

function DeviceLoader:__len() return self:len() end

---Begins an epoch.
---@return fun(): ... iterator over batches on the device
function DeviceLoader:iter()
  local next_batch, ahead = self.loader:iter(), self.auto_transfer
  local transfer = Transfer(self.device, ahead)
  local function fetch() return transfer:begin(next_batch()) end
  local waiting = ahead and fetch() or nil
  self._ahead = waiting and waiting[1] ~= nil and 1 or 0
  self._next = function()
    local batch = waiting or fetch()
    self._is_used = batch[1] ~= nil
    transfer:finish(batch)
    if waiting then
      waiting = batch[1] ~= nil and fetch() or batch
      self._ahead = waiting[1] ~= nil and 1 or 0
    end
    return unpack(batch, 1, batch.n)
  end
  return self._next
end

-- Loops over the result of iter(), like a DataLoader.
DeviceLoader.__call, DeviceLoader.enumerate = DataLoader.__call, DataLoader.enumerate

---Returns the position of the loop; a batch that is still being copied to the device counts as not used.
---@return table state
function DeviceLoader:state()
  return require('torch.utils.data.position').state(self.loader, self._ahead, self._is_used)
end

---@param state table a result of state()
function DeviceLoader:load_state(state)
  self._ahead, self._is_used = 0, false
  self.loader:load_state(state)
end

---Ends the worker threads.
function DeviceLoader:close() self.loader:close() end

return DeviceLoader

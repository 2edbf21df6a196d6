-- torch/cuda/engine.lua: the access of torch.cuda's files to the engine: only in a process with a device, and with a
-- device number.

local errors = require 'base.errors'

local engine = {}

---Returns how many devices this process can use, known without loading LibTorch.
---@return integer devices
---@return string reason why there are no devices
function engine.support() return require('base._system').cuda() end

---Returns a group of the engine's functions. Raises code 'environment' with the reason in a process without a device.
---@param name string the calling function of torch.cuda, for the message
---@param noun string name of the group, such as 'cuda_devices'
---@return table functions
function engine.functions(name, noun)
  local C = require('torch._C')[noun]  -- first: support depends on whether LibTorch's CUDA library loads
  local devices, reason = engine.support()
  if devices == 0 then errors.raise('environment', ('torch.cuda.%s: no CUDA device: %s'):format(name, reason)) end
  return C
end

---Returns the number of a device; nil and 'cuda' mean the current device.
---@param name string the calling function of torch.cuda, for the message
---@param device? integer|string
---@return integer index from 0
function engine.index_of(name, device)
  if device == nil or device == 'cuda' then return engine.functions(name, 'cuda_devices').current_device() end
  local index = type(device) == 'string' and tonumber(device:match '^cuda:(%d+)$') or device
  if type(index) ~= 'number' or index ~= math.floor(index) or index < 0 then
    errors.raise('argument', ("torch.cuda.%s: device: expected a number from 0, 'cuda' or 'cuda:1', got %s"):format(
      name, type(device) == 'string' and ("'%s'"):format(device) or tostring(device)))
  end
  return index
end

return engine

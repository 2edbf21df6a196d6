-- torch/cuda.lua: torch.cuda. Whether there is a device is known without loading LibTorch: NVIDIA's driver is asked.

local errors = require 'rtrain.errors'

local cuda = {}

local function support() return require('rtrain._system').cuda() end

-- The engine's functions, in a process that has a device.
local function engine(name)
  local C = require('torch._C').cuda_devices  -- first: whether LibTorch's CUDA library loads is part of the answer
  local devices, reason = support()
  if devices == 0 then errors.raise('environment', ('torch.cuda.%s: no CUDA device: %s'):format(name, reason)) end
  return C
end

-- nil is the current device, 'cuda' too.
local function index_of(name, device, C)
  if device == nil or device == 'cuda' then return C.current_device() end
  local index = type(device) == 'string' and tonumber(device:match '^cuda:(%d+)$') or device
  if type(index) ~= 'number' or index ~= math.floor(index) or index < 0 then
    errors.raise('argument', ("torch.cuda.%s: device: expected a number from 0, 'cuda' or 'cuda:1', got %s"):format(
      name, type(device) == 'string' and ("'%s'"):format(device) or tostring(device)))
  end
  return index
end

---Whether tensors can live on a GPU: NVIDIA's driver answers and shows a device, and LibTorch has its CUDA library. Where
---it is false `rtrain env` says why.
---@return boolean
function cuda.is_available() return cuda.device_count() > 0 end

---How many GPUs this process can use; CUDA_VISIBLE_DEVICES is honoured.
---@return integer
---
---```lua
---local torch = require 'torch'
---local device = torch.cuda.device_count() > 0 and 'cuda' or 'cpu'
---assert(torch.ones(2, {device = device}):sum():item() == 2)
---```
function cuda.device_count()
  local devices = support()
  return devices
end

---The number of the device that 'cuda' means. Raises code 'environment' without a device.
---@return integer index from 0
function cuda.current_device() return engine('current_device').current_device() end

---Makes 'cuda' mean this device, in this thread.
---@param device integer|string number from 0, or 'cuda:1'
function cuda.set_device(device)
  local C = engine 'set_device'
  if device == nil then errors.raise('argument', 'torch.cuda.set_device: device: expected a number or a name, got nil') end
  C.set_device(index_of('set_device', device, C))
end

local function properties_of(name, device)
  local C = engine(name)
  return C.get_device_properties(index_of(name, device, C))
end

---What a device is: `name`, `uuid`, `major` and `minor` (compute capability), `total_memory` (bytes),
---`multi_processor_count`, `max_threads_per_multi_processor`, `regs_per_multiprocessor`, `shared_memory_per_block` (bytes),
---`L2_cache_size` (bytes), `warp_size`, `is_integrated`, `is_multi_gpu_board`.
---@param device? integer|string the current one without
---@return table properties
function cuda.get_device_properties(device) return properties_of('get_device_properties', device) end

---@param device? integer|string the current one without
---@return string name such as 'NVIDIA H100 80GB HBM3'
function cuda.get_device_name(device) return properties_of('get_device_name', device).name end

---The compute capability of a device.
---@param device? integer|string the current one without
---@return integer major
---@return integer minor
function cuda.get_device_capability(device)
  local properties = properties_of('get_device_capability', device)
  return properties.major, properties.minor
end

---The memory of a device as the driver counts it, all processes together.
---@param device? integer|string the current one without
---@return integer free bytes
---@return integer total bytes
function cuda.mem_get_info(device)
  local C = engine 'mem_get_info'
  return C.mem_get_info(index_of('mem_get_info', device, C))
end

---Waits until a device has done all that it was given: for measuring time.
---@param device? integer|string the current one without
function cuda.synchronize(device)
  local C = engine 'synchronize'
  C.synchronize(index_of('synchronize', device, C))
end

return require 'rtrain.namespace'('torch.cuda', {modules = {nvtx = 'torch.cuda.nvtx'}}, cuda)

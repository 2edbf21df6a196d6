-- torch/cuda.lua: torch.cuda. NVIDIA's driver tells whether there is a device, so LibTorch is not loaded for that
-- question.

local engine = require 'torch.cuda.engine'
local errors = require 'base.errors'

local cuda = {}

local function functions(name) return engine.functions(name, 'cuda_devices') end

---Returns whether tensors can be on a GPU: NVIDIA's driver reports a device, and LibTorch has its CUDA library. If it
---returns false, `rtrain env` shows the reason.
---@return boolean
function cuda.is_available() return cuda.device_count() > 0 end

---Returns how many GPUs this process can use; CUDA_VISIBLE_DEVICES is respected.
---@return integer
---
---```lua
---local torch = require 'torch'
---local device = torch.cuda.device_count() > 0 and 'cuda' or 'cpu'
---assert(torch.ones(2, {device = device}):sum():item() == 2)
---```
function cuda.device_count()
  local devices = engine.support()
  return devices
end

---Returns the number of the device that 'cuda' means. Raises code 'environment' without a device.
---@return integer index from 0
function cuda.current_device() return functions('current_device').current_device() end

---Makes 'cuda' mean this device, in this thread.
---@param device integer|string number from 0, or 'cuda:1'
function cuda.set_device(device)
  local C = functions 'set_device'
  if device == nil then errors.raise('argument', 'torch.cuda.set_device: device: expected a number or a name, got nil') end
  C.set_device(engine.index_of('set_device', device))
end

local function properties_of(name, device)
  local C = functions(name)
  return C.get_device_properties(engine.index_of(name, device))
end

---Returns the properties of a device: `name`, `uuid`, `major` and `minor` (compute capability), `total_memory` (bytes),
---`multi_processor_count`, `max_threads_per_multi_processor`, `regs_per_multiprocessor`, `shared_memory_per_block` (bytes),
---`L2_cache_size` (bytes), `warp_size`, `is_integrated`, `is_multi_gpu_board`.
---@param device? integer|string default: the current device
---@return table properties
function cuda.get_device_properties(device) return properties_of('get_device_properties', device) end

---@param device? integer|string default: the current device
---@return string name such as 'NVIDIA H100 80GB HBM3'
function cuda.get_device_name(device) return properties_of('get_device_name', device).name end

---Returns the compute capability of a device.
---@param device? integer|string default: the current device
---@return integer major
---@return integer minor
function cuda.get_device_capability(device)
  local properties = properties_of('get_device_capability', device)
  return properties.major, properties.minor
end

---Returns the memory of a device as the driver counts it, all processes together.
---@param device? integer|string default: the current device
---@return integer free bytes
---@return integer total bytes
function cuda.mem_get_info(device)
  local C = functions 'mem_get_info'
  return C.mem_get_info(engine.index_of('mem_get_info', device))
end

---Waits until a device has finished all work given to it, for example to measure time.
---@param device? integer|string default: the current device
function cuda.synchronize(device)
  local C = functions 'synchronize'
  C.synchronize(engine.index_of('synchronize', device))
end

local function back_and_return(before, ok, ...)
  cuda.set_device(before)
  if not ok then error((...), 0) end
  return ...
end

---Calls a function while 'cuda' means this device. Afterwards 'cuda' means the same device as before, also after an
---error. PyTorch equivalent: the context manager torch.cuda.device.
---@param device integer|string number from 0, or 'cuda:1'
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local last = torch.cuda.device_count() - 1
---if last >= 0 then assert(torch.cuda.device(last, torch.cuda.current_device) == last) end
---```
function cuda.device(device, fn, ...)
  if type(fn) ~= 'function' then errors.raise('argument', 'torch.cuda.device: expected a function, got ' .. type(fn)) end
  local before = cuda.current_device()
  cuda.set_device(device)
  return back_and_return(before, xpcall(fn, errors.wrap, ...))
end

return require 'base.namespace'('torch.cuda', {
  files = {
    {'torch.cuda.streams', 'Stream', 'stream', 'current_stream', 'default_stream', 'set_stream'},
    {'torch.cuda.events', 'Event'},
    {'torch.cuda.graphs', 'CUDAGraph', 'graph', 'graph_pool_handle', 'is_current_stream_capturing'},
    {'torch.cuda.memory', 'memory_stats', 'memory_allocated', 'max_memory_allocated', 'memory_reserved',
     'max_memory_reserved', 'reset_peak_memory_stats', 'reset_accumulated_memory_stats', 'empty_cache',
     'set_per_process_memory_fraction', 'get_per_process_memory_fraction', 'get_allocator_backend', 'memory_snapshot'},
    {'torch.cuda.memory_summary', 'memory_summary'},
    {'torch.cuda.monitor', 'utilization', 'temperature', 'power_draw', 'device_memory_used', 'list_gpu_processes'},
    {'torch.cuda.random', 'manual_seed', 'manual_seed_all', 'seed', 'seed_all', 'initial_seed', 'get_rng_state',
     'get_rng_state_all', 'set_rng_state', 'set_rng_state_all'},
  },
  absent = {make_graphed_callables = 'train.graph captures a whole training step'},
  modules = {memory = 'torch.cuda.memory', nvtx = 'torch.cuda.nvtx', random = 'torch.cuda.random'},
}, cuda)

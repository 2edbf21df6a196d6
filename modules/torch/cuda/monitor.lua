-- torch/cuda/monitor.lua: the present load of a GPU, from NVIDIA's management library.

local engine = require 'torch.cuda.engine'
local errors = require 'base.errors'

local monitor = {}

-- Returns the engine's functions and the device number.
local function state_of(name, device)
  local C = engine.functions(name, 'cuda_devices')
  local index = engine.index_of(name, device)
  local state, reason = require('base._system').gpu_state('GPU-' .. C.get_device_properties(index).uuid)
  if not state then errors.raise('environment', ('torch.cuda.%s: %s'):format(name, reason)) end
  return state, index
end

local function told(name, device, key)
  local state, index = state_of(name, device)
  if state[key] == nil then
    errors.raise('environment', ('torch.cuda.%s: cuda:%d does not say it'):format(name, index))
  end
  return state[key]
end

---@param device? integer|string default: the current device
---@return integer percent of the last second in which a kernel ran
function monitor.utilization(device) return told('utilization', device, 'utilization_percent') end

---@param device? integer|string default: the current device
---@return integer celsius
function monitor.temperature(device) return told('temperature', device, 'temperature_c') end

---@param device? integer|string default: the current device
---@return integer milliwatts
function monitor.power_draw(device) return math.floor(told('power_draw', device, 'power_w') * 1000 + 0.5) end

---@param device? integer|string default: the current device
---@return integer bytes in use, by all processes
function monitor.device_memory_used(device) return told('device_memory_used', device, 'used_bytes') end

---Returns the processes that compute on a device, and how much of its memory each of them uses.
---@param device? integer|string default: the current device
---@return string text a line for each process
function monitor.list_gpu_processes(device)
  local state, index = state_of('list_gpu_processes', device)
  local lines = {('GPU:%d'):format(index)}
  for _, process in ipairs(state.processes) do
    local memory = process.memory_bytes and ('%12.3f MB'):format(process.memory_bytes / 2 ^ 20) or 'an unknown amount'
    lines[#lines + 1] = ('process %10d uses %s GPU memory'):format(process.pid, memory)
  end
  if not lines[2] then lines[2] = 'no processes are running' end
  return table.concat(lines, '\n')
end

return monitor

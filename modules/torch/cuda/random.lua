-- torch/cuda/random.lua: the default random generator of each GPU.

local engine = require 'torch.cuda.engine'

local random = {}

-- Returns the engine's functions; nil without a device, where seeding does nothing, as in PyTorch.
local function functions_or_nil(name)
  if engine.support() == 0 then return nil end
  return engine.functions(name, 'cuda_random')
end

---Seeds the current device. Does nothing without a device. torch.manual_seed seeds all devices.
---@param seed integer
function random.manual_seed(seed)
  local C = functions_or_nil 'manual_seed'
  if C then C.manual_seed(engine.index_of('manual_seed'), seed) end
end

---Seeds every device with the same number. Does nothing without a device.
---@param seed integer
---
---```lua
---local torch = require 'torch'
---torch.cuda.manual_seed_all(7)
---assert(not torch.cuda.is_available() or torch.cuda.initial_seed() == 7)
---```
function random.manual_seed_all(seed)
  local C = functions_or_nil 'manual_seed_all'
  for device = 0, engine.support() - 1 do C.manual_seed(device, seed) end
end

---Seeds the current device with an unpredictable number. Does nothing without a device.
function random.seed()
  local C = functions_or_nil 'seed'
  if C then C.seed(engine.index_of 'seed') end
end

---Seeds every device with the same unpredictable number. Does nothing without a device.
function random.seed_all()
  local C = functions_or_nil 'seed_all'
  if C then random.manual_seed_all(C.seed(0)) end
end

---@return integer seed the last seed of the current device
function random.initial_seed()
  local C = engine.functions('initial_seed', 'cuda_random')
  return C.initial_seed(engine.index_of 'initial_seed')
end

---@param device? integer|string default: the current device
---@return torch.Tensor state uint8, on the CPU
function random.get_rng_state(device)
  local C = engine.functions('get_rng_state', 'cuda_random')
  return C.get_rng_state(engine.index_of('get_rng_state', device))
end

---@return torch.Tensor[] states of all devices; {} without a device
function random.get_rng_state_all()
  local states = {}
  for device = 0, engine.support() - 1 do states[device + 1] = random.get_rng_state(device) end
  return states
end

---Restores the state of a device's generator, as get_rng_state returned it.
---@param state torch.Tensor
---@param device? integer|string default: the current device
function random.set_rng_state(state, device)
  local C = engine.functions('set_rng_state', 'cuda_random')
  C.set_rng_state(engine.index_of('set_rng_state', device), state)
end

---@param states torch.Tensor[] one for each device, from device 0
function random.set_rng_state_all(states)
  for i, state in ipairs(states) do random.set_rng_state(state, i - 1) end
end

return random

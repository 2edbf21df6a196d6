-- torch/cuda/random.lua: the default random generator of each GPU.

local engine = require 'torch.cuda.engine'

local random = {}

-- Returns the engine's functions; nil without a device, where seeding does nothing, as in PyTorch.
local function functions_or_nil(name)
  if engine.support() == 0 then return nil end
  return engine.functions(name, 'cuda_random')
end

---Seeds the current device. Nothing happens without one. torch.manual_seed seeds all of them.
---@param seed integer
function random.manual_seed(seed)
  local C = functions_or_nil 'manual_seed'
  if C then C.manual_seed(engine.index_of('manual_seed'), seed) end
end

---Seeds every device with the same number. Nothing happens without one.
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

---Seeds the current device with a number that nobody knows before. Nothing happens without one.
function random.seed()
  local C = functions_or_nil 'seed'
  if C then C.seed(engine.index_of 'seed') end
end

---Seeds every device with one number that nobody knows before. Nothing happens without one.
function random.seed_all()
  local C = functions_or_nil 'seed_all'
  if C then random.manual_seed_all(C.seed(0)) end
end

---@return integer seed what the current device was seeded with
function random.initial_seed()
  local C = engine.functions('initial_seed', 'cuda_random')
  return C.initial_seed(engine.index_of 'initial_seed')
end

---@param device? integer|string the current one without
---@return torch.Tensor state uint8, on the CPU
function random.get_rng_state(device)
  local C = engine.functions('get_rng_state', 'cuda_random')
  return C.get_rng_state(engine.index_of('get_rng_state', device))
end

---@return torch.Tensor[] states of all devices; {} without one
function random.get_rng_state_all()
  local states = {}
  for device = 0, engine.support() - 1 do states[device + 1] = random.get_rng_state(device) end
  return states
end

---Puts the generator of a device back where get_rng_state found it.
---@param state torch.Tensor
---@param device? integer|string the current one without
function random.set_rng_state(state, device)
  local C = engine.functions('set_rng_state', 'cuda_random')
  C.set_rng_state(engine.index_of('set_rng_state', device), state)
end

---@param states torch.Tensor[] of the devices from 0 on
function random.set_rng_state_all(states)
  for i, state in ipairs(states) do random.set_rng_state(state, i - 1) end
end

return random

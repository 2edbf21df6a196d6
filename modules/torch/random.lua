-- torch/random.lua: torch.random: the default random generators and their states.

local args = require 'base.args'
local cuda = require 'torch.cuda'
local errors = require 'base.errors'
local C = require 'torch._C'

local random = {
  manual_seed = C.manual_seed, seed = C.seed, initial_seed = C.initial_seed,
  get_rng_state = C.get_rng_state, set_rng_state = C.set_rng_state, default_generator = C.default_generator,
}

local function restore_and_return(state, devices, ok, ...)
  C.set_rng_state(state)
  for device, of_device in next, devices do cuda.set_rng_state(of_device, device) end
  if not ok then error((...), 0) end
  return ...
end

-- Returns device → the state of its generator.
local function device_states(devices)
  local states = {}
  if devices == nil then
    for i, state in ipairs(cuda.get_rng_state_all()) do states[i - 1] = state end
  end
  for _, device in ipairs(devices or {}) do states[device] = cuda.get_rng_state(device) end
  return states
end

---Calls the function, and then restores the random generators of the CPU and GPUs, as if it had drawn no numbers.
---PyTorch equivalent: torch.random.fork_rng.
---@param fn fun(): any
---@param options? {enabled: boolean, devices: (integer|string)[]} enabled = false: only calls it; devices: only these
---  GPUs, default: all
---@return any ... the results of the function
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(1)
---local inside = torch.random.fork_rng(function() return torch.rand(2) end)
---assert(torch.equal(torch.rand(2), inside))
---```
function random.fork_rng(fn, options)
  options = args.options(options, {'enabled', 'devices'}, 'fork_rng')
  if type(fn) ~= 'function' then errors.raise('argument', 'fork_rng: expected a function, got ' .. type(fn)) end
  if options.enabled == false then return fn() end
  return restore_and_return(C.get_rng_state(), device_states(options.devices), xpcall(fn, errors.wrap))
end

return require 'base.namespace'('torch.random', nil, random)

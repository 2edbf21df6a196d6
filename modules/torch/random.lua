-- torch/random.lua: torch.random: the default random generator and its state.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local C = require 'torch._C'

local random = {
  manual_seed = C.manual_seed, seed = C.seed, initial_seed = C.initial_seed,
  get_rng_state = C.get_rng_state, set_rng_state = C.set_rng_state, default_generator = C.default_generator,
}

local function restore_and_return(state, ok, ...)
  C.set_rng_state(state)
  if not ok then error((...), 0) end
  return ...
end

---Calls the function; the random numbers that it draws do not count afterwards. Counterpart: torch.random.fork_rng.
---@param fn fun(): any
---@param options? {enabled: boolean} enabled = false: only calls it
---@return any ... what the function returned
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(1)
---local inside = torch.random.fork_rng(function() return torch.rand(2) end)
---assert(torch.equal(torch.rand(2), inside))
---```
function random.fork_rng(fn, options)
  options = args.options(options, {'enabled'}, 'fork_rng')
  if type(fn) ~= 'function' then errors.raise('argument', 'fork_rng: expected a function, got ' .. type(fn)) end
  if options.enabled == false then return fn() end
  return restore_and_return(C.get_rng_state(), xpcall(fn, errors.wrap))
end

return require 'rtrain.namespace'('torch.random', nil, random)

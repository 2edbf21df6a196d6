-- torch/nn/utils/skip_init.lua: makes modules without initializing their parameters.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'

local skip = {}

---Returns an instance of a module class without initializing its parameters, whose values are undefined. Use it for
---parameters that are loaded directly afterwards. The class must accept `device`.
---@param of table class
---@param ... any its arguments
---@return nn.Module
---
---```lua
---local nn = require 'torch.nn'
---assert(nn.utils.skip_init(nn.Linear, 3, 2).weight.shape[1] == 2)
---```
function skip.skip_init(of, ...)
  if not class.is_class(of) then errors.raise('argument', 'skip_init: expected a module class') end
  local given, count, options = {...}, select('#', ...), {}
  if args.is_keywords(given[count]) then
    for name, value in next, given[count] do options[name] = value end
    count = count - 1
  end
  local device = options.device or 'cpu'
  options.device = 'meta'
  given[count + 1] = options
  return of(unpack(given, 1, count + 1)):to_empty{device = device}
end

return skip

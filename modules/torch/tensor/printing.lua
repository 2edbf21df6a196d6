-- torch/tensor/printing.lua: torch.set_printoptions: the format of printed tensors.

local args = require 'base.args'
local errors = require 'base.errors'

local printing = {}

local PROFILES = {
  default = {precision = 4, threshold = 1000, edgeitems = 3, linewidth = 80},
  short = {precision = 2, threshold = 1000, edgeitems = 2, linewidth = 80},
  full = {precision = 4, threshold = math.huge, edgeitems = 3, linewidth = 80},
}
local COUNTS = {'precision', 'threshold', 'edgeitems', 'linewidth'}
local MOST = {precision = 1000, threshold = math.huge, edgeitems = 2 ^ 31, linewidth = 2 ^ 31}

local current = {precision = 4, threshold = 1000, edgeitems = 3, linewidth = 80}

local signature = args.signature('set_printoptions', {{'precision'}, {'threshold'}, {'edgeitems'}, {'linewidth'},
  {'profile'}, {'sci_mode'}})

local function checked(p)
  local options = {sci_mode = p.sci_mode}
  local profile = p.profile and PROFILES[args.one_of('set_printoptions: profile', p.profile, {'default', 'short', 'full'})]
  for _, name in ipairs(COUNTS) do
    local value = p[name]
    if value == nil then value = (profile or current)[name] end
    local is_count = type(value) == 'number' and value >= 0 and value <= MOST[name]
    if not is_count or (value % 1 ~= 0 and value ~= math.huge) then
      errors.raise('argument', ('set_printoptions: %s must be an integer from 0 to %g, got %s'):format(name, MOST[name],
        tostring(value)))
    end
    options[name] = value
  end
  return options
end

---Sets how tensors are printed, in this process's Lua state. PyTorch equivalent: torch.set_printoptions.
---Arguments: precision = 4 (digits after the point), threshold = 1000 (more elements are summarised), edgeitems = 3
---(shown at each end), linewidth = 80, profile = 'default', 'short' or 'full', sci_mode = nil (true or false: always or
---never scientific). Options that are not given keep their values, except sci_mode, which becomes automatic.
---@param ... any
---
---```lua
---local torch = require 'torch'
---torch.set_printoptions{precision = 2}
---assert(tostring(torch.tensor(1.2345)) == 'tensor(1.23)')
---torch.set_printoptions{profile = 'default'}
---```
function printing.set_printoptions(...)
  local options = checked(signature:bind(...))
  require('torch._C').set_printoptions(options.precision, options.threshold, options.edgeitems, options.linewidth,
    options.sci_mode)
  current = options
end

---Returns the present options of torch.set_printoptions. PyTorch equivalent: torch._tensor_str.get_printoptions.
---@return table options
function printing.get_printoptions()
  local out = {sci_mode = current.sci_mode}
  for _, name in ipairs(COUNTS) do out[name] = current[name] end
  return out
end

return printing

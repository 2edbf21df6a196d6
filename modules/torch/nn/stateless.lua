-- torch/nn/stateless.lua: creates classes of layers without parameters: their arguments become fields, which forward
-- uses.

local args = require 'base.args'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module

-- Each function returns a field in the form that print shows: {name, value} for repr.fields, or nil to omit it.
local SHOWN = {
  plain = function(name, value) return {name, value} end,
  -- Shown as a float, as in Python; Lua has only one kind of number.
  float = function(name, value)
    if value == nil then return {name} end
    return {name, repr.float(value), true}
  end,
  -- Shows the value without its name.
  bare = function(_, value) return {'', value} end,
  bare_float = function(_, value) return {'', repr.float(value), true} end,
  -- Shows a flag only if it is set.
  flag = function(name, value) return value and {name, value} or nil end,
}

---Makes a class whose arguments become fields of the same names.
---@param name string
---@param parameters (string|table)[] in the form of args.signature
---@param forward fun(self: nn.Module, ...): any
---@param shown? (string|string[])[] fields that print shows: 'dim', or {'alpha', 'float'}, {'inplace', 'flag'}, {'size',
---  'bare'}
---@param taken? (string|table)[] the inputs of forward, default {'input'}
---@return table class
local function stateless(name, parameters, forward, shown, taken)
  local Layer = Module:extend(name)
  local signature = args.signature(name, parameters)

  function Layer:init(...)
    local bound = signature:bind(...)
    for _, field in ipairs(signature.names) do self[field] = bound[field] end
    if self._check then self:_check() end
  end

  local take = inputs(taken or {'input'})
  function Layer:forward(...) return forward(self, take(self, ...)) end
  if shown == nil then return Layer end

  function Layer:extra_repr()
    local fields = {}
    for _, entry in ipairs(shown) do
      local field, kind = entry, 'plain'
      if type(entry) == 'table' then field, kind = entry[1], entry[2] end
      fields[#fields + 1] = SHOWN[kind](field, self[field])
    end
    return repr.fields(fields)
  end
  return Layer
end

return stateless

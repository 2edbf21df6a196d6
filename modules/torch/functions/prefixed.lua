-- torch/functions/prefixed.lua: torch.linalg, torch.fft, torch.special: tables of the ATen operators with one prefix.

local args = require 'base.args'

-- Returns sorted names; `own` is the set of functions that are not operators.
local function names_of(own, prefix)
  local names = {}
  for name in next, own do names[#names + 1] = name end
  for _, name in ipairs(require('torch._C').op_names()) do
    local rest = name:sub(1, #prefix) == prefix and name:sub(#prefix + 1)
    if rest and not own[rest] then names[#names + 1] = rest end
  end
  table.sort(names)
  return names
end

---@param owner string its name in messages: 'torch.linalg'
---@param prefix string prefix of ATen's names: 'linalg_'
---@param fields? table functions that are not operators
---@return table functions an unknown name is an error
local function prefixed(owner, prefix, fields)
  local own = {}
  for name in next, fields or {} do own[name] = true end
  return setmetatable(fields or {}, {
    __tostring = function() return ("module '%s'"):format(owner) end,
    -- For documentation and completion: the names, and the operator behind a name.
    __names = function() return names_of(own, prefix) end,
    __operators = function(name) return not own[name] and prefix .. name or nil end,
    __index = function(self, name)
      if type(name) ~= 'string' then return nil end
      local found = name:sub(1, 1) ~= '_' and require('torch._C').op(prefix .. name)
      if not found then args.no_such(owner, name, names_of(own, prefix)) end
      rawset(self, name, found)
      return found
    end,
  })
end

return prefixed

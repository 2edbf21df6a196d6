-- torch/prefixed.lua: torch.linalg, torch.fft, torch.special: ATen's operators of one prefix as a table of functions.

local args = require 'rtrain.args'

local function names_of(fields, prefix)
  local names = {}
  for name in next, fields do names[#names + 1] = name end
  for _, name in ipairs(require('torch._C').op_names()) do
    if name:sub(1, #prefix) == prefix then names[#names + 1] = name:sub(#prefix + 1) end
  end
  table.sort(names)
  return names
end

---@param owner string its name in messages: 'torch.linalg'
---@param prefix string what ATen's names begin with: 'linalg_'
---@param fields? table functions that are no operators
---@return table functions an unknown name is an error
local function prefixed(owner, prefix, fields)
  return setmetatable(fields or {}, {
    __index = function(self, name)
      if type(name) ~= 'string' then return nil end
      local found = name:sub(1, 1) ~= '_' and require('torch._C').op(prefix .. name)
      if not found then args.no_such(owner, name, names_of(self, prefix)) end
      rawset(self, name, found)
      return found
    end,
  })
end

return prefixed

-- torch/tensor.lua: torch.Tensor: the tensors' methods as functions; a function assigned to it becomes a method.

local errors = require 'base.errors'
local args = require 'base.args'
local C = require 'torch._C'
local methods = require 'torch.methods'

local function find(name)
  return rawget(C.Tensor, name) or methods.find(name) or C.op(name)
end

local function unknown(name)
  local names = C.op_names()
  for _, known in ipairs(methods.names()) do names[#names + 1] = known end
  for known in next, C.Tensor do names[#names + 1] = known end
  table.sort(names)
  args.no_such('torch.Tensor', name, names)
end

---@class torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(2)
---assert(torch.equal(torch.Tensor.add(x, 1), x + 1))
---function torch.Tensor:plus_one() return self + 1 end
---assert(torch.equal(x:plus_one(), x + 1))
---```
return setmetatable({}, {
  __index = function(_, name)
    if type(name) ~= 'string' then return nil end
    return find(name) or unknown(name)
  end,
  __newindex = function(_, name, fn)
    if type(name) ~= 'string' or type(fn) ~= 'function' then
      errors.raise('argument', ('torch.Tensor.%s: a method is a function, got %s'):format(tostring(name), type(fn)))
    end
    if find(name) then errors.raise('argument', ("torch.Tensor: there is a method '%s' already"):format(name)) end
    C.Tensor[name] = fn
  end,
  __call = function()
    errors.raise('unsupported', 'torch.Tensor(…): use torch.tensor(data), torch.empty(sizes) or torch.zeros(sizes)')
  end,
})

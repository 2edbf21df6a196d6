-- torch/functions/aten.lua: ATen's operators by name, without the functions of torch that stand before some of them.

local C = require 'torch._C'

return setmetatable({}, {
  __index = function(self, name)
    local found = C.op(name)
    rawset(self, name, found)
    return found
  end,
})

-- torch/functions/aten.lua: ATen's operators by name, also those for which torch has a function of the same name.

local C = require 'torch._C'

return setmetatable({}, {
  __index = function(self, name)
    local found = C.op(name)
    rawset(self, name, found)
    return found
  end,
})

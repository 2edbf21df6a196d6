-- torch/utils/init.lua: torch.utils.
return setmetatable({}, {
  __index = function(self, name)
    if name ~= 'data' then
      require('rtrain.errors').raise('argument', ("torch.utils has no '%s': it has data"):format(tostring(name)))
    end
    rawset(self, name, require 'torch.utils.data')
    return self[name]
  end,
})

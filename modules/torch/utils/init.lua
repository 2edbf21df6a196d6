-- torch/utils/init.lua: torch.utils.
return setmetatable({}, {
  __index = function(self, name)
    if name ~= 'data' then
      require('rtrain.args').no_such('torch.utils', name, {'data'})
    end
    rawset(self, name, require 'torch.utils.data')
    return self[name]
  end,
})

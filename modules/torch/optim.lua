-- torch/optim.lua: optimizers. Each file is read when its first class is used.

local args = require 'rtrain.args'

local FILE_OF = {Optimizer = 'torch.optim.optimizer', SGD = 'torch.optim.sgd', Adam = 'torch.optim.adam',
                 AdamW = 'torch.optim.adam', Adadelta = 'torch.optim.adadelta', Adagrad = 'torch.optim.adagrad'}
local NAMES = {'Adadelta', 'Adagrad', 'Adam', 'AdamW', 'Optimizer', 'SGD', 'lr_scheduler'}

return setmetatable({}, {
  __index = function(self, name)
    if type(name) ~= 'string' then return nil end
    local found
    if name == 'lr_scheduler' then
      found = require 'torch.optim.lr_scheduler'
    elseif FILE_OF[name] then
      found = require(FILE_OF[name])[name]
    else
      args.no_such('torch.optim', name, NAMES)
    end
    rawset(self, name, found)
    return found
  end,
})

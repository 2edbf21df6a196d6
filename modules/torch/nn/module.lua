-- torch/nn/module.lua: nn.Module: its parts, one file each.

local errors = require 'base.errors'
local Module = require 'torch.nn.module.base'
require 'torch.nn.module.tree'
require 'torch.nn.module.state'
require 'torch.nn.module.conversion'
require 'torch.nn.module.hooks'

-- Methods that PyTorch's modules have and these have not say why when they are called; a field of the name may be set.
local reasons = require('torch.nn.absent').of 'nn.Module'
for name in next, reasons do
  Module[name] = function() require('base.args').no_such('nn.Module', name, {}, reasons) end
end

errors.context = require 'torch.nn.module.running'

return {Module = Module}

-- torch/nn/module.lua: nn.Module, assembled from one file for each part.

local errors = require 'base.errors'
local Module = require 'torch.nn.module.base'
require 'torch.nn.module.tree'
require 'torch.nn.module.state'
require 'torch.nn.module.conversion'
require 'torch.nn.module.hooks'

-- Unsupported methods of PyTorch's modules raise an error with the reason when they are called; a field of the name may
-- be set.
local reasons = require('torch.nn.absent').of 'nn.Module'
for name in next, reasons do
  Module[name] = function() require('base.args').no_such('nn.Module', name, {}, reasons) end
end

errors.context = require 'torch.nn.module.running'

return {Module = Module}

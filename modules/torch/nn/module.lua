-- torch/nn/module.lua: nn.Module: its parts, one file each.

local Module = require 'torch.nn.module.base'
require 'torch.nn.module.tree'
require 'torch.nn.module.state'
require 'torch.nn.module.conversion'
require 'torch.nn.module.hooks'

return {Module = Module}

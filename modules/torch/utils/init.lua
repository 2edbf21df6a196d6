-- torch/utils/init.lua: torch.utils.
return require 'base.namespace'('torch.utils', {
  modules = {data = 'torch.utils.data', checkpoint = 'torch.utils.checkpoint'},
})

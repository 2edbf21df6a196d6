-- torch/utils/init.lua: torch.utils.
return require 'rtrain.namespace'('torch.utils', {
  modules = {data = 'torch.utils.data', checkpoint = 'torch.utils.checkpoint'},
})

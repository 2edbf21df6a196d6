-- torch/utils/init.lua: torch.utils.
return require('rtrain.lazy').module('torch.utils', {modules = {data = 'torch.utils.data'}})

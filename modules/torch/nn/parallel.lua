-- torch/nn/parallel.lua: torch.nn.parallel: models on several processes.

return require 'base.namespace'('torch.nn.parallel', {
  modules = {DistributedDataParallel = 'torch.nn.parallel.distributed'},
  absent = require('torch.nn.absent').of 'torch.nn.parallel',
})

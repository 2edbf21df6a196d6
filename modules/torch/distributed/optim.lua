-- torch/distributed/optim.lua: torch.distributed.optim: optimizers that are distributed over ranks.

return require 'base.namespace'('torch.distributed.optim', {
  files = {{'torch.distributed.optim.zero_redundancy_optimizer', 'ZeroRedundancyOptimizer'}},
  absent = {DistributedOptimizer = 'it is for RPC: use ZeroRedundancyOptimizer',
            PostLocalSGDOptimizer = 'average the parameters in the train function: torch.distributed.all_reduce'},
})

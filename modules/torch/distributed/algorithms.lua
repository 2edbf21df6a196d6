-- torch/distributed/algorithms.lua: torch.distributed.algorithms: ways to train with several ranks.

return require 'base.namespace'('torch.distributed.algorithms', {
  modules = {ddp_comm_hooks = 'torch.distributed.algorithms.ddp_comm_hooks'},
  absent = {
    join = 'every rank makes the same number of steps: train.torch.prepare_data_loader divides batches so',
    Join = 'every rank makes the same number of steps: train.torch.prepare_data_loader divides batches so',
    Joinable = 'every rank makes the same number of steps: train.torch.prepare_data_loader divides batches so',
    JoinHook = 'every rank makes the same number of steps: train.torch.prepare_data_loader divides batches so',
    model_averaging = 'average the parameters in the train function: torch.distributed.all_reduce',
  },
})

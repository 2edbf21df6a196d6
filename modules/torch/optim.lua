-- torch/optim.lua: optimizers. Each file is read when its first class is used.

return require 'base.namespace'('torch.optim', {
  files = {
    {'torch.optim.optimizer', 'Optimizer'},
    {'torch.optim.adadelta', 'Adadelta'},
    {'torch.optim.adafactor', 'Adafactor'},
    {'torch.optim.adagrad', 'Adagrad'},
    {'torch.optim.adam', 'Adam', 'AdamW'},
    {'torch.optim.adamax', 'Adamax'},
    {'torch.optim.asgd', 'ASGD'},
    {'torch.optim.lbfgs', 'LBFGS'},
    {'torch.optim.muon', 'Muon'},
    {'torch.optim.nadam', 'NAdam'},
    {'torch.optim.radam', 'RAdam'},
    {'torch.optim.rmsprop', 'RMSprop'},
    {'torch.optim.rprop', 'Rprop'},
    {'torch.optim.sgd', 'SGD'},
    {'torch.optim.sparse_adam', 'SparseAdam'},
  },
  modules = {lr_scheduler = 'torch.optim.lr_scheduler', swa_utils = 'torch.optim.swa_utils'},
})

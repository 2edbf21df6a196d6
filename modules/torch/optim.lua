-- torch/optim.lua: optimizers. Each file is read when its first class is used.

return require 'rtrain.namespace'('torch.optim', {
  files = {
    {'torch.optim.optimizer', 'Optimizer'},
    {'torch.optim.sgd', 'SGD'},
    {'torch.optim.adam', 'Adam', 'AdamW'},
    {'torch.optim.adadelta', 'Adadelta'},
    {'torch.optim.adagrad', 'Adagrad'},
  },
  modules = {lr_scheduler = 'torch.optim.lr_scheduler'},
})

-- torch/optim/lr_scheduler.lua: schedules of the learning rate. Each file is read when its first class is used.

return require 'base.namespace'('torch.optim.lr_scheduler', {
  files = {
    {'torch.optim.lr_scheduler.scheduler', 'LRScheduler'},
    {'torch.optim.lr_scheduler.lambda', 'LambdaLR', 'MultiplicativeLR'},
    {'torch.optim.lr_scheduler.steps', 'StepLR', 'MultiStepLR', 'ConstantLR', 'LinearLR', 'ExponentialLR', 'PolynomialLR'},
    {'torch.optim.lr_scheduler.cosine', 'CosineAnnealingLR', 'CosineAnnealingWarmRestarts'},
    {'torch.optim.lr_scheduler.cyclic', 'CyclicLR', 'OneCycleLR'},
    {'torch.optim.lr_scheduler.plateau', 'ReduceLROnPlateau'},
    {'torch.optim.lr_scheduler.composite', 'SequentialLR', 'ChainedScheduler'},
  },
})

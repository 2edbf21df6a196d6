-- torch/optim/swa_utils.lua: averages of a model's weights. Each file is read when its first name is used.

return require 'base.namespace'('torch.optim.swa_utils', {
  files = {
    {'torch.optim.swa_utils.averaged_model', 'AveragedModel', 'get_ema_avg_fn', 'get_ema_multi_avg_fn', 'get_swa_avg_fn',
     'get_swa_multi_avg_fn'},
    {'torch.optim.swa_utils.update_bn', 'update_bn'},
    {'torch.optim.lr_scheduler.swa', 'SWALR'},
  },
})

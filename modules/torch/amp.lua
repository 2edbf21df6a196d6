-- torch/amp.lua: automatic mixed precision. Each file is read when its first name is used.

return require 'base.namespace'('torch.amp', {
  files = {
    {'torch.amp.autocast', 'autocast', 'is_autocast_available', 'custom_fwd', 'custom_bwd'},
    {'torch.amp.grad_scaler', 'GradScaler'},
  },
})

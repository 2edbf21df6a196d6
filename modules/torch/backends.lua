-- torch/backends.lua: torch.backends: switches of the libraries that compute on GPUs. They can also be set without a
-- GPU.

return require 'base.namespace'('torch.backends', {
  modules = {cudnn = 'torch.backends.cudnn', cuda = 'torch.backends.cuda'},
})

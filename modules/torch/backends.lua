-- torch/backends.lua: torch.backends: switches of the libraries that compute on GPUs. They can be set without one.

return require 'base.namespace'('torch.backends', {
  modules = {cudnn = 'torch.backends.cudnn', cuda = 'torch.backends.cuda'},
})

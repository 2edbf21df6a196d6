-- horovod/torch.lua: the same by its name in Python, `import horovod.torch as hvd`.

return require 'horovod'

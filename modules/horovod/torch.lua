-- horovod/torch.lua: the module horovod under its name in Python, `import horovod.torch as hvd`.

return require 'horovod'

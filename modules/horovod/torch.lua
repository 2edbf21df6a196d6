-- horovod/torch.lua: the module horovod under its Python name, `import horovod.torch as hvd`.

return require 'horovod'

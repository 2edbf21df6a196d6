-- torch/linalg.lua: torch.linalg: the operators of ATen with the prefix linalg_.
return require 'torch.functions.prefixed'('torch.linalg', 'linalg_')

-- torch/special.lua: torch.special: the operators of ATen with the prefix special_.
return require 'torch.functions.prefixed'('torch.special', 'special_')

-- torch/special.lua: torch.special: every operator that ATen calls special_….
return require 'torch.functions.prefixed'('torch.special', 'special_')

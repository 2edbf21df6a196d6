-- torch/linalg.lua: torch.linalg: every operator that ATen calls linalg_….
return require 'torch.functions.prefixed'('torch.linalg', 'linalg_')

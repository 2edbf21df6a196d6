-- torch/fft.lua: torch.fft: the operators of ATen with the prefix fft_.
return require 'torch.functions.prefixed'('torch.fft', 'fft_')

-- torch/fft.lua: torch.fft: every operator that ATen calls fft_….
return require 'torch.functions.prefixed'('torch.fft', 'fft_')

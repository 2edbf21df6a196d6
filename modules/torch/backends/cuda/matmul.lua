-- torch/backends/cuda/matmul.lua: torch.backends.cuda.matmul: switches of matrix products, to be read and set.

local switches = require 'torch.backends.switches'

return switches.switches('torch.backends.cuda.matmul', {}, {
  allow_tf32 = switches.switch 'cuda.matmul.allow_tf32',
  allow_fp16_reduced_precision_reduction = switches.switch 'cuda.matmul.allow_fp16_reduced_precision_reduction',
  allow_bf16_reduced_precision_reduction = switches.switch 'cuda.matmul.allow_bf16_reduced_precision_reduction',
  allow_fp16_accumulation = switches.switch 'cuda.matmul.allow_fp16_accumulation',
})

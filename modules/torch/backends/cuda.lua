-- torch/backends/cuda.lua: torch.backends.cuda: how matrix products and scaled_dot_product_attention compute on GPUs.

local function C() return require('torch._C').backends end

local cuda = {}

---Enables or disables the FlashAttention kernel for attention. PyTorch equivalent:
---torch.backends.cuda.enable_flash_sdp.
---@param enabled boolean
function cuda.enable_flash_sdp(enabled) C().set('cuda.flash_sdp', enabled) end

---@return boolean
function cuda.flash_sdp_enabled() return C().get 'cuda.flash_sdp' end

---Enables or disables the memory-efficient kernel. PyTorch equivalent: torch.backends.cuda.enable_mem_efficient_sdp.
---@param enabled boolean
function cuda.enable_mem_efficient_sdp(enabled) C().set('cuda.mem_efficient_sdp', enabled) end

---@return boolean
function cuda.mem_efficient_sdp_enabled() return C().get 'cuda.mem_efficient_sdp' end

---Enables or disables attention by plain matrix products. PyTorch equivalent: torch.backends.cuda.enable_math_sdp.
---@param enabled boolean
function cuda.enable_math_sdp(enabled) C().set('cuda.math_sdp', enabled) end

---@return boolean
function cuda.math_sdp_enabled() return C().get 'cuda.math_sdp' end

---Enables or disables cuDNN's kernel for attention. PyTorch equivalent: torch.backends.cuda.enable_cudnn_sdp.
---@param enabled boolean
function cuda.enable_cudnn_sdp(enabled) C().set('cuda.cudnn_sdp', enabled) end

---@return boolean
function cuda.cudnn_sdp_enabled() return C().get 'cuda.cudnn_sdp' end

---Sets whether attention by plain matrix products sums float16 and bfloat16 in their own precision. PyTorch equivalent:
---torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp.
---@param enabled boolean
function cuda.allow_fp16_bf16_reduction_math_sdp(enabled) C().set('cuda.fp16_bf16_reduction_math_sdp', enabled) end

---@return boolean
function cuda.fp16_bf16_reduction_math_sdp_allowed() return C().get 'cuda.fp16_bf16_reduction_math_sdp' end

return require 'base.namespace'('torch.backends.cuda', {modules = {matmul = 'torch.backends.cuda.matmul'}}, cuda)

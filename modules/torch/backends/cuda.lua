-- torch/backends/cuda.lua: torch.backends.cuda: how matrix products and scaled_dot_product_attention compute on GPUs.

local function C() return require('torch._C').backends end

local cuda = {}

---Lets attention use the FlashAttention kernel, or not. PyTorch equivalent: torch.backends.cuda.enable_flash_sdp.
---@param enabled boolean
function cuda.enable_flash_sdp(enabled) C().set('cuda.flash_sdp', enabled) end

---@return boolean
function cuda.flash_sdp_enabled() return C().get 'cuda.flash_sdp' end

---Lets attention use the memory-efficient kernel, or not. PyTorch equivalent: torch.backends.cuda.enable_mem_efficient_sdp.
---@param enabled boolean
function cuda.enable_mem_efficient_sdp(enabled) C().set('cuda.mem_efficient_sdp', enabled) end

---@return boolean
function cuda.mem_efficient_sdp_enabled() return C().get 'cuda.mem_efficient_sdp' end

---Lets attention use plain matrix products, or not. PyTorch equivalent: torch.backends.cuda.enable_math_sdp.
---@param enabled boolean
function cuda.enable_math_sdp(enabled) C().set('cuda.math_sdp', enabled) end

---@return boolean
function cuda.math_sdp_enabled() return C().get 'cuda.math_sdp' end

---Lets attention use cuDNN's kernel, or not. PyTorch equivalent: torch.backends.cuda.enable_cudnn_sdp.
---@param enabled boolean
function cuda.enable_cudnn_sdp(enabled) C().set('cuda.cudnn_sdp', enabled) end

---@return boolean
function cuda.cudnn_sdp_enabled() return C().get 'cuda.cudnn_sdp' end

---Lets attention by plain matrix products sum halves in halves, or not. PyTorch equivalent:
---torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp.
---@param enabled boolean
function cuda.allow_fp16_bf16_reduction_math_sdp(enabled) C().set('cuda.fp16_bf16_reduction_math_sdp', enabled) end

---@return boolean
function cuda.fp16_bf16_reduction_math_sdp_allowed() return C().get 'cuda.fp16_bf16_reduction_math_sdp' end

return require 'base.namespace'('torch.backends.cuda', {modules = {matmul = 'torch.backends.cuda.matmul'}}, cuda)

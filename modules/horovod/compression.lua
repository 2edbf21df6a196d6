-- horovod/compression.lua: Compression: the dtype in which tensors are sent.

local torch = require 'torch'

---`Compression.none` and `Compression.fp16`: `compress(tensor)` returns the tensor to send, and the context for
---`decompress`.
local none = {}

---@param tensor torch.Tensor
---@return torch.Tensor sent, nil context
function none.compress(tensor) return tensor, nil end

---@param tensor torch.Tensor
---@return torch.Tensor
function none.decompress(tensor) return tensor end

local fp16 = {}

---@param tensor torch.Tensor
---@return torch.Tensor sent, any dtype of the tensor if it was converted
function fp16.compress(tensor)
  if not torch.is_floating_point(tensor) then return tensor, nil end
  return tensor:to(torch.float16), tensor.dtype
end

---@param tensor torch.Tensor
---@param dtype any
---@return torch.Tensor
function fp16.decompress(tensor, dtype) return dtype and tensor:to(dtype) or tensor end

return {none = none, fp16 = fp16}

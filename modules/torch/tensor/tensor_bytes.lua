-- torch/tensor/tensor_bytes.lua: returns the bytes of a tensor as a string, row by row, in this machine's byte order.

local ffi = require 'ffi'

---@param tensor torch.Tensor on the CPU
---@return string bytes
return function(tensor)
  local rows = tensor:contiguous()  -- kept alive while it is read
  return ffi.string(ffi.cast('const char *', rows:data_ptr()), rows:numel() * rows:element_size())
end

-- rtrain/data/columns/unsigned.lua: columns of uint16, uint32 and uint64, for which LibTorch has few operators.

local unsigned = {}

-- The signed dtypes of the same width: a view has the same bits.
local SIGNED = {uint16 = 'int16', uint32 = 'int32', uint64 = 'int64'}
-- The dtypes in which the values are compared. uint64 has no wider dtype: its values are shifted, which keeps their
-- order.
local WIDER = {uint16 = 'int32', uint32 = 'int64'}
local LEAST = -0x7fffffffffffffffLL - 1

---Returns the result of a function that only moves values or sets them to 0, such as index_select or masked_fill.
---@param of torch.Tensor
---@param fn fun(of: torch.Tensor): torch.Tensor
---@return torch.Tensor
---
---```lua
---local torch, unsigned = require 'torch', require 'rtrain.data.columns.unsigned'
---local ids = torch.tensor({7, 8, 9}, {dtype = 'uint64'})
---local flipped = unsigned.moved(ids, function(values) return values:flip{0} end)
---assert(flipped.dtype == 'uint64' and flipped:tolist()[1] == 9)
---```
function unsigned.moved(of, fn)
  local signed = SIGNED[of.dtype]
  if not signed then return fn(of) end
  return fn(of:view(signed)):view(of.dtype)
end

---Returns numbers in the same order, of a dtype that LibTorch can compare.
---@param of torch.Tensor
---@return torch.Tensor
function unsigned.comparable(of)
  if of.dtype == 'uint64' then return of:view('int64'):bitwise_xor(LEAST) end
  return WIDER[of.dtype] and of:to(WIDER[of.dtype]) or of
end

---Returns the values of numbers that `comparable` made.
---@param numbers torch.Tensor
---@param dtype string of the values
---@return torch.Tensor
function unsigned.restored(numbers, dtype)
  if dtype == 'uint64' then return numbers:bitwise_xor(LEAST):view('uint64') end
  return numbers:to(dtype)
end

return unsigned

-- torch/distributions/shared/sizes.lua: lists of sizes, with Python's slices of a torch.Size.

local repr = require 'torch.nn.repr'
local torch = require 'torch'

local sizes = {}

-- Returns the number of sizes before a bound of a slice.
local function place(bound, count)
  if bound < 0 then bound = bound + count end
  return math.max(0, math.min(bound, count))
end

---Returns Python's shape[first:last]: bounds count from 0, negative ones from the end.
---@param shape integer[]
---@param first integer
---@param last? integer default: the end
---@return torch.Size
function sizes.slice(shape, first, last)
  local out = {}
  for i = place(first, #shape) + 1, place(last or #shape, #shape) do out[#out + 1] = shape[i] end
  return torch.Size(out)
end

---Returns a list that repeats a size.
---@param size integer
---@param count integer
---@return integer[]
function sizes.repeated(size, count)
  local out = {}
  for i = 1, count do out[i] = size end
  return out
end

---Returns the shape to which shapes broadcast.
---@param ... integer[]
---@return torch.Size
function sizes.broadcast(...) return torch.Size(torch.broadcast_shapes(...)) end

---Returns the shape of a parameter; empty for a number.
---@param value number|torch.Tensor
---@return integer[]
function sizes.of(value) return torch.is_tensor(value) and value.shape or torch.Size{} end

---Returns the text of the tuple as Python writes it: (2,), ().
---@param shape integer[]
---@return string
function sizes.text(shape)
  local list = {}
  for i = 1, #shape do list[i] = shape[i] end
  return repr.value(list)
end

return sizes

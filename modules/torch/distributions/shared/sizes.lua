-- torch/distributions/shared/sizes.lua: lists of sizes, cut and joined as Python does with a torch.Size.

local repr = require 'torch.nn.repr'
local torch = require 'torch'

local sizes = {}

-- A bound of a slice as a count of the sizes before it.
local function place(bound, count)
  if bound < 0 then bound = bound + count end
  return math.max(0, math.min(bound, count))
end

---shape[first:last] of Python: counted from 0, negative ones from the end.
---@param shape integer[]
---@param first integer
---@param last? integer without it: to the end
---@return torch.Size
function sizes.slice(shape, first, last)
  local out = {}
  for i = place(first, #shape) + 1, place(last or #shape, #shape) do out[#out + 1] = shape[i] end
  return torch.Size(out)
end

---The same size several times.
---@param size integer
---@param count integer
---@return integer[]
function sizes.repeated(size, count)
  local out = {}
  for i = 1, count do out[i] = size end
  return out
end

---The shape to which shapes broadcast.
---@param ... integer[]
---@return torch.Size
function sizes.broadcast(...) return torch.Size(torch.broadcast_shapes(...)) end

---The shape of a parameter: none where it is a number.
---@param value number|torch.Tensor
---@return integer[]
function sizes.of(value) return torch.is_tensor(value) and value.shape or torch.Size{} end

---As Python writes the tuple of it: (2,), ().
---@param shape integer[]
---@return string
function sizes.text(shape)
  local list = {}
  for i = 1, #shape do list[i] = shape[i] end
  return repr.value(list)
end

return sizes

-- torch/onnx/windows.lua: converts the parameters of a window to ONNX's form: one number for each dimension.

local windows = {}

---Returns a list with a number for each dimension, given one number for all or a list.
---@param value number|number[]
---@param dims integer
---@param default? number[] replaces an empty list
---@return number[]
function windows.per_dim(value, dims, default)
  local out = {}
  if type(value) == 'table' and #value == 0 then value = default end
  for i = 1, dims do out[i] = type(value) == 'table' and (value[i] or value[1]) or value end
  return out
end

---Returns the padding of both sides: first all numbers before, then all numbers after.
---@param values number[]
---@return number[]
function windows.twice(values)
  local out = {}
  for _, value in ipairs(values) do out[#out + 1] = value end
  for _, value in ipairs(values) do out[#out + 1] = value end
  return out
end

return windows

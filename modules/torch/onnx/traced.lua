-- torch/onnx/traced.lua: values of traced calls: tensors {id, storage, tensor, twins}, where twins are the same tensors
-- in the other traces, numbers, and lists of these.

local class = require 'base.class'
local torch = require 'torch'

local traced = {}

---@param value any
---@return boolean
function traced.is_tensor(value) return type(value) == 'table' and value.id ~= nil end

---Returns the operator's name without ATen's prefix.
---@param call table
---@return string
function traced.plain_name(call) return (call.name:gsub('^aten::', '')) end

---Returns the values of a field in several tables.
---@param calls table[]
---@param field string
---@return any[]
function traced.field_of(calls, field)
  local out = {}
  for i, call in ipairs(calls) do out[i] = call[field] end
  return out
end

---Returns whether any of the values, or of the items of lists in them, is a tensor for which fn(tensor) holds.
---@param values table
---@param fn fun(value: table): boolean
---@return boolean
function traced.any_tensor(values, fn)
  for _, value in next, values do
    if traced.is_tensor(value) then
      if fn(value) then return true end
    elseif type(value) == 'table' and not class.of(value) and traced.any_tensor(value, fn) then
      return true
    end
  end
  return false
end

local function is_equal(a, b)
  return a.dtype == b.dtype and tostring(a.shape) == tostring(b.shape) and torch.equal(a, b)
end

---Returns whether all traces have the same values. NaN counts as equal to itself.
---@param value table
---@return boolean
function traced.has_equal_twins(value)
  for _, twin in next, value.twins or {} do
    local a, b = value.tensor, twin.tensor
    if not is_equal(a, b) and not (a.dtype == b.dtype and tostring(a.shape) == tostring(b.shape)
        and a:is_floating_point() and torch.equal(a:nan_to_num(), b:nan_to_num())) then
      return false
    end
  end
  return true
end

---Calls fn(tensor) for each tensor of the results.
---@param results table
---@param fn fun(value: table)
function traced.each_result(results, fn)
  for _, result in ipairs(results) do
    if traced.is_tensor(result) then
      fn(result)
    elseif type(result) == 'table' then
      traced.each_result(result, fn)
    end
  end
end

return traced

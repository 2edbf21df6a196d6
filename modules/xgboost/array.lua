-- xgboost/array.lua: passes tensors to and from the library: NumPy's array interface, as JSON.

local errors = require 'base.errors'
local ffi = require 'ffi'

local array = {}

local TYPES = {
  float32 = '<f4', float64 = '<f8', int8 = '|i1', int16 = '<i2', int32 = '<i4', int64 = '<i8', uint8 = '|u1',
}
local WIDTHS = {float32 = 4, float64 = 8, int8 = 1, int16 = 2, int32 = 4, int64 = 8, uint8 = 1}
-- Dtypes that the library lacks.
local CONVERTED = {bool = 'uint8', float16 = 'float32', bfloat16 = 'float32'}

---@param value any
---@return boolean
function array.is_tensor(value) return type(value) == 'userdata' and require('torch').is_tensor(value) end

-- Converts an item of a list; missing values are those that rtrain.data uses for null.
local function number_of(name, value, torch)
  if type(value) == 'number' then return value end
  if type(value) == 'boolean' then return value and 1 or 0 end
  if value == torch.none then return 0 / 0 end
  errors.raise('argument', ("%s: the values are %ss, expected numbers%s"):format(name, type(value),
    type(value) == 'string' and ': give each word a number, such as its place in a list of all' or ''))
end

---Returns a tensor in the CPU's memory, of a type that the library supports: the same tensor if it already is one. A
---list of numbers becomes a tensor; its missing values become NaN.
---@param name string for messages
---@param value torch.Tensor|any[]
---@return torch.Tensor
function array.tensor(name, value)
  local torch = require 'torch'
  if type(value) == 'table' and getmetatable(value) == nil then
    local numbers = {}
    for i, item in ipairs(value) do numbers[i] = number_of(name, item, torch) end
    return torch.tensor(numbers, {dtype = 'float32'})
  end
  if not array.is_tensor(value) then
    errors.raise('argument', ('%s: expected a tensor or a list of numbers, got a %s'):format(name, type(value)))
  end
  if value.is_cuda then value = value:cpu() end
  if CONVERTED[value.dtype] then value = value:to(CONVERTED[value.dtype]) end
  if not TYPES[value.dtype] then
    errors.raise('argument', ('%s: a tensor of %s: expected numbers'):format(name, value.dtype))
  end
  return value
end

local function joined(list, factor)
  local out = {}
  for i = 1, #list do out[i] = ('%d'):format(list[i] * factor) end
  return table.concat(out, ',')
end

---Returns the interface of a result of array.tensor. The library reads the tensor's memory in place, so the tensor must
---live as long.
---@param tensor torch.Tensor
---@return string json
function array.interface(tensor)
  local strides = tensor:is_contiguous() and 'null' or '[' .. joined(tensor:stride(), WIDTHS[tensor.dtype]) .. ']'
  -- An empty tensor has no memory, but the library requires an address.
  return ('{"data":[%.0f,true],"shape":[%s],"strides":%s,"typestr":"%s","version":3}'):format(tensor:data_ptr(),
    joined(tensor.shape, 1), strides, TYPES[tensor.dtype])
end

---Returns a tensor with a copy of floats of the library.
---@param shape ffi.cdata* const uint64_t *
---@param dim ffi.cdata*|number
---@param values ffi.cdata* const float *
---@return torch.Tensor float32
function array.copy(shape, dim, values)
  local sizes, count = {}, 1
  for i = 1, tonumber(dim) do
    sizes[i] = tonumber(shape[i - 1])
    count = count * sizes[i]
  end
  local out = require('torch').empty(sizes, {dtype = 'float32'})
  if count > 0 then ffi.copy(ffi.cast('void *', out:data_ptr()), values, count * 4) end
  return out
end

return array

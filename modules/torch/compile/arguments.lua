-- torch/compile/arguments.lua: the arguments of a step under train.graph: those that a graph treats as constant, and the
-- tensors into which each call copies its own.
--
-- A Shape describes one value: for a tensor everything except its numbers, for a plain table its entries, for any other
-- type the value itself, since the graph would keep using the captured value.

local class = require 'base.class'
local ordered = require 'base.ordered'
local torch = require 'torch'

local arguments = {}

local function is_tensor(value) return type(value) == 'userdata' and torch.is_tensor(value) end

-- Returns whether the value is a plain table, not an object.
local function is_plain_table(value)
  return type(value) == 'table' and (ordered.is(value) or not class.of(value))
end

local function tensor_shape(tensor)
  return {kind = 'tensor', dtype = tensor.dtype, device = tensor.device, size = tensor:size(),
          needs_grad = tensor.requires_grad, is_sparse = tensor.is_sparse}
end

local shape_of

local function table_shape(value)
  local shape = {kind = 'table', keys = ordered.keys_of(value), items = {}}
  for _, key in ipairs(shape.keys) do shape.items[key] = shape_of(value[key]) end
  return shape
end

function shape_of(value)
  if is_tensor(value) then return tensor_shape(value) end
  if is_plain_table(value) then return table_shape(value) end
  return {kind = 'value', value = value}
end

---@param ... any the arguments of a call
---@return table shape
function arguments.shape(...)
  local shape = {count = select('#', ...)}
  for i = 1, shape.count do shape[i] = shape_of((select(i, ...))) end
  return shape
end

local function text_of(shape)
  if shape.kind == 'tensor' then
    return ('%s [%s] on %s'):format(shape.dtype, table.concat(shape.size, ', '), shape.device)
  end
  if shape.kind == 'table' then return ('a table with %d entries'):format(#shape.keys) end
  return type(shape.value) == 'string' and ("'%s'"):format(shape.value) or tostring(shape.value)
end

local function is_same_tensor(shape, value)
  if not is_tensor(value) or value.dtype ~= shape.dtype or value.device ~= shape.device then return false end
  if value:dim() ~= #shape.size or value.requires_grad ~= shape.needs_grad then return false end
  for i = 1, #shape.size do
    if value:size(i - 1) ~= shape.size[i] then return false end
  end
  return true
end

local difference_of

local function table_difference(shape, value, place)
  for _, key in ipairs(shape.keys) do
    local difference = difference_of(shape.items[key], value[key], ('%s.%s'):format(place, tostring(key)))
    if difference then return difference end
  end
  if #ordered.keys_of(value) ~= #shape.keys then return ('%s has other keys than before'):format(place) end
end

function difference_of(shape, value, place)
  if shape.kind == 'tensor' and is_same_tensor(shape, value) then return nil end
  if shape.kind == 'table' and is_plain_table(value) then return table_difference(shape, value, place) end
  if shape.kind == 'value' and rawequal(shape.value, value) then return nil end
  return ('%s was %s and is %s now'):format(place, text_of(shape), text_of(shape_of(value)))
end

---Returns how the arguments differ from those that the shape describes.
---@param shape table
---@param ... any
---@return string|nil difference nil: the graph can be used for them
function arguments.difference(shape, ...)
  if select('#', ...) ~= shape.count then
    return ('there were %d arguments and are %d now'):format(shape.count, (select('#', ...)))
  end
  for i = 1, shape.count do
    local difference = difference_of(shape[i], (select(i, ...)), 'argument ' .. i)
    if difference then return difference end
  end
end

local refusal_of

local function tensor_refusal(shape, place)
  if shape.is_sparse then return place .. ' is a sparse tensor' end
  if shape.needs_grad then return place .. ' needs a gradient: a graph copies its arguments' end
  if not shape.device:find '^cuda' then
    return ('%s lies on %s: bring it to the GPU before, as prepare_data_loader does'):format(place, shape.device)
  end
end

function refusal_of(shape, place)
  if shape.kind == 'tensor' then return tensor_refusal(shape, place) end
  for _, key in ipairs(shape.kind == 'table' and shape.keys or {}) do
    local refusal = refusal_of(shape.items[key], ('%s.%s'):format(place, tostring(key)))
    if refusal then return refusal end
  end
end

---Returns why no graph can be made of a step with such arguments.
---@param shape table
---@return string|nil refusal
function arguments.refusal(shape)
  for i = 1, shape.count do
    local refusal = refusal_of(shape[i], 'argument ' .. i)
    if refusal then return refusal end
  end
end

-- Calls fn(tensor) for all tensors, in order, and puts the results in their places.
local function mapped(shape, value, fn)
  if shape.kind == 'tensor' then return fn(value) end
  if shape.kind ~= 'table' then return value end
  local out = ordered.is(value) and ordered.new() or setmetatable({}, getmetatable(value))
  for _, key in ipairs(shape.keys) do out[key] = mapped(shape.items[key], value[key], fn) end
  return out
end

---Returns the values with fn(tensor) in the place of each tensor, in the order of arguments.tensors.
---@param shape table
---@param fn fun(tensor: any): any
---@param ... any
---@return any[] values `n` of them
function arguments.mapped(shape, fn, ...)
  local values = {n = shape.count}
  for i = 1, shape.count do values[i] = mapped(shape[i], (select(i, ...)), fn) end
  return values
end

---Returns copies of the arguments whose tensors keep their memory: the inputs of a graph.
---@param shape table
---@param ... any
---@return any[] values `n` of them
---@return torch.Tensor[] tensors the tensors among them, in the order of arguments.tensors
function arguments.static(shape, ...)
  local tensors = {}
  local values = arguments.mapped(shape, function(tensor)
    tensors[#tensors + 1] = tensor:clone()
    return tensors[#tensors]
  end, ...)
  return values, tensors
end

local function collect(shape, value, out)
  if shape.kind == 'tensor' then
    out[#out + 1] = value
  elseif shape.kind == 'table' then
    for _, key in ipairs(shape.keys) do collect(shape.items[key], value[key], out) end
  end
end

---Returns the tensors among the arguments, in the order of arguments.static.
---@param shape table
---@param ... any
---@return torch.Tensor[]
function arguments.tensors(shape, ...)
  local out = {}
  for i = 1, shape.count do collect(shape[i], (select(i, ...)), out) end
  return out
end

-- Appends the tensors of a value; returns whether it is as the shape says, but for the tensors' properties.
local function collect_same(shape, value, out)
  if shape.kind == 'tensor' then
    out[#out + 1] = value
    return is_tensor(value)
  end
  if shape.kind == 'value' then return rawequal(shape.value, value) end
  if not is_plain_table(value) or #ordered.keys_of(value) ~= #shape.keys then return false end
  for _, key in ipairs(shape.keys) do
    if not collect_same(shape.items[key], value[key], out) then return false end
  end
  return true
end

---Returns the tensors among the arguments, if they are those that the shape describes, but for dtypes, sizes and other
---properties of tensors.
---@param shape table
---@param ... any
---@return torch.Tensor[]|nil
function arguments.tensors_of_same(shape, ...)
  if select('#', ...) ~= shape.count then return nil end
  local out = {}
  for i = 1, shape.count do
    if not collect_same(shape[i], (select(i, ...)), out) then return nil end
  end
  return out
end

---Returns the values without their autograd graph: the results of a step.
---@param ... any
---@return any ...
function arguments.detached(...)
  local shape, out = arguments.shape(...), {}
  for i = 1, shape.count do
    out[i] = mapped(shape[i], (select(i, ...)), function(tensor) return tensor.requires_grad and tensor:detach() or tensor end)
  end
  return unpack(out, 1, shape.count)
end

return arguments

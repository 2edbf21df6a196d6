-- torch/onnx/places.lua: Places: converts a list of index tensors to the places that GatherND and ScatterND take.
--
-- ONNX puts the indexed dimensions first, and takes the places as one tensor, whose last dimension has a number for
-- each of them. In PyTorch neighbouring indexed dimensions keep their position, and are replaced by the common
-- dimensions of all indices.

local class = require 'base.class'

---@class torch.onnx.Places
---@field dims integer[] the dimensions that have indices
---@field indices table[] tensors of the trace
local Places = class('Places')

---@param translator torch.onnx.Translator
---@param value table the tensor of the trace that has the places
---@param indices (table|false)[] for each dimension; false: all of it
function Places:init(translator, value, indices)
  self._translator, self._value, self.dims, self.indices = translator, value, {}, {}
  for i, index in ipairs(indices) do
    if index then table.insert(self.dims, i - 1); table.insert(self.indices, index) end
  end
end

---Returns whether a mask selects the places.
---@return boolean
function Places:is_mask()
  for _, index in ipairs(self.indices) do
    if self._translator:dtype(index) == 'bool' then return true end
  end
  return false
end

local function is_one(size) return size == 1 end

-- Returns the common (broadcast) sizes of all indices.
function Places:_common()
  local out = {}
  for _, index in ipairs(self.indices) do
    local shape = self._translator:shape(index)
    for i = 1, #shape do
      local at = #shape - i + 1  -- counts from the last dimension
      if out[i] == nil or is_one(out[i]) then out[i] = shape[at] end
    end
  end
  local turned = {}
  for i = #out, 1, -1 do turned[#turned + 1] = out[i] end
  return turned
end

-- Returns the dimensions without indices.
function Places:_others()
  local out, taken = {}, {}
  for _, dim in ipairs(self.dims) do taken[dim] = true end
  for dim = 0, self._translator:rank(self._value) - 1 do
    if not taken[dim] then out[#out + 1] = dim end
  end
  return out
end

-- Returns how many dimensions precede those of the indices in PyTorch's result.
function Places:_before()
  for i = 2, #self.dims do
    if self.dims[i] ~= self.dims[i - 1] + 1 then return 0 end
  end
  return self.dims[1]
end

local function transposed(t, name, order)
  for i, dim in ipairs(order) do
    if dim ~= i - 1 then return t:add('Transpose', {name}, {perm = order}) end
  end
  return name
end

local function joined(...)
  local out = {}
  for _, list in ipairs{...} do
    for _, item in ipairs(list) do out[#out + 1] = item end
  end
  return out
end

local function inverse(order)
  local out = {}
  for i, dim in ipairs(order) do out[dim + 1] = i - 1 end
  return out
end

local function range(first, last)
  local out = {}
  for i = first, last do out[#out + 1] = i end
  return out
end

---Returns the tensor with its indexed dimensions first.
---@param name string
---@return string name
function Places:to_front(name) return transposed(self._translator, name, joined(self.dims, self:_others())) end

---Returns the tensor with its dimensions in the original order.
---@param name string
---@return string name
function Places:restored(name) return transposed(self._translator, name, inverse(joined(self.dims, self:_others()))) end

-- Returns the dimensions of PyTorch's result in ONNX's order.
function Places:_order()
  local before, count, others = self:_before(), #self:_common(), #self:_others()
  return joined(range(before, before + count - 1), range(0, before - 1), range(before + count, count + others - 1))
end

---Converts a result of GatherND to PyTorch's order of dimensions.
---@param name string
---@return string name
function Places:from_front(name) return transposed(self._translator, name, inverse(self:_order())) end

---Returns the values that PyTorch assigns to the places, in the form of ScatterND.
---@param name string
---@return string name
function Places:spread(name)
  local t, before, rest = self._translator, self:_before(), {}
  local shape = t:shape(self._value)
  for _, dim in ipairs(self:_others()) do rest[#rest + 1] = shape[dim + 1] end
  local sizes = joined({unpack(rest, 1, before)}, self:_common(), {unpack(rest, before + 1)})
  return transposed(t, t:add('Expand', {name, t:sizes(sizes)}), self:_order())
end

---Returns the places: (…, number of indexed dimensions) int64.
---@return string name
function Places:name()
  local t, parts, common = self._translator, {}, self:_common()
  for i, index in ipairs(self.indices) do
    local name = t:operand(index, 'int64')
    if #self.indices > 1 then name = t:add('Expand', {name, t:sizes(common)}) end
    parts[i] = t:add('Unsqueeze', {name, t.graph:integers{-1}})
  end
  return #parts == 1 and parts[1] or t:add('Concat', parts, {axis = -1})
end

return Places

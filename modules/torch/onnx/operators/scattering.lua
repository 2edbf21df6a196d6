-- torch/onnx/operators/scattering.lua: replaces the values of a tensor at places given by a mask or by index tensors.
--
-- This includes assignments: x[mask] = v and x[{rows, columns}] = v are index_put_.

local Places = require 'torch.onnx.places'

local scattering = {}

-- reduce of scatter_reduce → ONNX's name, and its neutral value.
local REDUCTIONS = {sum = {'add', 0}, prod = {'mul', 1}, amax = {'max', -math.huge}, amin = {'min', math.huge},
                    add = {'add', 0}, multiply = {'mul', 1}}

local function reduction_of(t, reduce)
  local found = REDUCTIONS[reduce]
  if not found then t:fail("ONNX has no reduce = '%s' here", tostring(reduce)) end
  local op, neutral = unpack(found)
  if (op == 'max' or op == 'min') and t.opset_version < 18 then
    t:fail("reduce = '%s' is in ONNX from opset 18 on: opset_version = 18", reduce)
  end
  return op, neutral
end

local function scattered(t, x, dim, index, values, reduction)
  return t:add('ScatterElements', {x, index, values}, {axis = dim, reduction = reduction})
end

-- Returns the part of the source that has an index, in the dtype of the result; a single number is repeated for each
-- index.
local function source_of(t, a)
  local dtype, sizes = t:dtype(a.self), t:shape(a.index)
  local source = a.src ~= nil and a.src or a.value
  if not t.is_tensor(source) or t:rank(source) == 0 then
    return t:add('Expand', {t:operand(source, dtype), t:sizes(sizes)})
  end
  local name = t:operand(source, dtype)
  if tostring(source.tensor.shape) == tostring(a.index.tensor.shape) then return name end
  local zeros, axes = {}, {}
  for i = 1, #sizes do zeros[i], axes[i] = 0, i - 1 end
  return t:add('Slice', {name, t.graph:integers(zeros), t:sizes(sizes), t.graph:integers(axes)})
end

local function check_rank(t, a)
  if t:rank(a.self) == 0 or t:rank(a.index) == 0 then t:fail('ONNX has it from one dimension on') end
end

scattering.scatter = function(t, a)
  check_rank(t, a)
  local reduction = a.reduce and reduction_of(t, a.reduce) or nil
  return scattered(t, t:operand(a.self), a.dim, t:operand(a.index, 'int64'), source_of(t, a), reduction)
end
scattering.scatter_add = function(t, a)
  a.reduce = 'add'
  return scattering.scatter(t, a)
end

-- Limits of the integer dtypes.
local LIMITS = {int8 = 2 ^ 7, int16 = 2 ^ 15, int32 = 2 ^ 31, int64 = 2 ^ 53, uint8 = 2 ^ 8}

local function neutral_of(dtype, value)
  if math.abs(value) ~= math.huge or dtype:find 'float' then return value end
  local limit = LIMITS[dtype]
  return value > 0 and limit - 1 or dtype == 'uint8' and 0 or -limit
end

scattering.scatter_reduce = function(t, a)
  check_rank(t, a)
  local reduction, neutral = reduction_of(t, a.reduce)
  local x, index, source = t:operand(a.self), t:operand(a.index, 'int64'), source_of(t, a)
  if not a.include_self then
    local empty = t:operand(neutral_of(t:dtype(a.self), neutral), t:dtype(a.self))
    x = scattered(t, x, a.dim, index, t:add('Expand', {empty, t:sizes(t:shape(a.index))}))
  end
  return scattered(t, x, a.dim, index, source, reduction)
end

-- Repeats the index of a whole slice for each value of the slice.
local function slices(t, a, sizes)
  local column = {}
  for i = 1, t:rank(a.self) do column[i] = 1 end
  column[a.dim % t:rank(a.self) + 1] = -1
  local index = t:add('Reshape', {t:operand(a.index, 'int64'), t.graph:integers(column)})
  return t:add('Expand', {index, t:sizes(sizes)})
end

-- Returns the sizes of that many slices.
local function sizes_of_slices(t, a)
  local sizes = t:shape(a.self)
  sizes[a.dim % #sizes + 1] = t:rank(a.index) == 0 and 1 or t:shape(a.index)[1]
  return sizes
end

scattering.index_add = function(t, a)
  check_rank(t, a)
  local dtype = t:dtype(a.self)
  local source = t:operand(a.source, dtype)
  if a.alpha ~= nil and a.alpha ~= 1 then source = t:add('Mul', {source, t:operand(a.alpha, dtype)}) end
  return scattered(t, t:operand(a.self), a.dim, slices(t, a, t:shape(a.source)), source, 'add')
end

scattering.index_copy = function(t, a)
  check_rank(t, a)
  local source = t:operand(a.source, t:dtype(a.self))
  return scattered(t, t:operand(a.self), a.dim, slices(t, a, t:shape(a.source)), source)
end

scattering.index_fill = function(t, a)
  if t:rank(a.self) == 0 then check_rank(t, a) end
  local sizes = sizes_of_slices(t, a)
  local values = t:add('Expand', {t:operand(a.value, t:dtype(a.self)), t:sizes(sizes)})
  return scattered(t, t:operand(a.self), a.dim, slices(t, a, sizes), values)
end

-- x[mask] = v: the mask has the first dimensions of x; v is the same for each selected place.
local function put_where(t, a, mask)
  local rank, of_mask = t:rank(a.self), t:rank(mask)
  local extra = t:rank(a.values) - (rank - of_mask)
  if extra > 1 or extra == 1 and tostring(a.values.tensor:size(0)) ~= '1' then
    t:fail('a value for each place where a mask holds: those are as many as the values say; torch.where has a form in ONNX')
  end
  local x, values, holds = t:operand(a.self), t:operand(a.values, t:dtype(a.self)), t:operand(mask)
  if extra == 1 then values = t:add('Squeeze', {values, t.graph:integers{0}}) end
  if of_mask < rank then
    local axes = {}
    for dim = of_mask, rank - 1 do axes[#axes + 1] = dim end
    holds = t:add('Unsqueeze', {holds, t.graph:integers(axes)})
  end
  if a.accumulate then values = t:add('Add', {x, values}) end
  return t:add('Where', {holds, values, x})
end

scattering.index_put = function(t, a)
  local places = Places(t, a.self, a.indices)
  if places:is_mask() then
    if #places.dims > 1 or places.dims[1] ~= 0 then t:fail('a mask next to other indices has no form in ONNX here') end
    return put_where(t, a, places.indices[1])
  end
  local values = places:spread(t:operand(a.values, t:dtype(a.self)))
  local changed = t:add('ScatterND', {places:to_front(t:operand(a.self)), places:name(), values},
    {reduction = a.accumulate and 'add' or nil})
  return places:restored(changed)
end
scattering._index_put_impl = scattering.index_put

return scattering

-- torch/onnx/operators/indexing.lua: parts of a tensor, selected by position or by a tensor of positions.

local Places = require 'torch.onnx.places'
local torch = require 'torch'

local indexing = {}

local function gathered(t, x, dim, index) return t:add('Gather', {x, index}, {axis = dim}) end

indexing.select = function(t, a)
  t:fixed(a.index, 'the index')
  return gathered(t, t:operand(a.self), a.dim, t:operand(a.index, 'int64'))
end
indexing.select_copy = indexing.select

indexing.index_select = function(t, a) return gathered(t, t:operand(a.self), a.dim, t:operand(a.index)) end

-- A position beyond the end means the end.
local FAR = 2 ^ 53

local function sliced(t, a, first, last, step)
  if type(last) == 'number' then last = math.min(last, FAR) end
  local inputs = {t:operand(a.self), t:sizes{first}, t:sizes{last}, t.graph:integers{a.dim}}
  if step ~= 1 then inputs[5] = t.graph:integers{step} end
  return t:add('Slice', inputs)
end

indexing.slice = function(t, a) return sliced(t, a, a.start or 0, a['end'] or FAR, a.step) end

indexing.narrow = function(t, a, call)
  local size = t:shape(call.results[1])[a.dim % t:rank(a.self) + 1]
  if a.start == 0 then return sliced(t, a, 0, size, 1) end
  if type(a.start) == 'number' and type(size) == 'number' then return sliced(t, a, a.start, a.start + size, 1) end
  local first = t:sizes{a.start}
  return t:add('Slice', {t:operand(a.self), first, t:add('Add', {first, t:sizes{size}}), t.graph:integers{a.dim}})
end

indexing.gather = function(t, a)
  return t:add('GatherElements', {t:operand(a.self), t:operand(a.index)}, {axis = a.dim})
end

-- x[{index}], x[{rows, columns}], x[{torch.slice(), index}].
indexing.index = function(t, a)
  local places = Places(t, a.self, a.indices)
  if places:is_mask() then t:fail('the places where a mask holds are as many as the values say') end
  if #places.dims == 1 then return gathered(t, t:operand(a.self), places.dims[1], t:operand(places.indices[1])) end
  return places:from_front(t:add('GatherND', {places:to_front(t:operand(a.self)), places:name()}))
end

-- Selects the rows of a table; the last two arguments only matter for training.
indexing.embedding = function(t, a) return gathered(t, t:operand(a.weight), 0, t:operand(a.indices)) end

indexing.flip = function(t, a)
  local starts, ends, steps = {}, {}, {}
  for i in ipairs(a.dims) do starts[i], ends[i], steps[i] = -1, -FAR, -1 end
  local integers = function(values) return t.graph:integers(values) end
  return t:add('Slice', {t:operand(a.self), integers(starts), integers(ends), integers(a.dims), integers(steps)})
end

indexing.one_hot = function(t, a, call)
  local classes = t:fixed_size(call.results[1], -1)
  local values = t.graph:constant(torch.tensor({0, 1}, {dtype = 'int64'}))
  return t:add('OneHot', {t:operand(a.self), t:operand(classes, 'int64'), values}, {axis = -1})
end

-- In place: replaces all values of the tensor.
indexing.copy = function(t, a, call)
  local source = t:operand(a.src, t:dtype(a.self))
  if tostring(a.src.tensor.shape) == tostring(a.self.tensor.shape) then return source end
  return t:add('Expand', {source, t:sizes(t:shape(call.results[1]))})
end

return indexing

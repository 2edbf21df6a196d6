-- torch/onnx/operators/shapes.lua: operators that change the shape: views, joins and parts.

local shapes = {}

-- The resulting shape is taken from the trace, whatever the arguments were.
local function reshaped(t, a, call) return t:reshaped(t:operand(a.self or a.input), call.results[1]) end
for _, name in ipairs{'view', 'reshape', '_unsafe_view', '_reshape_alias', 'view_as', 'reshape_as', 'flatten', 'unflatten',
                      'squeeze', 'unsqueeze', 'ravel'} do
  shapes[name] = reshaped
end

local function transposed(t, x, order) return t:add('Transpose', {x}, {perm = order}) end

local function identity_order(t, value)
  local order = {}
  for i = 1, t:rank(value) do order[i] = i - 1 end
  return order
end

local function swapped(t, a, first, second)
  local order, rank = identity_order(t, a.self), t:rank(a.self)
  if rank == 0 then return t:operand(a.self) end
  local i, k = first % rank + 1, second % rank + 1
  order[i], order[k] = order[k], order[i]
  return transposed(t, t:operand(a.self), order)
end

shapes.transpose = function(t, a) return swapped(t, a, a.dim0 or a.axis0, a.dim1 or a.axis1) end
shapes.swapaxes, shapes.swapdims = shapes.transpose, shapes.transpose
shapes.t = function(t, a)
  if t:rank(a.self) < 2 then return t:operand(a.self) end
  return swapped(t, a, 0, 1)
end
shapes.mT = function(t, a) return swapped(t, a, -2, -1) end
shapes.adjoint = shapes.mT
shapes.permute = function(t, a)
  local order = {}
  for i, dim in ipairs(a.dims) do order[i] = dim % t:rank(a.self) end
  return transposed(t, t:operand(a.self), order)
end
shapes.numpy_T = function(t, a)
  local order, rank = {}, t:rank(a.self)
  for i = 1, rank do order[i] = rank - i end
  return transposed(t, t:operand(a.self), order)
end

local function is_same(a, b)
  if type(a) == 'number' or type(b) == 'number' then return a == b end
  return a:text() ~= nil and a:text() == b:text()
end

-- A size that does not change is given as 1: ONNX takes the larger of the two.
shapes.expand = function(t, a, call)
  local from, to = t:shape(a.self), t:shape(call.results[1])
  local added = #to - #from
  for i = added + 1, #to do
    if is_same(to[i], from[i - added]) then to[i] = 1 end
  end
  return t:add('Expand', {t:operand(a.self), t:sizes(to)})
end
shapes.expand_as, shapes.broadcast_to = shapes.expand, shapes.expand

shapes['repeat'] = function(t, a)
  local x, missing = t:operand(a.self), #a.repeats - t:rank(a.self)
  if missing > 0 then
    local axes = {}
    for i = 1, missing do axes[i] = i - 1 end
    x = t:add('Unsqueeze', {x, t.graph:integers(axes)})
  end
  return t:add('Tile', {x, t:sizes(a.repeats)})
end

shapes.cat = function(t, a)
  local parts = {}
  for _, part in ipairs(a.tensors) do
    -- An empty list of one dimension can be joined with anything.
    if not (t:rank(part) == 1 and t:shape(part)[1] == 0) then parts[#parts + 1] = t:operand(part, t:result_dtype()) end
  end
  return t:add('Concat', parts, {axis = a.dim})
end
shapes.concat, shapes.concatenate = shapes.cat, shapes.cat
shapes.stack = function(t, a)
  local dim, parts = a.dim % (t:rank(a.tensors[1]) + 1), {}
  for i, part in ipairs(a.tensors) do
    parts[i] = t:add('Unsqueeze', {t:operand(part, t:result_dtype()), t.graph:integers{dim}})
  end
  return t:add('Concat', parts, {axis = dim})
end

-- Splits into the sizes that the parts have in the trace.
local function split(t, a, call)
  local parts, sizes = call.results[1], {}
  for i, part in ipairs(parts) do sizes[i] = t:shape(part)[a.dim % t:rank(a.self) + 1] end
  if #parts == 1 then return {t:operand(a.self)} end
  return {t:add('Split', {t:operand(a.self), t:sizes(sizes)}, {axis = a.dim}, #parts)}
end
for _, name in ipairs{'split', 'chunk', 'split_with_sizes', 'tensor_split', 'unsafe_split', 'unsafe_chunk'} do
  shapes[name] = split
end

shapes.unbind = function(t, a, call)
  local count, ones, names = #call.results[1], {}, {t:operand(a.self)}
  for i = 1, count do ones[i] = 1 end
  if count > 1 then names = {t:add('Split', {names[1], t.graph:integers(ones)}, {axis = a.dim}, count)} end
  for i, name in ipairs(names) do names[i] = t:add('Squeeze', {name, t.graph:integers{a.dim}}) end
  return names
end

-- Returns (before, after) of the last dimension, of the one before it, …
local function pads_of(t, a)
  local rank, pads = t:rank(a.self), {}
  local given = a.pad or a.padding
  for i = 1, 2 * rank do pads[i] = 0 end
  for i = 1, #given / 2 do
    local dim = rank - i + 1
    pads[dim], pads[rank + dim] = given[2 * i - 1], given[2 * i]
  end
  return t:sizes(pads)
end

local function padded(mode)
  return function(t, a)
    local inputs = {t:operand(a.self), pads_of(t, a)}
    if mode == 'constant' then inputs[3] = t:operand(a.value or 0, t:dtype(a.self)) end
    return t:add('Pad', inputs, {mode = mode})
  end
end
shapes.constant_pad_nd = padded 'constant'
for _, dims in ipairs{'1d', '2d', '3d'} do
  shapes['reflection_pad' .. dims], shapes['replication_pad' .. dims] = padded 'reflect', padded 'edge'
end

for name, upper in next, {tril = 0, triu = 1} do
  shapes[name] = function(t, a)
    return t:add('Trilu', {t:operand(a.self), t:operand(a.diagonal, 'int64')}, {upper = upper})
  end
end

-- Moves channels into squares of pixels: (N, C · r², H, W) → (N, C, H · r, W · r).
shapes.pixel_shuffle = function(t, a)
  return t:add('DepthToSpace', {t:operand(a.self)}, {blocksize = a.upscale_factor, mode = 'CRD'})
end

-- Interpolates between pixels, to the output's sizes in the trace.
local function resized(mode, coordinates)
  return function(t, a, call)
    local attributes = {mode = mode, coordinate_transformation_mode = a.align_corners and 'align_corners' or coordinates,
                        nearest_mode = 'floor'}
    if mode == 'cubic' then attributes.cubic_coeff_a = {float = -0.75} end
    return t:add('Resize', {t:operand(a.self or a.input), '', '', t:sizes(t:shape(call.results[1]))}, attributes)
  end
end
for name, mapping in next, {upsample_nearest1d = resized('nearest', 'asymmetric'),
                            upsample_nearest2d = resized('nearest', 'asymmetric'),
                            upsample_nearest3d = resized('nearest', 'asymmetric'),
                            upsample_linear1d = resized('linear', 'half_pixel'),
                            upsample_bilinear2d = resized('linear', 'half_pixel'),
                            upsample_bicubic2d = resized('cubic', 'half_pixel')} do
  shapes[name] = mapping
end

return shapes

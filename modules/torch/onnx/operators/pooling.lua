-- torch/onnx/operators/pooling.lua: pooling over windows, and adaptive pooling.

local torch = require 'torch'
local windows = require 'torch.onnx.windows'

local pooling = {}

local per_dim, twice = windows.per_dim, windows.twice

local function window(a, dims)
  local kernel = per_dim(a.kernel_size, dims)
  return {kernel_shape = kernel, strides = per_dim(a.stride, dims, kernel), pads = twice(per_dim(a.padding, dims)),
          ceil_mode = a.ceil_mode and 1 or 0}
end

-- Runs fn on (N, C, …), with an added batch dimension if necessary.
local function with_batch(t, a, call, dims, fn)
  local x, has_batch = t:operand(a.self), t:rank(a.self) == dims + 2
  if not has_batch then x = t:add('Unsqueeze', {x, t.graph:integers{0}}) end
  local out = fn(x)
  return has_batch and out or t:reshaped(out, call.results[1])
end

local function max_pool(dims)
  return function(t, a, call)
    local attributes = window(a, dims)
    attributes.dilations = per_dim(a.dilation, dims)
    return with_batch(t, a, call, dims, function(x) return t:add('MaxPool', {x}, attributes) end)
  end
end

local function avg_pool(dims)
  return function(t, a, call)
    if a.divisor_override then t:fail('divisor_override has no form in ONNX') end
    local attributes = window(a, dims)
    attributes.count_include_pad = a.count_include_pad and 1 or 0
    return with_batch(t, a, call, dims, function(x) return t:add('AveragePool', {x}, attributes) end)
  end
end

-- Returns the means of the windows of one dimension as a matrix (from, to): window i is floor(i · from / to) … ceil((i
-- + 1) · from / to).
local function mean_matrix(from, to, dtype)
  local out = torch.zeros({from, to}, {dtype = dtype})
  for i = 0, to - 1 do
    local first, last = math.floor(i * from / to), math.ceil((i + 1) * from / to)
    out:narrow(0, first, last - first):select(1, i):fill_(1 / (last - first))
  end
  return out
end

local function axes_of(dims)
  local out = {}
  for i = 1, dims do out[i] = -i end
  return out
end

-- Returns the sizes of the last dimensions and the requested sizes; nil for a dimension that does not change.
local function adaptive(t, a, dims)
  local rank, from, to, is_same, is_one, is_divisible = t:rank(a.self), {}, per_dim(a.output_size, dims), true, true, true
  for i = 1, dims do is_one = is_one and to[i] == 1 end
  if is_one then return from, to, false, true, true end
  for i = 1, dims do
    from[i] = t:fixed_size(a.self, rank - dims + i - 1)
    is_same, is_divisible = is_same and from[i] == to[i], is_divisible and from[i] % to[i] == 0
  end
  return from, to, is_same, false, is_divisible
end

local function divided(from, to)
  local out = {}
  for i = 1, #from do out[i] = from[i] / to[i] end
  return out
end

-- Multiplies the last dimension by a matrix, for each of the last `dims` in turn.
local function by_matrices(t, x, from, to, dtype, rank)
  local dims = #from
  for i = dims, 1, -1 do
    local order, dim = {}, rank - dims + i
    for k = 1, rank do order[k] = k - 1 end
    order[dim], order[rank] = rank - 1, dim - 1
    local matrix = t.graph:constant(mean_matrix(from[i], to[i], dtype))
    if dim ~= rank then x = t:add('Transpose', {x}, {perm = order}) end
    x = t:add('MatMul', {x, matrix})
    if dim ~= rank then x = t:add('Transpose', {x}, {perm = order}) end
  end
  return x
end

local function adaptive_avg_pool(dims)
  return function(t, a, call)
    local from, to, is_same, is_one, is_divisible = adaptive(t, a, dims)
    if is_same then return t:operand(a.self) end
    if is_one then return t:reduce('ReduceMean', t:operand(a.self), axes_of(dims), true) end
    if not is_divisible then return by_matrices(t, t:operand(a.self), from, to, t:dtype(a.self), t:rank(a.self)) end
    return with_batch(t, a, call, dims, function(x)
      local kernel = divided(from, to)
      return t:add('AveragePool', {x}, {kernel_shape = kernel, strides = kernel})
    end)
  end
end

local function adaptive_max_pool(dims)
  return function(t, a, call)
    local from, to, is_same, is_one, is_divisible = adaptive(t, a, dims)
    if is_same then return t:operand(a.self) end
    if is_one then return t:reduce('ReduceMax', t:operand(a.self), axes_of(dims), true) end
    if not is_divisible then t:fail('ONNX has no windows of different sizes: choose sizes that divide the input') end
    return with_batch(t, a, call, dims, function(x)
      local kernel = divided(from, to)
      return t:add('MaxPool', {x}, {kernel_shape = kernel, strides = kernel})
    end)
  end
end

for dims = 1, 3 do
  pooling[('max_pool%dd'):format(dims)] = max_pool(dims)
  pooling[('max_pool%dd_with_indices'):format(dims)] = max_pool(dims)
  pooling[('avg_pool%dd'):format(dims)] = avg_pool(dims)
  pooling[('adaptive_avg_pool%dd'):format(dims)] = adaptive_avg_pool(dims)
  pooling[('adaptive_max_pool%dd'):format(dims)] = adaptive_max_pool(dims)
end

return pooling

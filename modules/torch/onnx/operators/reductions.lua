-- torch/onnx/operators/reductions.lua: sums, means, extremes and their places over dimensions.

local reductions = {}

local function list(dim)
  if dim == nil then return nil end
  if type(dim) == 'table' then return #dim > 0 and dim or nil end
  return {dim}
end

local function reduced(op)
  return function(t, a)
    local dtype = t:result_dtype()
    return t:reduce(op, t:operand(a.self, dtype), list(a.dim), a.keepdim)
  end
end
reductions.sum, reductions.mean, reductions.prod = reduced 'ReduceSum', reduced 'ReduceMean', reduced 'ReduceProd'
reductions.amax, reductions.amin = reduced 'ReduceMax', reduced 'ReduceMin'
reductions.logsumexp = reduced 'ReduceLogSumExp'

local function place(t, op, a)
  if a.dim == nil then
    local flat = t:add('Reshape', {t:operand(a.self), t.graph:integers{-1}})
    local out = t:add(op, {flat}, {axis = 0, keepdims = 0})
    return a.keepdim and t:reshaped(out, t.call.results[1]) or out
  end
  return t:add(op, {t:operand(a.self)}, {axis = a.dim, keepdims = a.keepdim and 1 or 0})
end
reductions.argmax = function(t, a) return place(t, 'ArgMax', a) end
reductions.argmin = function(t, a) return place(t, 'ArgMin', a) end

-- Maps the forms with two tensors, with all items, and with a dimension, which also returns the places.
for name, ops in next, {max = {'Max', 'ReduceMax', 'ArgMax'}, min = {'Min', 'ReduceMin', 'ArgMin'}} do
  reductions[name] = function(t, a)
    local dtype = t:result_dtype()
    if a.other then return t:add(ops[1], {t:operand(a.self, dtype), t:operand(a.other, dtype)}) end
    local value = t:reduce(ops[2], t:operand(a.self), list(a.dim), a.keepdim)
    if a.dim == nil then return value end
    return {value, place(t, ops[3], a)}
  end
end

-- The mean square distance from the mean, divided by n − correction.
local function variance(t, a)
  local dtype, dims = t:result_dtype(), list(a.dim)
  local correction = a.correction or a.unbiased == false and 0 or 1
  local x, count = t:operand(a.self, dtype), 1
  local distance = t:add('Sub', {x, t:reduce('ReduceMean', x, dims, true)})
  local out = t:reduce('ReduceMean', t:add('Mul', {distance, distance}), dims, a.keepdim)
  if correction == 0 then return out end
  for dim = 0, t:rank(a.self) - 1 do
    local is_reduced = dims == nil
    for _, given in ipairs(dims or {}) do is_reduced = is_reduced or given % t:rank(a.self) == dim end
    if is_reduced then count = count * t:fixed_size(a.self, dim) end
  end
  return t:add('Mul', {out, t:operand(count / (count - correction), dtype)})
end
reductions.var = variance
reductions.std = function(t, a) return t:add('Sqrt', {variance(t, a)}) end

for name, op in next, {all = 'ReduceMin', any = 'ReduceMax'} do
  reductions[name] = function(t, a)
    local number = t:cast(t:operand(a.self, 'bool'), 'int32')
    return t:cast(t:reduce(op, number, list(a.dim), a.keepdim), 'bool')
  end
end

-- The norm of order 1, 2 or infinity.
reductions.linalg_vector_norm = function(t, a)
  local dtype = t:result_dtype()
  local op = ({[1] = 'ReduceL1', [2] = 'ReduceL2'})[a.ord]
  if op then return t:reduce(op, t:operand(a.self, dtype), list(a.dim), a.keepdim) end
  if a.ord ~= math.huge then return nil end
  return t:reduce('ReduceMax', t:add('Abs', {t:operand(a.self, dtype)}), list(a.dim), a.keepdim)
end
reductions.norm = function(t, a)
  local dtype = t:result_dtype()
  local op = ({[1] = 'ReduceL1', [2] = 'ReduceL2'})[a.p or 2]
  return op and t:reduce(op, t:operand(a.self, dtype), list(a.dim), a.keepdim) or nil
end

reductions.topk = function(t, a)
  t:fixed(a.k, 'k')
  return {t:add('TopK', {t:operand(a.self), t.graph:integers{a.k}},
    {axis = a.dim, largest = a.largest and 1 or 0, sorted = a.sorted and 1 or 0}, 2)}
end

reductions.sort = function(t, a)
  local sizes = t:shape(a.self)
  local count = t:sizes{sizes[a.dim % t:rank(a.self) + 1]}
  return {t:add('TopK', {t:operand(a.self), count}, {axis = a.dim, largest = a.descending and 1 or 0, sorted = 1}, 2)}
end
reductions.argsort = function(t, a) return (select(2, unpack(reductions.sort(t, a)))) end

return reductions

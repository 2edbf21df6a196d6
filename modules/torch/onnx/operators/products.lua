-- torch/onnx/operators/products.lua: matrix products and attention.

local products = {}

local function transposed(t, x, rank)
  local order = {}
  for i = 1, rank do order[i] = i - 1 end
  order[rank - 1], order[rank] = rank - 1, rank - 2
  return t:add('Transpose', {x}, {perm = order})
end

-- x · Wᵀ + b, on the last dimension.
products.linear = function(t, a)
  local x, rank = t:operand(a.input), t:rank(a.input)
  if rank == 2 and t:rank(a.weight) == 2 then
    local inputs = {x, t:operand(a.weight)}
    if a.bias then inputs[3] = t:operand(a.bias) end
    return t:add('Gemm', inputs, {transB = 1})
  end
  local weight = t:operand(a.weight)
  if t:rank(a.weight) == 2 then weight = transposed(t, weight, 2) end
  local out = t:add('MatMul', {x, weight})
  return a.bias and t:add('Add', {out, t:operand(a.bias)}) or out
end

local function product(t, a) return t:add('MatMul', {t:operand(a.self), t:operand(a.other or a.mat2 or a.vec or a.tensor)}) end
for _, name in ipairs{'matmul', 'mm', 'bmm', 'mv', 'dot', 'linalg_matmul'} do products[name] = product end

local function times(t, name, factor, dtype)
  return factor == 1 and name or t:add('Mul', {name, t:operand(factor, dtype)})
end

-- beta · self + alpha · (a · b)
local function added(first, second)
  return function(t, a)
    local dtype = t:result_dtype()
    local out = times(t, t:add('MatMul', {t:operand(a[first]), t:operand(a[second])}), a.alpha, dtype)
    if a.beta == 0 then return out end
    return t:add('Add', {times(t, t:operand(a.self), a.beta, dtype), out})
  end
end
products.addmm, products.addmv = added('mat1', 'mat2'), added('mat', 'vec')
products.baddbmm = added('batch1', 'batch2')

-- Returns a mask to add: 0 where the mask is true, −∞ elsewhere.
local function additive(t, mask, dtype)
  return t:add('Where', {mask, t:operand(0, dtype), t:operand(-math.huge, dtype)})
end

local function causal(t, a, dtype)
  local queries, keys = t:shape(a.query), t:shape(a.key)
  local shape = t:sizes{queries[#queries - 1], keys[#keys - 1]}
  local lower = t:add('Trilu', {t:add('Expand', {t:operand(1, dtype), shape})}, {upper = 0})
  return additive(t, t:add('Cast', {lower}, {to = require('torch.onnx.model_proto').type_of 'bool'}), dtype)
end

-- softmax(q · kᵀ · scale + mask) · v
products.scaled_dot_product_attention = function(t, a)
  if a.enable_gqa then return nil end
  if a.dropout_p ~= 0 then t:fail('it is in training: pass dropout_p = 0') end
  local dtype = t:dtype(a.query)
  local scale = a.scale or 1 / math.sqrt(t:fixed_size(a.query, -1))
  local query = t:add('Mul', {t:operand(a.query), t:operand(scale, dtype)})
  local scores = t:add('MatMul', {query, transposed(t, t:operand(a.key), t:rank(a.key))})
  if a.is_causal then scores = t:add('Add', {scores, causal(t, a, dtype)}) end
  if a.attn_mask then
    local mask = t:operand(a.attn_mask)
    if t:dtype(a.attn_mask) == 'bool' then mask = additive(t, mask, dtype) end
    scores = t:add('Add', {scores, mask})
  end
  return t:add('MatMul', {t:add('Softmax', {scores}, {axis = -1}), t:operand(a.value)})
end

return products

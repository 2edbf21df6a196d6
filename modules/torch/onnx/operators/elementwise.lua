-- torch/onnx/operators/elementwise.lua: elementwise functions of one tensor, including activations.

local elementwise = {}

local function float(value) return {float = value} end

-- ATen's name → the equivalent ONNX operator.
local SAME = {
  relu = 'Relu', sigmoid = 'Sigmoid', tanh = 'Tanh', exp = 'Exp', log = 'Log', sqrt = 'Sqrt', abs = 'Abs', neg = 'Neg',
  reciprocal = 'Reciprocal', erf = 'Erf', floor = 'Floor', ceil = 'Ceil', round = 'Round', sign = 'Sign', sin = 'Sin',
  cos = 'Cos', tan = 'Tan', asin = 'Asin', acos = 'Acos', atan = 'Atan', sinh = 'Sinh', cosh = 'Cosh', asinh = 'Asinh',
  acosh = 'Acosh', atanh = 'Atanh',
}
for name, op in next, SAME do
  elementwise[name] = function(t, a) return t:add(op, {t:operand(a.self, t:result_dtype())}) end
end

for name, op in next, {logical_not = 'Not', bitwise_not = 'Not'} do
  elementwise[name] = function(t, a)
    if name == 'bitwise_not' and t:dtype(a.self) ~= 'bool' then t:fail('ONNX has it for bool alone') end
    return t:add(op, {t:operand(a.self, 'bool')})
  end
end

elementwise.isnan = function(t, a) return t:add('IsNaN', {t:operand(a.self)}) end
elementwise.isinf = function(t, a) return t:add('IsInf', {t:operand(a.self)}) end

-- Operators that return their argument: they only matter for training or for memory.
local function same(t, a) return t:operand(a.self or a.input, t:result_dtype()) end
for _, name in ipairs{'contiguous', 'clone', 'detach', 'alias', 'lift', 'lift_fresh', 'positive', 'view_as_real_copy',
                      'to', '_to_copy', 'type_as', 'resolve_conj', 'resolve_neg', 'requires_grad'} do
  elementwise[name] = same
end

-- In training these draw random numbers.
for _, name in ipairs{'dropout', 'feature_dropout', 'alpha_dropout', 'feature_alpha_dropout', 'native_dropout'} do
  elementwise[name] = function(t, a)
    if a.train and a.p ~= 0 then t:fail('it is in training: pass training = self.training, which is false here') end
    return t:operand(a.input)
  end
end

-- Returns a number in the tensor's dtype.
local function number(t, value, a) return t:operand(value, t:dtype(a.self)) end

elementwise.square = function(t, a)
  local x = t:operand(a.self)
  return t:add('Mul', {x, x})
end
elementwise.rsqrt = function(t, a) return t:add('Reciprocal', {t:add('Sqrt', {t:operand(a.self, t:result_dtype())})}) end

for name, base in next, {log2 = 2, log10 = 10} do
  elementwise[name] = function(t, a)
    local dtype = t:result_dtype()
    return t:add('Div', {t:add('Log', {t:operand(a.self, dtype)}), t:operand(math.log(base), dtype)})
  end
end

elementwise.log1p = function(t, a)
  local dtype = t:result_dtype()
  return t:add('Log', {t:add('Add', {t:operand(a.self, dtype), t:operand(1, dtype)})})
end
elementwise.expm1 = function(t, a)
  local dtype = t:result_dtype()
  return t:add('Sub', {t:add('Exp', {t:operand(a.self, dtype)}), t:operand(1, dtype)})
end
elementwise.exp2 = function(t, a)
  local dtype = t:result_dtype()
  return t:add('Pow', {t:operand(2, dtype), t:operand(a.self, dtype)})
end

elementwise.silu = function(t, a)
  local x = t:operand(a.self)
  return t:add('Mul', {x, t:add('Sigmoid', {x})})
end

-- x · Φ(x), or its approximation with tanh.
elementwise.gelu = function(t, a)
  local x = t:operand(a.self)
  local inner
  if a.approximate == 'tanh' then
    local cube = t:add('Mul', {t:add('Mul', {x, x}), x})
    local sum = t:add('Add', {x, t:add('Mul', {cube, number(t, 0.044715, a)})})
    inner = t:add('Tanh', {t:add('Mul', {sum, number(t, math.sqrt(2 / math.pi), a)})})
  else
    inner = t:add('Erf', {t:add('Mul', {x, number(t, math.sqrt(0.5), a)})})
  end
  local half = t:add('Mul', {x, number(t, 0.5, a)})
  return t:add('Mul', {half, t:add('Add', {inner, number(t, 1, a)})})
end

elementwise.hardsigmoid = function(t, a)
  return t:add('HardSigmoid', {t:operand(a.self)}, {alpha = float(1 / 6), beta = float(0.5)})
end
elementwise.hardswish = function(t, a) return t:add('HardSwish', {t:operand(a.self)}) end
elementwise.leaky_relu = function(t, a)
  return t:add('LeakyRelu', {t:operand(a.self)}, {alpha = float(a.negative_slope)})
end
elementwise.selu = function(t, a) return t:add('Selu', {t:operand(a.self)}) end
elementwise.celu = function(t, a) return t:add('Celu', {t:operand(a.self)}, {alpha = float(a.alpha)}) end
elementwise.elu = function(t, a)
  if a.scale ~= 1 or a.input_scale ~= 1 then return nil end
  return t:add('Elu', {t:operand(a.self)}, {alpha = float(a.alpha)})
end

local function clip(t, x, low, high) return t:add('Clip', {x, low, high}) end
elementwise.hardtanh = function(t, a)
  return clip(t, t:operand(a.self), number(t, a.min_val, a), number(t, a.max_val, a))
end
elementwise.relu6 = function(t, a) return clip(t, t:operand(a.self), number(t, 0, a), number(t, 6, a)) end

local function bound(t, value, dtype) return value ~= nil and t:operand(value, dtype) or nil end
elementwise.clamp = function(t, a)
  local dtype = t:result_dtype()
  local x = t:operand(a.self, dtype)
  local low, high = bound(t, a.min, dtype), bound(t, a.max, dtype)
  if low then x = t:add('Max', {x, low}) end
  return high and t:add('Min', {x, high}) or x
end
elementwise.clamp_min, elementwise.clamp_max, elementwise.clip = elementwise.clamp, elementwise.clamp, elementwise.clamp

-- log(1 + exp(beta · x)) / beta; above the threshold it differs from x by less than rounding.
local function softplus(t, x) return t:add('Softplus', {x}) end
elementwise.softplus = function(t, a)
  local x = t:operand(a.self)
  if a.beta == 1 then return softplus(t, x) end
  local beta = number(t, a.beta, a)
  return t:add('Div', {softplus(t, t:add('Mul', {x, beta})), beta})
end
elementwise.log_sigmoid = function(t, a) return t:add('Neg', {softplus(t, t:add('Neg', {t:operand(a.self)}))}) end
elementwise.mish = function(t, a)
  local x = t:operand(a.self)
  return t:add('Mul', {x, t:add('Tanh', {softplus(t, x)})})
end
elementwise.softshrink = function(t, a)
  return t:add('Shrink', {t:operand(a.self)}, {bias = float(a.lambd), lambd = float(a.lambd)})
end
elementwise.hardshrink = function(t, a)
  return t:add('Shrink', {t:operand(a.self)}, {bias = float(0), lambd = float(a.lambd)})
end

-- x above the threshold, else a value.
elementwise.threshold = function(t, a)
  local x = t:operand(a.self)
  return t:add('Where', {t:add('Greater', {x, number(t, a.threshold, a)}), x, number(t, a.value, a)})
end

elementwise.glu = function(t, a)
  local half = t:fixed_size(a.self, a.dim) / 2
  local x, gate = t:add('Split', {t:operand(a.self), t.graph:integers{half, half}}, {axis = a.dim}, 2)
  return t:add('Mul', {x, t:add('Sigmoid', {gate})})
end

-- One slope for each channel, which is dimension 1.
elementwise.prelu = function(t, a)
  local slope, rank = t:operand(a.weight), t:rank(a.self)
  if a.weight.tensor:numel() > 1 and rank > 2 then
    local shape = {a.weight.tensor:numel()}
    for i = 2, rank - 1 do shape[i] = 1 end
    slope = t:add('Reshape', {slope, t.graph:integers(shape)})
  end
  return t:add('PRelu', {t:operand(a.self), slope})
end

for name, op in next, {softmax = 'Softmax', log_softmax = 'LogSoftmax'} do
  local function mapping(t, a) return t:add(op, {t:operand(a.self, t:result_dtype())}, {axis = a.dim}) end
  elementwise[name], elementwise['_' .. name] = mapping, mapping
end

elementwise.cumsum = function(t, a)
  return t:add('CumSum', {t:operand(a.self, t:result_dtype()), t:operand(a.dim, 'int64')})
end

return elementwise

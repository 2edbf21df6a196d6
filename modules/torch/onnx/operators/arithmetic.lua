-- torch/onnx/operators/arithmetic.lua: elementwise operators of two or three tensors or numbers.
--
-- ONNX does not convert types: operands are cast to the result's dtype, those of comparisons to the dtype to which both
-- promote.

local torch = require 'torch'

local arithmetic = {}

local function operands(t, a, dtype) return {t:operand(a.self, dtype), t:operand(a.other, dtype)} end

local function times(t, name, factor, dtype)
  return factor == 1 and name or t:add('Mul', {name, t:operand(factor, dtype)})
end

-- The equivalents for bool tensors.
local LOGICAL = {Add = 'Or', Mul = 'And'}

-- Returns the mapping for first + alpha · second, or first - alpha · second.
local function sum(op, first, second)
  return function(t, a)
    local dtype = t:result_dtype()
    if dtype == 'bool' then return t:add(LOGICAL[op] or t:fail('ONNX has it not for bool'), operands(t, a, dtype)) end
    local other = times(t, t:operand(a[second], dtype), a.alpha or 1, dtype)
    return t:add(op, {t:operand(a[first], dtype), other})
  end
end
arithmetic.add = sum('Add', 'self', 'other')
arithmetic.sub = sum('Sub', 'self', 'other')
arithmetic.subtract = arithmetic.sub
arithmetic.rsub = sum('Sub', 'other', 'self')
arithmetic.mul = function(t, a)
  local dtype = t:result_dtype()
  return t:add(dtype == 'bool' and 'And' or 'Mul', operands(t, a, dtype))
end
arithmetic.multiply = arithmetic.mul

arithmetic.div = function(t, a)
  local dtype = t:result_dtype()
  local is_float = dtype:find 'float' ~= nil
  if a.rounding_mode and not is_float then
    -- ONNX's integer division rounds towards zero.
    if a.rounding_mode == 'trunc' then return t:add('Div', operands(t, a, dtype)) end
    local quotient = t:add('Div', operands(t, a, 'float64'))
    return t:cast(t:add('Floor', {quotient}), dtype)
  end
  local out = t:add('Div', operands(t, a, dtype))
  if a.rounding_mode == 'floor' then return t:add('Floor', {out}) end
  if a.rounding_mode ~= 'trunc' then return out end
  return t:add('Mul', {t:add('Sign', {out}), t:add('Floor', {t:add('Abs', {out})})})
end
arithmetic.divide, arithmetic.true_divide = arithmetic.div, arithmetic.div
arithmetic.floor_divide = function(t, a)
  a.rounding_mode = 'floor'
  return arithmetic.div(t, a)
end

-- The result has the divisor's sign.
arithmetic.remainder = function(t, a)
  local dtype = t:result_dtype()
  if not dtype:find 'float' then return t:add('Mod', operands(t, a, dtype)) end
  local x, y = unpack(operands(t, a, dtype))
  return t:add('Sub', {x, t:add('Mul', {y, t:add('Floor', {t:add('Div', {x, y})})})})
end
arithmetic.fmod = function(t, a) return t:add('Mod', operands(t, a, t:result_dtype()), {fmod = 1}) end

arithmetic.pow = function(t, a)
  local dtype = t:result_dtype()
  local x = t:operand(a.self, dtype)
  if a.exponent == 2 then return t:add('Mul', {x, x}) end
  return t:add('Pow', {x, t:operand(a.exponent, dtype)})
end

for name, op in next, {maximum = 'Max', minimum = 'Min'} do
  arithmetic[name] = function(t, a) return t:add(op, operands(t, a, t:result_dtype())) end
end

local function common_dtype(a)
  local self = type(a.self) == 'table' and a.self.tensor or a.self
  local other = type(a.other) == 'table' and a.other.tensor or a.other
  return torch.result_type(self, type(other) == 'userdata' and other or tonumber(other) or 0)
end

local function compared(op, is_negated)
  return function(t, a)
    local out = t:add(op, operands(t, a, common_dtype(a)))
    return is_negated and t:add('Not', {out}) or out
  end
end
arithmetic.eq, arithmetic.ne = compared 'Equal', compared('Equal', true)
arithmetic.gt, arithmetic.lt = compared 'Greater', compared 'Less'
arithmetic.ge, arithmetic.le = compared 'GreaterOrEqual', compared 'LessOrEqual'

for name, op in next, {logical_and = 'And', logical_or = 'Or', logical_xor = 'Xor'} do
  arithmetic[name] = function(t, a) return t:add(op, operands(t, a, 'bool')) end
  arithmetic[name:gsub('logical', 'bitwise')] = function(t, a)
    if t:result_dtype() ~= 'bool' then t:fail('ONNX has it for bool alone') end
    return t:add(op, operands(t, a, 'bool'))
  end
end

arithmetic.where = function(t, a)
  if a.self == nil then t:fail('the places where a condition holds are as many as the values say') end
  local dtype = t:result_dtype()
  return t:add('Where', {t:operand(a.condition, 'bool'), t:operand(a.self, dtype), t:operand(a.other, dtype)})
end
arithmetic.masked_fill = function(t, a)
  local dtype = t:result_dtype()
  return t:add('Where', {t:operand(a.mask, 'bool'), t:operand(a.value, dtype), t:operand(a.self, dtype)})
end

-- start + weight · (end − start)
arithmetic.lerp = function(t, a)
  local dtype = t:result_dtype()
  local start = t:operand(a.self, dtype)
  local way = t:add('Sub', {t:operand(a['end'], dtype), start})
  return t:add('Add', {start, t:add('Mul', {way, t:operand(a.weight, dtype)})})
end

for name, op in next, {addcmul = 'Mul', addcdiv = 'Div'} do
  arithmetic[name] = function(t, a)
    local dtype = t:result_dtype()
    local product = t:add(op, {t:operand(a.tensor1, dtype), t:operand(a.tensor2, dtype)})
    return t:add('Add', {t:operand(a.self, dtype), times(t, product, a.value, dtype)})
  end
end

return arithmetic

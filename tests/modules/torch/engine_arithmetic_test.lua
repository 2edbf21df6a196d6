-- Arithmetic on tensors and numbers: values, dtypes, metatable operators.
local lu = require 'luaunit'
local C = require 'torch._C'

local function list(x) return x:tolist() end

TestArithmetic = {}

function TestArithmetic:setUp() self.x = C.tensor{1, 2, 4} end

function TestArithmetic:test_operators_on_two_tensors()
  local x, y = self.x, C.tensor{2, 2, 2}
  lu.assertEquals(list(x + y), {3, 4, 6})
  lu.assertEquals(list(x - y), {-1, 0, 2})
  lu.assertEquals(list(x * y), {2, 4, 8})
  lu.assertEquals(list(x / y), {0.5, 1, 2})
  lu.assertEquals(list(x ^ y), {1, 4, 16})
  lu.assertEquals(list(x % y), {1, 0, 0})
  lu.assertEquals(list(-x), {-1, -2, -4})
end

function TestArithmetic:test_numbers_stand_on_either_side()
  local x = self.x
  lu.assertEquals(list(x + 1), {2, 3, 5})
  lu.assertEquals(list(1 + x), {2, 3, 5})
  lu.assertEquals(list(10 - x), {9, 8, 6})
  lu.assertEquals(list(x - 1), {0, 1, 3})
  lu.assertEquals(list(2 * x), {2, 4, 8})
  lu.assertEquals(list(4 / x), {4, 2, 1})
  lu.assertEquals(list(x / 2), {0.5, 1, 2})
  lu.assertEquals(list(2 ^ x), {2, 4, 16})
  lu.assertEquals(list(x ^ 2), {1, 4, 16})
  lu.assertEquals(list(5 % x), {0, 1, 1})
end

function TestArithmetic:test_functions_take_a_number_first()
  local x = self.x
  lu.assertEquals(list(C.op 'add'(1, x)), {2, 3, 5})
  lu.assertEquals(list(C.op 'sub'(1, x, {alpha = 2})), {-1, -3, -7})
  lu.assertEquals(list(C.op 'mul'(2, x)), {2, 4, 8})
  lu.assertEquals(list(C.op 'div'(4, x, {rounding_mode = 'floor'})), {4, 2, 1})
  lu.assertEquals({C.op 'add'(2, 3):item(), C.op 'add'(2, 3).dtype}, {5, 'int64'})
  lu.assertErrorMsgContains('add_', C.op 'add_', 1, x)
  lu.assertErrorMsgContains("expected Tensor, got 'x'", C.op 'add', 'x', x)
end

function TestArithmetic:test_an_integral_number_keeps_int64_and_another_makes_float()
  local y = C.tensor({1, 2}, {dtype = 'int64'})
  lu.assertEquals((y + 2).dtype, 'int64')
  lu.assertEquals((y * 0.5).dtype, 'float32')
  lu.assertEquals((y / 2).dtype, 'float32')
  lu.assertEquals((y - 1LL).dtype, 'int64')
  lu.assertEquals((y:add(2)).dtype, 'int64')
  lu.assertEquals((y:mul(0.5)).dtype, 'float32')
end

function TestArithmetic:test_a_number_does_not_widen_a_tensor()
  lu.assertEquals((C.tensor({1}, {dtype = 'float16'}) + 1.5).dtype, 'float16')
  lu.assertEquals((C.tensor({1}, {dtype = 'int8'}) + 1).dtype, 'int8')
  lu.assertEquals((C.tensor({1}, {dtype = 'float64'}) * 0.1):item(), 0.1)
end

function TestArithmetic:test_numbers_beyond_a_dtype_s_range()
  lu.assertEquals((C.tensor{1} * 1e300):item(), 1 / 0)
  lu.assertEquals((C.tensor({100}, {dtype = 'int8'}) + 100):item(), -56)
  lu.assertEquals((C.tensor({2}, {dtype = 'float16'}) * 1.0001).dtype, 'float16')
end

local function sign(x) return 1 / x:item() end

-- Covers every way in which a number becomes a tensor.
function TestArithmetic:test_the_sign_of_zero()
  local z, one = -0.0, C.tensor({1}, {dtype = 'float64'})
  local filled = C.tensor{1, 1}
  filled[0] = z
  filled[{{1}}] = {z}
  local ways = {
    one * z, z * one, one - one + z, C.tensor{z}, C.tensor(z), C.tensor({z, 1})[0], C.tensor({{z, 2LL}})[{0, 0}],
    C.tensor '-0 1'[0],
    C.scalar(z, 'float32'), one:copysign(z) * 0, C.op 'full'({1}, z), C.op 'full'({1}, z, {dtype = 'float16'}),
    C.op 'full_like'(one, z), one:new_full({1}, z), one:clone():fill_(z), one:masked_fill(one:gt(0), z),
    C.op 'where'(one:gt(0), z, one), C.op 'where'(one:gt(0), one * z, 5), C.op 'where'(one:gt(0), z, 0.5), filled[0],
    filled[1],
    one:clamp(z, z), one:clamp{max = z}, one:clone():clamp_(z, z), C.op 'add'(z, one * z), one:mul(z),
    one:clone():mul_(z):mul(1),
    C.op 'addcmul'(one * z, one, one, {value = z}), C.op 'scalar_tensor'(z), C.op 'fmod'(one * z, 3),
  }
  for i, x in ipairs(ways) do
    if i == 3 then lu.assertEquals(sign(x), 1 / 0) else lu.assertEquals(sign(x), -1 / 0, i) end
  end
  lu.assertEquals(C.tensor({z, 1}, {dtype = 'complex64'})[0].real:reciprocal():item(), -1 / 0)
end

-- -i with i = 0 among integers is the integer 0: it does not cause floating point arithmetic.
function TestArithmetic:test_a_negative_zero_among_integers()
  local i, z = C.tensor({1, 2}, {dtype = 'int64'}), -0.0
  for place, x in ipairs{i + z, z + i, i * z, i:add(z), i:clamp(z, 5), C.op 'pow'(i, z), z % i, i % 3 + z,
                         i:masked_fill(i:gt(1), z),
                         C.op 'where'(i:gt(1), i, z), C.op 'where'(i:gt(1), z, 3), C.op 'arange'(z, 3), C.op 'arange'(z, 4, 2),
                         i:add(i, {alpha = z}), C.op '_foreach_add'({i}, z)[1], C.op 'add'(z, i), C.op 'sub'(i, z)} do
    lu.assertEquals(x.dtype, 'int64', place)
  end
  lu.assertEquals({i[z]:item(), i:select(z, z):item(), C.tensor({z}, {dtype = 'int64'}):item()}, {1, 1, 0})
  lu.assertEquals(C.tensor({9007199254740993LL, z}, {dtype = 'int64'})[0]:item(), 9007199254740993LL)
  lu.assertEquals((C.op 'arange'(z, 1, 0.5)).dtype, 'float32')
end

function TestArithmetic:test_int64_and_uint64_objects()
  local big = 9223372036854775809ULL
  lu.assertEquals(C.tensor({big}, {dtype = 'uint64'}):item(), big)
  lu.assertEquals((C.tensor({1}, {dtype = 'float64'}) * big):item(), 2 ^ 63)
  lu.assertEquals(C.op 'full'({1}, big, {dtype = 'uint64'}):item(), big)
  lu.assertEquals(C.op 'layer_norm'(C.tensor{1, 2}, {2}, {eps = 5ULL}).dtype, 'float32')
  lu.assertErrorMsgContains('full', C.op 'full', {big}, 1)
  local dropout = C.op 'leaky_relu'(C.tensor{-1}, big)
  lu.assertAlmostEquals(dropout:item() / -2 ^ 63, 1, 1e-6)
end

function TestArithmetic:test_a_scalar_tensor_forces_its_dtype()
  local y = C.tensor({1, 2}, {dtype = 'int64'})
  lu.assertEquals((y + C.scalar(2, 'float64')).dtype, 'float64')
  lu.assertEquals(C.scalar(3).dtype, 'float32')
end

function TestArithmetic:test_in_place_operators_give_back_the_same_object()
  local x = self.x
  lu.assertTrue(rawequal(x:add_(1), x))
  lu.assertTrue(rawequal(x:mul_(C.tensor{2, 2, 2}), x))
  lu.assertTrue(rawequal(x:clamp_{min = 5}, x))
  lu.assertTrue(rawequal(x:zero_(), x))
  lu.assertEquals(list(x), {0, 0, 0})
end

function TestArithmetic:test_comparisons_are_methods()
  local x = self.x
  lu.assertEquals(list(x:lt(2)), {true, false, false})
  lu.assertEquals(list(x:ge(C.tensor{1, 3, 4})), {true, false, true})
  lu.assertErrorMsgContains('use x:lt(y)', function() return x < x end)
  lu.assertErrorMsgContains('use x:le(y)', function() return x <= x end)
end

function TestArithmetic:test_equality_is_identity()
  local x = self.x
  lu.assertTrue(x == x)
  lu.assertFalse(x == x:clone())
  x.requires_grad = true
  x:sum():backward()
  lu.assertTrue(x.grad == x.grad)
end

function TestArithmetic:test_length_is_the_first_size()
  lu.assertEquals(#self.x, 3)
  lu.assertErrorMsgContains('no length', function() return #self.x:sum() end)
end

function TestArithmetic:test_wrong_operands_are_named()
  lu.assertErrorMsgContains("expected tensors or numbers, got float32 [3], 'a'", function() return self.x + 'a' end)
  lu.assertErrorMsgContains('float32 [3], float32 [2]', function() return self.x + C.tensor{1, 2} end)
end

function TestArithmetic:test_item_of_a_large_int64_keeps_every_digit()
  local big = C.tensor({9007199254740993LL})
  lu.assertEquals(big.dtype, 'int64')
  lu.assertEquals(tostring(big:item()), '9007199254740993LL')
  lu.assertEquals(tostring((big * -1):item()), '-9007199254740993LL')
  lu.assertEquals(C.tensor({7LL}):item(), 7)
end

function TestArithmetic:test_complex_numbers()
  local z = C.tensor({1, 2}) * 2i
  lu.assertEquals(z.dtype, 'complex64')
  lu.assertEquals((z * z).real:tolist(), {-4, -16})
end

os.exit(lu.LuaUnit.run(), true)

-- Tensors from Lua values, and random numbers.
local lu = require 'luaunit'
local C = require 'torch._C'

TestConstructors = {}

function TestConstructors:test_the_dtype_follows_the_values()
  lu.assertEquals(C.tensor({1, 2}).dtype, 'float32')
  lu.assertEquals(C.tensor({1LL, 2LL}).dtype, 'int64')
  lu.assertEquals(C.tensor({true}).dtype, 'bool')
  lu.assertEquals(C.tensor(1.5):item(), 1.5)
  lu.assertEquals(C.tensor(true):item(), true)
  lu.assertEquals(C.tensor({1, 2}, {dtype = 'int64'}):tolist(), {1, 2})
  lu.assertEquals(C.tensor({9007199254740993LL, 1LL})[0]:item(), 9007199254740993LL)
end

function TestConstructors:test_nested_lists()
  lu.assertEquals(C.tensor({{{1, 2}}, {{3, 4}}}).shape, {2, 1, 2})
  lu.assertEquals(C.tensor({{}, {}}).shape, {2, 0})
  lu.assertErrorMsgContains('data[2] has 1 items, data[1] has 2', C.tensor, {{1, 2}, {3}})
  lu.assertErrorMsgContains('data[2] is 3, data[1] is a list', C.tensor, {{1}, 3})
  lu.assertErrorMsgContains('data[2] is a list, data[1] is a number', C.tensor, {1, {2}})
  lu.assertErrorMsgContains('data[2][1][3] has 0 items, data[1][1][1] has 1', C.tensor, {{{{1}, {2}, {3}}}, {{{4}, {5}, {}}}})
  lu.assertErrorMsgContains("data[2]: expected numbers or booleans, got 'a'", C.tensor, {1, 'a'})
  lu.assertErrorMsgContains('torch.stack joins others', C.tensor, {C.tensor{1, 2}})
  local loop = {}
  loop[1] = loop
  lu.assertErrorMsgContains('hold themselves', C.tensor, loop)
end

-- Returns a list with a hole, in forms for which Lua's # gives 1 and 3.
local function with_hole(first, last)
  local short = {first}
  short[3] = last
  return {short, {first, nil, last}}
end

function TestConstructors:test_a_nil_in_a_list_is_an_error()
  for _, list in ipairs(with_hole(1, 3)) do
    lu.assertErrorMsgContains('tensor: data[2]: expected numbers or booleans, got nil', C.tensor, list)
    lu.assertErrorMsgContains('tensor: data[2][2]: expected numbers or booleans, got nil', C.tensor, {{1, 2, 3}, list})
    lu.assertErrorMsgContains('tensor: data[1][2]: expected numbers or booleans, got nil', C.tensor, {list, {1, 2, 3}})
  end
  for _, list in ipairs(with_hole({1}, {3})) do
    lu.assertErrorMsgContains('tensor: data[2] is nil, data[1] is a list', C.tensor, list)
  end
  lu.assertErrorMsgContains('tensor: data[1]: expected numbers or booleans, got nil', C.tensor, {[2] = 3})
  lu.assertErrorMsgContains("tensor: data: expected a list, got a table: it has a field 'dtype'", C.tensor,
                            {1, 2, dtype = 'int64'})
  lu.assertErrorMsgContains('it has an item 0, and a list begins with item 1', C.tensor, {[0] = 1})
end

function TestConstructors:test_a_list_may_be_filled_from_its_end()
  for size = 1, 40 do
    local list = {}
    for i = size, 1, -1 do list[i] = i end
    lu.assertEquals(C.tensor(list):tolist()[size], size)
    lu.assertEquals(#C.tensor(list), size)
  end
end

function TestConstructors:test_a_nil_among_sizes_is_an_error()
  for _, list in ipairs(with_hole(2, 3)) do
    lu.assertErrorMsgContains('{2, nil, 3}: item 2 is nil', C.op 'zeros', list)
    lu.assertErrorMsgContains('{2, nil, 3}: item 2 is nil', C.op 'zeros', list, {dtype = 'int64'})
    lu.assertErrorMsgContains('{2, nil, 3}: item 2 is nil', C.op 'view', C.op 'zeros'(6), list)
    lu.assertErrorMsgContains('item 2 is nil', C.op 'permute', C.op 'zeros'(6, 1, 1), list)
  end
  for _, list in ipairs(with_hole(1, 2)) do
    lu.assertErrorMsgContains('{1, nil, 2}: item 2 is nil', C.op 'sum', C.op 'zeros'(1, 2, 3), list)
    lu.assertErrorMsgContains('item 2 is nil', function() return C.op 'zeros'(1, 2, 3)[list] end)
    lu.assertErrorMsgContains('item 2 is nil', function() C.op 'zeros'(1, 2, 3)[list] = 4 end)
  end
  lu.assertErrorMsgContains('item 1 is nil', C.op 'zeros', {nil, 3})
  lu.assertErrorMsgContains('item 1 is nil', C.op 'zeros', {[2] = 3})
end

function TestConstructors:test_numbers_must_fit_the_dtype()
  local function cast(data, dtype) return C.tensor(data, {dtype = dtype}):tolist() end
  lu.assertEquals(cast({-1, 255}, 'uint8'), {255, 255})
  lu.assertEquals(cast({1.7, -1.7}, 'int64'), {1, -1})
  lu.assertEquals(cast({2, 0 / 0}, 'bool'), {true, true})
  lu.assertEquals(cast({1e5}, 'float16'), {1 / 0})
  lu.assertEquals(cast({18446744073709551615ULL}, 'uint64'), {18446744073709551615ULL})
  lu.assertEquals(cast({9223372036854775807LL}, 'int64'), {9223372036854775807LL})
  lu.assertErrorMsgContains('300 does not fit the dtype uint8', cast, {300}, 'uint8')
  lu.assertErrorMsgContains('-300 does not fit the dtype uint8', cast, {-300}, 'uint8')
  lu.assertErrorMsgContains('128 does not fit the dtype int8', cast, {1, 128}, 'int8')
  lu.assertErrorMsgContains('does not fit the dtype int64', cast, {0 / 0}, 'int64')
  lu.assertErrorMsgContains('does not fit the dtype int64', cast, {2 ^ 63}, 'int64')
  lu.assertErrorMsgContains('does not fit the dtype int64', cast, {18446744073709551615ULL}, 'int64')
  lu.assertErrorMsgContains('a complex number does not fit the dtype float32', cast, {2i}, 'float32')
end

function TestConstructors:test_text()
  lu.assertEquals(C.tensor('1 2, 3.5'):tolist(), {1, 2, 3.5})
  lu.assertEquals(C.tensor('1 2; 3 4').dtype, 'float32')
  lu.assertEquals(C.tensor('1 2; -3 +4', {dtype = 'int64'}):tolist(), {{1, 2}, {-3, 4}})
  lu.assertEquals(C.tensor('9223372036854775807', {dtype = 'int64'}):tolist(), {9223372036854775807LL})
  lu.assertEquals(C.tensor('inf 1e-3', {dtype = 'float64'}):tolist(), {1 / 0, 1e-3})
  lu.assertEquals(C.tensor('').shape, {0})
  lu.assertErrorMsgContains('row 1 of the text has 1 numbers, row 0 has 2', C.tensor, '1 2; 3')
  lu.assertErrorMsgContains("'x' in the text is not a number", C.tensor, '1 x')
end

function TestConstructors:test_a_tensor_is_copied()
  local x = C.tensor({1, 2})
  local y = C.tensor(x)
  y[0] = 9
  lu.assertEquals(x:tolist(), {1, 2})
  lu.assertEquals(C.tensor({x[0], x[1]}):tolist(), {1, 2})
end

function TestConstructors:test_bytes()
  lu.assertEquals(C.from_bytes('\1\0\2\0', 'int16', {2, 1}):tolist(), {{1}, {2}})
  lu.assertEquals(C.from_bytes('\7\8', 'uint8'):tolist(), {7, 8})
  lu.assertErrorMsgContains('needs 8 bytes, got 3', function() C.from_bytes('abc', 'float32', {2}) end)
end

function TestConstructors:test_unknown_names()
  lu.assertErrorMsgContains("did you mean 'float32'", function() C.tensor({1}, {dtype = 'flaot32'}) end)
  lu.assertErrorMsgContains("did you mean 'device'", function() C.tensor({1}, {devise = 'cpu'}) end)
  lu.assertErrorMsgContains("unknown device 'gpu'", function() C.tensor({1}, {device = 'gpu'}) end)
end

function TestConstructors:test_default_dtype()
  C.set_default_dtype('float64')
  lu.assertEquals(C.tensor({1}).dtype, 'float64')
  lu.assertEquals(C.op 'full'({1}, 1).dtype, 'float64')
  C.set_default_dtype('float32')
  lu.assertEquals(C.get_default_dtype(), 'float32')
  lu.assertErrorMsgContains('only floating', function() C.set_default_dtype('int64') end)
end

TestRandom = {}

function TestRandom:test_seed_and_state_repeat_the_numbers()
  local rand = C.op 'rand'
  C.manual_seed(7)
  lu.assertEquals(C.initial_seed(), 7)
  local a = rand(4):tolist()
  local state = C.get_rng_state()
  local b = rand(4):tolist()
  C.set_rng_state(state)
  lu.assertEquals(rand(4):tolist(), b)
  C.manual_seed(7)
  lu.assertEquals(rand(4):tolist(), a)
end

function TestRandom:test_the_numbers_are_those_of_pytorch()
  C.manual_seed(0)
  lu.assertAlmostEquals(C.op 'rand'(1):item(), 0.49625658988952637, 1e-12)
end

function TestRandom:test_a_generator_has_its_own_stream()
  local generator = C.generator(3)
  lu.assertEquals(generator:initial_seed(), 3)
  local a = C.op 'randperm'(8, {generator = generator}):tolist()
  generator:manual_seed(3)
  lu.assertEquals(C.op 'randperm'(8, {generator = generator}):tolist(), a)
end

TestSettings = {}

function TestSettings:test_threads()
  local before = C.get_num_threads()
  C.set_num_threads(1)
  lu.assertEquals(C.get_num_threads(), 1)
  C.set_num_threads(before)
  lu.assertErrorMsgContains('positive integer', function() C.set_num_threads(0) end)
end

os.exit(lu.LuaUnit.run(), true)

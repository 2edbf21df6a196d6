-- Indexing: reading and assigning in every form.
local lu = require 'luaunit'
local C = require 'torch._C'
local slice, none = C.slice, C.none

TestIndexing = {}

function TestIndexing:setUp() self.x = C.op 'arange'(12):reshape(3, 4) end

function TestIndexing:test_numbers_count_from_zero_and_from_the_end()
  lu.assertEquals(self.x[0]:tolist(), {0, 1, 2, 3})
  lu.assertEquals(self.x[-1]:tolist(), {8, 9, 10, 11})
  lu.assertEquals(self.x[1LL]:tolist(), {4, 5, 6, 7})
  lu.assertEquals(self.x[2][3]:item(), 11)
  lu.assertEquals(self.x[{2, 3}]:item(), 11)
end

function TestIndexing:test_slices_ellipsis_and_none()
  local x = self.x
  lu.assertEquals(x[slice(1, 3)]:tolist(), {{4, 5, 6, 7}, {8, 9, 10, 11}})
  lu.assertEquals(x[{slice(), 1}]:tolist(), {1, 5, 9})
  lu.assertEquals(x[{'...', 1}]:tolist(), {1, 5, 9})
  lu.assertEquals(x['...'].shape, {3, 4})
  lu.assertEquals(x[{0, slice(nil, nil, 2)}]:tolist(), {0, 2})
  lu.assertEquals(x[{0, slice{start = 1, step = 2}}]:tolist(), {1, 3})
  lu.assertEquals(x[none].shape, {1, 3, 4})
  lu.assertEquals(tostring(slice(1, nil, 2)), 'torch.slice(1, nil, 2)')
  lu.assertEquals(x[{slice(0, 2), none, slice(-2)}].shape, {2, 1, 2})
end

function TestIndexing:test_masks_and_index_tensors()
  local x = self.x
  lu.assertEquals(x[x:gt(9)]:tolist(), {10, 11})
  lu.assertEquals(x[C.tensor({2, 0}, {dtype = 'int64'})]:tolist(), {{8, 9, 10, 11}, {0, 1, 2, 3}})
  lu.assertEquals(x[{{0, 2}, {1, 3}}]:tolist(), {1, 11})
  lu.assertEquals(x[{slice(), {true, false, false, true}}]:tolist(), {{0, 3}, {4, 7}, {8, 11}})
  lu.assertEquals(x[true].shape, {1, 3, 4})
end

function TestIndexing:test_views_share_memory()
  local row = self.x[1]
  row:zero_()
  lu.assertEquals(self.x[1]:tolist(), {0, 0, 0, 0})
end

function TestIndexing:test_assignment()
  local x = self.x
  x[0] = 5
  x[{1, slice(0, 2)}] = C.tensor({7, 8}, {dtype = 'int64'})
  x[{2, -1}] = -1
  x[x:eq(9)] = 90
  lu.assertEquals(x:tolist(), {{5, 5, 5, 5}, {7, 8, 6, 7}, {8, 90, 10, -1}})
  x[1] = {1, 2, 3, 4}
  lu.assertEquals(x[1]:tolist(), {1, 2, 3, 4})
  local mask = C.op 'zeros'(2, {dtype = 'bool'})
  mask[1] = true
  lu.assertEquals(mask:tolist(), {false, true})
end

function TestIndexing:test_assignment_is_recorded()
  local x = C.op 'ones'(3, {requires_grad = true})
  local y = x * 2
  y[0] = 0
  y:sum():backward()
  lu.assertEquals(x.grad:tolist(), {0, 2, 2})
end

function TestIndexing:test_errors_say_what_is_wrong()
  local x = self.x
  lu.assertErrorMsgContains('index 3 is out of range for dimension 0 of int64 [3, 4]', function() return x[3] end)
  lu.assertErrorMsgContains('index -4 is out of range', function() return x[-4] end)
  lu.assertErrorMsgContains('use x:item()', function() return x:sum()[0] end)
  lu.assertErrorMsgContains('got 1.5', function() return x[1.5] end)
  lu.assertErrorMsgContains('integers alone or booleans alone', function() return x[{{0.5}}] end)
  lu.assertErrorMsgContains('too many indices', function() return x[{0, 0, 0}] end)
  lu.assertErrorMsgContains('start must be an integer', function() return x[slice(1.5)] end)
  lu.assertErrorMsgContains('can be set', function() x.name = 3 end)
  lu.assertErrorMsgContains('expected a number or a Tensor', function() x[0] = 'a' end)
end

function TestIndexing:test_errors_name_index_dimension_and_size()
  local x = self.x
  local function reading(key) return select(2, pcall(function() return x[key] end)).message end
  local function writing(key, value) return select(2, pcall(function() x[key] = value end)).message end
  lu.assertStrContains(reading{0, 9}, 'index 9 is out of bounds for dimension 1 with size 4 (int64 [3, 4])')
  lu.assertStrContains(reading{{9}}, 'index 9 is out of bounds for dimension 0 with size 3')
  lu.assertStrContains(reading(C.op 'ones'(2, {dtype = 'bool'})), 'The shape of the mask [2] at index 0 does not match')
  lu.assertStrContains(reading(C.tensor{0.5}), 'tensors used as indices must be long')
  lu.assertStrContains(reading(slice(nil, nil, -1)), 'step must be greater than zero')
  lu.assertStrContains(reading{{true, 1}}, 'integers alone or booleans alone')
  lu.assertStrContains(reading{0, 'a'}, "got 'a'")
  lu.assertStrContains(writing(5, 1), 'index 5 is out of bounds for dimension 0 with size 3')
  lu.assertStrContains(writing(0, C.op 'ones'(3)), 'must match the existing size (3)')
  lu.assertStrContains(writing(0, C.op 'ones'(3)), '(int64 [3, 4] = float32 [3])')
  lu.assertStrContains(writing({{0, 1}}, C.op 'ones'(3)), 'cannot be broadcast to indexing result of shape [2, 4]')
  lu.assertStrContains(writing(0, {1, 2}), '= {1, 2}')
  x = x:to('int8')
  lu.assertStrContains(writing(0, 300), 'without overflow (int8 [3, 4] = 300)')
end

function TestIndexing:test_a_tensor_is_iterated_by_its_rows()
  local count = 0
  for i, row in ipairs(self.x:unbind()) do
    lu.assertTrue(row:eq(self.x[i - 1]):all():item())
    count = count + 1
  end
  lu.assertEquals(count, #self.x)
  lu.assertErrorMsgContains('no length', function() return #self.x:sum() end)
end

function TestIndexing:test_equality_asks_for_the_same_tensor()
  local x = self.x
  lu.assertIsTrue(x == x)
  lu.assertIsFalse(x == x:clone())
  lu.assertIsFalse(x[0] == x[0])
  lu.assertIsTrue(x:zero_() == x)
  lu.assertIsFalse(x == 1)
end

os.exit(lu.LuaUnit.run(), true)

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
  lu.assertErrorMsgContains('integers or booleans', function() return x[{{0.5}}] end)
  lu.assertErrorMsgContains('too many indices', function() return x[{0, 0, 0}] end)
  lu.assertErrorMsgContains('start must be an integer', function() return slice(1.5) end)
  lu.assertErrorMsgContains('can be set', function() x.name = 3 end)
  lu.assertErrorMsgContains('expected a number or a Tensor', function() x[0] = 'a' end)
end

os.exit(lu.LuaUnit.run(), true)

-- x:untyped_storage() and x:storage(): the memory behind tensors.
local lu = require 'luaunit'
local torch = require 'torch'

TestStorages = {}

function TestStorages.test_views_share_one()
  local x = torch.arange(6):view(2, 3)
  local row = x:select(0, 1)
  lu.assertEquals(row:untyped_storage():nbytes(), 48)
  lu.assertEquals({row:storage():size(), #row:storage(), row:storage():nbytes(), row:storage():element_size()}, {6, 6, 48, 8})
  lu.assertEquals(row:untyped_storage():data_ptr(), x:data_ptr())
  lu.assertEquals(tostring(x:untyped_storage()), 'torch.UntypedStorage(device=cpu) of 48 bytes')
  lu.assertEquals(tostring(x:storage()), 'torch.TypedStorage(dtype=int64, device=cpu) of 6 elements')
end

-- FSDP frees the full parameters between their uses like this.
function TestStorages.test_memory_is_given_back_and_taken_again()
  local x = torch.ones({4, 4}, {requires_grad = true})
  local view = x:detach():view{16}
  local storage = x:untyped_storage()
  lu.assertIs(storage:resize_(0), storage)
  lu.assertEquals({#storage, storage:data_ptr(), x.shape[1]}, {0, 0, 4})
  storage:resize_(64)
  torch.no_grad(function() x:copy_(torch.full({4, 4}, 3)) end)
  lu.assertEquals({view:sum():item(), x:data_ptr() == storage:data_ptr()}, {48, true})
  x:pow(2):sum():backward()
  lu.assertEquals(x.grad:sum():item(), 96)
end

function TestStorages.test_what_fits_keeps_its_values()
  local x = torch.tensor({1, 2, 3, 4}, {dtype = 'int32'})
  local first = x:narrow(0, 0, 2)
  x:untyped_storage():resize_(8)
  lu.assertEquals(first:tolist(), {1, 2})
  x:storage():resize_(6)
  lu.assertEquals({first:tolist(), x:untyped_storage():nbytes()}, {{1, 2}, 24})
  lu.assertEquals(#x:storage():untyped(), 24)
end

function TestStorages.test_what_cannot_be_resized_is_refused()
  local x = torch.ones(2)
  local storage = x:untyped_storage()
  lu.assertErrorMsgContains('expected a number of bytes from 0 on, got -1', storage.resize_, storage, -1)
  lu.assertErrorMsgContains('expected a number of elements, got string', x:storage().resize_, x:storage(), 'x')
  lu.assertErrorMsgContains('has no storage', function() return #torch.eye(2):to_sparse():untyped_storage() end)
  lu.assertEquals(x:tolist(), {1, 1})
end

os.exit(lu.LuaUnit.run(), true)

-- torch.deepcopy: copies share memory where the originals do; torch.items and torch.keys walk maps in order.
local lu = require 'luaunit'
local torch = require 'torch'
local ordered = require 'base.ordered'

TestDeepcopy = {}

function TestDeepcopy:test_views_of_one_memory_stay_views_of_one_memory()
  local whole = torch.arange(6):float()
  local copy = torch.deepcopy{whole = whole, row = whole:view(2, 3)[1], again = whole}
  copy.row:fill_(9)
  lu.assertEquals(copy.whole:tolist(), {0, 1, 2, 9, 9, 9})
  lu.assertEquals(whole:tolist(), {0, 1, 2, 3, 4, 5})
  lu.assertTrue(rawequal(copy.whole, copy.again))
  lu.assertEquals(copy.row:storage_offset(), 3)
end

function TestDeepcopy:test_strides_dtypes_and_conjugates_are_kept()
  local x = torch.arange(6):double():view(2, 3)
  local z = torch.randn(2, {dtype = 'complex64'}):conj()
  local copy = torch.deepcopy{x:t(), x:view 'int64', z, torch.ones(3):expand(2, 3)}
  lu.assertEquals(copy[1]:stride(), x:t():stride())
  lu.assertTrue(torch.equal(copy[1], x:t()))
  copy[1]:zero_()
  lu.assertEquals(copy[2]:sum():item(), 0)
  lu.assertTrue(torch.equal(copy[3], z))
  lu.assertEquals(copy[4]:stride(), {0, 1})
end

function TestDeepcopy:test_gradients_and_sparse_tensors_are_copied()
  local x = torch.ones(2, {requires_grad = true})
  x:sum():backward()
  local copy = torch.deepcopy(x)
  lu.assertTrue(copy.requires_grad)
  lu.assertEquals(copy.grad:tolist(), {1, 1})
  copy.grad:zero_()
  lu.assertEquals(x.grad:tolist(), {1, 1})
  local sparse = torch.eye(2):to_sparse()
  lu.assertTrue(torch.equal(torch.deepcopy(sparse):to_dense(), torch.eye(2)))
end

function TestDeepcopy:test_tied_buffers_of_a_module_stay_tied()
  local Tied = torch.nn.Module:extend 'Tied'
  function Tied:init()
    self:register_buffer('table', torch.zeros(4))
    self:register_buffer('head', self.table:narrow(0, 0, 2))
  end
  local copy = torch.deepcopy(Tied())
  copy.table:fill_(3)
  lu.assertEquals(copy.head:tolist(), {3, 3})
end

TestItems = {}

function TestItems:test_a_state_dict_is_walked_in_its_order()
  local net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
  local names = {}
  for name, tensor in torch.items(net:state_dict()) do
    lu.assertTrue(torch.is_tensor(tensor))
    names[#names + 1] = name
  end
  local want = '0.weight 0.bias 1.weight 1.bias 1.running_mean 1.running_var 1.num_batches_tracked'
  lu.assertEquals(table.concat(names, ' '), want)
  lu.assertEquals(table.concat(torch.keys(net:state_dict()), ' '), want)
  local path = os.tmpname()
  torch.save(net:state_dict(), path)
  lu.assertEquals(table.concat(torch.keys(torch.load(path)), ' '), want)
  os.remove(path)
end

function TestItems:test_other_tables_are_walked_by_their_keys_texts()
  lu.assertEquals(torch.keys{b = 1, a = 2}, {'a', 'b'})
  lu.assertEquals(torch.keys(ordered.new{{'b', 1}, {'a', false}}), {'b', 'a'})
  local seen = {}
  for key, value in torch.items(ordered.new{{'b', 1}, {'a', false}}) do seen[#seen + 1] = {key, value} end
  lu.assertEquals(seen, {{'b', 1}, {'a', false}})
  local text, err = require('refusal').message_of(torch.items, 3)
  lu.assertStrContains(text, 'expected a table, got number')
  lu.assertEquals(err.code, 'argument')
end

os.exit(lu.LuaUnit.run(), true)

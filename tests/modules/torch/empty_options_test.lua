-- An empty table after the tensors is a table of options, all of them nil, if the call is valid without it.
local lu = require 'luaunit'
local torch = require 'torch'

TestEmptyOptions = {}

local x = torch.arange(6):double():view(2, 3)

function TestEmptyOptions:test_reductions_take_it_for_no_options()
  for _, name in ipairs{'std', 'var', 'sum', 'mean', 'amax', 'amin', 'nansum', 'count_nonzero', 'argmax', 'squeeze',
                        'flatten', 'norm', 'nonzero', 'prod', 'all', 'any'} do
    lu.assertTrue(torch.equal(torch[name](x, {}), torch[name](x)), name)
  end
  lu.assertTrue(torch.equal(x:std{dim = nil}, x:std()))
  for _, name in ipairs{'var_mean', 'std_mean', 'max', 'min'} do
    lu.assertTrue(torch.equal((torch[name](x, {})), (torch[name](x))), name)
  end
  lu.assertEquals(torch.zeros(1, 2, 1):squeeze({}).shape, {2})
end

function TestEmptyOptions:test_gradients_are_those_of_the_call_without_it()
  for _, name in ipairs{'std', 'var', 'std_mean', 'var_mean'} do
    local with, without = x:clone():requires_grad_(), x:clone():requires_grad_()
    torch[name](with, {}):backward()
    torch[name](without):backward()
    lu.assertTrue(torch.equal(with.grad, without.grad), name)
    lu.assertTrue(with.grad:isfinite():all():item(), name)
  end
end

function TestEmptyOptions:test_it_is_a_list_where_the_call_needs_one()
  lu.assertEquals(torch.zeros({}).shape, {})
  lu.assertEquals(torch.zeros({}, {}).shape, {})
  lu.assertEquals(torch.tensor(3):view({}).shape, {})
  lu.assertEquals(torch.tensor(3):permute({}).shape, {})
  lu.assertEquals(torch.ones(1):reshape({}).shape, {})
  lu.assertTrue(torch.equal(x:flip({}), x))
  local ok, err = pcall(torch.logsumexp, x)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), "argument 'dim'")
  lu.assertEquals(torch.logsumexp(x, {0, 1}):item(), torch.logsumexp(x:view(-1), 0):item())
end

os.exit(lu.LuaUnit.run(), true)

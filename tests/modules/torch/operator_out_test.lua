-- The keyword `out`: writes results into existing tensors by PyTorch's rules for sizes and dtypes.
local lu = require 'luaunit'
local torch = require 'torch'
local message_of = require('refusal').message_of

TestOut = {}

function TestOut:test_copies_of_views_have_it()
  local x = torch.arange(4):float():view(2, 2)
  local out = torch.empty(0)
  lu.assertTrue(rawequal(torch.transpose_copy(x, 0, 1, {out = out}), out))
  lu.assertEquals(out:tolist(), {{0, 2}, {1, 3}})
  local rows = {torch.empty(0), torch.empty(0)}
  lu.assertNil(torch.unbind_copy(x, {out = rows}))  -- as in Python
  lu.assertEquals(rows[2]:tolist(), {2, 3})
end

local x, y = torch.tensor{1, 2, 3}, torch.tensor{4, 5, 6}

function TestOut:test_the_result_is_the_tensor_that_was_given()
  local out = torch.empty(3)
  local data = out:data_ptr()
  lu.assertTrue(rawequal(torch.add(x, y, {out = out}), out))
  lu.assertEquals(out:tolist(), {5, 7, 9})
  lu.assertEquals(out:data_ptr(), data)
  lu.assertEquals(torch.add(x, y, {alpha = 2, out = out}):tolist(), {9, 12, 15})
  lu.assertEquals(torch.mul{input = x, other = y, out = out}:tolist(), {4, 10, 18})
  lu.assertEquals(torch.add(x, y, {out = torch.none}):tolist(), {5, 7, 9})
end

function TestOut:test_a_number_will_do_for_a_tensor_as_without_out()
  local out = torch.empty(3)
  lu.assertEquals(torch.add(x, 2, {out = out}):tolist(), {3, 4, 5})
  lu.assertEquals(torch.div(x, 2, {out = out}):tolist(), {0.5, 1, 1.5})
  lu.assertEquals(torch.eq(x, 2, {out = torch.empty(3, {dtype = 'bool'})}):tolist(), {false, true, false})
  lu.assertEquals(torch.add(torch.tensor{1LL}, 2, {out = torch.empty(1, {dtype = 'int64'})}).dtype, 'int64')
end

function TestOut:test_several_results_go_into_a_list_of_tensors()
  local values, indices = torch.empty(0), torch.empty(0, {dtype = 'int64'})
  local a, b = torch.max(torch.tensor{{1, 5}, {7, 2}}, 1, {out = {values, indices}})
  lu.assertTrue(rawequal(a, values) and rawequal(b, indices))
  lu.assertEquals(values:tolist(), {5, 7})
  lu.assertEquals(indices:tolist(), {1, 0})
  torch.topk(torch.tensor{3, 1, 2}, 2, {out = {values, indices}})
  lu.assertEquals(indices:tolist(), {0, 2})
  torch.linalg.qr(torch.eye(2), {out = {torch.empty(0), torch.empty(0)}})
end

function TestOut:test_an_empty_tensor_is_resized_and_a_view_is_written_through()
  local out = torch.empty(0)
  lu.assertEquals(torch.cat({x, y}, 0, {out = out}).shape, {6})
  local whole = torch.zeros(2, 3)
  torch.sin(torch.zeros(3), {out = whole:select(0, 1)})
  torch.add(x, y, {out = whole:select(0, 0)})
  lu.assertEquals(whole:tolist(), {{5, 7, 9}, {0, 0, 0}})
end

function TestOut:test_dtypes_are_pytorchs()
  lu.assertEquals(torch.add(x, y, {out = torch.empty(3, {dtype = 'float64'})}).dtype, 'float64')
  local text, err = message_of(torch.add, x, y, {out = torch.empty(3, {dtype = 'int64'})})
  lu.assertStrContains(text, "result type Float can't be cast to the desired output type Long")
  lu.assertEquals(err.code, 'argument')
  lu.assertEquals(torch.sum(x, 0, {dtype = 'float64', out = torch.empty({}, {dtype = 'float64'})}):item(), 6)
end

function TestOut:test_factories_take_dtype_and_device_from_it()
  local out = torch.empty(0, {dtype = 'int32'})
  lu.assertTrue(rawequal(torch.zeros(2, 3, {out = out}), out))
  lu.assertEquals(out.shape, {2, 3})
  lu.assertEquals(torch.arange(3, {out = out, dtype = 'int32'}):tolist(), {0, 1, 2})
  lu.assertEquals(torch.full({2}, 7, {out = out, device = 'cpu'}):tolist(), {7, 7})
  lu.assertStrContains(message_of(torch.zeros, 2, {out = out, dtype = 'float32'}),
    "zeros: dtype = 'float32' does not match that of out, 'int32'")
  torch.manual_seed(3)
  local drawn = torch.rand(4, {out = torch.empty(0)})
  torch.manual_seed(3)
  lu.assertTrue(torch.equal(drawn, torch.rand(4)))
  lu.assertEquals(torch.normal(0, 1, {2}, {out = torch.empty(0), dtype = 'float32', device = 'cpu'}).shape, {2})
  lu.assertTrue(torch.ones(2, {out = torch.empty(0), requires_grad = true}).requires_grad)
end

function TestOut:test_gradients_are_refused()
  local w = torch.ones(3, {requires_grad = true})
  lu.assertStrContains(message_of(torch.mul, w, x, {out = torch.empty(3)}), "don't support automatic differentiation")
end

function TestOut:test_what_does_not_fit_is_told()
  lu.assertStrContains(message_of(torch.add, x, y, {out = 3}), "'out'")
  lu.assertStrContains(message_of(torch.add, x, y, {out = {x, y}}), 'out is one Tensor')
  lu.assertStrContains(message_of(torch.topk, x, 1, {out = x}), 'out is a list of 2 Tensors')
  lu.assertStrContains(message_of(torch.add, x, y, {out = {}}), 'out is one Tensor')
  lu.assertStrContains(message_of(torch.relu, x, {out = x}), "unknown keyword 'out'")
end

function TestOut:test_functions_that_are_more_than_an_operator_take_it_too()
  local out = torch.empty(0)
  lu.assertTrue(rawequal(torch.norm(x, {out = out}), out))
  lu.assertTrue(torch.equal(out, torch.norm(x)))
  lu.assertTrue(rawequal(torch.norm(torch.ones(2, 2), 'nuc', {out = out}), out))
  lu.assertTrue(rawequal(torch.norm(torch.ones(2, 2), 1, {dim = 1, out = out}), out))
  lu.assertEquals(out:tolist(), {2, 2})
  lu.assertTrue(rawequal(torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), {dims = 1, out = out}), out))
  lu.assertEquals(out:tolist(), {{3, 3}, {3, 3}})
  lu.assertTrue(rawequal(torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 2), {out = out}), out))
  lu.assertTrue(rawequal(torch.nn.functional.gelu(x, {out = out}), out))
  lu.assertTrue(torch.equal(out, torch.gelu(x)))
  lu.assertTrue(rawequal(torch.nn.functional.logsigmoid(x, {out = out}), out))
  lu.assertTrue(rawequal(torch.nn.functional.normalize(x, {dim = 0, out = out}), out))
  lu.assertTrue(torch.equal(out, torch.nn.functional.normalize(x, {dim = 0})))
  local factors = {torch.empty(0), torch.empty(0, {dtype = 'int32'})}
  lu.assertTrue(rawequal((torch.lu(torch.eye(2), {out = factors})), factors[1]))
  local places = torch.empty(0, {dtype = 'int64'})
  lu.assertTrue(rawequal(torch.nonzero(x, {out = places}), places))
  lu.assertEquals(places:tolist(), {{0}, {1}, {2}})
  lu.assertTrue(rawequal(torch.special.expit(x, {out = out}), out))
  lu.assertTrue(rawequal(torch.fft.fft(x, {out = torch.empty(0, {dtype = 'complex64'})}).dtype, 'complex64'))
end

os.exit(lu.LuaUnit.run(), true)

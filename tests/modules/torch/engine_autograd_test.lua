-- Autograd: gradients, modes, hooks.
local lu = require 'luaunit'
local C = require 'torch._C'
local ones = C.op 'ones'

local function leaf(...) return C.tensor({...}, {requires_grad = true}) end

TestAutograd = {}

function TestAutograd:test_backward_accumulates()
  local x = leaf(1, 2, 3)
  ;(x * x):sum():backward()
  lu.assertEquals(x.grad:tolist(), {2, 4, 6})
  ;(x * 3):sum():backward()
  lu.assertEquals(x.grad:tolist(), {5, 7, 9})
  x.grad = nil
  lu.assertNil(x.grad)
end

function TestAutograd:test_gradient_and_keywords()
  local x = leaf(1, 2)
  local y = x * x
  y:backward(C.tensor{1, 10}, {retain_graph = true})
  lu.assertEquals(x.grad:tolist(), {2, 40})
  y:backward{gradient = ones(2)}
  lu.assertEquals(x.grad:tolist(), {4, 44})
  lu.assertErrorMsgContains('second time', function() y:backward(ones(2)) end)
  lu.assertErrorMsgContains("did you mean 'retain_graph'", function() y:backward{retain_grph = true} end)
end

function TestAutograd:test_grad_of_grad()
  local x = leaf(3)
  local y = (x ^ 3):sum()
  local first = C.grad(y, {x}, {create_graph = true})[1]
  local second = C.grad(first:sum(), x)[1]
  lu.assertEquals(first:tolist(), {27})
  lu.assertEquals(second:tolist(), {18})
end

function TestAutograd:test_unused_inputs_give_none()
  local x, z = leaf(1), leaf(2)
  local grads = C.grad((x * 2):sum(), {x, z}, {allow_unused = true})
  lu.assertEquals(grads[1]:item(), 2)
  lu.assertTrue(grads[2] == C.none)
end

function TestAutograd:test_backward_of_many()
  local x = leaf(1, 2)
  C.backward({(x * 2):sum(), x * x}, {C.none, ones(2)})
  lu.assertEquals(x.grad:tolist(), {4, 6})
end

function TestAutograd:test_attributes()
  local x = leaf(1)
  local y = x * 2
  lu.assertTrue(x.is_leaf)
  lu.assertFalse(y.is_leaf)
  lu.assertTrue(y.requires_grad)
  lu.assertEquals(y.grad_fn, '<MulBackward0>')
  lu.assertFalse(y:detach().requires_grad)
  lu.assertFalse(y.data.requires_grad)
  lu.assertTrue(ones(1):requires_grad_().requires_grad)
  y:retain_grad()
  y:sum():backward()
  lu.assertEquals(y.grad:item(), 1)
end

function TestAutograd:test_a_gradient_is_like_its_tensor()
  local x = C.tensor({{1, 2}}, {requires_grad = true})
  local function assign(value) return function() x.grad = value end end
  lu.assertErrorMsgContains("assign a gradient of size '[3]' to a tensor of size '[1, 2]'", assign(ones(3)))
  lu.assertErrorMsgContains("assign a gradient of dtype 'float64' to a tensor of dtype 'float32'",
                            assign(ones(1, 2, {dtype = 'float64'})))
  lu.assertErrorMsgContains("assign a gradient of device 'meta' to a tensor of device 'cpu'",
                            assign(ones(1, 2, {device = 'meta'})))
  lu.assertErrorMsgContains("assign a gradient of layout 'sparse_csr' to a tensor of layout 'strided'",
                            assign(C.op 'to_sparse_csr'(ones(1, 2))))
  lu.assertErrorMsgContains("can't assign a Tensor as its own grad", assign(x))
  lu.assertErrorMsgContains('assigned grad expected to be a Tensor or nil but got 3', assign(3))
  lu.assertErrorMsgContains('assigned grad expected to be a Tensor or nil but got {1, 2}', assign{1, 2})
  lu.assertNil(x.grad)
  assign(C.op 'to_sparse'(ones(1, 2)))()
  lu.assertTrue(x.grad.is_sparse)
  assign(ones(1, 2))()
  lu.assertEquals(x.grad:tolist(), {{1, 1}})
end

TestModes = {}

function TestModes:test_no_grad_passes_arguments_and_results_through()
  local x = leaf(1)
  local y, n = C.no_grad(function(a, b) return x * a, b end, 2, 'b')
  lu.assertFalse(y.requires_grad)
  lu.assertEquals(n, 'b')
  lu.assertTrue((x * 2).requires_grad)
end

function TestModes:test_an_error_restores_the_mode()
  lu.assertFalse(pcall(C.no_grad, function() error('boom') end))
  lu.assertTrue(C.is_grad_enabled())
  lu.assertFalse(pcall(C.no_grad, function() return ones(2):matmul(ones(3)) end))
  lu.assertTrue(C.is_grad_enabled())
  C.no_grad(function()
    lu.assertFalse(pcall(C.enable_grad, function() error({}) end))
    lu.assertFalse(C.is_grad_enabled())
  end)
  lu.assertTrue(C.is_grad_enabled())
end

function TestModes:test_set_grad_enabled_gives_the_old_mode()
  lu.assertTrue(C.set_grad_enabled(false))
  lu.assertFalse((leaf(1) * 2).requires_grad)
  lu.assertFalse(C.set_grad_enabled(true))
end

function TestModes:test_numbers_used_in_inference_mode_can_be_used_outside()
  local y = C.inference_mode(function() return ones(1) * 1.625 end)
  lu.assertEquals(y:item(), 1.625)
  local x = leaf(2)
  ;(x * 1.625):sum():backward()
  lu.assertEquals(x.grad:item(), 1.625)
end

function TestModes:test_yielding_across_a_guard_is_an_error()
  local co = coroutine.create(function() C.no_grad(function() coroutine.yield(1) end) end)
  lu.assertFalse(coroutine.resume(co))
  lu.assertTrue(C.is_grad_enabled())
end

TestHooks = {}

function TestHooks:test_a_hook_sees_and_replaces_the_gradient()
  local x = leaf(1, 2)
  local seen
  local handle = x:register_hook(function(g)
    seen = g:tolist()
    return g * 10
  end)
  ;(x * 3):sum():backward()
  lu.assertEquals(seen, {3, 3})
  lu.assertEquals(x.grad:tolist(), {30, 30})
  handle:remove()
  handle:remove()
  x.grad = nil
  ;(x * 3):sum():backward()
  lu.assertEquals(x.grad:tolist(), {3, 3})
end

function TestHooks:test_an_error_in_a_hook_comes_out_of_backward()
  local x = leaf(1)
  x:register_hook(function() error('in the hook') end)
  local ok, err = pcall(function() (x * 2):sum():backward() end)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'in the hook')
  lu.assertTrue(C.is_grad_enabled())
end

function TestHooks:test_a_hook_runs_on_the_coroutine_that_calls_backward()
  local x = leaf(1)
  local inside
  x:register_hook(function() inside = coroutine.running() end)
  local co = coroutine.create(function() (x * 2):sum():backward() end)
  lu.assertTrue(coroutine.resume(co))
  lu.assertTrue(inside == co)
end

function TestHooks:test_hooks_call_operators_while_an_operator_runs()
  local x = leaf(1, 2)
  x:register_hook(function(g) return C.op 'cat'({g[{C.slice(0, 1)}], g[{C.slice(1, 2)}] * 2}) end)
  ;(x * 1):sum():backward()
  lu.assertEquals(x.grad:tolist(), {1, 2})
end

os.exit(lu.LuaUnit.run(), true)

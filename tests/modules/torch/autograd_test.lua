-- The user's view of torch.autograd: user-defined functions, hooks, anomaly mode, products with Jacobians.
local lu = require 'luaunit'
local torch = require 'torch'
local nn = torch.nn
local Function = torch.autograd.Function

local function leaf(...) return torch.tensor({...}, {requires_grad = true}) end

local function wide_leaf(...) return torch.tensor({...}, {dtype = 'float64', requires_grad = true}) end

local Scale = Function:extend('Scale')
function Scale.forward(ctx, x, factor)
  ctx.factor = factor
  return x * factor
end
function Scale.backward(ctx, grad) return grad * ctx.factor, nil end

local Product = Function:extend('Product')
function Product.forward(ctx, x, y)
  ctx:save_for_backward(x, y)
  return x * y, x + y
end
function Product.backward(ctx, by_product, by_sum)
  local x, y = unpack(ctx.saved_tensors)
  return by_product * y + by_sum, by_product * x + by_sum
end

TestFunction = {}

function TestFunction:test_plain_arguments_and_fields_of_ctx()
  local x = leaf(1, 2)
  local y = Scale.apply(x, 3)
  lu.assertEquals(y.grad_fn, '<ScaleBackward>')
  y:sum():backward()
  lu.assertEquals(x.grad:tolist(), {3, 3})
end

function TestFunction:test_several_results()
  local x, y = leaf(2), leaf(5)
  local product, sum = Product.apply(x, y)
  ;(product + sum * 10):sum():backward()
  lu.assertEquals({x.grad:item(), y.grad:item()}, {15, 12})
end

function TestFunction:test_a_result_that_the_loss_ignores_has_a_gradient_of_zeros()
  local x, y = leaf(2), leaf(5)
  local product = Product.apply(x, y)
  product:sum():backward()
  lu.assertEquals({x.grad:item(), y.grad:item()}, {5, 2})
end

function TestFunction:test_without_materialize_grads_it_is_nil()
  local seen
  local Two = Function:extend('Two')
  function Two.forward(ctx, x)
    ctx:set_materialize_grads(false)
    return x * 1, x * 2
  end
  function Two.backward(_, first, second)
    seen = {first == nil, second == nil}
    return second * 2
  end
  local x = leaf(1)
  local _, second = Two.apply(x)
  second:sum():backward()
  lu.assertEquals(seen, {true, false})
  lu.assertEquals(x.grad:item(), 2)
end

function TestFunction:test_second_derivative()
  local x, y = wide_leaf(0.5, 2), wide_leaf(3, -1)
  lu.assertTrue(torch.autograd.gradcheck(Product.apply, {x, y}))
  lu.assertTrue(torch.autograd.gradgradcheck(Product.apply, {x, y}))
end

function TestFunction:test_a_saved_result()
  local Exp = Function:extend('Exp')
  function Exp.forward(ctx, x)
    local y = x:exp()
    ctx:save_for_backward(y)
    return y
  end
  function Exp.backward(ctx, grad) return grad * ctx.saved_tensors[1] end
  lu.assertTrue(torch.autograd.gradcheck(Exp.apply, {wide_leaf(0.1, 1)}))
end

function TestFunction:test_setup_context()
  local Square = Function:extend('Square')
  function Square.forward(x) return x * x end
  function Square.setup_context(ctx, inputs, output)
    ctx:save_for_backward(inputs[1])
    ctx.size = output:numel()
  end
  function Square.backward(ctx, grad) return grad * 2 * ctx.saved_tensors[1] * ctx.size end
  local x = leaf(3, 4)
  Square.apply(x):sum():backward()
  lu.assertEquals(x.grad:tolist(), {12, 16})
end

function TestFunction:test_needs_input_grad_and_no_graph_without_need()
  local needs
  local Seen = Function:extend('Seen')
  function Seen.forward(ctx, x, y)
    needs = ctx.needs_input_grad
    return x + y
  end
  function Seen.backward(_, grad) return grad, nil end
  lu.assertTrue(Seen.apply(leaf(1), torch.ones(1)).requires_grad)
  lu.assertEquals(needs, {true, false})
  lu.assertFalse(Seen.apply(torch.ones(1), torch.ones(1)).requires_grad)
  lu.assertFalse(torch.no_grad(Seen.apply, leaf(1), torch.ones(1)).requires_grad)
end

function TestFunction:test_mark_dirty_gives_the_argument_back()
  local Double = Function:extend('Double')
  function Double.forward(ctx, x)
    ctx:mark_dirty(x)
    return x:mul_(2)
  end
  function Double.backward(_, grad) return grad * 2 end
  local x = leaf(1, 2)
  local y = x * 1
  local z = Double.apply(y)
  lu.assertTrue(z == y)
  z:sum():backward()
  lu.assertEquals(x.grad:tolist(), {2, 2})
end

function TestFunction:test_mark_non_differentiable()
  local Largest = Function:extend('Largest')
  function Largest.forward(ctx, x)
    local value, index = x:max(0)
    ctx:mark_non_differentiable(index)
    ctx.index, ctx.size = index:item(), x:numel()
    return value, index
  end
  function Largest.backward(ctx, grad)
    local out = torch.zeros(ctx.size)
    out[ctx.index] = grad
    return out
  end
  local x = leaf(1, 5, 2)
  local value, index = Largest.apply(x)
  lu.assertFalse(index.requires_grad)
  value:backward()
  lu.assertEquals(x.grad:tolist(), {0, 1, 0})
end

function TestFunction:test_a_saved_tensor_that_was_changed_in_place_is_an_error()
  local x, y = leaf(1), torch.ones(1)
  local z = Product.apply(x, y)
  y:add_(1)
  lu.assertErrorMsgContains('modified by an inplace operation', function() z:backward() end)
end

function TestFunction:test_backward_twice_needs_retain_graph()
  local x = leaf(2)
  local y = Product.apply(x, x)
  y:backward{retain_graph = true}
  y:backward()
  lu.assertEquals(x.grad:item(), 8)
  lu.assertErrorMsgContains('second time', function() y:backward() end)
end

function TestFunction:test_errors_come_out_with_their_line()
  local Bad = Function:extend('Bad')
  function Bad.forward() error('in forward') end
  function Bad.backward() error('in backward') end
  lu.assertErrorMsgContains('autograd_test.lua', Bad.apply, leaf(1))
  lu.assertTrue(torch.is_grad_enabled())
  function Bad.forward(_, x) return x * 2 end
  lu.assertErrorMsgContains('in backward', function() Bad.apply(leaf(1)):backward() end)
end

function TestFunction:test_wrong_results_of_backward()
  local Wrong = Function:extend('Wrong')
  function Wrong.forward(_, x, factor) return x * factor end
  function Wrong.backward(_, grad) return grad end
  lu.assertErrorMsgContains('Wrong.backward returned 1 values, expected 2', function()
    Wrong.apply(leaf(1), 2):backward()
  end)
  function Wrong.backward(_, grad) return grad, grad end
  lu.assertErrorMsgContains('value 2 must be nil', function() Wrong.apply(leaf(1), 2):backward() end)
  function Wrong.backward() return torch.ones(3), nil end
  lu.assertErrorMsgContains('invalid gradient', function() Wrong.apply(leaf(1, 2), 2):sum():backward() end)
  local Empty = Function:extend('Empty')
  lu.assertErrorMsgContains('Empty needs both forward', function() Empty.apply(leaf(1)) end)
end

function TestFunction:test_graphs_are_given_up()
  local x = torch.ones(64, 1024, {requires_grad = true})
  for _ = 1, 3 do Product.apply(x, x):sum():backward() end
  collectgarbage()
  collectgarbage()
  local before = torch.memory_stats().live_bytes
  for _ = 1, 200 do Product.apply(x, x):sum() end
  collectgarbage()
  collectgarbage()
  lu.assertEquals(torch.memory_stats().live_bytes, before)
end

function TestFunction:test_results_that_are_saved_are_given_up()
  local Saved, mark = Function:extend('Saved'), ''
  function Saved.forward(ctx, x)
    local output = mark == 'dirty' and x:exp_() or x:exp()
    ctx:save_for_backward(output)
    if mark == 'dirty' then ctx:mark_dirty(output) end
    if mark == 'non_differentiable' then ctx:mark_non_differentiable(output) end
    return output
  end
  function Saved.backward(ctx, grad) return grad * ctx.saved_tensors[1] end
  for _, kind in ipairs{'', 'dirty', 'non_differentiable'} do
    for _, with_backward in ipairs{false, true} do
      mark = kind
      local x, kept = leaf(1), setmetatable({}, {__mode = 'v'})
      for i = 1, 20 do
        local y = Saved.apply(x * 1)
        kept[i] = y
        if with_backward and y.requires_grad then y:sum():backward() end
      end
      collectgarbage()
      collectgarbage()
      lu.assertNil(next(kept), kind)
    end
  end
end

TestHooks = {}

function TestHooks:test_post_accumulate_grad_hook()
  local x, seen = leaf(1), {}
  local handle = x:register_post_accumulate_grad_hook(function(p) seen[#seen + 1] = p.grad:item() end)
  local other = x:register_post_accumulate_grad_hook(function(p) p.grad = nil end)
  x:mul(2):backward()
  lu.assertNil(x.grad)
  other:remove()
  x:mul(3):backward()
  handle:remove()
  x:mul(4):backward()
  lu.assertEquals(seen, {2, 3})
  lu.assertErrorMsgContains('only a leaf', function()
    (x * 2):register_post_accumulate_grad_hook(function() end)
  end)
end

TestAnomaly = {}

function TestAnomaly:test_names_the_line_of_the_forward_call()
  local line
  local ok, err = pcall(torch.autograd.detect_anomaly, function()
    local x = leaf(-1)
    line = debug.getinfo(1, 'l').currentline + 1
    local y = x:sqrt()
    y:backward()
  end)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), "Function 'SqrtBackward0' returned nan values")
  lu.assertStrContains(tostring(err), 'autograd_test.lua:' .. line)
  local z = leaf(-1)
  z:sqrt():backward()
  lu.assertTrue(z.grad:isnan():item())
end

function TestAnomaly:test_names_the_line_behind_a_change_in_place()
  local function change()
    local x = leaf(1)
    local y = (x * 1):exp()
    y:add_(1)
    y:backward()
  end
  lu.assertErrorMsgContains('detect_anomaly', change)
  lu.assertErrorMsgContains('the forward call behind ExpBackward0: ', torch.autograd.detect_anomaly, change)
end

function TestAnomaly:test_check_nan_can_be_left_out()
  local x = leaf(-1)
  torch.autograd.detect_anomaly(function() x:sqrt():backward() end, {check_nan = false})
  lu.assertTrue(x.grad:isnan():item())
  lu.assertFalse(torch.is_anomaly_enabled())
end

function TestAnomaly:test_set_detect_anomaly()
  torch.autograd.set_detect_anomaly(true)
  local ok, err = pcall(function() leaf(-1):log():sqrt():backward() end)
  torch.autograd.set_detect_anomaly(false)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'autograd_test.lua:')
end

TestModes = {}

function TestModes:test_a_module_can_take_the_place_of_a_function()
  local layer = nn.Linear(2, 1)
  lu.assertFalse(torch.no_grad(layer, torch.ones(1, 2)).requires_grad)
  lu.assertErrorMsgContains('no_grad: fn: expected a function, got', torch.no_grad, 3)
  lu.assertErrorMsgContains('register_hook: hook: expected a function, got nothing', leaf(1).register_hook, leaf(1))
end

TestSavedTensors = {}

function TestSavedTensors:test_pack_and_unpack()
  local graph, packed = torch.autograd.graph, 0
  local x = leaf(2, 3)
  local y = graph.saved_tensors_hooks(function(t)
    packed = packed + 1
    return {t:to('bfloat16')}
  end, function(p) return p[1]:to('float32') end, function() return (x * x):sum() end)
  lu.assertEquals(packed, 2)
  y:backward()
  lu.assertEquals(x.grad:tolist(), {4, 6})
  lu.assertErrorMsgContains('an unpack hook must return a Tensor', function()
    graph.saved_tensors_hooks(function() return 1 end, function(p) return p end, function() return x * x end):sum()
      :backward()
  end)
end

function TestSavedTensors:test_save_on_cpu_and_disable()
  local graph, x = torch.autograd.graph, leaf(2)
  graph.save_on_cpu(function(y) return (y * y):sum() end, x):backward()
  lu.assertEquals(x.grad:item(), 4)
  lu.assertErrorMsgContains('not here', function()
    graph.disable_saved_tensors_hooks('not here', function() graph.save_on_cpu(function() end) end)
  end)
  lu.assertEquals(graph.save_on_cpu(function() return 1 end), 1)
end

TestDerivatives = {}

function TestDerivatives:test_gradcheck_finds_a_wrong_gradient()
  local Wrong = Function:extend('Wrong')
  function Wrong.forward(_, x) return x * 2 end
  function Wrong.backward(_, grad) return grad * 3 end
  local x = wide_leaf(1, 2)
  lu.assertErrorMsgContains('output 1 by input 1', torch.autograd.gradcheck, Wrong.apply, x)
  lu.assertFalse(torch.autograd.gradcheck(Wrong.apply, x, {raise_exception = false}))
  lu.assertErrorMsgContains('float64', torch.autograd.gradcheck, Wrong.apply, leaf(1))
end

function TestDerivatives:test_functional()
  local functional = torch.autograd.functional
  local function fn(x, y) return (x * x * y):sum() end
  local x, y = torch.tensor{1, 2}, torch.tensor{3, 5}
  local hessian = functional.hessian(fn, {x, y})
  lu.assertEquals(hessian[1][1]:tolist(), {{6, 0}, {0, 10}})
  lu.assertEquals(hessian[1][2]:tolist(), {{2, 0}, {0, 4}})
  local jacobian = functional.jacobian(function(a, b) return a * b end, {x, y})
  lu.assertEquals(jacobian[2]:tolist(), {{1, 0}, {0, 2}})
  local value, product = functional.vjp(fn, {x, y})
  lu.assertEquals({value:item(), product[1]:tolist()}, {23, {6, 20}})
  local _, forward = functional.jvp(function(a) return a * a end, x, torch.tensor{1, 10})
  lu.assertEquals(forward:tolist(), {2, 40})
  local cubes = function(a) return (a ^ 3):sum() end
  local _, hv = functional.hvp(cubes, x, torch.tensor{1, 10})
  local _, vh = functional.vhp(cubes, x, torch.tensor{1, 10})
  lu.assertEquals({hv:tolist(), vh:tolist()}, {{6, 120}, {6, 120}})
  lu.assertErrorMsgContains('single number', functional.hessian, function(a) return a * a end, x)
end

function TestDerivatives:test_func()
  local cube = function(x) return (x ^ 3):sum() end
  local x = torch.tensor{1, 2}
  lu.assertEquals(torch.func.grad(cube)(x):tolist(), {3, 12})
  lu.assertFalse(torch.func.grad(cube)(x).requires_grad)
  lu.assertEquals(torch.func.hessian(cube)(x):tolist(), {{6, 0}, {0, 12}})
  local slopes, value = torch.func.grad_and_value(function(a, b) return (a * b):sum() end, {argnums = {0, 1}})(x, x * 2)
  lu.assertEquals({slopes[1]:tolist(), slopes[2]:tolist(), value:item()}, {{2, 4}, {1, 2}, 10})
  local y, vjp = torch.func.vjp(torch.mul, x, x)
  local first, second = vjp(torch.tensor{1, 0})
  lu.assertEquals({y:tolist(), first:tolist(), second:tolist()}, {{1, 4}, {1, 0}, {1, 0}})
  lu.assertErrorMsgContains('argnums 1', torch.func.grad(cube, {argnums = 1}), x)
end

function TestDerivatives:test_func_of_tables_of_tensors()
  local net = torch.nn.Linear(2, 1)
  local params = {}
  for name, p in net:named_parameters() do params[name] = p:detach() end
  local function loss(p, x) return (torch.func.functional_call(net, p, x) ^ 2):sum() end
  local grads, value = torch.func.grad_and_value(loss)(params, torch.ones(1, 2))
  net(torch.ones(1, 2)):pow(2):sum():backward()
  lu.assertEquals(grads.weight:tolist(), net.weight.grad:tolist())
  lu.assertEquals(grads.bias:tolist(), net.bias.grad:tolist())
  lu.assertFalse(grads.weight.requires_grad or value.requires_grad or params.weight.requires_grad)
  local nested = {torch.tensor{1, 2}, inner = nil}
  local deep = {list = {torch.tensor(2), torch.tensor(3)}, ordered = torch.nn.Linear(1, 1):state_dict()}
  local function of_both(a, b) return (a[1] * b.list[1] ^ 2):sum() + b.ordered.bias:sum() end
  local both = torch.func.grad(of_both, {argnums = {0, 1}})
  local first, second = unpack(both(nested, deep))
  lu.assertEquals({first[1]:tolist(), second.list[1]:item(), second.list[2]:item()}, {{4, 4}, 12, 0})
  lu.assertEquals({second.ordered.bias:item(), second.ordered.weight:item()}, {1, 0})
  local _, product = torch.func.vjp(function(p) return p.a * p.b end, {a = torch.tensor{1, 2}, b = torch.tensor{3, 4}})
  lu.assertEquals(product(torch.tensor{1, 10}).a:tolist(), {3, 40})
  lu.assertErrorMsgContains('expected a Tensor, or tables of Tensors, got 3 for argument 0.list[2]',
    torch.func.grad(function() return torch.tensor(1) end), {list = {torch.tensor(1), 3}})
end

local vmap = torch.func.vmap

function TestDerivatives:test_vmap_says_which_dimensions_do_not_fit()
  local x = torch.ones(3, 2)
  local function says(text, fn, ...) lu.assertErrorMsgContains(text, fn, ...) end
  says('in_dims is 2 for a tensor of 2 dimensions', vmap(torch.sin, {in_dims = 2}), x)
  says('in_dims is 0 for a tensor of 0 dimensions: torch.none means', vmap(torch.sin), torch.tensor(1))
  says('in_dims is 0 for an argument that is a number', vmap(torch.mul), x, 3)
  says('the mapped dimensions have sizes 3 and 2', vmap(torch.mul), x, x:t())
  says('no argument is mapped', vmap(torch.sin, {in_dims = torch.none}), x)
  says('in_dims has 1 entries, and the function was called with 2 arguments', vmap(torch.mul, {in_dims = {0}}), x, x)
  says("in_dims has no dimension for 'b'", vmap(function(p) return p.a end, {in_dims = {{a = 0}}}), {a = x, b = x})
  says('out_dims is torch.none for a result that depends on the batch', vmap(torch.sin, {out_dims = torch.none}), x)
  says('out_dims is 3, and the result has 2 dimensions', vmap(torch.sin, {out_dims = 3}), x)
  says('the function returns tensors, or tables of them; got number', vmap(function() return 1 end), x)
  says('the function returned nothing', vmap(function() end), x)
  says("expected a function, got number", vmap, 3)
  says("chunk_size is a number of samples, not 0", vmap, torch.sin, {chunk_size = 0})
  says('randomness', vmap, torch.sin, {randomness = 'all'})
  says('randomness', vmap(function(v) return v + torch.rand(2) end), x)
end

function TestDerivatives:test_an_error_within_leaves_no_layer_behind()
  local x = torch.tensor{1, 2}
  local function fails() error('here', 0) end
  for _, transformed in ipairs{vmap(fails), torch.func.grad(fails), torch.func.jacrev(fails), torch.func.jacfwd(fails),
                               vmap(torch.func.grad(function(v) return fails(v) end)),
                               function(v) return torch.func.jvp(fails, {v}, {v}) end} do
    lu.assertErrorMsgContains('here', transformed, x)
    lu.assertEquals(torch.func.grad(function(v) return (v * v):sum() end)(x):tolist(), {2, 4})
    lu.assertEquals(({torch.func.jvp(torch.mul, {x, x}, {x, x})})[2]:tolist(), {2, 8})
    lu.assertEquals((x + 1):tolist(), {2, 3})
  end
end

function TestDerivatives:test_vmap_under_backward()
  local w, x = leaf(1, 2), torch.arange(6):view(3, 2)
  vmap(function(row) return (row * w):sum() end)(x):sum():backward()
  lu.assertEquals(w.grad:tolist(), {6, 9})
end

function TestDerivatives:test_jvp_and_vjp_refuse_what_does_not_fit()
  local x = torch.tensor{1, 2}
  local func = torch.func
  lu.assertErrorMsgContains('1 primals and 2 tangents', func.jvp, torch.sin, {x}, {x, x})
  lu.assertErrorMsgContains('tangent 1 is', func.jvp, torch.sin, {x}, {torch.ones(3)})
  lu.assertErrorMsgContains('got 3 for tangents[1]', func.jvp, torch.sin, {x}, {3})
  lu.assertErrorMsgContains('got nil for the result of the function', func.jvp, function() end, {x}, {x})
  local _, product = func.vjp(function(a) return {a, a * 2} end, x)
  lu.assertEquals(product{x, x}:tolist(), {3, 6})
  lu.assertErrorMsgContains('1 tensors for a function of 2 results', product, x)
  lu.assertErrorMsgContains('floating-point', func.grad(torch.sum), torch.tensor({1}, {dtype = 'int64'}))
end

function TestDerivatives:test_models_that_cannot_be_stacked()
  local stack = torch.func.stack_module_state
  lu.assertErrorMsgContains('expected a list of modules', stack, nn.Linear(1, 1))
  lu.assertErrorMsgContains('module 2 differs', stack, {nn.Linear(1, 1), nn.ReLU()})
  local frozen = nn.Linear(1, 1)
  frozen.bias:requires_grad_(false)
  lu.assertErrorMsgContains("'bias' requires a gradient in some", stack, {nn.Linear(1, 1), frozen})
end

function TestDerivatives:test_is_grads_batched_needs_weights()
  local x = leaf(1, 2)
  lu.assertErrorMsgContains('is_grads_batched needs grad_outputs', torch.autograd.grad, x:sum(), x, {is_grads_batched = true})
  lu.assertEquals(torch.autograd.grad(x * 2, x, torch.ones(2), {is_grads_batched = false})[1]:tolist(), {2, 2})
end

function TestDerivatives:test_materialize_grads()
  local x, y = leaf(1), leaf(2)
  local grads = torch.autograd.grad(x * 2, {x, y}, {materialize_grads = true})
  lu.assertEquals({grads[1]:item(), grads[2]:item()}, {2, 0})
end

function TestDerivatives:test_unknown_names()
  lu.assertErrorMsgContains("did you mean 'gradcheck'", function() return torch.autograd.gradchek end)
  lu.assertErrorMsgContains('functional.jvp', function() return torch.autograd.forward_ad end)
  lu.assertErrorMsgContains('register_hook', function() return torch.autograd.graph.register_multi_grad_hook end)
  lu.assertFalse(torch.autograd.no_grad(function() return leaf(1) * 2 end).requires_grad)
end

os.exit(lu.LuaUnit.run(), true)

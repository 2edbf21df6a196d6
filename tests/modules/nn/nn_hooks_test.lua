-- Hooks of nn.Module: their order, options and handles, forward and backward.
local lu = require 'luaunit'
local torch = require 'torch'
local nn = torch.nn

local error_of = require('refusal').of_argument

TestHooks = {}

function TestHooks:test_order_and_handles()
  local layer, seen = nn.Identity(), {}
  local function note(text) return function() seen[#seen + 1] = text end end
  local first = layer:register_forward_hook(note 'after 1')
  layer:register_forward_hook(note 'after 0', {prepend = true})
  layer:register_forward_pre_hook(note 'before')
  layer(torch.ones(1))
  first:remove()
  first.remove()
  layer(torch.ones(1))
  lu.assertEquals(table.concat(seen, ', '), 'before, after 0, after 1, before, after 0')
end

function TestHooks:test_options()
  local layer, hook = nn.Identity(), function() end
  local function register(name, options)
    local ok, err = pcall(layer[name], layer, hook, options)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, options.with_kwargs and 'unsupported' or 'argument')
    return tostring(err)
  end
  lu.assertStrContains(register('register_forward_hook', {with_kwargs = true}), 'register_forward_hook: with_kwargs is not in '
    .. 'this version: a hook finds the table of keywords as the last of its inputs')
  lu.assertStrContains(register('register_forward_pre_hook', {with_kwargs = true}), 'with_kwargs is not in this version')
  lu.assertStrContains(register('register_forward_hook', {prepnd = true}),
    "register_forward_hook: unknown option 'prepnd': did you mean 'prepend'?")
  lu.assertStrContains(register('register_forward_pre_hook', {always_call = true}),
    "register_forward_pre_hook: unknown option 'always_call'")
  lu.assertStrContains(register('register_full_backward_hook', {prepent = true}),
    "register_full_backward_hook: unknown option 'prepent': did you mean 'prepend'?")
  lu.assertStrContains(register('register_full_backward_pre_hook', {x = 1}),
    "register_full_backward_pre_hook: unknown option 'x'")
  layer:register_forward_hook(hook, {with_kwargs = false, prepend = false})
  layer(torch.ones(1))
end

function TestHooks:test_a_hook_sees_the_keywords_behind_the_inputs()
  local Scale, seen = nn.Module:extend 'Scale', nil
  function Scale.forward(_, x, options) return x * options.by end
  local layer = Scale()
  layer:register_forward_hook(function(_, inputs) seen = inputs[#inputs].by end)
  lu.assertEquals(layer(torch.ones(1), {by = 3}):item(), 3)
  lu.assertEquals(seen, 3)
end

function TestHooks:test_always_called()
  local layer, called = nn.Identity(), 0
  function layer.forward() error('broken', 0) end
  layer:register_forward_hook(function(_, _, output)
    called = called + 1
    lu.assertNil(output)
  end, {always_call = true})
  local ok, err = pcall(layer, torch.ones(1))
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'broken')
  lu.assertEquals(called, 1)
end

function TestHooks:test_backward_hooks_see_and_replace()
  local layer, seen = nn.Linear(2, 1, {bias = false}), {}
  layer:register_full_backward_pre_hook(function(_, grad_output)
    seen[1] = grad_output[1]:item()
    return {grad_output[1] * 10}
  end)
  local handle = layer:register_full_backward_hook(function(_, grad_input, grad_output)
    seen[2], seen[3] = grad_input[1]:clone(), grad_output[1]:item()
    return {grad_input[1] * 0 + 5}
  end)
  local x = torch.ones(1, 2, {requires_grad = true})
  layer(x):backward()
  lu.assertEquals({seen[1], seen[3]}, {1, 10})
  lu.assertTrue(torch.allclose(seen[2], layer.weight:detach() * 10))
  lu.assertEquals(x.grad:tolist(), {{5, 5}})
  lu.assertEquals(layer.weight.grad:tolist(), {{10, 10}})
  handle:remove()
  x.grad = nil
  layer(x):backward()
  lu.assertTrue(torch.allclose(x.grad, layer.weight:detach() * 10))
end

function TestHooks:test_backward_hook_without_an_input_that_needs_a_gradient()
  local layer, seen = nn.Linear(2, 1), nil
  layer:register_full_backward_hook(function(_, grad_input, grad_output)
    seen = {grad_input[1] == torch.none, grad_output[1]:item()}
  end)
  layer(torch.ones(1, 2)):backward()
  lu.assertEquals(seen, {true, 1})
  lu.assertStrContains(error_of(function()
    local again = nn.Linear(2, 1)
    again:register_full_backward_hook(function() return {torch.ones(1), torch.ones(1)} end)
    again(torch.ones(1, 2, {requires_grad = true})):backward()
  end), 'returned 2 gradients of the inputs, expected 1')
end

os.exit(lu.LuaUnit.run(), true)

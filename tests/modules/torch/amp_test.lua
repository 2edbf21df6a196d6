-- Autocast and GradScaler. tests/oracle compares their values with PyTorch's.
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'

local message_of = require('refusal').message_of

TestAutocast = {}

function TestAutocast:test_results_pass_through_and_the_mode_ends()
  local a, b = torch.autocast('cpu', function() return torch.is_autocast_enabled('cpu'), torch.get_autocast_dtype('cpu') end)
  lu.assertEquals({a, b}, {true, 'bfloat16'})
  lu.assertFalse(torch.is_autocast_enabled('cpu'))
end

function TestAutocast:test_nesting()
  local x = torch.ones(2, 2)
  torch.amp.autocast('cpu', 'float16', function()
    lu.assertEquals(x:mm(x).dtype, 'float16')
    torch.autocast('cpu', {enabled = false}, function() lu.assertEquals(x:mm(x).dtype, 'float32') end)
    lu.assertEquals(x:mm(x).dtype, 'float16')
  end)
end

function TestAutocast:test_error_ends_the_mode()
  lu.assertStrContains(message_of(torch.autocast, 'cpu', function()
    torch.autocast('cpu', {dtype = 'float16', cache_enabled = false}, function() error('inside') end)
  end), 'inside')
  lu.assertFalse(torch.is_autocast_enabled('cpu'))
  lu.assertEquals(torch.get_autocast_dtype('cpu'), 'bfloat16')
  lu.assertTrue(torch.is_autocast_cache_enabled())
end

-- Autocast caches a weight's cast within one context; after the weight has changed, the next context casts it again.
function TestAutocast:test_casts_of_weights_are_forgotten()
  local layer = torch.nn.Linear(1, 1, {bias = false})
  local x = torch.ones(1, 1)
  for value = 1, 2 do
    torch.nn.init.constant_(layer.weight, value)
    lu.assertEquals(torch.autocast('cpu', function() return layer(x):item() end), value)
  end
end

function TestAutocast:test_gradients_are_those_of_the_parameters()
  local layer = torch.nn.Linear(3, 2)
  local loss = torch.autocast('cpu', function()
    return torch.nn.functional.mse_loss(layer(torch.ones(4, 3)), torch.zeros(4, 2))
  end)
  lu.assertEquals(loss.dtype, 'float32')
  loss:backward()
  lu.assertEquals(layer.weight.grad.dtype, 'float32')
end

function TestAutocast:test_refuses_what_is_wrong()
  lu.assertStrContains(message_of(torch.autocast, 'cpu'), 'the last argument is the function to run')
  lu.assertStrContains(message_of(torch.autocast, 'cpu:0', print), "unsupported device_type 'cpu:0'")
  lu.assertStrContains(message_of(torch.autocast, print), "missing argument 'device_type'")
  lu.assertStrContains(message_of(torch.autocast, 'cpu', {dtype = 5}, print), 'dtype is a dtype, got 5')
  lu.assertStrContains(message_of(torch.set_autocast_enabled, 'cpu', 1), 'expected true or false')
  lu.assertStrContains(message_of(torch.autocast, 'cpu', {dtipe = 'float16'}, print), "did you mean 'dtype'?")
end

function TestAutocast:test_custom_functions()
  local seen = {}
  local Probe = torch.autograd.Function:extend('Probe')
  Probe.forward = torch.amp.custom_fwd(function(_, x)
    seen.forward = {x.dtype, torch.is_autocast_enabled('cpu')}
    return x * 2
  end, {device_type = 'cpu', cast_inputs = 'float32'})
  Probe.backward = torch.amp.custom_bwd(function(_, grad)
    seen.backward = torch.is_autocast_enabled('cpu')
    return grad * 2
  end, {device_type = 'cpu'})
  local x = torch.ones(2, {requires_grad = true})
  torch.autocast('cpu', function() return Probe.apply(x:to('bfloat16')) end):sum():backward()
  lu.assertEquals(seen, {forward = {'float32', false}, backward = false})
end

TestGradScaler = {}

local function make(options, lr)
  local x = torch.ones(2, {requires_grad = true})
  local optimizer = torch.optim.SGD({x}, {lr = lr or 0.5})
  return x, optimizer, torch.amp.GradScaler('cpu', options or {init_scale = 4, growth_interval = 2})
end

local function backward(scaler, x, factor) scaler:scale((x * (factor or 1)):sum()):backward() end

function TestGradScaler:test_scale_grows_and_shrinks()
  local x, optimizer, scaler = make()
  local scales = {}
  for i, factor in ipairs{1, 1, math.huge, 1} do
    optimizer:zero_grad()
    backward(scaler, x, factor)
    scaler:step(optimizer)
    scaler:update()
    scales[i] = scaler:get_scale()
  end
  lu.assertEquals(scales, {4, 8, 4, 4})
  lu.assertEquals(x:tolist(), {-0.5, -0.5})
end

function TestGradScaler:test_unscale_gives_the_gradients()
  local x, optimizer, scaler = make()
  backward(scaler, x, 3)
  lu.assertEquals(x.grad:tolist(), {12, 12})
  scaler:unscale_(optimizer)
  lu.assertEquals(x.grad:tolist(), {3, 3})
  scaler:step(optimizer)
  lu.assertEquals(x:tolist(), {-0.5, -0.5})
end

function TestGradScaler:test_order_of_calls()
  local x, optimizer, scaler = make()
  lu.assertStrContains(message_of(scaler.step, scaler, optimizer), 'step came before scale(loss)')
  backward(scaler, x)
  lu.assertStrContains(message_of(scaler.update, scaler), 'no infinity checks were recorded')
  scaler:unscale_(optimizer)
  lu.assertStrContains(message_of(scaler.unscale_, scaler, optimizer), 'has already been called')
  lu.assertStrContains(message_of(scaler.step, scaler, optimizer, function() end), 'a closure is not supported')
  scaler:step(optimizer)
  lu.assertStrContains(message_of(scaler.step, scaler, optimizer), 'step() has already been called')
  lu.assertStrContains(message_of(scaler.unscale_, scaler, optimizer), 'is being called after step()')
  scaler:update()
  optimizer:zero_grad()
  lu.assertStrContains(message_of(scaler.step, scaler, optimizer), 'no gradient of this optimizer')
end

function TestGradScaler:test_fused_optimizer_unscales_itself()
  for _, name in ipairs{'SGD', 'Adam', 'AdamW'} do
    local results = {}
    for i, fused in ipairs{true, false} do
      local x = torch.ones(2, {requires_grad = true})
      local optimizer = torch.optim[name]({x}, {lr = 0.1, fused = fused})
      local scaler = torch.amp.GradScaler('cpu', {init_scale = 4})
      for _, factor in ipairs{1, math.huge, 2} do
        optimizer:zero_grad()
        backward(scaler, x, factor)
        scaler:step(optimizer)
        scaler:update()
      end
      local step = optimizer.state[x].step
      results[i] = {x:tolist(), scaler:get_scale(), step and step:item()}
    end
    lu.assertEquals(results[1], results[2], name)
  end
end

function TestGradScaler:test_several_losses_and_optimizers()
  local x, first, scaler = make()
  local y = torch.ones(1, {requires_grad = true})
  local second = torch.optim.SGD({y}, {lr = 1})
  local scaled = scaler:scale{x:sum(), (y * math.huge):sum()}
  scaled[1]:backward()
  scaled[2]:backward()
  scaler:step(first)
  scaler:step(second)
  scaler:update()
  lu.assertEquals({x:tolist(), y:item(), scaler:get_scale()}, {{0.5, 0.5}, 1, 2})
end

function TestGradScaler:test_disabled()
  local x, optimizer, scaler = make({enabled = false})
  backward(scaler, x)
  scaler:unscale_(optimizer)
  lu.assertEquals(scaler:step(optimizer, function() return 5 end), 5)
  scaler:update()
  lu.assertEquals({scaler:get_scale(), x:tolist()}, {1, {0.5, 0.5}})
  lu.assertEquals(ordered.keys(scaler:state_dict()), {})
end

function TestGradScaler:test_state_dict()
  local x, optimizer, scaler = make()
  backward(scaler, x)
  scaler:step(optimizer)
  scaler:update()
  local state = scaler:state_dict()
  lu.assertEquals(ordered.keys(state), {'scale', 'growth_factor', 'backoff_factor', 'growth_interval', '_growth_tracker'})
  lu.assertEquals({state.scale, state._growth_tracker}, {4, 1})
  local other = torch.amp.GradScaler('cpu')
  other:load_state_dict(state)
  lu.assertEquals(other:get_scale(), 4)
  optimizer:zero_grad()
  backward(other, x)
  other:step(optimizer)
  other:update()
  lu.assertEquals(other:get_scale(), 8)
  lu.assertStrContains(message_of(other.load_state_dict, other, {}), 'the state dict is empty')
end

function TestGradScaler:test_refuses_what_is_wrong()
  lu.assertStrContains(message_of(torch.amp.GradScaler, 'cpu', {growth_factor = 1}), 'must be > 1')
  lu.assertStrContains(message_of(torch.amp.GradScaler, 'cpu', {backoff_factor = 1}), 'must be < 1')
  lu.assertStrContains(message_of(torch.amp.GradScaler, 'cpo'), "did you mean 'cpu'?")
end

os.exit(lu.LuaUnit.run(), true)

-- torch.compile: calls without gradients that run as plans equal the model's own calls, bit by bit.
local lu = require 'luaunit'
local torch = require 'torch'

local message_of = require('refusal').message_of
local nn, F = torch.nn, torch.nn.functional

local function bits(tensor) return table.concat(tensor:detach():reshape(-1):double():tolist(), ' ') end

local function quietly(mode, fn, ...)
  local results
  local arguments = {...}
  mode(function() results = {fn(unpack(arguments))} end)
  return unpack(results)
end

local function transformer()
  return nn.Sequential(nn.Linear(5, 8), nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16,
    batch_first = true, activation = 'gelu'}), 2), nn.Linear(8, 3))
end

local MODELS = {
  mlp = {function() return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3)) end, {8, 6}},
  convnet = {function()
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
      nn.Linear(36, 3))
  end, {4, 1, 8, 8}},
  transformer = {transformer, {2, 6, 5}},
  lstm = {function() return nn.LSTM(5, 7, {num_layers = 2, batch_first = true}) end, {2, 6, 5}},
}

TestModels = {}

-- Calls the model and the compiled one with the same random numbers.
local function compare(model, fast, mode, size)
  local x = torch.randn(size)
  local state = torch.get_rng_state()
  local expected = quietly(mode, model, x)
  local after = torch.get_rng_state()
  torch.set_rng_state(state)
  local got = quietly(mode, fast, x)
  lu.assertEquals(bits(got), bits(expected))
  lu.assertFalse(got.requires_grad)
  lu.assertTrue(torch.equal(torch.get_rng_state(), after))
  return got
end

function TestModels:test_gradients_of_a_training_step_stay()
  local model = nn.Linear(6, 3)
  model(torch.randn(4, 6)):sum():backward()
  local before = bits(model.weight.grad)
  local fast = torch.compile(model)
  for _ = 1, 5 do compare(model, fast, torch.no_grad, {4, 6}) end
  lu.assertStrContains(fast:explain(), 'torch.compile(compiled)')
  lu.assertEquals(bits(model.weight.grad), before)
end

function TestModels:test_calls_without_gradients()
  for _, name in ipairs{'mlp', 'convnet', 'transformer', 'lstm'} do
    for _, mode in ipairs{torch.no_grad, torch.inference_mode} do
      torch.manual_seed(5)
      local make, size = unpack(MODELS[name])
      local model = make():eval()
      local fast = torch.compile(model)
      for _ = 1, 6 do compare(model, fast, mode, size) end
      lu.assertStrContains(fast:explain(), 'torch.compile(compiled)', false, name)
      lu.assertStrContains(fast:explain(), 'plan 1')
    end
  end
end

function TestModels:test_training_mode_has_its_own_plan()
  local model = MODELS.convnet[1]()
  local fast = torch.compile(model)
  for i = 1, 12 do
    fast:train(i % 2 == 0)
    lu.assertEquals(model.training, i % 2 == 0)
    compare(model, fast, torch.no_grad, MODELS.convnet[2])
  end
  lu.assertStrContains(fast:explain(), 'plan 2')
end

function TestModels:test_other_sizes_and_modes_have_plans_of_their_own()
  local model = MODELS.mlp[1]():eval()
  local fast = torch.compile(model)
  for i = 1, 16 do
    compare(model, fast, i % 2 == 0 and torch.no_grad or torch.inference_mode, {i % 4 < 2 and 8 or 3, 6})
  end
  lu.assertStrContains(fast:explain(), 'plan 4')
end

function TestModels:test_parameters_may_change_between_calls()
  local model = MODELS.mlp[1]():eval()
  local fast = torch.compile(model)
  for i = 1, 8 do
    compare(model, fast, torch.no_grad, MODELS.mlp[2])
    if i == 5 then fast:load_state_dict(torch.compile(MODELS.mlp[1]()):state_dict()) end
    torch.no_grad(function() model[1].weight:mul_(1.5) end)
  end
  lu.assertNotStrContains(fast:explain(), 'plan 2')
  model:double()
  torch.no_grad(function()
    local x = torch.randn({8, 6}, {dtype = torch.float64})
    lu.assertEquals(bits(fast(x)), bits(model(x)))
  end)
end

function TestModels:test_gradients_are_those_of_the_model()
  local model = MODELS.mlp[1]()
  local fast = torch.compile(model)
  for _ = 1, 5 do compare(model, fast, torch.no_grad, MODELS.mlp[2]) end
  local x = torch.randn(8, 6)
  fast(x):sum():backward()
  local grad = model[1].weight.grad:clone()
  model:zero_grad()
  model(x):sum():backward()
  lu.assertEquals(bits(grad), bits(model[1].weight.grad))
  lu.assertStrContains(fast:explain(), 'torch.compile(compiled)')
end

function TestModels:test_hooks_that_come_and_go_are_noticed()
  local model = MODELS.mlp[1]():eval()
  local fast = torch.compile(model)
  local handle
  for i = 1, 16 do
    if i == 6 then handle = model[2]:register_forward_hook(function(_, _, output) return output * 2 end) end
    if i == 11 then handle.remove() end
    compare(model, fast, torch.no_grad, MODELS.mlp[2])
  end
  lu.assertStrContains(fast:explain(), 'plan 2')
end

function TestModels:test_the_wrapper_is_a_module()
  local Net = nn.Module:extend 'Net'
  function Net:init()
    self.layer = nn.Linear(2, 3)
    self.size = 7
  end
  function Net:forward(x) return self.layer(x) end
  function Net:doubled() return self.size * 2 end
  local fast = torch.compile(Net())
  lu.assertEquals(require('base.ordered').keys_of(fast:state_dict()), {'_orig_mod.layer.weight', '_orig_mod.layer.bias'})
  lu.assertEquals(#fast:parameters(), 2)
  lu.assertEquals(fast.size, 7)
  lu.assertEquals(fast:doubled(), 14)
  lu.assertIs(fast._orig_mod.layer, fast.layer)
  lu.assertNil(fast.absent)
  lu.assertStrContains(tostring(fast), 'OptimizedModule')
end

TestFunctions = {}

function TestFunctions:test_a_function()
  local weight = torch.randn(4, 4, {requires_grad = true})
  local calls = setmetatable({count = 0}, {})  -- no variable that a plan compares
  local function fn(x, options)
    calls.count = calls.count + 1
    return {out = F.relu(x:matmul(weight)) * options.factor, same = x}
  end
  local fast = torch.compile(fn)
  torch.no_grad(function()
    for _ = 1, 8 do
      local x = torch.randn(3, 4)
      local out = fast(x, {factor = 3})
      lu.assertEquals(bits(out.out), bits(fn(x, {factor = 3}).out))
      lu.assertEquals(bits(out.same), bits(x))
    end
  end)
  lu.assertEquals(fast.state, 'compiled')
  lu.assertEquals(calls.count, 8 + 3)
end

function TestFunctions:test_what_reads_numbers_stays_eager()
  local fast = torch.compile(function(x) return x:sum():item() > 0 and x + 1 or x - 1 end)
  torch.no_grad(function()
    for _ = 1, 4 do fast(torch.ones(2)) end
  end)
  lu.assertEquals(fast.state, 'eager')
  lu.assertStrContains(fast.reason, 'reads a number out of a tensor')
  local strict = torch.compile(function(x) return x + x:sum():item() end, {fullgraph = true})
  local message
  torch.no_grad(function()
    strict(torch.ones(2))
    message = message_of(strict, torch.ones(2))
  end)
  lu.assertStrContains(message, 'torch.compile: fullgraph = true, but it reads a number')
end

function TestFunctions:test_inside_of_a_recorded_step()
  local train = require 'rtrain'
  local teacher = torch.compile(nn.Linear(3, 2))
  local step = train.compile(function(x)
    return torch.no_grad(function() return teacher(x) end) * 2
  end)
  for _ = 1, 6 do
    local x = torch.randn(4, 3)
    lu.assertEquals(bits(step(x)), bits(teacher._orig_mod(x) * 2))
  end
  lu.assertEquals(step.state, 'compiled', step.reason)
end

function TestFunctions:test_options()
  local layer = nn.Linear(2, 2)
  lu.assertIs(torch.compile(layer, {disable = true}), layer)
  lu.assertIs(torch.compile(layer, {backend = 'eager'}), layer)
  lu.assertStrContains(message_of(torch.compile, 3), 'torch.compile: expected a model or a function, got 3')
  lu.assertStrContains(message_of(torch.compile, layer, {mode = 'fast'}), 'torch.compile: mode')
  lu.assertStrContains(message_of(torch.compile, layer, {options = {}}), 'here is none')
  lu.assertStrContains(message_of(torch.compile, layer, {fullgraf = true}), 'fullgraph')
end

os.exit(lu.LuaUnit.run())

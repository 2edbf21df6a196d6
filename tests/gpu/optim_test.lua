-- Optimizers on a GPU reach the same parameters as on the CPU, with each of their kernels.
local lu = require 'luaunit'
local torch = require 'torch'
local optim = torch.optim

local MAKERS = {
  SGD = {lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.01}, Adam = {lr = 0.01},
  AdamW = {lr = 0.01, amsgrad = true},
  Adagrad = {lr = 0.1, lr_decay = 0.1}, Adadelta = {lr = 0.5, weight_decay = 0.1}, Adamax = {lr = 0.01}, NAdam = {lr = 0.01},
  RAdam = {lr = 0.01}, RMSprop = {lr = 0.01, centered = true, momentum = 0.5}, Rprop = {lr = 0.01}, ASGD = {lr = 0.01, t0 = 1},
}

-- Small parameters, which are gathered, large ones, which are not, and a transposed one.
local SHAPES = {{3}, {}, {2, 5}, {40000}, {1100, 1000}, {7}}

local function parameters(device, dtype)
  torch.manual_seed(1)
  local list = {}
  for i, shape in ipairs(SHAPES) do list[i] = torch.randn(shape):to(dtype):to(device) end
  list[#list + 1] = torch.randn(6, 4):to(dtype):to(device).T
  for _, param in ipairs(list) do param.requires_grad = true end
  return list
end

local function trained(name, options, device, dtype)
  local params = parameters(device, dtype)
  local optimizer = optim[name](params, options)
  for step = 1, 3 do
    torch.manual_seed(100 + step)
    for _, param in ipairs(params) do param.grad = torch.randn(param:size()):to(dtype):to(device) end
    optimizer:step()
  end
  return params
end

local function assert_same(name, options, dtype, tolerance)
  local expected = trained(name, options, 'cpu', dtype)
  for i, param in ipairs(trained(name, options, 'cuda', dtype)) do
    lu.assertTrue(torch.allclose(param:cpu(), expected[i], {rtol = tolerance, atol = tolerance}),
      ('%s, parameter %d, %s'):format(name, i, dtype))
  end
end

local function with(options, name)
  local out = {[name] = true}
  for key, value in pairs(options) do out[key] = value end
  return out
end

TestOptimizers = {}

function TestOptimizers:test_the_gpu_ends_where_the_cpu_does()
  for name, options in pairs(MAKERS) do
    assert_same(name, options, 'float32', 1e-4)
    assert_same(name, options, 'float64', 1e-9)
  end
end

function TestOptimizers:test_fused_and_capturable()
  for _, name in ipairs{'SGD', 'Adam', 'AdamW', 'Adagrad'} do
    assert_same(name, with(MAKERS[name], 'fused'), 'float32', 1e-4)
  end
  for _, name in ipairs{'Adam', 'AdamW', 'Adadelta', 'Adamax', 'RMSprop', 'Rprop'} do
    assert_same(name, with(MAKERS[name], 'capturable'), 'float32', 1e-4)
  end
end

function TestOptimizers:test_muon()
  local function run(device)
    torch.manual_seed(1)
    local weight = torch.randn(16, 32):to(device)
    weight.requires_grad = true
    local optimizer = optim.Muon({weight}, {lr = 0.02})
    weight.grad = torch.randn(16, 32):to(device)
    optimizer:step()
    return weight:cpu()
  end
  lu.assertTrue(torch.allclose(run 'cuda', run 'cpu', {atol = 2e-3}))
end

function TestOptimizers:test_state_moves_with_a_checkpoint()
  local params = parameters('cuda', 'float32')
  local optimizer = optim.AdamW(params, {lr = 0.01})
  for _, param in ipairs(params) do param.grad = torch.ones_like(param) end
  optimizer:step()
  local path = os.tmpname()
  torch.save(optimizer:state_dict(), path)
  local restored = optim.AdamW(parameters('cuda', 'float32'), {lr = 0.5})
  restored:load_state_dict(torch.load(path, 'cpu'))
  os.remove(path)
  lu.assertEquals(restored.param_groups[1].lr, 0.01)
  local state = restored.state[restored.param_groups[1].params[1]]
  lu.assertEquals(tostring(state.exp_avg.device), 'cuda:0')
  lu.assertTrue(torch.equal(state.exp_avg, optimizer.state[params[1]].exp_avg))
end

os.exit(lu.LuaUnit.run(), true)

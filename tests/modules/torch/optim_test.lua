-- Optimizers compared with their formulas in plain numbers, and their state dictionaries.
local class = require 'base.class'
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'
local optim = torch.optim

local message_of = require('refusal').message_of

-- A parameter with one number, whose loss has the gradient g(x) = 2x - 3.
local function parameter(value) return torch.tensor({value}, {dtype = 'float64', requires_grad = true}) end

local function gradient(x) return 2 * x - 3 end

local function run(make, steps)
  local x = parameter(1)
  local optimizer = make{x}
  for _ = 1, steps do
    optimizer:zero_grad()
    torch.sum((x - 3) * x):backward()
    optimizer:step()
  end
  return x:item(), optimizer, x
end

-- Applies update(x, g, state, t) to plain numbers; returns the expected values.
local function expected(update, steps)
  local x, state = 1, {}
  for t = 1, steps do x = update(x, gradient(x), state, t) end
  return x
end

local function assert_follows(make, update)
  lu.assertAlmostEquals((run(make, 5)), expected(update, 5), 1e-6)
end

TestFormulas = {}

function TestFormulas:test_sgd()
  assert_follows(function(p) return optim.SGD(p, {lr = 0.1}) end, function(x, g) return x - 0.1 * g end)
  assert_follows(function(p) return optim.SGD(p, {lr = 0.1, weight_decay = 0.5, maximize = true}) end,
    function(x, g) return x - 0.1 * (-g + 0.5 * x) end)
end

function TestFormulas:test_sgd_momentum_dampening_nesterov()
  assert_follows(function(p) return optim.SGD(p, {lr = 0.1, momentum = 0.9, dampening = 0.2}) end, function(x, g, s)
    s.b = s.b and 0.9 * s.b + 0.8 * g or g
    return x - 0.1 * s.b
  end)
  assert_follows(function(p) return optim.SGD(p, {lr = 0.1, momentum = 0.9, nesterov = true}) end, function(x, g, s)
    s.b = s.b and 0.9 * s.b + g or g
    return x - 0.1 * (g + 0.9 * s.b)
  end)
end

local function adam(weight_decay, decoupled, amsgrad)
  return function(x, g, s, t)
    if decoupled then x = x * (1 - 0.1 * weight_decay) else g = g + weight_decay * x end
    s.m, s.v = 0.9 * (s.m or 0) + 0.1 * g, 0.999 * (s.v or 0) + 0.001 * g * g
    s.largest = math.max(s.largest or 0, s.v)
    local v = amsgrad and s.largest or s.v
    local step = s.m / (1 - 0.9 ^ t) / (math.sqrt(v) / math.sqrt(1 - 0.999 ^ t) + 1e-8)
    return x - 0.1 * step
  end
end

function TestFormulas:test_adam_and_adamw()
  assert_follows(function(p) return optim.Adam(p, {lr = 0.1, weight_decay = 0.3}) end, adam(0.3, false, false))
  assert_follows(function(p) return optim.Adam(p, {lr = 0.1, amsgrad = true}) end, adam(0, false, true))
  assert_follows(function(p) return optim.AdamW(p, {lr = 0.1}) end, adam(0.01, true, false))
end

function TestFormulas:test_adadelta()
  assert_follows(function(p) return optim.Adadelta(p, {lr = 1, weight_decay = 0.1}) end, function(x, g, s)
    g = g + 0.1 * x
    s.square = 0.9 * (s.square or 0) + 0.1 * g * g
    local delta = math.sqrt((s.delta or 0) + 1e-6) / math.sqrt(s.square + 1e-6) * g
    s.delta = 0.9 * (s.delta or 0) + 0.1 * delta * delta
    return x - delta
  end)
end

function TestFormulas:test_adagrad()
  assert_follows(function(p) return optim.Adagrad(p, {lr = 0.1, lr_decay = 0.01, initial_accumulator_value = 0.5}) end,
    function(x, g, s, t)
      s.sum = (s.sum or 0.5) + g * g
      return x - 0.1 / (1 + (t - 1) * 0.01) * g / (math.sqrt(s.sum) + 1e-10)
    end)
end

TestOptimizer = {}

function TestOptimizer:test_groups_have_their_own_options()
  local a, b = parameter(1), parameter(1)
  local optimizer = optim.SGD({{params = {a}}, {params = {b}, lr = 0.01}}, {lr = 0.1})
  torch.sum(a * 2 + b * 2):backward()
  optimizer:step()
  lu.assertAlmostEquals(a:item(), 0.8, 1e-12)
  lu.assertAlmostEquals(b:item(), 0.98, 1e-12)
  optimizer:add_param_group{params = {parameter(1)}, momentum = 0.5}
  lu.assertEquals(optimizer.param_groups[3].momentum, 0.5)
end

function TestOptimizer:test_a_group_changes_its_own_betas()
  local function made() return torch.optim.Adam({torch.ones({1}, {requires_grad = true})}) end
  local first = made()
  first:add_param_group {params = {torch.ones({1}, {requires_grad = true})}}
  first.param_groups[1].betas[1] = 0.5
  lu.assertEquals(first.param_groups[1].betas, {0.5, 0.999})
  lu.assertEquals(first.param_groups[2].betas, {0.9, 0.999})
  lu.assertEquals(made().param_groups[1].betas, {0.9, 0.999})
end

function TestOptimizer:test_parameters_without_gradient_stay()
  local a, b = parameter(1), parameter(1)
  local optimizer = optim.SGD({a, b}, {lr = 1, momentum = 0.9, weight_decay = 1})
  torch.sum(a):backward()
  optimizer:step()
  lu.assertEquals(b:item(), 1)
  torch.sum(b):backward()
  optimizer:step()
  lu.assertEquals(b:item(), -1)
end

function TestOptimizer:test_closure_and_no_recording()
  local x = parameter(1)
  local optimizer = optim.SGD({x}, {lr = 0.1})
  local loss = optimizer:step(function()
    optimizer:zero_grad()
    local value = torch.sum(x * x)
    value:backward()
    return value
  end)
  lu.assertEquals(loss:item(), 1)
  lu.assertTrue(x.is_leaf and x.requires_grad)
end

function TestOptimizer:test_mixed_dtypes()
  local a = torch.ones(1, {requires_grad = true})
  local b = parameter(1)
  local optimizer = optim.AdamW({a, b}, {lr = 0.1})
  torch.sum(a * 1 + b):backward()
  optimizer:step()
  lu.assertAlmostEquals(a:item(), b:item(), 1e-6)
end

function TestOptimizer:test_a_nil_among_the_parameters_is_an_error()
  local with_nil = {parameter(1)}
  with_nil[3] = parameter(1)
  for _, list in ipairs{with_nil, {parameter(1), nil, parameter(1)}} do
    lu.assertStrContains(message_of(optim.SGD, list, {lr = 1}), 'SGD: item 2 of the list is nil')
    lu.assertStrContains(message_of(optim.SGD, {{params = list}}, {lr = 1}), 'SGD: item 2 of the list is nil')
  end
  lu.assertStrContains(message_of(optim.SGD, {params = {parameter(1)}}, {lr = 1}),
    "SGD: expected a list, got a table with a field 'params'")
  local list = torch.nn.ParameterList{torch.ones(1)}
  lu.assertEquals(#optim.SGD({{params = list}}, {lr = 1}).param_groups[1].params, 1)
end

function TestOptimizer:test_refuses_what_is_wrong()
  local x = parameter(1)
  lu.assertStrContains(message_of(optim.SGD, {x}, {momentun = 1}), "did you mean 'momentum'?")
  lu.assertStrContains(message_of(optim.SGD, {x}, {lr = -1}), 'invalid learning rate: -1')
  lu.assertStrContains(message_of(optim.SGD, {x}, {lr = 1, nesterov = true}), 'Nesterov momentum requires')
  lu.assertStrContains(message_of(optim.SGD, {}, {lr = 1}), 'empty parameter list')
  lu.assertStrContains(message_of(optim.SGD, x, {lr = 1}), 'pass model:parameters()')
  lu.assertStrContains(message_of(optim.SGD, {x, x}, {lr = 1}), 'more than once')
  lu.assertStrContains(message_of(optim.SGD, {x * 2}, {lr = 1}), 'non-leaf')
  lu.assertStrContains(message_of(optim.Adam, {x}, {betas = {0.9, 1}}), 'invalid beta parameter at index 1')
  lu.assertStrContains(message_of(function() return optim.Adan end), "did you mean 'Adam'?")
  lu.assertStrContains(message_of(optim.Adam, {x}, {fused = true, foreach = true}), 'fused and foreach cannot be true')
  lu.assertStrContains(message_of(optim.RAdam, {x}, {capturable = true}), 'no CUDA graph holds its steps')
  local elsewhere = torch.zeros({2}, {device = 'meta'})
  lu.assertStrContains(message_of(optim.Adam, {elsewhere}, {fused = true}), 'parameter 1 is float32 on meta')
  lu.assertStrContains(message_of(optim.Adam, {x}, {lr = torch.ones(2)}), 'a Tensor lr has 1 element, not 2')
  lu.assertStrContains(message_of(optim.SGD, {x}, {lr = torch.tensor(-1)}), 'learning rate')
  lu.assertStrContains(message_of(optim.Adam, {x}, {eps = torch.tensor(1)}), 'eps is a number, not a Tensor')
  lu.assertStrContains(message_of(optim.AdamW, {x}, {decoupled_weight_decay = false}), "'decoupled_weight_decay'")
  lu.assertStrContains(message_of(optim.Rprop, {x}, {etas = {1.1, 1.2}}), 'invalid eta values: (1.1, 1.2)')
  lu.assertStrContains(message_of(optim.Muon, {x}), 'only supports 2D parameters')
  lu.assertStrContains(message_of(optim.LBFGS, {x}, {line_search_fn = 'wolfe'}), "only 'strong_wolfe'")
  lu.assertStrContains(message_of(function() optim.LBFGS({x}):step() end), 'needs a closure')
  local group = {{params = {x}, momentum = -1}}
  lu.assertStrContains(message_of(optim.SGD, group), 'invalid momentum value: -1')
end

function TestOptimizer:test_options_in_pythons_order()
  local optimizer = optim.RMSprop({parameter(1)}, 0.1, 0.9, 1e-3, 0.2, 0.3, true)
  local group = optimizer.param_groups[1]
  lu.assertEquals({group.lr, group.alpha, group.eps, group.weight_decay, group.momentum, group.centered},
    {0.1, 0.9, 1e-3, 0.2, 0.3, true})
end

function TestOptimizer:test_named_parameters()
  local layer = torch.nn.Linear(2, 1)
  local optimizer = optim.Adam(layer:named_parameters())
  lu.assertEquals(optimizer.param_groups[1].param_names, {'weight', 'bias'})
  lu.assertEquals(optimizer:state_dict().param_groups[1].param_names, {'weight', 'bias'})
  lu.assertStrContains(message_of(optimizer.add_param_group, optimizer, {params = {parameter(1)}}), 'have names')
end

function TestOptimizer:test_printing_is_pythons()
  local text = tostring(optim.SGD({parameter(1)}, {lr = 0.5}))
  lu.assertEquals(text, [[SGD (
Parameter Group 0
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.5
    maximize: False
    momentum: 0
    nesterov: False
    weight_decay: 0
)]])
end

function TestOptimizer:test_hooks()
  local x, calls = parameter(1), {}
  local optimizer = optim.SGD({x}, {lr = 1})
  optimizer:register_step_pre_hook(function(_, given) calls[#calls + 1] = given[1] and 'closure' or 'pre' end)
  local handle = optimizer:register_step_post_hook(function() calls[#calls + 1] = 'post' end)
  optimizer:step()
  handle.remove()
  optimizer:step(function() return 7 end)
  lu.assertEquals(calls, {'pre', 'post', 'closure'})
  optimizer:register_state_dict_post_hook(function(_, state) state.extra = 5 end)
  optimizer:register_state_dict_post_hook(function(_, state) state.extra = 6 end, {prepend = true})
  lu.assertEquals(optimizer:state_dict().extra, 5)
  optimizer:register_load_state_dict_pre_hook(function(_, state)
    state.param_groups[1].lr = 3
    return state
  end)
  optimizer:load_state_dict(optimizer:state_dict())
  lu.assertEquals(optimizer.param_groups[1].lr, 3)
end

function TestOptimizer:test_an_optimizer_of_ones_own()
  local Mine = optim.Optimizer:extend('Mine')
  function Mine:init(params, options) optim.Optimizer.init(self, params, {lr = 1, scale = options.scale}) end
  function Mine:step(closure)
    for _, group in ipairs(self.param_groups) do self.seen = (self.seen or 0) + group.scale end
    return closure and closure()
  end
  local optimizer, calls = Mine({{params = {parameter(1)}}, {params = {parameter(2)}, scale = 5}}, {scale = 2}), {}
  optimizer:register_step_pre_hook(function() calls[#calls + 1] = 'pre' end)
  optimizer:register_step_post_hook(function() calls[#calls + 1] = 'post' end)
  lu.assertEquals(optimizer:step(function() return 3 end), 3)
  lu.assertEquals({optimizer.seen, calls}, {7, {'pre', 'post'}})
  lu.assertEquals(ordered.keys(optimizer:state_dict().param_groups[2]), {'lr', 'scale', 'params'})
  optimizer:load_state_dict(optimizer:state_dict())
  lu.assertStrContains(message_of(optimizer.add_param_group, optimizer, {params = {parameter(1)}, skale = 1}),
    "did you mean 'scale'?")
end

-- In Python state is a defaultdict: a step begins with state = self.state[p], and if len(state) == 0.
function TestOptimizer:test_an_optimizer_of_ones_own_with_state()
  local Mine = optim.Optimizer:extend('Mine')
  function Mine:init(params, wraps) optim.Optimizer.init(self, params, {lr = 1}) self.wraps = wraps end
  function Mine:step()
    self.state.global_step = {count = (self.state.global_step.count or 0) + 1}
    for _, group in ipairs(self.param_groups) do
      for _, param in ipairs(group.params) do
        if self.wraps then self.state[param] = self.state[param] or {} end
        local state = self.state[param]
        if next(state) == nil then state.step, state.mean, state.parts = 0, torch.zeros_like(param), {} end
        if state.scale then return end
        state.step, state.parts[1] = state.step + 1, param.grad:clone()
        state.mean:add_(param.grad)
      end
    end
  end
  local x, y = parameter(1), parameter(2)
  torch.sum(x * 2 + y):backward()
  for _, wraps in ipairs{false, true} do
    local optimizer, idle = Mine({x, y}, wraps), Mine({parameter(1)}, wraps)
    optimizer:step()
    optimizer.state[y] = {scale = 3}
    local path = os.tmpname()
    torch.save(optimizer:state_dict(), path)
    local again = Mine({x, y}, wraps)
    again:load_state_dict(torch.load(path))
    os.remove(path)
    again:step()
    local state = again.state[x]
    lu.assertEquals({state.step, state.mean:item(), state.parts[1]:item()}, {2, 4, 2})
    lu.assertEquals({again.state[y].scale, again.state.global_step.count}, {3, 2})
    lu.assertEquals(next(idle:state_dict().state), nil)
  end
end

function TestOptimizer:test_state_is_there_at_the_first_look()
  local x = parameter(1)
  for _, name in ipairs{'Adam', 'SGD', 'RAdam', 'Adagrad'} do
    local optimizer = optim[name]({x}, {lr = 0.1})
    lu.assertEquals(#ordered.keys(optimizer.state[x]), name == 'Adagrad' and 2 or 0, name)
    torch.sum(x):backward()
    optimizer:step()
    local copy = torch.deepcopy(optimizer.state)
    lu.assertEquals(next(copy[parameter(2)]), nil)
    optimizer.state = {}  -- the state begins again
    optimizer:step()
  end
  local plain = optim.SGD({x}, {lr = 0.1})
  torch.sum(x):backward()
  plain:step()
  lu.assertNil(next(plain.state))  -- a step without momentum stores no state
end

-- Python accepts a tensor of one element as lr, which schedules fill.
function TestOptimizer:test_a_tensor_as_learning_rate()
  local names = {'Adam', 'AdamW', 'SGD', 'Adagrad', 'Adadelta', 'Adamax', 'ASGD', 'NAdam', 'RAdam', 'RMSprop', 'Rprop',
                 'Adafactor', 'LBFGS'}
  for _, name in ipairs(names) do
    for _, fused in ipairs(name == 'Adam' and {true, false} or {true}) do
      local function trained(lr)
        local x = parameter(1)
        local options = {lr = lr, fused = (name == 'Adam' or nil) and fused}
        if name == 'RMSprop' then options.momentum = 0.5 end
        local optimizer = optim[name]({x}, options)
        local schedule = optim.lr_scheduler.StepLR(optimizer, 1, {gamma = 0.5})
        for _ = 1, 3 do
          optimizer:step(function()
            optimizer:zero_grad()
            local loss = torch.sum(x * x * x)
            loss:backward()
            return loss
          end)
          schedule:step()
        end
        return x:item(), optimizer
      end
      local rate = torch.tensor(0.25, {dtype = 'float64'})
      local value, optimizer = trained(rate)
      lu.assertAlmostEquals(value, (trained(0.25)), 1e-12, name)
      lu.assertEquals({rate:item(), optimizer.param_groups[1].lr}, {0.25 / 8, rate}, name)
      local state = optimizer:state_dict()
      optimizer:load_state_dict(state)
      lu.assertEquals(optimizer.param_groups[1].lr:item(), 0.25 / 8, name)
    end
  end
end

function TestOptimizer:test_sparse_gradients()
  local function sparse_parameter()
    local weight = torch.ones(3, 2, {requires_grad = true, dtype = 'float64'})
    weight.grad = torch.sparse_coo_tensor(torch.tensor{{1LL, 1LL}}, torch.ones(2, 2, {dtype = 'float64'}), {3, 2})
    return weight
  end
  local weight = sparse_parameter()
  optim.SGD({weight}, {lr = 0.1, momentum = 0.9}):step()
  lu.assertEquals(weight:select(1, 0):tolist(), {1, 0.8, 1})
  weight = sparse_parameter()
  local optimizer = optim.Adagrad({weight}, {lr = 0.1})
  optimizer:step()
  lu.assertAlmostEquals(weight[{1, 0}]:item(), 0.9, 1e-9)
  lu.assertEquals(optimizer.state[weight].sum:tolist(), {{0, 0}, {4, 4}, {0, 0}})
  for _, name in ipairs{'Adam', 'Adadelta', 'RMSprop', 'Rprop', 'ASGD', 'Adafactor'} do
    optimizer = optim[name]({sparse_parameter()})
    lu.assertStrContains(message_of(optimizer.step, optimizer), name .. ' does not support sparse gradients')
  end
  local dense = parameter(1)
  dense.grad = torch.ones_like(dense)
  optimizer = optim.SparseAdam({dense})
  lu.assertStrContains(message_of(optimizer.step, optimizer), 'please consider Adam')
end

TestStateDict = {}

local MAKERS = {
  {'sgd', function(p) return optim.SGD(p, {lr = 0.1, momentum = 0.9}) end},
  {'adamw', function(p) return optim.AdamW(p, {lr = 0.1, amsgrad = true}) end},
  {'adadelta', function(p) return optim.Adadelta(p) end},
  {'adagrad', function(p) return optim.Adagrad(p, {lr = 0.1}) end},
}
for _, entry in ipairs(MAKERS) do
  TestStateDict['test_' .. entry[1] .. '_goes_on_from_a_file'] = function()
    local name, make = entry[1], entry[2]
    local straight = run(make, 4)
    local _, optimizer, x = run(make, 2)
    local path = os.tmpname()
    torch.save({optimizer = optimizer:state_dict(), x = x:detach()}, path)
    local saved = torch.load(path)
    os.remove(path)
    local y = parameter(saved.x:item())
    local resumed = make{y}
    resumed:load_state_dict(saved.optimizer)
    for _ = 1, 2 do
      resumed:zero_grad()
      torch.sum((y - 3) * y):backward()
      resumed:step()
    end
    lu.assertAlmostEquals(y:item(), straight, 1e-12, name)
  end
end

function TestStateDict:test_layout_is_pythons()
  local _, optimizer = run(function(p) return optim.SGD(p, {lr = 0.1, momentum = 0.9}) end, 1)
  local state = optimizer:state_dict()
  lu.assertEquals(ordered.keys(state), {'state', 'param_groups'})
  lu.assertNotNil(state.state[0].momentum_buffer)
  lu.assertEquals(ordered.keys(state.param_groups[1]),
    {'lr', 'momentum', 'dampening', 'weight_decay', 'nesterov', 'maximize', 'foreach', 'differentiable', 'fused', 'params'})
  lu.assertEquals(state.param_groups[1].foreach, torch.none)
  lu.assertEquals(state.param_groups[1].params[1], 0)
end

function TestStateDict:test_wrong_groups_are_refused()
  local one = optim.SGD({parameter(1)}, {lr = 1})
  local two = optim.SGD({parameter(1), parameter(1)}, {lr = 1})
  lu.assertStrContains(message_of(one.load_state_dict, one, two:state_dict()), 'has 2 parameters')
end

-- LibTorch's fused kernel leaves whole vectors of 16-bit numbers on the CPU as they are.
function TestOptimizer:test_each_value_of_16_bits_is_trained()
  for _, dtype in ipairs {'bfloat16', 'float16'} do
    for _, count in ipairs {1, 7, 16, 40} do
      for _, options in ipairs {{lr = 0.5}, {lr = 0.5, fused = true}, {lr = 0.5, momentum = 0.5, nesterov = true}} do
        local x = torch.nn.Parameter(torch.ones(count, {dtype = dtype}))
        local optimizer = optim.SGD({x}, options)
        x.grad = torch.ones(count, {dtype = dtype})
        optimizer:step()
        lu.assertEquals(x:tolist(), torch.full({count}, options.momentum and 0.25 or 0.5):tolist(), dtype .. count)
      end
    end
  end
end

function TestOptimizer:test_a_scaler_of_16_bits()
  local x = torch.nn.Parameter(torch.ones(40, {dtype = 'bfloat16'}))
  local optimizer = optim.SGD({x}, {lr = 0.5, momentum = 0.5, fused = true})
  local scaler = torch.amp.GradScaler('cpu', {init_scale = 8})
  for _, case in ipairs {{1, 0.5}, {math.huge, 0.5}, {1, -0.25}} do
    optimizer:zero_grad()
    scaler:scale(torch.sum(x * case[1])):backward()
    scaler:step(optimizer)
    scaler:update()
    lu.assertEquals(x:tolist(), torch.full({40}, case[2]):tolist())
  end
end

-- The fused kernels walk memory in its order, operators walk by index.
TestMemoryOrder = {}

local FUSED = {SGD = {lr = 0.1, momentum = 0.9}, Adam = {lr = 0.1, amsgrad = true}, AdamW = {lr = 0.1}, Adagrad = {lr = 0.1}}

local function with_fused(options, fused)
  local out = {fused = fused}
  for key, value in pairs(options) do out[key] = value end
  return out
end

local function four_steps(name, fused, between)
  torch.manual_seed(3)
  local param = torch.randn(6, 4).T
  param.requires_grad = true
  local optimizer = optim[name]({param}, with_fused(FUSED[name], fused))
  for step = 1, 4 do
    param.grad = torch.randn(4, 6)
    optimizer:step()
    if step == 2 and between then optimizer = between(optimizer, param, fused) or optimizer end
  end
  return param:detach()
end

local function assert_as_plain(between)
  for name in pairs(FUSED) do
    local fused, plain = four_steps(name, nil, between), four_steps(name, false, between)
    lu.assertTrue(torch.allclose(fused, plain, {atol = 1e-6}), name)
  end
end

function TestMemoryOrder:test_a_gradient_that_is_not_transposed_as_its_parameter() assert_as_plain() end

function TestMemoryOrder:test_a_parameter_that_changes_its_order_between_two_steps()
  assert_as_plain(function(_, param) param.data = param.data:contiguous() end)
end

function TestMemoryOrder:test_a_state_that_was_saved_in_another_order()
  assert_as_plain(function(optimizer, param, fused)
    local state = optimizer:state_dict()
    param.data = param.data:contiguous()
    local loaded = class.of(optimizer)({param}, with_fused(FUSED[class.of(optimizer).__name], fused))
    loaded:load_state_dict(state)
    return loaded
  end)
end

os.exit(lu.LuaUnit.run(), true)

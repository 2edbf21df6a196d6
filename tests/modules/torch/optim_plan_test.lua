-- A step over many parameters at once gives the same result as a step over each parameter alone, whatever happens to
-- gradients, state and groups between the steps.
local lu = require 'luaunit'
local torch = require 'torch'
local optim = torch.optim

torch.set_num_threads(1)  -- the size of the pieces depends on it

local MAKERS = {
  adadelta = function(p) return optim.Adadelta(p, {lr = 0.5, weight_decay = 0.1}) end,
  rmsprop = function(p) return optim.RMSprop(p, {momentum = 0.5, centered = true, maximize = true}) end,
  nadam = function(p) return optim.NAdam(p, {weight_decay = 0.1, decoupled_weight_decay = true}) end,
  radam = function(p) return optim.RAdam(p, {lr = 0.1}) end,
  adamax = function(p) return optim.Adamax(p, {weight_decay = 0.1}) end,
  rprop = function(p) return optim.Rprop(p) end,
  asgd = function(p) return optim.ASGD(p, {t0 = 1}) end,
  adamw = function(p) return optim.AdamW(p, {amsgrad = true}) end,
  adagrad = function(p) return optim.Adagrad(p, {lr_decay = 0.1}) end,
  sgd = function(p) return optim.SGD(p, {lr = 0.1, momentum = 0.9}) end,
}

local function uniform(...)
  return (torch.rand(..., {dtype = 'float64'}) - 0.5)
end

-- Small tensors, large ones that are cut into pieces, an empty one.
local SHAPES = {{3}, {}, {2, 5}, {40000}, {7}, {0}, {260, 200}, {4, 4}, {9000}}

local COUNT = #SHAPES + 2  -- one more is transposed, and one is complex

local function make_params()
  torch.manual_seed(1)
  local params = {}
  for i, shape in ipairs(SHAPES) do params[i] = uniform(shape) end
  params[#params + 1] = uniform{6, 4}.T
  params[#params + 1] = torch.complex(uniform{4}, uniform{4})
  for _, param in ipairs(params) do param.requires_grad = true end
  return params
end

-- Sets the gradients of one step; `has(i)` says whether the i-th parameter gets one.
local function set_grads(params, step, has)
  torch.manual_seed(100 + step)
  for i, param in ipairs(params) do
    local grad = param:is_complex() and torch.complex(uniform{4}, uniform{4}) or uniform(param:size())
    param.grad = nil
    if has(i) then param.grad = grad end
  end
end

local function assert_same(params, others)
  for i, param in ipairs(params) do
    lu.assertTrue(torch.allclose(param, others[i], 1e-12, 1e-14), 'parameter ' .. i .. ' differs')
  end
end

local function all() return true end

-- Runs `steps` steps with one optimizer for all parameters, and with one optimizer for each. between(t, at) may change
-- the optimizer and parameter at(i).
local function compare(make, steps, has, between)
  local together, apart = make_params(), make_params()
  local one, many = make(together), {}
  for i, param in ipairs(apart) do many[i] = make{param} end
  for t = 1, steps do
    local function has_at(i) return has(i, t) end
    set_grads(together, t, has_at)
    set_grads(apart, t, has_at)
    one:step()
    for _, optimizer in ipairs(many) do optimizer:step() end
    if between then
      between(t, function(i) return one, together[i] end)
      between(t, function(i) return many[i], apart[i] end)
    end
  end
  assert_same(together, apart)
end

TestPlan = {}

for name, make in next, MAKERS do
  TestPlan['test_together_is_as_apart_' .. name] = function() compare(make, 4, all) end

  TestPlan['test_gradients_come_and_go_' .. name] = function()
    compare(make, 9, function(i, t) return t < 3 or (i + t) % 3 > 0 and t < 6 or t > 7 or i > 3 end)
  end

  TestPlan['test_state_is_replaced_' .. name] = function()
    compare(make, 6, all, function(t, at)
      for i = 1, COUNT do
        local optimizer, param = at(i)
        local state = optimizer.state[param]
        if t == 2 and i == 1 then optimizer.state[param] = nil end
        if t == 3 then optimizer:load_state_dict(optimizer:state_dict()) end
        for _, key in ipairs{'exp_avg', 'square_avg', 'prev', 'ax', 'sum', 'momentum_buffer'} do
          if t == 4 and i == 2 and state[key] then state[key] = torch.ones_like(state[key]) end
        end
      end
    end)
  end
end

function TestPlan:test_new_group_joins()
  local x, y = torch.ones(2, {requires_grad = true}), torch.ones(2, {requires_grad = true})
  local optimizer = optim.RMSprop{x}
  x.grad, y.grad = torch.ones(2), torch.ones(2)
  optimizer:step()
  optimizer:add_param_group{params = {y}, lr = 0.5}
  optimizer:step()
  lu.assertEquals(optimizer.state[y].step:item(), 1)
  lu.assertEquals(optimizer.state[x].step:item(), 2)
  lu.assertTrue(y:max():item() < -3)
end

function TestPlan:test_option_that_asks_for_other_state()
  local x = torch.ones(2, {requires_grad = true})
  local optimizer = optim.Adam{x}
  x.grad = torch.ones(2)
  optimizer:step()
  optimizer.param_groups[1].amsgrad = true
  optimizer:step()
  lu.assertNotNil(optimizer.state[x].max_exp_avg_sq)
end

function TestPlan:test_casting_the_model_between_steps()
  local layer = torch.nn.Linear(3, 2)
  local optimizer = optim.SGD(layer:parameters(), {lr = 0.1})
  for _, dtype in ipairs{'float32', 'float64'} do
    layer:to(dtype)
    optimizer:zero_grad()
    layer(torch.ones(1, 3, {dtype = dtype})):sum():backward()
    optimizer:step()
  end
  lu.assertEquals(layer.weight.dtype, 'float64')
end

-- The state is still float32: the step raises PyTorch's error or computes in float64, but never in float32.
function TestPlan:test_casting_with_state_does_not_round()
  local x, y = torch.ones(1, {requires_grad = true}), torch.ones(1, {requires_grad = true})
  local optimizer = optim.Adadelta{x, y}
  x.grad, y.grad = torch.ones(1), torch.ones(1)
  optimizer:step()
  for _, param in ipairs{x, y} do
    param.grad = nil
    param.data = torch.full({1}, 1 + 1e-12, {dtype = 'float64'})
    param.grad = torch.zeros(1, {dtype = 'float64'})
  end
  pcall(optimizer.step, optimizer)
  lu.assertEquals(x:item(), 1 + 1e-12)
end

os.exit(lu.LuaUnit.run(), true)

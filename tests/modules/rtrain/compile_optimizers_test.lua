-- train.compile with each optimizer, whose options change from step to step: the bits are those of steps that run eagerly.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local nn, schedulers = torch.nn, torch.optim.lr_scheduler

local function net() return nn.Sequential(nn.Linear(6, 8, {bias = false}), nn.Tanh(), nn.Linear(8, 4, {bias = false})) end

-- Trains eagerly and under train.compile. change(i, optimizer) runs before step i; `scheduler`: makes one of the optimizer.
local function compare(make, options)
  local runs = {}
  for k = 1, 2 do
    torch.manual_seed(1)
    local model = net()
    local optimizer = make(model:parameters())
    local scheduler = options.scheduler and options.scheduler(optimizer)
    local function step(x)
      optimizer:zero_grad()
      local loss = model(x):pow(2):mean()
      loss:backward()
      optimizer:step()
      return loss
    end
    local call = k == 2 and train.compile(step) or step
    for i = 1, options.steps or 25 do
      if options.change then options.change(i, optimizer) end
      call(torch.randn(5, 6))
      if scheduler then scheduler:step() end
    end
    runs[k] = {model = model, optimizer = optimizer, step = call}
  end
  local eager, compiled = runs[1], runs[2]
  local what = tostring(eager.optimizer)
  lu.assertEquals({compiled.step.state, compiled.step.reason}, {'compiled'}, what)
  for i, p in ipairs(eager.model:parameters()) do
    lu.assertTrue(torch.equal(p, compiled.model:parameters()[i]), what)
    for name, value in pairs(eager.optimizer.state[p]) do
      lu.assertTrue(torch.equal(value, compiled.optimizer.state[compiled.model:parameters()[i]][name]), name .. what)
    end
  end
  return compiled.step
end

local OPTIMIZERS = {
  SGD = {{momentum = 0.9, weight_decay = 0.1}, {fused = false}}, Adam = {{}, {fused = false, amsgrad = true}},
  AdamW = {{}}, NAdam = {{}}, RAdam = {{}}, Adamax = {{weight_decay = 0.1}}, Adagrad = {{lr_decay = 0.1}, {fused = false}},
  Adadelta = {{weight_decay = 0.1}}, RMSprop = {{momentum = 0.9, centered = true}, {}}, Rprop = {{}}, ASGD = {{t0 = 3}},
  Adafactor = {{}}, Muon = {{}},
}

local function each_optimizer(check)
  for name, cases in pairs(OPTIMIZERS) do
    for _, options in ipairs(cases) do
      check(function(params)
        local given = {lr = 0.01}
        for key, value in pairs(options) do given[key] = value end
        return torch.optim[name](params, given)
      end)
    end
  end
end

TestCompileOptimizers = {}

function TestCompileOptimizers:test_a_rate_that_stays() each_optimizer(function(make) compare(make, {}) end) end

function TestCompileOptimizers:test_a_rate_that_changes_in_each_step()
  each_optimizer(function(make)
    compare(make, {scheduler = function(optimizer) return schedulers.ExponentialLR(optimizer, {gamma = 0.9}) end})
  end)
end

-- The plan exists before the first change.
function TestCompileOptimizers:test_a_rate_that_changes_now_and_then()
  each_optimizer(function(make)
    compare(make, {scheduler = function(optimizer) return schedulers.StepLR(optimizer, {step_size = 8, gamma = 0.5}) end})
  end)
end

-- It changes momentum, or the first of betas, against the learning rate.
function TestCompileOptimizers:test_one_cycle()
  local function one_cycle(optimizer) return schedulers.OneCycleLR(optimizer, {max_lr = 0.1, total_steps = 40}) end
  compare(function(params) return torch.optim.SGD(params, {lr = 0.01, momentum = 0.9}) end, {scheduler = one_cycle})
  compare(function(params) return torch.optim.AdamW(params) end, {scheduler = one_cycle})
end

function TestCompileOptimizers:test_options_that_need_another_state()
  compare(function(params) return torch.optim.NAdam(params) end, {change = function(i, optimizer)
    if i == 12 then optimizer:load_state_dict(optimizer:state_dict()) end
    optimizer.param_groups[1].weight_decay = i * 0.01
  end})
  compare(function(params) return torch.optim.SGD(params, {lr = 0.01}) end, {change = function(i, optimizer)
    optimizer.param_groups[1].lr = 0.01 / i
    if i == 12 then optimizer.param_groups[1].momentum = 0.9 end
  end})
  compare(function(params) return torch.optim.Adam(params, {fused = false}) end, {change = function(i, optimizer)
    if i == 12 then optimizer.param_groups[1].amsgrad = true end
  end})
end

-- The plan calls the update at its place: behind the backward and before what the step reads of the parameters.
function TestCompileOptimizers:test_what_follows_the_update_sees_it()
  local function make()
    torch.manual_seed(2)
    local model = net()
    local first = torch.optim.NAdam(model[1]:parameters(), {lr = 0.1})
    local second = torch.optim.AdamW(model[3]:parameters(), {lr = 0.1})
    local average = model[1].weight:detach():clone()
    local function step(x)
      first:zero_grad()
      second:zero_grad()
      model(x):pow(2):mean():backward()
      first:step()
      torch.no_grad(function() average:lerp_(model[1].weight, 0.5) end)
      second:step()
      return average:sum() + model[3].weight:sum()
    end
    return step
  end
  local eager, compiled = make(), train.compile(make())
  for _ = 1, 8 do
    local x = torch.randn(3, 6)
    lu.assertTrue(torch.equal(eager(x), compiled(x)))
  end
  lu.assertEquals({compiled.state, compiled.reason}, {'compiled'})
  lu.assertStrContains(compiled:explain(), 'NAdam:step()')
end

os.exit(lu.LuaUnit.run(), true)

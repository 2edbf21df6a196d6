-- Learning rate schedules. tests/oracle compares their values with PyTorch's.
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'
local optim = torch.optim
local lr_scheduler = optim.lr_scheduler

local message_of = require('refusal').message_of

local function parameter(value) return torch.tensor({value}, {dtype = 'float64', requires_grad = true}) end

TestSchedules = {}

-- Returns the learning rates of the first epochs, beginning with the rate set at construction.
local function rates(make, epochs)
  local optimizer = optim.SGD({parameter(1)}, {lr = 1})
  local scheduler = make(optimizer)
  local out = {}
  for i = 1, epochs do
    out[i] = optimizer.param_groups[1].lr
    optimizer:step()
    scheduler:step()
  end
  return out
end

local function assert_rates(make, wanted)
  for i, rate in ipairs(rates(make, #wanted)) do lu.assertAlmostEquals(rate, wanted[i], 1e-12) end
end

function TestSchedules:test_steps()
  assert_rates(function(o) return lr_scheduler.StepLR(o, 2, {gamma = 0.5}) end, {1, 1, 0.5, 0.5, 0.25})
  assert_rates(function(o) return lr_scheduler.StepLR(o, {step_size = 1, gamma = 0.7}) end, {1, 0.7, 0.49})
  assert_rates(function(o) return lr_scheduler.MultiStepLR(o, {1, 3}, {gamma = 0.1}) end, {1, 0.1, 0.1, 0.01, 0.01})
  assert_rates(function(o) return lr_scheduler.ExponentialLR(o, 0.5) end, {1, 0.5, 0.25})
end

function TestSchedules:test_curves()
  assert_rates(function(o) return lr_scheduler.CosineAnnealingLR(o, 4) end,
    {1, (1 + math.cos(math.pi / 4)) / 2, 0.5, (1 + math.cos(3 * math.pi / 4)) / 2, 0, (1 + math.cos(3 * math.pi / 4)) / 2})
  assert_rates(function(o) return lr_scheduler.LinearLR(o, {start_factor = 0.5, total_iters = 4}) end,
    {0.5, 0.625, 0.75, 0.875, 1, 1})
  assert_rates(function(o) return lr_scheduler.ConstantLR(o, {factor = 0.5, total_iters = 2}) end, {0.5, 0.5, 1, 1})
  assert_rates(function(o) return lr_scheduler.PolynomialLR(o, {total_iters = 4, power = 2}) end,
    {1, 0.5625, 0.25, 0.0625, 0, 0})
end

function TestSchedules:test_functions()
  assert_rates(function(o) return lr_scheduler.LambdaLR(o, function(epoch) return 1 / (epoch + 1) end) end,
    {1, 1 / 2, 1 / 3})
  assert_rates(function(o) return lr_scheduler.MultiplicativeLR(o, {function() return 0.5 end}) end, {1, 0.5, 0.25})
end

function TestSchedules:test_state_dict_goes_on()
  local function make(o) return lr_scheduler.MultiStepLR(o, {1, 3}) end
  local optimizer = optim.SGD({parameter(1)}, {lr = 1})
  local scheduler = make(optimizer)
  optimizer:step()
  scheduler:step()
  local other = optim.SGD({parameter(1)}, {lr = 1})
  local resumed = make(other)
  resumed:load_state_dict(scheduler:state_dict())
  other:load_state_dict(optimizer:state_dict())
  for _ = 1, 2 do resumed:step() end
  lu.assertAlmostEquals(other.param_groups[1].lr, 0.01, 1e-12)
  lu.assertAlmostEquals(resumed:get_last_lr()[1], 0.01, 1e-12)
end

function TestSchedules:test_composites_keep_their_parts_state()
  local function make(o)
    return lr_scheduler.SequentialLR(o, {lr_scheduler.ConstantLR(o, {factor = 0.5}), lr_scheduler.ExponentialLR(o, 0.9)}, {2})
  end
  local function run(scheduler, optimizer, steps)
    for _ = 1, steps do
      optimizer:step()
      scheduler:step()
    end
  end
  local optimizer, other = optim.SGD({parameter(1)}, {lr = 1}), optim.SGD({parameter(1)}, {lr = 1})
  local straight, resumed = make(optimizer), make(other)
  run(straight, optimizer, 3)
  resumed:load_state_dict(straight:state_dict())
  other:load_state_dict(optimizer:state_dict())
  run(straight, optimizer, 2)
  run(resumed, other, 2)
  lu.assertEquals(resumed:get_last_lr(), straight:get_last_lr())
  lu.assertEquals(ordered.keys(straight:state_dict()), {'_last_lr', '_milestones', 'last_epoch', '_schedulers'})
end

function TestSchedules:test_state_dict_through_a_file()
  local optimizer = optim.SGD({parameter(1)}, {lr = 1, momentum = 0.9})
  local schedules = {
    lr_scheduler.MultiStepLR(optimizer, {2, 2, 5}), lr_scheduler.LambdaLR(optimizer, function() return 1 end),
    lr_scheduler.OneCycleLR(optimizer, 1, {total_steps = 5}), lr_scheduler.CyclicLR(optimizer, 0.1, 1),
    lr_scheduler.ReduceLROnPlateau(optimizer),
  }
  local path = os.tmpname()
  for _, scheduler in ipairs(schedules) do
    torch.save(scheduler:state_dict(), path)
    local loaded = torch.load(path)
    scheduler:load_state_dict(loaded)
    lu.assertEquals(scheduler:state_dict().last_epoch, loaded.last_epoch)
  end
  os.remove(path)
  lu.assertEquals(schedules[1].milestones[2], 2)
end

function TestSchedules:test_plateau()
  local optimizer = optim.SGD({parameter(1)}, {lr = 1})
  local scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, {mode = 'max', patience = 0, cooldown = 1, min_lr = 0.005})
  local seen = {}
  for i, metric in ipairs{1, torch.tensor(2), 2, 2, 2, 2, 2} do
    scheduler:step(metric)
    seen[i] = optimizer.param_groups[1].lr
  end
  for i, wanted in ipairs{1, 1, 0.1, 0.1, 0.01, 0.01, 0.005} do lu.assertAlmostEquals(seen[i], wanted, 1e-12) end
  lu.assertStrContains(message_of(scheduler.step, scheduler), 'step needs the metric')
end

function TestSchedules:test_groups_get_their_own_rates()
  local optimizer = optim.SGD({{params = {parameter(1)}, lr = 1}, {params = {parameter(2)}, lr = 2}}, {lr = 1})
  lr_scheduler.LambdaLR(optimizer, {function() return 0.5 end, function() return 0.25 end})
  lu.assertEquals({optimizer.param_groups[1].lr, optimizer.param_groups[2].lr}, {0.5, 0.5})
  lu.assertStrContains(message_of(lr_scheduler.LambdaLR, optimizer, {function() end}), 'has 1 values, param_groups 2')
end

function TestSchedules:test_refuses_what_is_wrong()
  local optimizer = optim.SGD({parameter(1)}, {lr = 1})
  local plateau = lr_scheduler.ReduceLROnPlateau(optimizer)
  lu.assertStrContains(message_of(lr_scheduler.ChainedScheduler, {plateau}), 'does not support ReduceLROnPlateau')
  lu.assertStrContains(message_of(lr_scheduler.LinearLR, optimizer, {start_factor = 0}), 'start_factor is above 0')
  lu.assertStrContains(message_of(lr_scheduler.OneCycleLR, optimizer, 1), 'give total_steps, or both')
  lu.assertStrContains(message_of(lr_scheduler.CyclicLR, optim.Adagrad({parameter(1)}), 0.1, 1), 'must support momentum')
  lu.assertStrContains(message_of(lr_scheduler.StepLR, {}, 1), 'the first argument is an optimizer')
  lu.assertStrContains(message_of(lr_scheduler.StepLR, optim.SGD({parameter(1)}, {lr = 1}), 1, {last_epoch = 3}),
    'has no initial_lr')
  lu.assertStrContains(message_of(lr_scheduler.StepLR, optimizer, 0), 'step_size is a positive number, got 0')
  lu.assertStrContains(message_of(lr_scheduler.ExponentialLR, optimizer, '1'), 'gamma is a number, got 1')
  local cycle = lr_scheduler.OneCycleLR(optimizer, 1, {total_steps = 1, cycle_momentum = false})
  optimizer:step()
  cycle:step()
  lu.assertStrContains(message_of(cycle.step, cycle), 'total steps is 1')
end

function TestSchedules:test_groups_that_come_later()
  local optimizer = optim.SGD({parameter(1)}, {lr = 1})
  local lambda, step = lr_scheduler.LambdaLR(optimizer, function() return 1 end), lr_scheduler.StepLR(optimizer, 1)
  optimizer:add_param_group{params = {parameter(2)}}
  optimizer:step()
  step:step()
  lu.assertEquals(#step:get_last_lr(), 2)
  lu.assertStrContains(message_of(lambda.step, lambda), 'there are 1 rates for 2 param_groups')
end

-- Returns the stderr of a script that runs `body`.
local function warnings_of(body)
  local path = os.tmpname()
  local file = assert(io.open(path, 'w'))
  file:write("local torch = require 'torch'\nlocal x = torch.ones(1, {requires_grad = true})\n"
    .. "x.grad = torch.ones(1) local o = torch.optim.SGD({x})\n"
    .. "local s = torch.optim.lr_scheduler.StepLR(o, 1)\n" .. body)
  file:close()
  local pid = tonumber(io.open('/proc/self/stat'):read '*n')
  local out = assert(io.popen(('/proc/%d/exe exec %s 2>&1'):format(pid, path)))
  local text = out:read('*a')
  out:close()
  os.remove(path)
  return text
end

function TestSchedules:test_order_of_steps()
  lu.assertStrContains(warnings_of('s:step() s:step()'), 'lr_scheduler.step() was called before optimizer.step()')
  lu.assertEquals(warnings_of('o:step() s:step() s:step()'), '')
end

function TestSchedules:test_unknown_names()
  lu.assertStrContains(message_of(function() return lr_scheduler.StepLr end), "did you mean 'StepLR'?")
  local optimizer = optim.SGD({parameter(1)}, {lr = 1})
  lu.assertStrContains(message_of(lr_scheduler.StepLR, optimizer, {step_sise = 2}), "did you mean 'step_size'?")
end

os.exit(lu.LuaUnit.run(), true)

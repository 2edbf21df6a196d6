-- The objects that a CUDA graph takes over from Lua: optimizers whose learning rate is on the device, their options,
-- loss scalers. Everything runs on the CPU, where the same tensors and operators give the same results.
local lu = require 'luaunit'
local torch = require 'torch'
local optim = torch.optim
local Capture = require('torch.cuda.capture').Capture

local message_of = require('refusal').message_of

local CAPTURABLE = {
  Adam = {weight_decay = 0.1}, AdamW = {amsgrad = true}, Adagrad = {lr_decay = 0.1}, Adadelta = {weight_decay = 0.1},
  Adamax = {}, RMSprop = {centered = true}, Rprop = {},
}

local function parameters()
  torch.manual_seed(1)
  local list = {}
  for i, shape in ipairs{{3, 4}, {5}, {9000}} do list[i] = torch.randn(shape, {requires_grad = true}) end
  return list
end

local function give_gradients(params, step)
  torch.manual_seed(100 + step)
  for _, param in ipairs(params) do param.grad = torch.randn_like(param) end
end

local function train(make, steps, between)
  local params = parameters()
  local optimizer = make(params)
  for step = 1, steps do
    give_gradients(params, step)
    if between then between(optimizer, step) else optimizer:step() end
  end
  return params, optimizer
end

local function assert_close(a, b, name)
  for i, x in ipairs(a) do lu.assertTrue(torch.allclose(x, b[i], {rtol = 1e-5, atol = 1e-6}), name) end
end

TestCapturable = {}

function TestCapturable:test_steps_are_those_without_it_and_follow_the_learning_rate()
  for name, options in pairs(CAPTURABLE) do
    local function run(capturable)
      local given = {lr = 0.05}
      for key, value in pairs(options) do given[key] = value end
      if capturable and name ~= 'Adagrad' then given.capturable = true end
      return train(function(params) return optim[name](params, given) end, 4, function(optimizer, step)
        optimizer.param_groups[1].lr = 0.05 / step
        if capturable then Capture():watch(optimizer.step, optimizer) else optimizer:step() end
      end)
    end
    local expected, params = run(false), run(true)
    assert_close(params, expected, name)
  end
end

function TestCapturable:test_sgd_and_muon_have_no_option_and_need_none()
  for name, options in pairs{SGD = {lr = 0.1, momentum = 0.9, nesterov = true}, Muon = {lr = 0.1}} do
    local function run(record)
      return train(function(params) return optim[name](name == 'Muon' and {params[1]} or params, options) end, 3,
        function(optimizer, step)
          optimizer.param_groups[1].lr = 0.1 / step
          if record then lu.assertTrue((record:watch(optimizer.step, optimizer))) else optimizer:step() end
        end)
    end
    assert_close(run(Capture()), run(nil), name)
  end
end

function TestCapturable:test_those_that_compute_on_the_host_are_refused()
  for _, name in ipairs{'NAdam', 'RAdam', 'ASGD', 'Adafactor'} do
    local params = parameters()
    give_gradients(params, 1)
    local optimizer = optim[name](params)
    local record, before = Capture(), params[1]:clone()
    -- In a warm-up call the step is still made, because the operations before it have run.
    lu.assertTrue((record:watch(optimizer.step, optimizer)))
    lu.assertFalse(torch.equal(params[1], before))
    lu.assertStrContains(record.refusal, name .. ': a CUDA graph cannot hold its step, which computes on the host: take Adam')
    local ok, err = record:watch_capture(optimizer.step, optimizer)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'unsupported')
    lu.assertEquals(err.message, record.refusal)
  end
end

function TestCapturable:test_a_capture_needs_a_step_before_it()
  local params = parameters()
  give_gradients(params, 1)
  local record, plain = Capture(), optim.AdamW(params)
  local _, err = record:watch_capture(plain.step, plain)
  lu.assertStrContains(tostring(err), 'AdamW: step() was called in a capture, but its learning rate is not on the device yet')
  local optimizer = optim.AdamW(params, {capturable = true})
  _, err = record:watch_capture(optimizer.step, optimizer)
  lu.assertStrContains(tostring(err), 'its state is not there yet')
  lu.assertFalse(record.is_capturing)
  lu.assertTrue((record:watch(optimizer.step, optimizer)))
  lu.assertTrue((record:watch_capture(optimizer.step, optimizer)))
  params[1].grad = nil
  _, err = record:watch_capture(optimizer.step, optimizer)
  lu.assertStrContains(tostring(err), 'other parameters have a gradient')
end

function TestCapturable:test_python_reads_the_state()
  local _, optimizer = train(function(params) return optim.Adadelta(params, {capturable = true}) end, 2)
  local state = optimizer:state_dict()
  lu.assertEquals(state.param_groups[1].lr, 1)
  lu.assertTrue(state.param_groups[1].capturable)
  lu.assertEquals(state.state[0].step:item(), 2)
end

function TestCapturable:test_ddp_needs_nccl()
  local record = Capture()
  record:add_ddp('nccl')
  lu.assertNil(record.refusal)
  record:add_ddp('gloo')
  lu.assertStrContains(record.refusal, "over 'gloo', which a CUDA graph cannot hold")
  lu.assertTrue(record.has_ddp)
end

function TestCapturable:test_schedules_belong_behind_the_step()
  local _, optimizer = train(function(params) return optim.AdamW(params) end, 1)
  for name, schedule in pairs{StepLR = optim.lr_scheduler.StepLR(optimizer, 1),
                              ReduceLROnPlateau = optim.lr_scheduler.ReduceLROnPlateau(optimizer)} do
    local record = Capture()
    lu.assertTrue((record:watch(schedule.step, schedule, 1)))
    lu.assertStrContains(record.refusal, name .. ':step() is called inside of the captured step')
    lu.assertFalse((record:watch_capture(schedule.step, schedule, 1)))
  end
end

TestChange = {}

-- Returns a captured optimizer.
local function captured(make)
  local params = parameters()
  give_gradients(params, 1)
  local optimizer, record = make(params), Capture()
  record:watch(optimizer.step, optimizer)
  record:watch_capture(optimizer.step, optimizer)
  record:settle()
  return optimizer, record, params
end

local function adamw(params) return optim.AdamW(params, {lr = 0.1}) end

function TestChange:test_a_replay_sees_the_learning_rate()
  local optimizer, record, params = captured(adamw)
  local rate = optimizer:_lr_of(optimizer.param_groups[1], params[1].device)
  lu.assertAlmostEquals(rate:item(), 0.1, 1e-7)
  optimizer.param_groups[1].lr = 0.25
  lu.assertNil(record:change())
  record:write_rates()
  lu.assertEquals(rate:item(), 0.25)
end

function TestChange:test_options_that_a_graph_took_as_given()
  local optimizer, record = captured(adamw)
  optimizer.param_groups[1].betas = {0.8, 0.999}
  lu.assertEquals(record:change(), 'AdamW: betas of group 1 was (0.9, 0.999) in the capture and is (0.8, 0.999) now')
  optimizer.param_groups[1].betas = {0.9, 0.999}
  lu.assertNil(record:change())
  optimizer:add_param_group{params = {torch.zeros(2, {requires_grad = true})}}
  lu.assertEquals(record:change(), 'AdamW: it has other parameter groups')
  require('torch.cuda.capture').forget_connections()
  lu.assertEquals(record:change(), 'the ranks were connected again after a loss')
end

function TestChange:test_a_loaded_state_is_not_the_captured_one()
  local optimizer, record = captured(adamw)
  optimizer:load_state_dict(optimizer:state_dict())
  lu.assertEquals(record:change(), 'AdamW: its state was loaded after the capture')
end

TestScalerInCapture = {}

local function scaled_step(optimizer, scaler, params, scale)
  for _, param in ipairs(params) do param.grad = torch.full_like(param, scale) end
  scaler:scale(torch.ones{1})
  scaler:step(optimizer)
  scaler:update()
end

function TestScalerInCapture:test_the_kernel_leaves_the_step_out()
  local params = {torch.ones({4}, {requires_grad = true})}
  local optimizer = optim.SGD(params, {lr = 1})
  local scaler = torch.amp.GradScaler('cpu', {init_scale = 4})
  local record = Capture()
  lu.assertTrue((record:watch(scaled_step, optimizer, scaler, params, 4)))
  lu.assertEquals(params[1]:tolist(), {0, 0, 0, 0})
  lu.assertTrue((record:watch_capture(scaled_step, optimizer, scaler, params, 1 / 0)))
  lu.assertEquals(params[1]:tolist(), {0, 0, 0, 0})
  lu.assertEquals(scaler:get_scale(), 2)
  lu.assertTrue((record:watch_capture(scaled_step, optimizer, scaler, params, 2)))
  lu.assertEquals(params[1]:tolist(), {-1, -1, -1, -1})
  lu.assertEquals(#record.scalers, 1)
end

function TestScalerInCapture:test_optimizers_without_such_a_kernel_are_refused()
  local params = {torch.ones({4}, {requires_grad = true})}
  local optimizer = optim.Adadelta(params)
  local scaler = torch.amp.GradScaler('cpu', {init_scale = 4})
  local record = Capture()
  lu.assertTrue((record:watch(scaled_step, optimizer, scaler, params, 4)))
  local _, err = record:watch_capture(scaled_step, optimizer, scaler, params, 4)
  lu.assertStrContains(tostring(err), 'a CUDA graph cannot leave out a step of Adadelta')
  -- The same step runs again, eagerly: the failed capture must have changed nothing.
  record:abandon()
  scaled_step(optimizer, scaler, params, 4)
  lu.assertEquals(scaler:get_scale(), 4)
end

function TestScalerInCapture:test_errors_come_out_and_nothing_stays_current()
  local capture = require 'torch.cuda.capture'
  local ok, err = Capture():watch(function() error('mine', 0) end)
  lu.assertFalse(ok)
  lu.assertStrContains(message_of(error, err, 0), 'mine')
  lu.assertNil(capture.current)
  lu.assertFalse(capture.is_capturing())
end

os.exit(lu.LuaUnit.run(), true)

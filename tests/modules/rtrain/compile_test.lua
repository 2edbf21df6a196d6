-- train.compile: steps that run as plans equal the same steps run eagerly, bit by bit; what cannot be a plan; decisions.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local CompilePolicy = require 'torch.compile.policy'

local message_of = require('refusal').message_of
local nn, F = torch.nn, torch.nn.functional

-- Returns the numbers of a tensor as text without loss; '' for nil.
local function bits(tensor) return tensor and table.concat(tensor:detach():reshape(-1):double():tolist(), ' ') or '' end

local function assert_same_bits(got, expected, what)
  lu.assertEquals(#got, #expected, what)
  for i = 1, #expected do lu.assertEquals(bits(got[i]), bits(expected[i]), ('%s %d'):format(what, i)) end
end

-- Returns the tensors of the optimizer's state, in the parameters' order.
local function states_of(optimizer)
  local out = {}
  for _, state in ipairs{optimizer:state_dict().state} do
    for n = 0, 200 do
      for _, name in ipairs{'step', 'exp_avg', 'exp_avg_sq', 'momentum_buffer', 'square_avg'} do
        local value = state[n] and state[n][name]
        if value ~= nil then out[#out + 1] = value end
      end
    end
  end
  return out
end

local function grads_of(model)
  local out = {}
  for i, param in ipairs(model:parameters()) do out[i] = param.grad or torch.zeros(0) end
  return out
end

local function adamw(params) return torch.optim.AdamW(params, {lr = 0.01}) end

-- A counter that a plan does not compare, as it does the variables around a step.
local function uncompared()
  local counter = {count = 0}
  return setmetatable(counter, {__index = {add = function() counter.count = counter.count + 1 end}})
end

-- Trains twice, eagerly and under train.compile, and compares losses, parameters, buffers, gradients and states.
local function compare(make, options)
  options = options or {}
  local runs = {}
  for k = 1, 2 do
    torch.manual_seed(3)
    local model, batch, loss_of = make()
    local optimizer = (options.optimizer or adamw)(model:parameters())
    local function step(...)
      optimizer:zero_grad()
      local loss = loss_of(model, ...)
      loss:backward()
      optimizer:step()
      return loss
    end
    local call = k == 2 and train.compile(step) or step
    torch.manual_seed(4)
    local losses = {}
    for i = 1, options.steps or 20 do
      if options.before then options.before(i, optimizer, model) end
      losses[i] = call(batch(i))
    end
    runs[k] = {losses = losses, model = model, optimizer = optimizer, step = call, next = torch.rand(3)}
  end
  local eager, compiled = runs[1], runs[2]
  lu.assertEquals(compiled.step.state, options.state or 'compiled', compiled.step.reason)
  assert_same_bits(compiled.losses, eager.losses, 'loss')
  assert_same_bits(compiled.model:parameters(), eager.model:parameters(), 'parameter')
  assert_same_bits(compiled.model:buffers(), eager.model:buffers(), 'buffer')
  for i, buffer in ipairs(compiled.model:buffers()) do
    lu.assertEquals(buffer._version, eager.model:buffers()[i]._version, 'version of buffer ' .. i)
  end
  for i, param in ipairs(compiled.model:parameters()) do
    lu.assertEquals(param._version, eager.model:parameters()[i]._version, 'version of parameter ' .. i)
  end
  assert_same_bits(grads_of(compiled.model), grads_of(eager.model), 'gradient')
  assert_same_bits(states_of(compiled.optimizer), states_of(eager.optimizer), 'state')
  lu.assertEquals(bits(compiled.next), bits(eager.next), 'the next random numbers')
  return compiled
end

local function classes(count) return torch.randint(0, 3, {count}) end

local function mlp()
  local model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))
  return model, function() return torch.randn(8, 6), classes(8) end, function(net, x, y) return F.cross_entropy(net(x), y) end
end

TestSteps = {}

function TestSteps:test_mlp_with_each_optimizer()
  for _, name in ipairs{'SGD', 'Adam', 'AdamW', 'RMSprop', 'Adagrad'} do
    compare(mlp, {optimizer = function(params) return torch.optim[name](params, {lr = 0.01, weight_decay = 0.01}) end})
  end
  local function with(name, options)
    return {optimizer = function(params) return torch.optim[name](params, options) end}
  end
  compare(mlp, with('SGD', {lr = 0.01, momentum = 0.9, nesterov = true}))
  compare(mlp, with('AdamW', {lr = 0.01, amsgrad = true, maximize = true}))
end

function TestSteps:test_convnet_with_batch_norm_and_dropout()
  compare(function()
    local model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
      nn.Flatten(), nn.Linear(36, 3))
    return model, function() return torch.randn(4, 1, 8, 8), classes(4) end,
      function(net, x, y) return F.cross_entropy(net(x), y) end
  end)
end

function TestSteps:test_transformer()
  compare(function()
    local model = nn.Sequential(nn.Linear(5, 8), nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2,
      {dim_feedforward = 16, batch_first = true, activation = 'gelu'}), 2), nn.Linear(8, 3))
    return model, function() return torch.randn(2, 6, 5), classes(12) end,
      function(net, x, y) return F.cross_entropy(net(x):reshape(-1, 3), y) end
  end)
end

function TestSteps:test_attention_with_rows_that_are_masked()
  compare(function()
    local model = nn.MultiheadAttention(8, 2, {dropout = 0.1, batch_first = true})
    return model, function(i)
      local mask = torch.rand(2, 5):gt(0.6)
      if i % 3 == 0 then mask:fill_(true) end
      return torch.randn(2, 5, 8), mask
    end, function(net, x, mask)
      return (net(x, x, x, {key_padding_mask = mask})):nan_to_num(0):square():mean()
    end
  end)
end

function TestSteps:test_clipped_gradients()
  local function make()
    local model, batch, loss_of = mlp()
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
    return model, batch, function(net, x, y)
      local loss = loss_of(net, x, y)
      loss:backward({retain_graph = true})
      nn.utils.clip_grad_norm_(net:parameters(), 0.1)
      optimizer:step()
      optimizer:zero_grad()
      return loss
    end
  end
  compare(make)
end

function TestSteps:test_lstm_and_embedding()
  compare(function()
    local Net = nn.Module:extend 'Net'
    function Net:init()
      self.embed, self.lstm, self.out = nn.Embedding(10, 6), nn.LSTM(6, 8, {batch_first = true}), nn.Linear(8, 10)
    end
    function Net:forward(x) return self.out((self.lstm(self.embed(x)))) end
    return Net(), function() return torch.randint(0, 10, {3, 7}) end,
      function(net, x) return F.cross_entropy(net(x):reshape(-1, 10), x:reshape(-1)) end
  end)
end

function TestSteps:test_learning_rates_may_change()
  local compiled = compare(mlp, {before = function(i, optimizer) optimizer.param_groups[1].lr = 0.01 / i end})
  lu.assertStrContains(compiled.step:explain(), 'plan 1: ')
  lu.assertNotStrContains(compiled.step:explain(), 'plan 2: ')
end

function TestSteps:test_other_options_of_optimizers_make_another_plan()
  local compiled = compare(mlp, {before = function(i, optimizer)
    optimizer.param_groups[1].weight_decay = i > 10 and 0.1 or 0
  end})
  lu.assertStrContains(compiled.step:explain(), 'plan 2: ')
end

function TestSteps:test_a_loaded_optimizer_makes_another_plan()
  compare(mlp, {before = function(i, optimizer)
    if i == 9 then optimizer:load_state_dict(optimizer:state_dict()) end
  end})
end

function TestSteps:test_other_shapes_make_other_plans()
  compare(function()
    local model, _, loss_of = mlp()
    return model, function(i) return torch.randn(i % 3 + 2, 6), classes(i % 3 + 2) end, loss_of
  end)
end

function TestSteps:test_more_shapes_than_plans_run_eagerly()
  compare(function()
    local model, _, loss_of = mlp()
    return model, function(i) return torch.randn(math.ceil(i / 3), 6), classes(math.ceil(i / 3)) end, loss_of
  end, {steps = 36})
end

function TestSteps:test_training_flags()
  local function make()
    local model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, 3))
    return model, function() return torch.randn(8, 6), classes(8) end, function(net, x, y) return F.cross_entropy(net(x), y) end
  end
  compare(make, {before = function(i, _, model) model:train(i % 8 < 4) end, steps = 24})
end

function TestSteps:test_frozen_parameters()
  compare(mlp, {before = function(i, _, model)
    if i == 8 then model:parameters()[1].requires_grad = false end
  end})
end

function TestSteps:test_gradients_that_accumulate_over_calls()
  local function train_with(wrap)
    torch.manual_seed(3)
    local model, batch, loss_of = mlp()
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
    local step = wrap(function(x, y)
      local loss = loss_of(model, x, y)
      loss:backward()
      return loss
    end)
    for i = 1, 24 do
      step(batch())
      if i % 4 == 0 then
        optimizer:step()
        optimizer:zero_grad()
      end
    end
    step(batch())
    return model, step
  end
  local eager = train_with(function(step) return step end)
  local compiled, step = train_with(train.compile)
  lu.assertEquals(step.state, 'compiled')
  assert_same_bits(compiled:parameters(), eager:parameters(), 'parameter')
  assert_same_bits(grads_of(compiled), grads_of(eager), 'gradient')
end

function TestSteps:test_bfloat16_autocast()
  compare(function()
    local model, batch, loss_of = mlp()
    return model, batch, function(net, x, y)
      return torch.autocast('cpu', {dtype = 'bfloat16'}, function() return loss_of(net, x, y) end)
    end
  end)
end

function TestSteps:test_hooks_that_change_gradients()
  compare(function()
    local model, batch, loss_of = mlp()
    model:parameters()[1]:register_hook(function(grad) return grad * 0.5 end)
    return model, batch, function(net, x, y)
      local loss = loss_of(net, x, y)
      return loss
    end
  end)
end

TestValues = {}

-- Returns a compiled function after its three first calls.
local function warmed(fn, ...)
  local step = train.compile(fn)
  for _ = 1, 3 do step(...) end
  lu.assertEquals(step.state, 'compiled', step.reason)
  return step
end

function TestValues:test_results_of_all_kinds()
  local step = warmed(function(x) return x + 1, {doubled = x * 2, list = {x - 1, 'text'}}, nil, 7 end, torch.zeros(2))
  local sum, named, none, number = step(torch.tensor{3, 5})
  lu.assertEquals(sum:tolist(), {4, 6})
  lu.assertEquals({named.doubled:tolist(), named.list[1]:tolist(), named.list[2]}, {{6, 10}, {2, 4}, 'text'})
  lu.assertEquals({none == nil, number}, {true, 7})
end

function TestValues:test_results_are_new_tensors_without_a_history()
  local w = torch.ones(2, {requires_grad = true})
  local step = warmed(function(x) return x * w end, torch.ones(2))
  local first, second = step(torch.ones(2)), step(torch.ones(2) * 2)
  lu.assertEquals({first:tolist(), second:tolist(), first.requires_grad}, {{1, 1}, {2, 2}, false})
end

function TestValues:test_arguments_that_are_changed_in_place()
  local step = warmed(function(x) x:mul_(2) return x:sum() end, torch.ones(3))
  local x = torch.full({3}, 5)
  local version = x._version
  lu.assertEquals(step(x):item(), 30)
  lu.assertEquals(x:tolist(), {10, 10, 10})
  lu.assertEquals(x._version, version + 1)
end

function TestValues:test_views_in_place_and_their_bases()
  local function fn(x)
    local y = x:clone()
    y:select(0, 1):add_(10)
    y:t():mul_(2)
    return y, y:reshape(-1):narrow(0, 1, 2)
  end
  local step = warmed(fn, torch.ones(2, 2))
  local x = torch.tensor{{1, 2}, {3, 4}}
  lu.assertEquals(step(x):tolist(), fn(x):tolist())
  lu.assertEquals(step(x):tolist(), {{2, 4}, {26, 28}})
end

function TestValues:test_buffers_keep_their_identity()
  local total = torch.zeros(2)
  local step = warmed(function(x) return total:add_(x):clone() end, torch.ones(2))
  step(torch.ones(2) * 4)
  lu.assertEquals(total:tolist(), {7, 7})
end

function TestValues:test_tensors_of_the_script_are_constants()
  local step = warmed(function(x) return x * torch.tensor{1, 2} + torch.tensor(3):add_(1) end, torch.ones(2))
  for _ = 1, 2 do lu.assertEquals(step(torch.ones(2)):tolist(), {5, 6}) end
end

function TestValues:test_arguments_that_share_memory()
  local x = torch.ones(2)
  local step = warmed(function(a, b) a:add_(1) return a + b end, x, x)
  local a, b = torch.ones(2), torch.ones(2)
  lu.assertEquals(step(a, a):tolist(), {4, 4})
  lu.assertEquals(step(a, b):tolist(), {4, 4})  -- no plan: they do not share memory
  lu.assertEquals(b:tolist(), {1, 1})
end

function TestValues:test_arguments_that_are_views_of_one_tensor()
  local base = torch.zeros(4)
  local function fn(a, b) a:add_(1) b:mul_(2) return a + 1 end
  local step = warmed(fn, base:narrow(0, 0, 3), base:narrow(0, 1, 3))
  base:fill_(1)
  local version = base._version
  lu.assertEquals(step(base:narrow(0, 0, 3), base:narrow(0, 1, 3)):tolist(), {3, 5, 5})
  lu.assertEquals({base:tolist(), base._version - version}, {{2, 4, 4, 2}, 2})
end

function TestValues:test_arguments_with_other_strides()
  local step = warmed(function(x) return x:contiguous():view(-1) end, torch.ones(2, 3))
  lu.assertEquals(step(torch.tensor{{1, 2}, {3, 4}, {5, 6}}:t()):tolist(), {1, 3, 5, 2, 4, 6})
end

function TestValues:test_nested_steps_are_one_plan()
  local inner = train.compile(function(x) return x * 2 end)
  local step = warmed(function(x) return inner(x) + 1 end, torch.ones(1))
  lu.assertEquals(step(torch.full({1}, 4)):item(), 9)
end

TestRefusals = {}

-- Returns the reason why the function stays eager.
local function reason_of(fn, ...)
  local step = train.compile(fn)
  for _ = 1, 8 do step(...) end
  lu.assertEquals(step.state, 'eager')
  return step.reason
end

function TestRefusals:test_reads_of_numbers()
  local x = torch.ones(2)
  lu.assertStrContains(reason_of(function(a) return a * a:sum():item() end, x), 'it reads a number out of a tensor')
  lu.assertStrContains(reason_of(function(a) return a:tolist()[1] end, x), 'it reads the numbers of a tensor')
  lu.assertStrContains(reason_of(function(a) return torch.equal(a, a) end, x), 'out of a tensor (aten::equal)')
end

function TestRefusals:test_sizes_that_depend_on_numbers()
  local x = torch.ones(2)
  lu.assertStrContains(reason_of(function(a) return a:nonzero() end, x), 'the size of a result depends on numbers')
  lu.assertStrContains(reason_of(function(a) return a[a:gt(0)] end, x), 'the size of a result depends on numbers')
end

function TestRefusals:test_random_numbers_that_the_step_seeds()
  local reason = 'it sets the state of random numbers'
  lu.assertStrContains(reason_of(function(a) torch.manual_seed(1) return a + torch.rand(2) end, torch.ones(2)), reason)
end

function TestRefusals:test_calls_that_differ()
  local x, counter, mean = torch.ones(2), uncompared(), torch.zeros(2)
  lu.assertStrContains(reason_of(function(a) counter:add() return a * counter.count end, x), 'a number of the script')
  lu.assertStrContains(reason_of(function(a) mean = mean * 0.9 + a return mean end, x), 'another one in the next call')
  local is_odd = false
  lu.assertStrContains(reason_of(function(a) is_odd = not is_odd return is_odd and a + 1 or a:exp() end, x), 'its calls differ')
end

function TestRefusals:test_fullgraph_makes_an_error_of_it()
  local step = train.compile(function(a) return a:sum():item() end, {fullgraph = true})
  step(torch.ones(1))
  lu.assertStrContains(message_of(step, torch.ones(1)), 'fullgraph = true, but it reads a number out of a tensor')
end

function TestRefusals:test_errors_of_the_step_are_the_callers()
  local is_to_fail = false
  local step = train.compile(function(a)
    if is_to_fail then error('mine', 0) end
    return a + 1
  end)
  step(torch.ones(1))
  is_to_fail = true
  lu.assertEquals(message_of(step, torch.ones(1)), 'mine')
  is_to_fail = false
  lu.assertIs(select(3, require('torch._C').recording.modes()), false)
  for _ = 1, 3 do lu.assertEquals(step(torch.ones(1)):item(), 2) end
  lu.assertEquals(step.state, 'compiled')
end

function TestRefusals:test_arguments()
  lu.assertStrContains(message_of(train.compile, 3), 'train.compile: expected the step, a function, got number')
  lu.assertStrContains(message_of(train.compile, print, {full_graph = true}), "did you mean 'fullgraph'?")
  lu.assertStrContains(message_of(train.compile, print, {dynamic = 1}), 'dynamic is a boolean, got number')
  lu.assertStrContains(message_of(train.compile, print, {mode = 'fast'}), 'mode')
  local leaf = torch.ones(1, {requires_grad = true})
  lu.assertStrContains(reason_of(function(a) return a * 2 end, leaf), 'argument 1 needs a gradient')
end

function TestRefusals:test_anomaly_detection_runs_the_step()
  if os.getenv 'RTRAIN_COMPILE_CHECK' == '1' then lu.skip 'the check runs the step in each call' end
  local calls = uncompared()
  local step = warmed(function(x) calls:add() return x + 1 end, torch.ones(1))
  step(torch.ones(1))
  lu.assertEquals(calls.count, 3)
  torch.autograd.detect_anomaly(function() step(torch.ones(1)) end)
  lu.assertEquals({calls.count, step.state}, {4, 'compiled'})
  step:reset()
  step(torch.ones(1))
  lu.assertEquals({calls.count, step.state}, {5, 'warming up'})
end

-- Counts the plans that are kept.
local function num_plans(step) return select(2, step:explain():gsub('\nplan %d+:', '')) end

function TestValues:test_a_dynamic_step_has_a_plan_for_each_length()
  local calls = uncompared()
  local step = train.compile(function(x)
    calls:add()
    return (x * 2 + 1):sum()
  end, {dynamic = true})
  step(torch.ones(1))
  for length = 1, 70 do
    for _ = 1, 3 do lu.assertEquals(step(torch.ones(length)):item(), 3 * length) end
  end
  lu.assertEquals({calls.count, num_plans(step), step.state}, {1 + 2 * 70, 64, 'compiled'})
  step(torch.ones(7))  -- of the oldest plan
  step(torch.ones(6))  -- its plan was replaced
  lu.assertEquals(calls.count, 1 + 2 * 70 + 1)
  for _ = 1, 2 do step(torch.ones(6)) end
  step(torch.ones(7))  -- was used after 8
  lu.assertEquals(calls.count, 1 + 2 * 70 + 2)
  step(torch.ones(8))
  lu.assertEquals(calls.count, 1 + 2 * 70 + 3)
end

function TestValues:test_lengths_that_come_once_are_recorded_and_forgotten()
  local step = train.compile(function(x) return x * 2 end, {dynamic = true})
  for length = 1, 40 do lu.assertEquals(step(torch.ones(length)):sum():item(), 2 * length) end
  lu.assertEquals({step.state, num_plans(step)}, {'warming up', 0})
  lu.assertTrue(#step._pending <= 8)
end

TestPolicy = {}

function TestPolicy:test_warm_up_two_recordings_runs()
  local policy = CompilePolicy()
  lu.assertEquals(policy:next{num_plans = 0}, 'eager')
  lu.assertEquals(policy:next{num_plans = 0}, 'record')
  lu.assertIs(policy:recorded(1), false)
  lu.assertEquals(policy:next{num_plans = 0, is_pending = true}, 'record')
  lu.assertIs(policy:recorded(2), true)
  lu.assertEquals({policy.state, policy:next{num_plans = 1, fits = true}}, {'compiled', 'run'})
  lu.assertEquals(policy:next{num_plans = 1, now = 'anomaly'}, 'eager')
end

function TestPolicy:test_the_ninth_set_of_arguments_is_eager_with_one_note()
  local policy = CompilePolicy()
  policy:next{num_plans = 0}
  local action, note = policy:next{num_plans = 8}
  lu.assertEquals({action, note}, {'eager', 'it has plans for 8 sets of arguments: calls with others run eagerly'})
  lu.assertNil((select(2, policy:next{num_plans = 8})))
  lu.assertEquals(policy:next{num_plans = 8, fits = true}, 'run')
end

function TestPolicy:test_a_dynamic_step_records_all_sets_of_arguments()
  local policy = CompilePolicy(true)
  policy:next{num_plans = 0}
  lu.assertEquals({policy:next{num_plans = 64}}, {'record'})
end

function TestPolicy:test_calls_that_always_differ_end_in_eager()
  local policy = CompilePolicy()
  for count = 1, 5 do lu.assertIs(policy:recorded(count, count > 1 and 'operator 1' or nil), false) end
  local _, note = policy:recorded(6, 'operator 1')
  lu.assertStrContains(note, 'its calls differ: operator 1')
  lu.assertEquals({policy.state, policy:next{num_plans = 0}}, {'eager', 'eager'})
end

os.exit(lu.LuaUnit.run(), true)

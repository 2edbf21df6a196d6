-- rtrain.session.not_finite_place: which parameter or layer the error names; the engine's check of losses.

local lu = require 'luaunit'
local torch = require 'torch'
local engine = require 'torch._C'
local last_arguments = require 'torch.nn.module.last_arguments'
local not_finite = require 'rtrain.session.not_finite'
local place = require 'rtrain.session.not_finite_place'
local session = require 'rtrain.session'

local nn = torch.nn

local Net = nn.Module:extend 'Net'
function Net:init(middle)
  self.fc1, self.bn, self.fc2, self.fc3 = nn.Linear(4, 4), nn.BatchNorm1d(4), middle or nn.Linear(4, 4), nn.Linear(4, 2)
end
function Net:forward(x) return self.fc3(torch.relu(self.fc2(torch.dropout(self.bn(self.fc1(x)), 0.5, true)))) end

local Broken = nn.Module:extend 'Broken'
function Broken:forward(x) return x / 0 * 0 end

local function called(net, x)
  last_arguments.keep(net)
  net(x)
  return place.of_loss {net}
end

TestPlace = {}

function TestPlace:test_a_parameter()
  local net, x = Net(), torch.randn(3, 4)
  torch.no_grad(function() net.fc2.weight[{1, 2}] = 0 / 0 end)
  lu.assertEquals(called(net, x), 'the parameter fc2.weight is not finite')
  torch.no_grad(function() net.fc2.bias:fill_(math.huge) end)
  lu.assertEquals(place.of_loss {net}, 'the parameters fc2.weight, fc2.bias of 8 are not finite')
  torch.no_grad(function() for _, each in ipairs(net:parameters()) do each:fill_(0 / 0) end end)
  lu.assertEquals(place.of_loss {net}, 'all 8 parameters are not finite')
end

function TestPlace:test_a_buffer()
  local net = Net()
  net.bn.running_mean:fill_(0 / 0)
  lu.assertEquals(place.of_loss {net}, 'the buffer bn.running_mean is not finite')
end

function TestPlace:test_the_first_output()
  local net, x = Net(Broken()), torch.randn(3, 4)
  lu.assertEquals(called(net, x), 'the first output that is not finite is that of Net.fc2 (Broken)')
end

function TestPlace:test_looking_leaves_no_trace()
  local net, x = Net(Broken()), torch.randn(3, 4)
  last_arguments.keep(net)
  net(x)
  local mean, batches = net.bn.running_mean:clone(), net.bn.num_batches_tracked:item()
  local drawn = torch.random.fork_rng(function() return torch.rand(3) end)
  lu.assertNotNil(place.of_loss {net})
  lu.assertTrue(torch.equal(torch.rand(3), drawn))
  lu.assertTrue(torch.equal(net.bn.running_mean, mean))
  lu.assertEquals(net.bn.num_batches_tracked:item(), batches)
  lu.assertNil(net._hooks and next(net._hooks.after))
end

function TestPlace:test_the_models_input()
  local net, x = Net(), torch.randn(3, 4)
  x[{0, 0}] = 0 / 0
  net.bn = nn.Identity()  -- its statistics are buffers
  lu.assertEquals(called(net, x), 'what Net was called with is not finite')
end

function TestPlace:test_a_finite_model()
  local net, x = Net(), torch.randn(3, 4)
  lu.assertEquals(called(net, x), 'the parameters and the output of Net are finite')
end

function TestPlace:test_arguments_that_are_gone_or_were_never_there()
  local net = Net()
  last_arguments.keep(net)
  lu.assertNil(place.of_loss {net})
  net(torch.randn(3, 4))
  for _ = 1, 3 do collectgarbage() end
  lu.assertNil(place.of_loss {net})
end

function TestPlace:test_a_forward_that_needs_the_other_ranks_is_not_done_again()
  local Together = nn.Module:extend 'Together'
  function Together:forward(x)
    if self.again then torch.distributed.all_reduce(x) end
    self.again = true
    return x
  end
  local net, x = Net(Together()), torch.randn(3, 4)
  last_arguments.keep(net)
  net(x)
  lu.assertNil(place.of_loss {net})
end

function TestPlace:test_a_gradient()
  local net = Net()
  net(torch.randn(3, 4)):sum():backward()
  net.fc1.bias.grad:fill_(0 / 0)
  lu.assertEquals(place.of_gradients {net}, 'the gradient of fc1.bias is not finite')
end

TestKeptLosses = {}

function TestKeptLosses:setUp()
  self.state = {}
  session.begin(self.state)
  not_finite.begin(self.state, 'error')
end

function TestKeptLosses:tearDown()
  session.finish()
  package.loaded['torch._C'] = engine
end

-- Simulates losses on a GPU, which the engine keeps until they are checked.
local function keep(losses, steps)
  package.loaded['torch._C'] = setmetatable({take_losses = function() return losses, steps end}, {__index = engine})
end

function TestKeptLosses:test_the_first_that_is_not_finite_is_named_by_its_step()
  keep({torch.tensor(1), torch.tensor({math.huge}), torch.tensor(0 / 0):double()}, {6, 7, 8})
  local ok, err = pcall(not_finite.see_kept_losses)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'not_finite')
  lu.assertStrContains(err.message, 'the loss is inf in step 8 ')
  lu.assertNil(self.state.not_finite)
  not_finite.see_kept_losses()  -- the error is raised only once
end

function TestKeptLosses:test_they_explain_a_metric()
  keep({torch.tensor(-math.huge)}, {2})
  local ok, err = pcall(not_finite.see_metrics, {loss = 0 / 0})
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, 'the loss is -inf in step 3 ')
end

function TestKeptLosses:test_finite_ones_say_nothing()
  keep({torch.tensor(1), torch.tensor(2)}, {0, 1})
  not_finite.see_kept_losses()
  keep({}, {})
  not_finite.see_kept_losses()
  lu.assertNotNil(self.state.not_finite)
end

TestWatch = {}

local function found_by(loss)
  local found = {}
  engine.watch_losses(function(number) found[#found + 1] = number end)
  loss:backward()
  engine.watch_losses(nil)
  return found
end

function TestWatch:test_losses_that_are_not_finite()
  local x = torch.tensor({0}, {requires_grad = true})
  lu.assertEquals(found_by((x + 1):sum()), {})
  lu.assertEquals(found_by((x + math.huge):sum()), {math.huge})
  lu.assertEquals(tostring(found_by((x / 0):sum())[1]):gsub("-", ""), "nan")
  lu.assertEquals(found_by((x:double() - math.huge):sum()), {-math.huge})
  lu.assertEquals(found_by((x:bfloat16() + math.huge):sum()), {math.huge})
end

function TestWatch:test_an_error_of_the_function_ends_the_backward()
  local x = torch.tensor({0}, {requires_grad = true})
  engine.watch_losses(function() error('stop', 0) end)
  local ok, err = pcall(function() (x + math.huge):sum():backward() end)
  engine.watch_losses(nil)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'stop')
  lu.assertNil(x.grad)
end

function TestWatch:test_steps_are_counted()
  local before = engine.num_steps()
  local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
  optimizer:step()
  optimizer:step()
  lu.assertEquals(engine.num_steps() - before, 2)
end

os.exit(lu.LuaUnit.run(), true)

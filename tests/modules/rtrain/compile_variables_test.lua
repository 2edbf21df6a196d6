-- A plan of train.compile has the numbers of its recording: it fits as long as the variables around the step are the same.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local nn, F = torch.nn, torch.nn.functional

TestVariables = {}

-- Calls the step with ones until it has a plan.
local function compiled(fn)
  local step = train.compile(fn)
  for _ = 1, 4 do step(torch.ones(2)) end
  lu.assertEquals({step.state, step.reason}, {'compiled'})
  return step
end

local function value_of(step) return step(torch.ones(2)):sum():item() end

function TestVariables:test_a_local_variable()
  local beta = 1
  local step = compiled(function(x) return x * beta end)
  lu.assertEquals(value_of(step), 2)
  for _, new in ipairs{3, 5, 1} do
    beta = new
    for _ = 1, 4 do lu.assertEquals(value_of(step), 2 * new) end
  end
  lu.assertEquals(step.state, 'compiled')
end

function TestVariables:test_those_of_a_function_that_the_step_calls()
  local scale, is_shifted = 2, false
  local function loss_of(x) return is_shifted and x * scale + 1 or x * scale end
  local step = compiled(function(x) return loss_of(x) end)
  scale = 4
  lu.assertEquals(value_of(step), 8)
  is_shifted = true
  lu.assertEquals(value_of(step), 10)
end

function TestVariables:test_global_variables()
  rawset(_G, 'factor', 2)
  local step = compiled(loadstring 'local x = ... return (function() return x * factor end)()')
  lu.assertEquals(value_of(step), 4)
  rawset(_G, 'factor', 3)
  lu.assertEquals(value_of(step), 6)
end

function TestVariables:test_fields_of_plain_tables()
  local config = {loss = {weight = 2}, rates = {1, 2}}
  local step = compiled(function(x) return x * config.loss.weight + config.rates[2] end)
  config.loss.weight = 3
  lu.assertEquals(value_of(step), 10)
  config.rates[2] = 0
  lu.assertEquals(value_of(step), 6)
end

function TestVariables:test_fields_of_modules()
  local dropout = nn.Dropout(0.5)
  local step = compiled(function(x) return dropout(x) end)
  dropout.p = 0
  for _ = 1, 4 do lu.assertEquals(value_of(step), 2) end
  dropout.p = 1
  for _ = 1, 4 do lu.assertEquals(value_of(step), 0) end
end

function TestVariables:test_a_module_of_the_script()
  local slope = 1
  local Net = nn.Module:extend 'Net'
  function Net:init() self.bias = 1 end
  function Net:forward(x) return x * slope + self.bias end
  local net = Net()
  local step = compiled(function(x) return net(x) end)
  net.bias = 2
  lu.assertEquals(value_of(step), 6)
  slope = 5
  lu.assertEquals(value_of(step), 14)
end

-- A step that counts its calls goes on counting.
function TestVariables:test_what_changes_in_each_call_is_named()
  local count, late = 0, 0
  local step = train.compile(function(x)
    count = count + 1
    return x * 2
  end)
  for _ = 1, 20 do value_of(step) end
  lu.assertEquals(count, 20)
  lu.assertEquals({step.state, step.reason}, {'eager', 'its calls differ: the variable count was 5 and is 6'})
  local given = train.compile(function(x) return x * late end)
  for i = 1, 20 do
    late = i
    lu.assertEquals(value_of(given), 2 * i)
  end
  lu.assertStrContains(given.reason, 'the variable late was ')
end

-- What the step does not read is not compared: the library's own, large tables, NaN.
function TestVariables:test_what_does_not_matter()
  local rows, nan, seen = {}, 0 / 0, setmetatable({count = 0}, {})
  for i = 1, 10000 do rows[i] = {i} end
  local step = compiled(function(x)
    seen.count = seen.count + 1
    return F.relu(x) * (nan ~= nan and 2 or rows[1][1])
  end)
  lu.assertEquals(value_of(step), 4)
  lu.assertEquals(seen.count, 3)
end

function TestVariables:test_a_forward_without_gradients()
  local beta = 2
  local fast = torch.compile(function(x) return x * beta end)
  torch.no_grad(function()
    for _ = 1, 5 do lu.assertEquals(value_of(fast), 4) end
    beta = 3
    lu.assertEquals(value_of(fast), 6)
  end)
  lu.assertEquals(fast.state, 'compiled')
end

os.exit(lu.LuaUnit.run(), true)

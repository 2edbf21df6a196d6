-- train.compile names lines of the script: why a step stays eager, the passes of a plan, its operators in profiles.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'

local FILE = debug.getinfo(1, 'S').short_src .. ':'
local function line() return debug.getinfo(2, 'l').currentline end

local function called(step, count, ...)
  for _ = 1, count do step(...) end
  return step
end

TestLines = {}

function TestLines:test_a_number_that_the_step_reads()
  local here
  local step = called(train.compile(function(x)
    here = line() + 1
    local number = x:sum():item()
    return x * number
  end), 2, torch.ones(2))
  lu.assertEquals(step.reason,
    'it reads a number out of a tensor (item(), or a tensor in a condition), at ' .. FILE .. here)
end

function TestLines:test_a_scheduler_in_the_step()
  local weight = torch.nn.Parameter(torch.ones(2))
  local optimizer = torch.optim.SGD({weight})
  local scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
  local here
  local step = called(train.compile(function()
    weight:sum():backward()
    optimizer:step()
    here = line() + 1
    scheduler:step()
  end), 2)
  lu.assertStrContains(step.reason, 'LinearLR:step() is called inside')
  lu.assertStrContains(step.reason, ', at ' .. FILE .. here)
end

function TestLines:test_calls_that_differ()
  local seen = setmetatable({}, {})  -- no variable that is compared
  local step = called(train.compile(function(x)
    seen.line = line() + 1
    if seen.is_odd then x = x:exp() else x = x:sin() end
    seen.is_odd = not seen.is_odd
    return x
  end), 12, torch.ones(2))
  local place = 'aten::%a+ at ' .. (FILE .. seen.line):gsub('%p', '%%%0')
  lu.assertStrMatches(step.reason, 'its calls differ: operator 1 was ' .. place .. ' and is ' .. place .. ' in the next call')
end

-- A training step with a plan. Returns it, and its lines by what is in them.
local function planned()
  local weight = torch.nn.Parameter(torch.randn(4, 4))
  local optimizer, lines = torch.optim.AdamW({weight}), setmetatable({}, {})
  local step = called(train.compile(function(x)
    lines.forward = line() + 1
    local y = (x:mm(weight) * 2 + 1):tanh()
    lines.loss = line() + 1
    local loss = y:mean()
    lines.backward = line() + 1
    loss:backward()
    lines.step = line() + 1
    optimizer:step()
    optimizer:zero_grad()
  end), 4, torch.ones(3, 4))
  lu.assertEquals({step.state, step.reason}, {'compiled'})
  return step, lines
end

function TestLines:test_passes()
  local step, lines = planned()
  lu.assertStrContains(step:explain(), ('fused_mul_add_tanh at %s%d: 3 operators, '):format(FILE, lines.forward))
end

function TestLines:test_profiles()
  local step, lines = planned()
  local profile
  torch.profiler.profile({with_stack = true}, function(prof)
    profile = prof
    called(step, 2, torch.ones(3, 4))
  end)
  local rows = {}
  for _, row in ipairs(profile:key_averages{group_by_stack_n = 1}) do
    if row.stack[1] then rows[row.key .. ' ' .. row.stack[1]] = row.count end
  end
  lu.assertEquals(rows[('fused_mul_add_tanh %s%d'):format(FILE, lines.forward)], 2)
  lu.assertEquals(rows[('aten::mm %s%d'):format(FILE, lines.forward)], 2)
  lu.assertEquals(rows[('aten::mm %s%d'):format(FILE, lines.backward)], 2)
  lu.assertEquals(rows[('aten::_fused_adamw_ %s%d'):format(FILE, lines.step)], 2)
end

os.exit(lu.LuaUnit.run(), true)

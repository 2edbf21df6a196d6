-- Losses on a GPU: backward() does not read them; it keeps the newest losses with the numbers of their steps.
local lu = require 'luaunit'
local torch = require 'torch'
local engine = require 'torch._C'

local function backward_of(number)
  local loss = torch.tensor({number}):to 'cuda'
  loss:requires_grad_()
  loss:backward()
end

local function numbers(losses)
  local out = {}
  for i, loss in ipairs(losses) do out[i] = loss:cpu():item() end
  return out
end

TestLossWatch = {}

function TestLossWatch:tearDown() engine.watch_losses(nil) end

function TestLossWatch:test_they_are_kept_with_their_steps_and_not_read()
  local calls = 0
  engine.watch_losses(function() calls = calls + 1 end)
  local before = engine.num_steps()
  local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
  backward_of(1)
  optimizer:step()
  backward_of(math.huge)
  local losses, steps = engine.take_losses()
  lu.assertEquals(numbers(losses), {1, math.huge})
  lu.assertEquals(steps, {before, before + 1})
  lu.assertFalse(losses[1].requires_grad)
  lu.assertEquals(calls, 0)
  lu.assertEquals(#engine.take_losses(), 0)
end

function TestLossWatch:test_the_newest_are_kept()
  engine.watch_losses(function() end)
  for i = 1, 300 do backward_of(i) end
  local found = numbers(engine.take_losses())
  lu.assertEquals({#found, found[1], found[256]}, {256, 45, 300})
end

function TestLossWatch:test_none_is_kept_when_nobody_asks()
  backward_of(1)
  lu.assertEquals(#engine.take_losses(), 0)
  engine.watch_losses(function() end)
  lu.assertEquals(#engine.take_losses(), 0)
end

os.exit(lu.LuaUnit.run(), true)

-- A plan of train.compile keeps the masks of dropout as bytes, with the bits of the step.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'

-- Returns the most bytes that tensors take during a call.
local function peak_of(fn)
  local C = require 'torch._C'
  collectgarbage()
  collectgarbage()
  C.reset_peak_memory_stats()
  local before = C.memory_stats().live_bytes
  fn()
  return C.memory_stats().peak_bytes - before
end

TestMasks = {}

function TestMasks:test_masks_of_dropout_are_bytes()
  local x = torch.randn(64, 256):requires_grad_()
  local function step(grad)
    local y = x
    for _ = 1, 8 do y = torch.nn.functional.dropout(y * 2, 0.3) end
    return torch.autograd.grad(y, x, {grad_outputs = grad})[1]
  end
  local compiled, grad = train.compile(step), torch.randn(64, 256)
  for _ = 1, 4 do compiled(grad) end
  lu.assertEquals(compiled.state, 'compiled')
  torch.manual_seed(3)
  local expected = step(grad)
  torch.manual_seed(3)
  lu.assertTrue(torch.equal(compiled(grad), expected))
  -- Eagerly eight masks of 64 KiB wait for the backward; here they have 16 KiB each.
  lu.assertTrue(peak_of(function() step(grad) end) > 8 * 65536)
  lu.assertTrue(peak_of(function() compiled(grad) end) < 6 * 65536)
end

-- A mask that something else than a product reads stays as it is.
function TestMasks:test_masks_that_are_read_in_other_ways()
  local x = torch.randn(16, 32)
  for name, use in pairs{
    result = function(mask) return mask end,
    sum = function(mask) return x * mask, mask:sum() end,
    view = function(mask) return x * mask:t():t() + mask:narrow(0, 0, 1) end,
    divided_twice = function(mask) return x * mask:div_(3) end,
    broadcast = function(mask) return torch.randn(2, 16, 32) * mask end,
  } do
    local function step() return use(torch.empty_like(x):bernoulli_(0.4):div_(0.4)) end
    local compiled = train.compile(step)
    for i = 1, 5 do
      torch.manual_seed(i)
      local got = {compiled()}
      torch.manual_seed(i)
      for k, expected in ipairs{step()} do lu.assertTrue(torch.equal(got[k], expected), name) end
    end
    lu.assertEquals(compiled.state, 'compiled', name)
  end
end

os.exit(lu.LuaUnit.run(), true)

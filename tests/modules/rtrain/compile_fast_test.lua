-- train.compile with fast_math: numbers near those of float64, and the operators that only it has in regions.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'

local F = torch.nn.functional

-- The results of the function and of its gradient.
local function with_gradient(fn)
  return function(x, grad)
    x = x:detach():requires_grad_()
    local y = fn(x)
    return y:detach(), torch.autograd.grad(y, x, {grad_outputs = y:dim() > 0 and grad or nil})[1]
  end
end

local classes = torch.randint(0, 48, {40})
local FUNCTIONS = {
  exp = function(x) return (x * 2):exp() end,
  softmax = function(x) return F.softmax(x * 2, -1) end,
  log_softmax = function(x) return F.log_softmax(x * 2, -1) end,
  cross_entropy = function(x) return F.cross_entropy(x * 2, classes) end,
  gelu = function(x) return F.gelu(x * 2) end,
  silu = function(x) return F.silu(x * 2) end,
}

TestFastMath = {}

function TestFastMath:test_numbers_are_near_those_of_float64()
  torch.manual_seed(4)
  for name, fn in pairs(FUNCTIONS) do
    local step = with_gradient(fn)
    local fast = train.compile(step, {fast_math = true})
    for _ = 1, 6 do
      local x, grad = torch.randn(40, 48) * 2, torch.randn(40, 48)
      local got = {fast(x, grad)}
      for i, expected in ipairs{step(x:double(), grad:double())} do
        local error = ((got[i]:double() - expected):abs() / (1 + expected:abs())):max():item()
        lu.assertTrue(error < 5e-6, ('%s, result %d: %g'):format(name, i, error))
      end
    end
    lu.assertEquals(fast.state, 'compiled', name)
  end
end

function TestFastMath:test_gelu_is_part_of_a_region()
  local function step(x) return F.gelu(x * 2) + 1 end
  local exact, fast = train.compile(step), train.compile(step, {fast_math = true})
  local x = torch.randn(64, 64)
  for _ = 1, 5 do
    lu.assertTrue(torch.equal(exact(x), step(x)))
    fast(x)
  end
  lu.assertStrContains(exact:explain(), 'aten::gelu')
  lu.assertNotStrContains(fast:explain(), 'aten::gelu')
  for _, special in ipairs{0, -0.0, 1e-30, 30, -30} do
    local value = torch.full({64, 64}, special)
    lu.assertTrue(torch.allclose(fast(value), step(value), {atol = 1e-6}), special)
  end
end

os.exit(lu.LuaUnit.run(), true)

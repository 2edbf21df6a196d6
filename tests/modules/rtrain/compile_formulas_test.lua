-- Regions of train.compile: each operator with a formula gives the bits of ATen's own kernel, at all lengths, for numbers
-- that are not finite, with several threads, and for each set of instructions (ATEN_CPU_CAPABILITY).
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'

local F = torch.nn.functional

local function gradient(fn)
  return function(a, b)
    local leaf = a:detach():requires_grad_()
    return torch.autograd.grad(fn(leaf), leaf, {grad_outputs = b})[1]
  end
end

local FORMULAS = {
  {'neg', function(a) return a:neg() end},
  {'abs', function(a) return a:abs() end},
  {'reciprocal', function(a) return a:reciprocal() end},
  {'rsqrt', function(a) return a:rsqrt() end},
  {'relu', function(a) return a:relu() end},
  {'square', function(a) return a:pow(2) end},
  {'clone', function(a) return a:clone() end},
  {'copy_', function(a, b) return a:clone():copy_(b) end},
  {'add', function(a, b) return a + b end},
  {'add with alpha', function(a, b) return a:add(b, {alpha = 0.3}) end},
  {'add of a number', function(a) return a + 0.3 end},
  {'sub', function(a, b) return a - b end},
  {'sub with alpha', function(a, b) return a:sub(b, {alpha = 0.3}) end},
  {'mul', function(a, b) return a * b end},
  {'mul by a number', function(a) return a * 0.3 end},
  {'div', function(a, b) return a / b end},
  {'div by a number', function(a) return a / 0.3 end},
  {'addcmul', function(a, b, c) return a:addcmul(b, c, {value = 0.3}) end},
  {'addcdiv', function(a, b, c) return a:addcdiv(b, c, {value = 0.3}) end},
  {'where', function(a, b, c) return torch.where(a:gt(0), b, c) end},
  {'masked_fill', function(a, b) return b:masked_fill(a:gt(0), 0.3) end},
  {'relu backward', gradient(function(x) return x:relu() end)},
  {'tanh backward', gradient(function(x) return x:tanh() end)},
  {'sigmoid backward', gradient(function(x) return x:sigmoid() end)},
  {'exp', function(a) return a:exp() end},
  {'log', function(a) return a:log() end},
  {'log1p', function(a) return a:log1p() end},
  {'expm1', function(a) return a:expm1() end},
  {'tanh', function(a) return a:tanh() end},
  {'erf', function(a) return a:erf() end},
  {'sin', function(a) return a:sin() end},
  {'cos', function(a) return a:cos() end},
  {'sqrt', function(a) return a:sqrt() end},
  {'pow 0.5', function(a) return a:pow(0.5) end},
  {'pow -0.5', function(a) return a:pow(-0.5) end},
  {'pow -1', function(a) return a:pow(-1) end},
  {'pow 3', function(a) return a:pow(3) end},
  {'sigmoid', function(a) return a:sigmoid() end},
  {'silu', function(a) return F.silu(a) end},
  {'silu backward', gradient(function(x) return F.silu(x) end)},
  {'gelu', function(a) return F.gelu(a, {approximate = 'tanh'}) end},
  {'gelu backward', gradient(function(x) return F.gelu(x, {approximate = 'tanh'}) end)},
  {'softplus', function(a) return F.softplus(a) end},
  {'softplus with beta', function(a) return F.softplus(a, {beta = 1.7, threshold = 3}) end},
  {'softplus backward', gradient(function(x) return F.softplus(x, {beta = 1.7, threshold = 3}) end)},
  {'leaky relu', function(a) return F.leaky_relu(a, 0.3) end},
  {'leaky relu backward', gradient(function(x) return F.leaky_relu(x, 0.3) end)},
}
local LENGTHS = {1, 7, 8, 17, 1025, 70000}

-- Returns the bits, with one value for all NaN.
local function bits(x) return x:masked_fill(x:isnan(), 0 / 0):view('int32') end

local function operands(length, is_hostile)
  local a, b, c = torch.randn(length) * 3, torch.randn(length), torch.randn(length)
  if is_hostile and length > 4 then
    a[0], a[1], a[2], a[3] = 0 / 0, -0.0, math.huge, 1e-42
    b[1], b[2], b[3], b[4] = 0, -math.huge, 0 / 0, -0.0
  end
  return a, b, c
end

TestFormulas = {}

function TestFormulas:test_each_gives_the_bits_of_aten()
  local threads = torch.get_num_threads()
  torch.set_num_threads(2)
  torch.manual_seed(1)
  for _, formula in ipairs(FORMULAS) do
    for _, length in ipairs(LENGTHS) do
      -- A region has at least two operators.
      local function fn(a, b, c) return formula[2](a, b, c):neg() end
      local step = train.compile(fn)
      for i = 1, 6 do
        local a, b, c = operands(length, i >= 5)
        lu.assertTrue(torch.equal(bits(step(a, b, c)), bits(fn(a, b, c))), ('%s of %d'):format(formula[1], length))
      end
      lu.assertStrContains(step:explain(), ' in 1 regions', formula[1])
    end
  end
  torch.set_num_threads(threads)
end

os.exit(lu.LuaUnit.run(), true)

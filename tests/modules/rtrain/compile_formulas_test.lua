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
-- Returns fn(x, …), and the gradients of x and of `leaves`.
local function with_gradients(fn, leaves)
  return function(x, grad)
    x = x:detach():requires_grad_()
    local y = fn(x)
    return y:detach(), unpack(torch.autograd.grad(y, {x, unpack(leaves or {})}, {grad_outputs = y:dim() > 0 and grad or nil}))
  end
end

-- Operators that work on rows, of `width` numbers.
local ROWS = {
  {'softmax', function() return with_gradients(function(x) return F.softmax(x, -1) end) end},
  {'log_softmax', function() return with_gradients(function(x) return F.log_softmax(x * 2, -1) end) end},
  {'layer_norm', function(width)
    local weight, bias = torch.randn(width):requires_grad_(), torch.randn(width):requires_grad_()
    return with_gradients(function(x) return F.layer_norm(x + 1, {width}, weight, bias) end, {weight, bias})
  end},
  {'cross_entropy', function(width, rows)
    local classes = torch.randint(0, width, {rows})
    return with_gradients(function(x) return F.cross_entropy(x:reshape(-1, width), classes) end)
  end},
  {'sum', function() return with_gradients(function(x) return x * x:sum(-1, true) end) end},
  {'mean', function() return with_gradients(function(x) return x - x:mean(-1, true) end) end},
  {'amax', function() return function(x) return x - x:relu():neg():amax(-1, true) end end},
  {'softmax by hand', function()
    return function(x)
      local y = x * 2
      local most = y:amax(-1, true)
      local sum = y:sub_(most):exp_():sum(-1, true)
      return y:mul_(sum:reciprocal()), sum:log() + most
    end
  end},
  {'rms_norm', function(width)
    local weight = torch.randn(width):requires_grad_()
    return with_gradients(function(x) return F.rms_norm(x + 1, {width}, {weight = weight}) end, {weight})
  end},
  {'sums of columns', function()
    return with_gradients(function(x)
      local y, dims = x * 2, {}
      for dim = 0, x:dim() - 2 do dims[#dims + 1] = dim end
      return y * y:relu():sum(dims)
    end)
  end},
  {'bias before layer_norm', function(width)
    local bias, weight = torch.randn(width):requires_grad_(), torch.randn(width):requires_grad_()
    return with_gradients(function(x) return F.layer_norm(x * 2 + bias, {width}, weight, bias) end, {bias, weight})
  end},
  {'roll', function(width)
    local cosines, sines = torch.randn(width), torch.randn(width)
    return with_gradients(function(x) return (x * cosines):add_(x:roll(math.floor(width / 2), -1):mul_(sines)) end)
  end},
  {'slices', function(width)
    local first = math.floor(width / 3)
    return with_gradients(function(x)
      local a, b = x:narrow(-1, 0, first) * 2, x:narrow(-1, first, width - first):neg()
      return torch.cat({b, a}, -1)
    end)
  end},
  {'attention', function(width)
    local mask = torch.rand(width):gt(0.3)
    return with_gradients(function(x)
      return F.dropout(torch._safe_softmax(x:masked_fill(mask, -math.huge), -1), 0.1)
    end)
  end},
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

function TestFormulas:test_rows_have_the_bits_of_aten()
  local threads = torch.get_num_threads()
  for count = 1, 2 do
    torch.set_num_threads(count)
    for _, shape in ipairs{{5, 7, 64}, {3, 40, 192}, {33, 768}, {600, 96}, {1, 16}, {9, 37}, {700, 5}, {2, 3000}} do
      local width = shape[#shape]
      for _, entry in ipairs(ROWS) do
        local what = ('%s of %s with %d threads'):format(entry[1], table.concat(shape, ' x '), count)
        local rows = 1
        for i = 1, #shape - 1 do rows = rows * shape[i] end
        local fn = entry[2](width, rows)
        local step = train.compile(fn)
        for i = 1, 6 do
          local x, grad = torch.randn(unpack(shape)) * 3, torch.randn(unpack(shape))
          if i == 5 then x[0]:fill_(-math.huge) end
          if i == 6 then x:reshape(-1)[3] = 0 / 0 end
          torch.manual_seed(i)
          local got = {step(x, grad)}
          torch.manual_seed(i)
          for k, expected in ipairs{fn(x, grad)} do
            lu.assertTrue(torch.equal(bits(got[k]), bits(expected)), ('%s, result %d'):format(what, k))
          end
        end
        if width % 16 == 0 then lu.assertNotStrContains(step:explain(), ' in 0 regions', what) end
      end
    end
  end
  torch.set_num_threads(threads)
end

os.exit(lu.LuaUnit.run(), true)

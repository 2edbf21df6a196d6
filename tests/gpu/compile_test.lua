-- train.compile on a GPU: its kernels give the bits of LibTorch's where they work element by element, nearly the same
-- numbers where they add up rows, and a training goes as without them.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local F, nn = torch.nn.functional, torch.nn

require('ffi').cdef 'int setenv(const char*, const char*, int);'
require('ffi').C.setenv('RTRAIN_COMPILE', 'gpu', 1)

local function kernels_of(step)
  local pattern = 'of the regions (%d+) are for the GPU: (%d+) have their kernel, launched (%d+)'
  local count, ready, launches = step:explain():match(pattern)
  return tonumber(count or 0), tonumber(ready or 0), tonumber(launches or 0)
end

-- Calls the step until its plan has all its kernels.
local function until_ready(step, ...)
  for _ = 1, 3 do step(...) end
  lu.assertEquals({step.state, step.reason}, {'compiled'})
  for _ = 1, 600 do
    local count, ready = kernels_of(step)
    lu.assertTrue(count > 0, step:explain())
    if count == ready then return end
    os.execute 'sleep 0.05'
  end
  lu.fail('no kernels: ' .. step:explain())
end

local function compiled(fn, ...)
  local step = train.compile(fn)
  until_ready(step, ...)
  local before = select(3, kernels_of(step))
  local out = step(...)
  lu.assertTrue(select(3, kernels_of(step)) > before, step:explain())
  return out
end

local FORMULAS = {
  sums = function(x, y) return (x + y) * x - y / 3 end,
  products = function(x, y) return torch.addcmul(x, x, y, {value = 0.3}) * y end,
  quotients = function(x, y) return torch.addcdiv(x, y, y:abs() + 1, {value = 0.7}) * 2 end,
  roots = function(x) return (x:abs() + 1):sqrt():rsqrt() end,
  powers = function(x) return x ^ 2 + x ^ 3 end,
  exponents = function(x) return x:exp() + (x:abs() + 0.1):log() end,
  waves = function(x) return x:sin() * x:cos() end,
  sigmoids = function(x) return x:sigmoid() * x:tanh() end,
  silu = function(x) return F.silu(x) * 2 end,
  gelu = function(x) return F.gelu(x) * 2 end,
  gelu_tanh = function(x) return F.gelu(x, {approximate = 'tanh'}) * 2 end,
  softplus = function(x) return F.softplus(x) * 2 end,
  masks = function(x, y) return torch.where(x:gt(0), y, x * 2) + 1 end,
}

TestKernels = {}

function TestKernels:test_bits_of_elements()
  torch.manual_seed(3)
  for _, dtype in ipairs{torch.float32, torch.bfloat16, torch.float16} do
    for _, sizes in ipairs{{16, 1000}, {7, 33}} do
      local x = (torch.randn(unpack(sizes)):to('cuda') * 3):to(dtype)
      local y = torch.randn(sizes[#sizes]):to('cuda'):to(dtype)
      for name, fn in pairs(FORMULAS) do
        lu.assertTrue(torch.equal(compiled(fn, x, y), fn(x, y)), name .. ' ' .. dtype)
      end
    end
  end
end

-- The gradients of functions whose formula is one of ATen's own kernels.
function TestKernels:test_bits_of_gradients()
  torch.manual_seed(3)
  for _, dtype in ipairs{torch.float32, torch.bfloat16, torch.float16} do
    local x = torch.randn(16, 1000):to('cuda'):to(dtype)
    for _, name in ipairs{'tanh', 'sigmoid', 'silu', 'gelu', 'relu', 'softplus', 'leaky_relu'} do
      local fn = function(given)
        local input = (given * 2):requires_grad_()
        local out = F[name](input)
        return torch.autograd.grad(out, input, {grad_outputs = given * 3})[1] * 2
      end
      lu.assertTrue(torch.equal(compiled(fn, x), fn(x)), name .. ' ' .. dtype)
    end
  end
end

-- Seeds, sizes that fill vectors of 8, 4, 2 and 1 elements, more of them than the device has threads, and rows.
function TestKernels:test_dropout_draws_the_numbers_of_its_operator()
  for _, dtype in ipairs{torch.float32, torch.bfloat16, torch.float16} do
    for _, sizes in ipairs{{64, 1000}, {31, 33}, {3, 2}, {9, 4}, {3000, 2001}, {2048, 4096}} do
      local x = torch.randn(unpack(sizes)):to('cuda'):to(dtype)
      for _, fn in ipairs{
        function(t) return F.dropout(t + 1, 0.1) * 2 end,
        function(t) return F.dropout(F.dropout(t * 2, 0.5) + t, 0.3) end,
        function(t) return F.dropout(F.softmax(t * 2, -1), 0.2) end,
      } do
        local step = train.compile(fn)
        until_ready(step, x)
        torch.manual_seed(5)
        local got, after = {step(x), step(x)}, torch.cuda.get_rng_state()
        torch.manual_seed(5)
        for i = 1, 2 do
          local wanted = fn(x)
          lu.assertTrue(torch.equal(got[i]:eq(0), wanted:eq(0)))
          lu.assertTrue(torch.allclose(got[i], wanted, {rtol = 2e-2, atol = 1e-3}))
        end
        lu.assertTrue(torch.equal(torch.cuda.get_rng_state(), after))
      end
    end
  end
end

function TestKernels:test_bits_of_casts()
  local x = torch.randn(16, 1000):to 'cuda'
  for _, dtype in ipairs{torch.bfloat16, torch.float16} do
    local fn = function(given) return ((given * 3):to(dtype) * 2):to(torch.float32) - given end
    lu.assertTrue(torch.equal(compiled(fn, x), fn(x)))
  end
end

local function assert_rows(width, dtype, tolerance)
  local x = torch.randn(33, width):to('cuda'):to(dtype)
  local weight = torch.randn(width):to('cuda'):to(dtype)
  for name, fn in pairs{
    softmax = function(t) return F.softmax(t * 2, -1) * 3 end,
    log_softmax = function(t) return F.log_softmax(t * 2, -1) * 3 end,
    norm = function(t) return F.layer_norm(t + 1, {width}, weight) * 2 end,
    mean = function(t) return (t * 2):mean{dim = -1, keepdim = true} * t end,
  } do
    lu.assertTrue(torch.allclose(compiled(fn, x), fn(x), tolerance), name .. width .. dtype)
  end
end

function TestKernels:test_numbers_of_rows()
  torch.manual_seed(3)
  for _, width in ipairs{5, 192, 1024, 4096, 50257} do
    assert_rows(width, torch.float32, {rtol = 1e-5, atol = 1e-6})
    assert_rows(width, torch.bfloat16, {rtol = 2e-2, atol = 1e-3})
    assert_rows(width, torch.float16, {rtol = 3e-3, atol = 1e-4})
  end
end

-- dtype: of autocast. mode: of train.compile; without it the step runs eagerly.
local function trained(dtype, mode)
  torch.manual_seed(1)
  local norm = nn.LayerNorm(64)
  local model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), norm, nn.Dropout(0.1), nn.Linear(64, 10)):to 'cuda'
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
  local function step(x, y)
    optimizer:zero_grad()
    local loss = torch.autocast('cuda', {dtype = dtype or 'bfloat16', enabled = dtype ~= nil}, function()
      return F.cross_entropy(model(x), y)
    end)
    loss:backward()
    optimizer:step()
    return loss
  end
  if mode then step = train.compile(step, {mode = mode}) end
  local x, y = torch.randn(128, 32):to 'cuda', torch.randint(0, 10, {128}):to 'cuda'
  local losses = {}
  for i = 1, 40 do
    losses[i] = step(x, y):item()
    if mode and i == 10 then os.execute 'sleep 5' end  -- the kernels come in the middle
  end
  if mode then
    local count, ready, launches = kernels_of(step)
    lu.assertEquals({step.state, ready}, {'compiled', count})
    lu.assertTrue(mode == 'reduce-overhead' or launches >= 20 * count)
  end
  return losses
end

local function assert_trains(dtype, mode, error)
  local wanted, got = trained(dtype), trained(dtype, mode)
  for i = 1, #wanted do lu.assertAlmostEquals(got[i], wanted[i], error * (1 + i)) end
  lu.assertTrue(got[40] < got[1] / 2)
end

function TestKernels:test_a_training_goes_as_without_them() assert_trains(nil, 'default', 1e-3) end

function TestKernels:test_a_training_under_autocast_goes_as_without_them()
  for _, dtype in ipairs{'bfloat16', 'float16'} do assert_trains(dtype, 'default', 1e-2) end
end

-- AdamW counts its steps where it computes; a plan that cannot be a graph says why and goes on.
function TestKernels:test_a_training_as_one_graph()
  for _, dtype in ipairs{false, 'bfloat16'} do assert_trains(dtype or nil, 'reduce-overhead', dtype and 1e-2 or 1e-3) end
end

function TestKernels:test_a_graph_gives_the_numbers_of_its_plan()
  local fn = function(x, y) return F.dropout(F.gelu(x:mm(y)) + 1, 0.2), (x * y:t()):tanh() end
  local step, x, y = train.compile(fn, {mode = 'reduce-overhead'}), torch.randn(64, 64):to 'cuda', torch.randn(64, 64):to 'cuda'
  until_ready(step, x, y)
  for _ = 1, 6 do step(x, y) end
  lu.assertStrContains(step:explain(), 'one CUDA graph')
  torch.manual_seed(4)
  local got = {step(x, y)}
  torch.manual_seed(4)
  local wanted = {fn(x, y)}
  for i = 1, 2 do lu.assertTrue(torch.equal(got[i], wanted[i])) end
end

os.exit(lu.LuaUnit.run(), true)

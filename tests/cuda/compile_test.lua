-- train.compile on the simulated devices of tests/fake_nvidia. LibTorch's own kernels do nothing there, but for products,
-- copies and fills; those of train.compile do their work. So a step has the CPU's numbers only if kernels have computed
-- all of them.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local F = torch.nn.functional
local ffi = require 'ffi'

ffi.cdef 'int setenv(const char*, const char*, int); int unsetenv(const char*);'

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
    if count == ready then return count end
    os.execute 'sleep 0.05'
  end
  lu.fail('no kernels: ' .. step:explain())
end

local function assert_near(got, wanted)
  lu.assertEquals(got:size(), wanted:size())
  lu.assertTrue(torch.allclose(got:cpu(), wanted, {rtol = 1e-4, atol = 1e-5}), tostring(got:cpu()) .. tostring(wanted))
end

local function on_gpu(fn, ...)
  local given = {...}
  for i, tensor in ipairs(given) do given[i] = tensor:to('cuda') end
  local step = train.compile(fn)
  local count = until_ready(step, unpack(given))
  return step, given, count
end

TestCompile = {}

function TestCompile:setUp() torch.manual_seed(1) end

function TestCompile:test_elements()
  local fn = function(x, y) return ((x * 2 + y):tanh() - y):sigmoid() end
  local x, y = torch.randn(8, 33), torch.randn(33)
  local step, given, count = on_gpu(fn, x, y)
  lu.assertEquals(count, 1)
  assert_near(step(unpack(given)), fn(x, y))
  assert_near(step(unpack(given)), fn(x, y))
  lu.assertEquals({select(3, kernels_of(step))}, {2})
end

function TestCompile:test_rows()
  for _, width in ipairs{7, 192, 3000} do
    local fn = function(x, gamma, beta)
      return F.softmax(F.layer_norm(x + 1, {width}, gamma, beta) * 2, -1):neg()
    end
    local x, gamma, beta = torch.randn(5, width), torch.randn(width), torch.randn(width)
    local step, given = on_gpu(fn, x, gamma, beta)
    assert_near(step(unpack(given)), fn(x, gamma, beta))
  end
end

local NARROW = {torch.bfloat16, torch.float16}

-- The CPU's operators compute with float32 and round once too.
function TestCompile:test_numbers_of_16_bits_have_their_bits()
  local fn = function(x, y, is_on)
    local z = (x * 2 + y) * y - x
    return z:relu(), z ^ 2, z:neg():sqrt(), torch.where(is_on, z, y)
  end
  for _, dtype in ipairs(NARROW) do
    for _, width in ipairs{64, 33} do
      local x, y = torch.randn(24, width):to(dtype), torch.randn(width):to(dtype)
      local is_on = x:gt(0)
      local step, given = on_gpu(fn, x, y, is_on)
      local got, wanted = {step(unpack(given))}, {fn(x, y, is_on)}
      for i = 1, #wanted do
        lu.assertEquals(got[i].dtype, dtype)
        lu.assertTrue(torch.allclose(got[i]:cpu(), wanted[i], {rtol = 0, atol = 0, equal_nan = true}), dtype .. i)
      end
    end
  end
end

function TestCompile:test_casts_are_part_of_a_region()
  local fn = function(x, is_on, count, dtype)
    local narrow = (x * 3):to(dtype)
    return (narrow + is_on:to(dtype)):to(torch.float32) - x + count:to(torch.float32), narrow
  end
  for _, dtype in ipairs(NARROW) do
    local x, is_on, count = torch.randn(8, 40), torch.randn(8, 40):gt(0), torch.randint(0, 5, {8, 40})
    local step, given, kernels = on_gpu(function(a, b, c) return fn(a, b, c, dtype) end, x, is_on, count)
    lu.assertEquals(kernels, 1)
    lu.assertNil(step:explain():match 'aten::_to_copy', step:explain())
    local got, wanted = {step(unpack(given))}, {fn(x, is_on, count, dtype)}
    for i = 1, 2 do lu.assertTrue(torch.equal(got[i]:cpu(), wanted[i]), dtype .. i) end
  end
end

function TestCompile:test_rows_of_16_bits()
  for _, dtype in ipairs(NARROW) do
    for _, width in ipairs{7, 192, 3000} do
      local fn = function(x, gamma, beta)
        local h = F.layer_norm(x + 1, {width}, gamma, beta)
        return F.softmax(h * 2, -1), h, (h * 2):amax{dim = -1, keepdim = true}
      end
      local x, gamma, beta = torch.randn(5, width):to(dtype), torch.randn(width):to(dtype), torch.randn(width):to(dtype)
      local step, given = on_gpu(fn, x, gamma, beta)
      local got, wanted = {step(unpack(given))}, {fn(x, gamma, beta)}
      for i = 1, 3 do
        lu.assertTrue(torch.allclose(got[i]:cpu():float(), wanted[i]:float(), {rtol = 2e-2, atol = 1e-2}), dtype .. width)
      end
    end
  end
end

function TestCompile:test_dropout_is_part_of_a_region()
  for _, dtype in ipairs{torch.float32, torch.bfloat16} do
    local step, given, kernels = on_gpu(function(x) return F.dropout(x + 1, 0.25) * 2 end, torch.zeros(100, 64):to(dtype))
    lu.assertEquals(kernels, 1)
    lu.assertNil(step:explain():match 'aten::native_dropout', step:explain())
    local before = torch.cuda.get_rng_state()
    local first, second = step(unpack(given)):cpu():float(), step(unpack(given)):cpu():float()
    lu.assertFalse(torch.equal(first, second))
    local kept = first:ne(0)
    local scaled = torch.full({}, 1 / 0.75):to(dtype):float():item() * 2
    lu.assertTrue(torch.equal(first, kept:float() * scaled))
    lu.assertAlmostEquals(kept:float():mean():item(), 0.75, 0.03)
    -- The same state of the generator gives the same numbers.
    torch.cuda.set_rng_state(before)
    lu.assertTrue(torch.equal(step(unpack(given)):cpu():float(), first))
  end
end

-- Each dropout moves the generator's offset as LibTorch's kernel does.
function TestCompile:test_dropout_moves_the_generator()
  local fn = function(x) return F.dropout(F.dropout(x * 2, 0.5) + 1, 0.1) end
  local step, given = on_gpu(fn, torch.randn(40, 33))
  local function offset_after(call)
    torch.cuda.manual_seed(7)
    call(unpack(given))
    return torch.cuda.get_rng_state()
  end
  lu.assertTrue(torch.equal(offset_after(step), offset_after(fn)))
end

function TestCompile:test_norms_without_weights()
  for i, fn in ipairs{
    function(x) return F.layer_norm(x * 2, {24}) + 1 end,
    function(x, gamma) return F.layer_norm(x * 2, {24}, gamma) + 1 end,
  } do
    local x, gamma = torch.randn(6, 24), torch.randn(24)
    local given = {x, i == 2 and gamma or nil}
    local step, moved = on_gpu(fn, unpack(given))
    assert_near(step(unpack(moved)), fn(unpack(given)))
  end
end

function TestCompile:test_a_training_step_with_gradients()
  local function make(device)
    torch.manual_seed(5)
    local w = torch.randn(16, 32):to(device):requires_grad_()
    local v = torch.randn(32, 8):to(device):requires_grad_()
    local gamma = torch.randn(32):to(device):requires_grad_()
    local beta = torch.randn(32):to(device):requires_grad_()
    return {w, v, gamma, beta}, function(x)
      local h = F.layer_norm(F.gelu(x:mm(w), {approximate = 'tanh'}), {32}, gamma, beta)
      local y = F.log_softmax(h:mm(v):tanh(), -1)
      y:backward(torch.ones_like(y))
      torch.no_grad(function()
        for _, p in ipairs{w, v, gamma, beta} do
          p:sub_(p.grad * 0.01)
          p.grad = nil
        end
      end)
      return y
    end
  end
  local x = torch.randn(24, 16)
  local wanted, expected_step = make 'cpu'
  local got, fn = make 'cuda'
  local step = train.compile(fn)
  local x_gpu = x:to 'cuda'
  until_ready(step, x_gpu)
  -- The first calls changed the parameters by the numbers of kernels that do nothing.
  torch.no_grad(function()
    for i, p in ipairs(got) do p:copy_(wanted[i]) end
  end)
  for _ = 1, 5 do assert_near(step(x_gpu):detach(), expected_step(x):detach()) end
  for i, p in ipairs(got) do assert_near(p:detach(), wanted[i]:detach()) end
  lu.assertEquals(step.state, 'compiled')
end

-- Another offset makes another plan, whose kernel reads the numbers one by one.
function TestCompile:test_an_argument_at_an_odd_address()
  local fn = function(x) return (x * 2):tanh() end
  local step = on_gpu(fn, torch.randn(8))
  local odd = torch.randn(9):to('cuda'):narrow(0, 1, 8):detach()
  until_ready(step, odd)
  local before = select(3, kernels_of(step))
  assert_near(step(odd), fn(odd:cpu()))
  lu.assertEquals(select(3, kernels_of(step)), before + 1)
end

function TestCompile:test_a_graph_holds_kernels()
  local fn = function(x) return F.softmax(x * 2 + 1, -1) end
  local step, given = on_gpu(fn, torch.randn(4, 40))
  step(unpack(given))  -- a kernel is loaded at its first use, but not in a capture
  local graph, x, y = torch.cuda.CUDAGraph(), given[1], nil
  torch.cuda.graph(graph, function() y = step(x) end)
  for _ = 1, 2 do
    local now = torch.randn(4, 40)
    x:copy_(now)
    graph:replay()
    assert_near(y, fn(now))
  end
end

function TestCompile:test_the_next_process_finds_kernels()
  on_gpu(function(x) return (x * 7):tanh() end, torch.randn(16))
  local files = io.popen(('ls %s/rtrain/kernels'):format(os.getenv 'XDG_CACHE_HOME')):read '*a'
  lu.assertStrMatches(files:match '[^\n]+', '%x+')
end

function TestCompile:test_a_refusal_of_the_compiler_leaves_the_operators()
  ffi.C.setenv('FAKE_NVRTC_REFUSES', 'no such type', 1)
  local step = train.compile(function(x) return (x * 11):tanh() end)
  local x = torch.randn(16):to 'cuda'
  for _ = 1, 100 do
    step(x)
    if step:explain():match 'no such type' then break end
    os.execute 'sleep 0.05'
  end
  ffi.C.unsetenv 'FAKE_NVRTC_REFUSES'
  lu.assertStrContains(step:explain(), 'a region whose operators are called instead: NVRTC refuses a kernel: no such type')
  lu.assertEquals({step.state, kernels_of(step)}, {'compiled', 1, 0, 0})
end

function TestCompile:test_several_gpus()
  local step = train.compile(function(x, y) return x * 2, y * 2 end)
  local x, y = torch.randn(4):to 'cuda:0', torch.randn(4):to 'cuda:1'
  for _ = 1, 4 do step(x, y) end
  lu.assertEquals({step.state, step.reason}, {'eager', 'it uses tensors on cuda:0 and on cuda:1'})
end

os.exit(lu.LuaUnit.run(), true)

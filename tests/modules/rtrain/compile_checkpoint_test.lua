-- A plan of train.compile computes the activations of torch.utils.checkpoint again, with the bits of the step.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local nn = torch.nn
local checkpoint = torch.utils.checkpoint.checkpoint

local WIDTH, ROWS, LAYERS = 32, 256, 6

-- Returns a training step of some layers, each one called through `call`, and what it trains.
local function make(call)
  torch.manual_seed(1)
  local layers = nn.ModuleList()
  for _ = 1, LAYERS do
    layers:append(nn.Sequential(nn.Linear(WIDTH, 8 * WIDTH), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8 * WIDTH, WIDTH)))
  end
  local optimizer = torch.optim.SGD(layers:parameters(), {lr = 0.1})
  local function step(x)
    optimizer:zero_grad()
    for _, layer in ipairs(layers) do x = call(layer, x) end
    local loss = x:pow(2):mean()
    loss:backward()
    optimizer:step()
    return loss
  end
  return step, layers
end

local function plainly(layer, x) return layer(x) end
local function checkpointed(layer, x) return checkpoint(layer, x) end

-- Returns losses and parameters after some steps, a random number behind them, and the step.
local function trained(call, is_compiled)
  local step, layers = make(call)
  if is_compiled then step = train.compile(step) end
  local losses = {}
  for i = 1, 8 do losses[i] = step(torch.randn(ROWS, WIDTH)):item() end
  if is_compiled then lu.assertEquals({step.state, step.reason}, {'compiled'}) end
  return {losses = losses, parameters = layers:parameters(), drawn = torch.rand({}):item(), step = step}
end

local function assert_same(got, wanted)
  lu.assertEquals({got.losses, got.drawn}, {wanted.losses, wanted.drawn})
  for i, p in ipairs(wanted.parameters) do lu.assertTrue(torch.equal(got.parameters[i], p)) end
end

TestCheckpoint = {}

function TestCheckpoint:test_bits()
  local wanted = trained(plainly, false)
  assert_same(trained(checkpointed, false), wanted)
  assert_same(trained(checkpointed, true), wanted)
end

function TestCheckpoint:test_without_the_state_of_random_numbers()
  local function call(layer, x) return checkpoint(layer, x, {preserve_rng_state = false}) end
  assert_same(trained(call, true), trained(call, false))
end

-- Returns the most bytes that tensors take during a call.
local function peak_of(step)
  local C = require 'torch._C'
  local x = torch.randn(ROWS, WIDTH)
  collectgarbage()
  collectgarbage()
  C.reset_peak_memory_stats()
  local before = C.memory_stats().live_bytes
  step(x)
  return C.memory_stats().peak_bytes - before
end

function TestCheckpoint:test_memory()
  if os.getenv 'RTRAIN_COMPILE_CHECK' == '1' then lu.skip 'the check keeps results' end
  local with, without = peak_of(trained(checkpointed, true).step), peak_of(trained(plainly, true).step)
  lu.assertTrue(with < without / 2, with .. ' ' .. without)
end

os.exit(lu.LuaUnit.run(), true)

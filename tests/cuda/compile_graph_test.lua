-- train.compile with mode = 'reduce-overhead' on the simulated devices of tests/fake_nvidia, which really capture and replay
-- kernels of train.compile, copies, fills and products.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local F = torch.nn.functional

local function launches_of(step) return tonumber(step:explain():match 'launched (%d+) times') end
local function replays_of(step) return tonumber(step:explain():match 'one CUDA graph, replayed (%d+) times' or 0) end

-- Calls the step until its plan is a graph.
local function until_captured(step, ...)
  for _ = 1, 600 do
    step(...)
    if replays_of(step) > 0 then return end
    os.execute 'sleep 0.05'
  end
  lu.fail('no graph: ' .. step:explain())
end

local function compiled(fn) return train.compile(fn, {mode = 'reduce-overhead'}) end

local function assert_near(got, wanted)
  lu.assertTrue(torch.allclose(got:cpu(), wanted, {rtol = 1e-4, atol = 1e-5}), tostring(got:cpu()) .. tostring(wanted))
end

TestReduceOverhead = {}

function TestReduceOverhead:setUp() torch.manual_seed(1) end

function TestReduceOverhead:test_a_call_is_a_replay_for_its_arguments()
  local fn = function(x, y) return F.softmax(x * 2 + y, -1), (x * y):tanh() end
  local step = compiled(fn)
  until_captured(step, torch.randn(4, 40):to 'cuda', torch.randn(40):to 'cuda')
  local launches, replays = launches_of(step), replays_of(step)
  local results = {}
  for i = 1, 3 do
    local x, y = torch.randn(4, 40), torch.randn(40)
    local got = {step(x:to 'cuda', y:to 'cuda')}
    results[i] = {got = got, wanted = {fn(x, y)}}
  end
  -- Results stay as they are when the graph runs again.
  for _, result in ipairs(results) do
    for k = 1, 2 do assert_near(result.got[k], result.wanted[k]) end
  end
  lu.assertEquals({launches_of(step), replays_of(step)}, {launches, replays + 3})
end

function TestReduceOverhead:test_dropout_differs_from_replay_to_replay()
  local fn = function(x) return F.dropout(x + 1, 0.5) * 2 end
  local step, x = compiled(fn), torch.zeros(64, 64):to 'cuda'
  until_captured(step, x)
  torch.cuda.manual_seed(3)
  local first, second = step(x):cpu(), step(x):cpu()
  lu.assertFalse(torch.equal(first, second))
  local without = train.compile(fn)
  for _ = 1, 600 do
    without(x)
    if (launches_of(without) or 0) > 0 then break end
    os.execute 'sleep 0.05'
  end
  torch.cuda.manual_seed(3)
  lu.assertTrue(torch.equal(without(x):cpu(), first))
  lu.assertTrue(torch.equal(without(x):cpu(), second))
end

local function make(device)
  torch.manual_seed(5)
  local w = torch.randn(16, 32):to(device):requires_grad_()
  local v = torch.randn(32, 8):to(device):requires_grad_()
  return {w, v}, function(x)
    for _, p in ipairs{w, v} do p.grad = nil end
    local y = F.log_softmax(F.gelu(x:mm(w) * 0.5, {approximate = 'tanh'}):mm(v):tanh(), -1)
    y:backward(torch.ones_like(y))
    torch.no_grad(function()
      for _, p in ipairs{w, v} do p:sub_(p.grad * 0.01) end
    end)
    return y
  end
end

function TestReduceOverhead:test_a_training_step()
  local wanted, expected_step = make 'cpu'
  local got, fn = make 'cuda'
  local step, x = compiled(fn), torch.randn(24, 16)
  local x_gpu = x:to 'cuda'
  until_captured(step, x_gpu)
  -- The first calls changed the parameters by the numbers of kernels that do nothing.
  torch.no_grad(function()
    for i, p in ipairs(got) do p:copy_(wanted[i]) end
  end)
  local version = got[1]._version
  for i = 1, 5 do
    assert_near(step(x_gpu):detach(), expected_step(x):detach())
    for k = 1, 2 do assert_near(got[k].grad, wanted[k].grad) end
    if i == 3 then got[1].grad = nil end  -- a replay sets it again
  end
  for k = 1, 2 do assert_near(got[k]:detach(), wanted[k]:detach()) end
  if version then lu.assertTrue(got[1]._version > version) end
  lu.assertTrue(replays_of(step) >= 5)
end

function TestReduceOverhead:test_what_a_graph_cannot_hold_runs_without_it()
  for reason, fn in pairs{
    ['it changes an argument'] = function(x) return x:add_(1) * 2 end,
    ['it returns an argument'] = function(x) return x, x * 2 + 1 end,
  } do
    local step, x = compiled(fn), torch.zeros(8):to 'cuda'
    for _ = 1, 8 do step(x) end
    lu.assertEquals(step.state, 'compiled')
    lu.assertStrContains(step:explain(), 'without a CUDA graph: ' .. reason)
  end
end

function TestReduceOverhead:test_on_a_cpu_it_changes_nothing()
  local fn = function(x) return (x * 2):tanh() end
  local step, x = compiled(fn), torch.randn(8)
  for _ = 1, 6 do lu.assertTrue(torch.equal(step(x), fn(x))) end
  lu.assertEquals(step.state, 'compiled')
  lu.assertStrContains(step:explain(), 'without a CUDA graph: it uses tensors on the CPU')
end

function TestReduceOverhead:test_inside_of_another_graph_it_is_a_part_of_that()
  local fn = function(x) return F.softmax(x * 2 + 1, -1) end
  local step, x, y = compiled(fn), torch.randn(4, 40):to 'cuda', nil
  until_captured(step, x)
  local graph = torch.cuda.CUDAGraph()
  torch.cuda.graph(graph, function() y = step(x) end)
  local now = torch.randn(4, 40)
  x:copy_(now)
  graph:replay()
  assert_near(y, fn(now))
end

os.exit(lu.LuaUnit.run(), true)

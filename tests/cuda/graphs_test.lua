-- torch.cuda.CUDAGraph and train.graph on the simulated devices of tests/fake_nvidia, which really capture and replay
-- copies
-- and products.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local cuda = torch.cuda

local function message_of(fn, ...)
  local ok, err = pcall(fn, ...)
  lu.assertFalse(ok)
  return tostring(err)
end

local function on_gpu(...) return torch.tensor({...}):to('cuda') end

local function numbers(tensor) return tensor:cpu():tolist() end

TestCUDAGraph = {}

function TestCUDAGraph:test_a_replay_does_the_work_again_on_the_same_memory()
  local x, y = on_gpu(1, 2), nil
  local graph = cuda.CUDAGraph()
  local result = cuda.graph(graph, function()
    lu.assertTrue(cuda.is_current_stream_capturing())
    y = torch.empty_like(x):copy_(x)
    return 'passed through'
  end)
  lu.assertEquals(result, 'passed through')
  lu.assertFalse(cuda.is_current_stream_capturing())
  graph:replay()
  lu.assertEquals(numbers(y), {1, 2})
  local place = y:data_ptr()
  x:copy_(on_gpu(3, 4))
  graph:replay()
  lu.assertEquals({numbers(y), y:data_ptr()}, {{3, 4}, place})
  lu.assertEquals(tostring(graph), 'torch.cuda.CUDAGraph(captured)')
end

function TestCUDAGraph:test_nothing_happens_before_the_first_replay()
  local x, y = on_gpu(5), on_gpu(0)
  local graph = cuda.CUDAGraph()
  cuda.graph(graph, function() y:copy_(x) end)
  lu.assertEquals(numbers(y), {0})
  graph:replay()
  lu.assertEquals(numbers(y), {5})
end

function TestCUDAGraph:test_errors_leave_the_process_as_it_was()
  local x = on_gpu(1, 2)
  local graph = cuda.CUDAGraph()
  lu.assertEquals(message_of(cuda.graph, graph, function() error('mine', 0) end), 'mine')
  lu.assertFalse(cuda.is_current_stream_capturing())
  -- A call that waits for the device cannot be captured; afterwards everything works again, random numbers too.
  lu.assertStrContains(message_of(cuda.graph, graph, function() return x:sum():item() end):lower(), 'captur')
  lu.assertFalse(cuda.is_current_stream_capturing())
  lu.assertStrContains(message_of(graph.replay, graph), 'nothing was captured yet')
  torch.rand({4}, {device = 'cuda'})
  lu.assertEquals(numbers(x:clone()), {1, 2})
  local y
  cuda.graph(graph, function() y = x:clone() end)
  graph:replay()
  lu.assertEquals(numbers(y), {1, 2})
end

function TestCUDAGraph:test_pools_streams_and_modes()
  local pool, stream = cuda.graph_pool_handle(), cuda.Stream()
  local first, second = cuda.CUDAGraph(), cuda.CUDAGraph()
  local x = on_gpu(1)
  cuda.graph(first, {pool = pool, stream = stream, capture_error_mode = 'thread_local'}, function()
    lu.assertTrue(cuda.current_stream() == stream)
    return x:clone()
  end)
  lu.assertTrue(first:pool() == pool)
  cuda.graph(second, {pool = first:pool(), stream = stream, capture_error_mode = 'relaxed'}, function() return x:clone() end)
  lu.assertTrue(second:pool() == pool)
  lu.assertStrContains(message_of(cuda.graph, first, {capture_error_mode = 'local'}, print), 'capture_error_mode')
  lu.assertStrContains(message_of(cuda.graph, first, {pool = 3}, print), 'expected what graph_pool_handle()')
  lu.assertStrContains(message_of(cuda.graph, first, {streem = stream}, print), "did you mean 'stream'?")
  lu.assertStrContains(message_of(cuda.graph, print, print), 'expected a torch.cuda.CUDAGraph, got function')
end

function TestCUDAGraph:test_no_capture_on_the_default_stream()
  lu.assertStrContains(message_of(cuda.CUDAGraph().capture_begin, cuda.CUDAGraph()), 'non-default stream')
end

function TestCUDAGraph:test_reset_and_capture_again()
  local graph, x, y = cuda.CUDAGraph(), on_gpu(1), nil
  cuda.graph(graph, function() y = x:clone() end)
  graph:reset()
  lu.assertEquals(tostring(graph), 'torch.cuda.CUDAGraph(empty)')
  lu.assertStrContains(message_of(graph.replay, graph), 'nothing was captured yet')
  cuda.graph(graph, function() y = x:clone() end)
  graph:replay()
  lu.assertEquals(numbers(y), {1})
end

function TestCUDAGraph:test_no_garbage_is_collected_in_a_capture()
  local graph, x = cuda.CUDAGraph(), on_gpu(1)
  local is_collected = setmetatable({}, {__mode = 'v'})
  cuda.graph(graph, function()
    is_collected[1] = {}
    for _ = 1, 2000 do x:clone() end
    lu.assertNotNil(is_collected[1])
  end)
  collectgarbage()
  lu.assertNil(is_collected[1])
end

TestTrainGraph = {}

-- A step that only copies and multiplies: y = x · w, and then the weight becomes the batch's first rows.
local function copying(options)
  local weight, calls = torch.eye(2):to('cuda'), 0
  local step = train.graph(function(x, named)
    calls = calls + 1
    local y = x:mm(weight)
    weight:copy_(x)
    return y, {copy = named.z:clone()}
  end, options)
  return step, function() return calls end
end

local function batch(a, b)
  return torch.tensor{{a, 0}, {0, a}}:to('cuda'), {z = on_gpu(b), name = 'n'}
end

function TestTrainGraph:test_warm_up_capture_replay()
  local step, calls = copying{warmup = 2}
  local last, states = 1, {}
  for i = 1, 6 do
    local y, named = step(batch(i + 1, 10 * i))
    lu.assertEquals({numbers(y), numbers(named.copy)}, {{{last * (i + 1), 0}, {0, last * (i + 1)}}, {10 * i}})
    last, states[i] = i + 1, step.state
  end
  lu.assertEquals(states, {'warming up', 'warming up', 'captured', 'captured', 'captured', 'captured'})
  lu.assertEquals(calls(), 3)
end

function TestTrainGraph:test_outputs_are_the_graphs_own()
  local step = copying{warmup = 1}
  step(batch(1, 1))
  local y, named = step(batch(2, 2))
  local again = step(batch(3, 3))
  lu.assertIs(again, y)
  lu.assertEquals(numbers(named.copy), {3})
end

function TestTrainGraph:test_another_shape_runs_without_the_graph()
  local step, calls = copying{warmup = 1}
  for i = 1, 3 do step(batch(i, i)) end
  lu.assertEquals({step.state, calls()}, {'captured', 2})
  local y = step(torch.tensor{{1, 0}, {0, 1}}:to('cuda'), {z = on_gpu(1, 2, 3), name = 'n'})
  lu.assertEquals({numbers(y), step.state, calls()}, {{{3, 0}, {0, 3}}, 'captured', 3})
  -- The graph continues from the state after the eager call.
  lu.assertEquals(numbers((step(batch(5, 1)))), {{5, 0}, {0, 5}})
  lu.assertEquals(calls(), 3)
end

function TestTrainGraph:test_a_step_that_waits_for_the_device_stays_eager()
  local calls = 0
  local step = train.graph(function(x)
    calls = calls + 1
    return x:clone(), x:cpu()[0]:item()
  end, {warmup = 1})
  for i = 1, 4 do
    local y, value = step(on_gpu(i))
    lu.assertEquals({numbers(y), value}, {{i}, i})
  end
  lu.assertEquals(step.state, 'eager')
  lu.assertStrContains(step.reason, 'return the tensor and read it outside')
  lu.assertEquals(calls, 5)  -- one of the calls failed
end

function TestTrainGraph:test_arguments_on_the_cpu()
  local step = train.graph(function(x) return x:to('cuda') end)
  lu.assertEquals(numbers(step(torch.tensor{1})), {1})
  lu.assertEquals(step.state, 'eager')
  lu.assertStrContains(step.reason, 'argument 1 lies on cpu')
end

function TestTrainGraph:test_anomaly_detection_and_modes()
  local step, calls = copying{warmup = 1}
  for i = 1, 2 do step(batch(i, i)) end
  torch.autograd.set_detect_anomaly(true)
  step(batch(3, 3))
  torch.autograd.set_detect_anomaly(false)
  lu.assertEquals({step.state, calls()}, {'captured', 3})
  torch.no_grad(step, batch(4, 4))
  lu.assertEquals(calls(), 4)
  step(batch(4, 4))
  lu.assertEquals(calls(), 4)
end

function TestTrainGraph:test_optimizers()
  local weight = torch.ones({2}, {device = 'cuda', requires_grad = true})
  local optimizer = torch.optim.SGD({weight}, {lr = 0.5})
  local schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
  local step = train.graph(function(x)
    optimizer:zero_grad()
    weight.grad = x:clone()
    optimizer:step()
  end, {warmup = 1})
  for _ = 1, 3 do
    step(on_gpu(1, 1))
    schedule:step()
  end
  lu.assertEquals(step.state, 'captured')
  local rate = optimizer:_lr_of(optimizer.param_groups[1], weight.device)
  step(on_gpu(1, 1))
  lu.assertEquals(rate:item(), 0.0625)
  -- A loaded state makes the step capture again.
  optimizer:load_state_dict(optimizer:state_dict())
  step(on_gpu(1, 1))
  lu.assertEquals(step.state, 'warming up')
  step(on_gpu(1, 1))
  lu.assertEquals(step.state, 'captured')
end

function TestTrainGraph:test_optimizers_that_compute_on_the_host()
  local weight = torch.ones({2}, {device = 'cuda', requires_grad = true})
  local optimizer, steps = torch.optim.NAdam{weight}, 0
  local step = train.graph(function(x)
    weight.grad = x:clone()
    optimizer:step()
    steps = steps + 1
  end, {warmup = 1})
  for _ = 1, 3 do step(on_gpu(1, 1)) end
  lu.assertEquals({step.state, steps}, {'eager', 3})
  lu.assertStrContains(step.reason, 'NAdam: a CUDA graph cannot hold its step')
end

function TestTrainGraph:test_gradients_are_zeroed_in_place_once_there_is_a_graph()
  local step = copying{warmup = 1}
  for i = 1, 2 do step(batch(i, i)) end
  local weight = torch.ones({2}, {device = 'cuda', requires_grad = true})
  weight.grad = on_gpu(1, 1)
  local place = weight.grad:data_ptr()
  torch.optim.SGD({weight}):zero_grad()
  lu.assertEquals(weight.grad:data_ptr(), place)
end

function TestTrainGraph:test_ddp_is_captured_over_nccl_alone()
  local dist = torch.distributed
  dist.init_process_group{rank = 0, world_size = 1}
  local model = require 'torch.nn.parallel.distributed'(torch.nn.Linear(2, 2):to 'cuda')
  local optimizer, states = torch.optim.SGD(model:parameters(), {lr = 0.5}), {}
  local step = train.graph(function(x)
    optimizer:zero_grad()
    local loss = model(x):sum()
    loss:backward()
    optimizer:step()
    return loss
  end)
  for i = 1, 13 do
    step(torch.ones(2, 2):to 'cuda')
    states[i] = step.state
  end
  local backend = dist.get_backend()
  dist.destroy_process_group()
  if backend == 'nccl' then
    lu.assertEquals({states[11], step.reason or states[12]}, {'warming up', 'captured'})
  else
    lu.assertEquals({states[1], states[13]}, {'warming up', 'eager'})
    lu.assertStrContains(step.reason, "averages gradients over 'gloo', which a CUDA graph cannot hold")
  end
end

function TestTrainGraph:test_reset()
  local step, calls = copying{warmup = 1}
  for i = 1, 3 do step(batch(i, i)) end
  step:reset()
  lu.assertEquals(step.state, 'warming up')
  for i = 1, 2 do step(batch(i, i)) end
  lu.assertEquals({step.state, calls()}, {'captured', 4})
end

os.exit(lu.LuaUnit.run(), true)

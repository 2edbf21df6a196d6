-- train.graph without a GPU: its decisions, its view of the arguments, and a step without a graph.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local arguments = require 'torch.compile.arguments'
local GraphPolicy = require 'rtrain.graph.policy'
local ordered = require 'base.ordered'

local message_of = require('refusal').message_of

TestPolicy = {}

-- Returns the actions of a course for calls with these facts; each capture succeeds.
local function actions(course, ...)
  local out = {}
  for i = 1, select('#', ...) do
    out[i] = course:next((select(i, ...)))
    if out[i] == 'capture' then course:captured() end
  end
  return table.concat(out, ' ')
end

function TestPolicy:test_warm_up_capture_replay()
  lu.assertEquals(actions(GraphPolicy(3), {}, {}, {}, {}, {}, {}), 'warm warm warm capture replay replay')
  lu.assertEquals(actions(GraphPolicy(1), {}, {}, {}), 'warm capture replay')
end

function TestPolicy:test_ddp_takes_eleven_calls()
  local course = GraphPolicy(3)
  lu.assertEquals(actions(course, {}), 'warm')
  for _ = 2, 11 do lu.assertEquals(actions(course, {has_ddp = true}), 'warm') end
  lu.assertEquals(actions(course, {has_ddp = true}, {has_ddp = true}), 'capture replay')
end

function TestPolicy:test_what_rules_a_graph_out()
  local course = GraphPolicy(3)
  local action, note = course:next{never = 'no CUDA device'}
  lu.assertEquals({action, note}, {'eager', 'it runs without a CUDA graph from here on: no CUDA device'})
  lu.assertEquals({course.state, course.reason}, {'eager', 'no CUDA device'})
  lu.assertEquals(actions(course, {}, {}), 'eager eager')
  lu.assertNil((select(2, course:next{never = 'no CUDA device'})))  -- the reason is given only once
end

function TestPolicy:test_a_call_that_cannot_use_the_graph_leaves_it()
  local course = GraphPolicy(1)
  lu.assertEquals(actions(course, {now = 'anomaly'}, {}, {}, {now = 'anomaly'}, {difference = 'shape'}, {}),
    'eager warm capture eager eager replay')
  lu.assertEquals(course.state, 'captured')
end

function TestPolicy:test_a_difference_begins_the_warm_up_again()
  local course = GraphPolicy(2)
  lu.assertEquals(actions(course, {}, {difference = 'shape'}, {}, {}), 'warm warm warm capture')
end

function TestPolicy:test_arguments_that_always_differ_end_in_eager()
  local course = GraphPolicy(2)
  local facts = {difference = 'argument 2 was 1 and is 2 now'}
  for _ = 1, 8 do lu.assertEquals(actions(course, facts), 'warm') end
  local action, note = course:next(facts)
  lu.assertEquals(action, 'eager')
  lu.assertStrContains(note, 'it changes too often to be captured: argument 2 was 1 and is 2 now')
end

function TestPolicy:test_a_change_of_what_was_captured_captures_again()
  local course = GraphPolicy(2)
  lu.assertEquals(actions(course, {}, {}, {}, {}), 'warm warm capture replay')
  local action, note = course:next{change = 'AdamW: its state was loaded'}
  lu.assertEquals({action, note}, {'warm', 'it is captured again: AdamW: its state was loaded'})
  lu.assertEquals(actions(course, {}, {}, {}), 'warm capture replay')
end

function TestPolicy:test_a_capture_that_fails_is_not_tried_again()
  local course = GraphPolicy(1)
  lu.assertEquals({course:next{}, course:next{}}, {'warm', 'capture'})
  course:fail('not permitted')
  lu.assertEquals(actions(course, {}, {}), 'eager eager')
  lu.assertEquals(course.reason, 'not permitted')
end

TestArguments = {}

function TestArguments:test_numbers_of_tensors_may_differ()
  local shape = arguments.shape(torch.ones(2, 3), {y = torch.zeros(4), n = 7}, nil, 'mean')
  lu.assertEquals(shape.count, 4)
  lu.assertNil(arguments.difference(shape, torch.randn(2, 3), {n = 7, y = torch.randn(4)}, nil, 'mean'))
end

function TestArguments:test_everything_else_may_not()
  local shape = arguments.shape(torch.ones(2, 3), {y = torch.zeros(4), n = 7}, 0.5)
  local function difference(...) return arguments.difference(shape, ...) end
  local x, y = torch.ones(2, 3), torch.zeros(4)
  lu.assertEquals(difference(torch.ones(1, 3), {y = y, n = 7}, 0.5),
    'argument 1 was float32 [2, 3] on cpu and is float32 [1, 3] on cpu now')
  lu.assertEquals(difference(x:double(), {y = y, n = 7}, 0.5),
    'argument 1 was float32 [2, 3] on cpu and is float64 [2, 3] on cpu now')
  lu.assertEquals(difference(x, {y = y, n = 8}, 0.5), 'argument 2.n was 7 and is 8 now')
  lu.assertEquals(difference(x, {y = y, n = 7, z = 1}, 0.5), 'argument 2 has other keys than before')
  lu.assertEquals(difference(x, {y = y}, 0.5), 'argument 2.n was 7 and is nil now')
  lu.assertEquals(difference(x, {y = y, n = 7}, 0.25), 'argument 3 was 0.5 and is 0.25 now')
  lu.assertEquals(difference(x, {y = y, n = 7}), 'there were 3 arguments and are 2 now')
  lu.assertEquals(difference('x', {y = y, n = 7}, 0.5), "argument 1 was float32 [2, 3] on cpu and is 'x' now")
end

function TestArguments:test_why_there_can_be_no_graph()
  lu.assertEquals(arguments.refusal(arguments.shape(1, {a = {torch.ones(2)}})),
    'argument 2.a.1 lies on cpu: bring it to the GPU before, as prepare_data_loader does')
  lu.assertEquals(arguments.refusal(arguments.shape(torch.ones(2, {requires_grad = true}))),
    'argument 1 needs a gradient: a graph copies its arguments')
  lu.assertEquals(arguments.refusal(arguments.shape(torch.eye(2):to_sparse())), 'argument 1 is a sparse tensor')
  lu.assertNil(arguments.refusal(arguments.shape(1, 'x', nil, {})))
end

function TestArguments:test_static_copies_and_the_tensors_that_go_into_them()
  local batch = ordered.new{{'x', torch.ones(2)}, {'names', {'a', 'b'}}, {'y', torch.zeros(3)}}
  local shape = arguments.shape(batch, torch.full({1}, 5))
  local values, statics = arguments.static(shape, batch, torch.full({1}, 5))
  lu.assertEquals(ordered.keys(values[1]), {'x', 'names', 'y'})
  lu.assertEquals(values[1].names, {'a', 'b'})
  lu.assertIs(values[1].x, statics[1])
  lu.assertNotIs(values[1].x, batch.x)
  local given = arguments.tensors(shape, {y = torch.full({3}, 2), names = {'a', 'b'}, x = torch.full({2}, 1)}, torch.ones(1))
  torch._foreach_copy_(statics, given)
  lu.assertEquals({values[1].x:tolist(), values[1].y:tolist(), values[2]:tolist()}, {{1, 1}, {2, 2, 2}, {1}})
end

TestEager = {}

local function training(device_step)
  torch.manual_seed(1)
  local model = torch.nn.Linear(3, 1)
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1, momentum = 0.9})
  local function step(x, y)
    optimizer:zero_grad()
    local loss = (model(x) - y):square():mean()
    loss:backward()
    optimizer:step()
    return loss, {loss = loss}
  end
  return device_step and train.graph(step) or step
end

function TestEager:test_a_step_without_a_graph_is_the_step()
  local plain, graphed = training(false), training(true)
  torch.manual_seed(2)
  for i = 1, 6 do
    local x, y = torch.randn(i % 2 + 2, 3), torch.randn(i % 2 + 2, 1)
    local expected, got, named = plain(x, y), graphed(x, y)
    lu.assertEquals(got:item(), expected:item())
    lu.assertIs(named.loss.requires_grad, false)
  end
  lu.assertEquals(graphed.state, 'eager')
  lu.assertStrContains(graphed.reason, torch.cuda.is_available() and 'lies on cpu' or 'no CUDA device: ')
end

function TestEager:test_errors_of_the_step_are_the_callers()
  local step = train.graph(function() error('mine', 0) end)
  lu.assertEquals(message_of(step), 'mine')
end

function TestEager:test_refusals()
  lu.assertStrContains(message_of(train.graph, 3), 'train.graph: expected the step, a function, got number')
  lu.assertStrContains(message_of(train.graph, print, {warm_up = 3}), "did you mean 'warmup'?")
  lu.assertStrContains(message_of(train.graph, print, {warmup = 0}), 'warmup is a positive integer, got 0')
  lu.assertStrContains(message_of(train.graph, print, {capture_error_mode = 'local'}), 'capture_error_mode')
end

os.exit(lu.LuaUnit.run(), true)

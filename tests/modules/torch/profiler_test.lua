-- torch.profiler: its records, its schedule and its output. tests/e2e/profile/test_profile.py compares names and calls with
-- PyTorch's.
local lu = require 'luaunit'
local torch = require 'torch'
local system = require 'base._system'

local message_of = require('refusal').message_of

local ACTION = torch.profiler.ProfilerAction

-- Returns the profile of fn and the results of fn.
local function profile_of(options, fn)
  local prof
  local result = torch.profiler.profile(options, function(p)
    prof = p
    return fn(p)
  end)
  return prof, result
end

local function text_of(path)
  local file = assert(io.open(path))
  local text = file:read '*a'
  file:close()
  return text
end

TestProfile = {}

function TestProfile:setUp() self.folder = system.make_temp 'profiler-' end

function TestProfile:tearDown() system.remove_tree(self.folder) end

function TestProfile:test_operators_are_counted_and_results_pass_through()
  local prof, sum = profile_of({}, function() return torch.ones(4, 4):matmul(torch.ones(4, 4)):sum():item() end)
  lu.assertEquals(sum, 64)
  local averages = prof:key_averages()
  lu.assertEquals(averages:find('aten::ones').count, 2)
  local product = averages:find 'aten::matmul'
  lu.assertEquals(product.count, 1)
  lu.assertEquals(product.cpu_time, product.cpu_time_total)
  lu.assertTrue(product.self_cpu_time_total < product.cpu_time_total)
  lu.assertNil(averages:find 'aten::relu')
end

function TestProfile:test_events_are_single_calls_in_their_order()
  local prof = profile_of({record_shapes = true}, function() torch.ones(2):exp():neg() end)
  local names, last = {}, 0
  for _, event in ipairs(prof:events()) do
    lu.assertTrue(event.time_range.start >= last and event.time_range.end_ >= event.time_range.start)
    last = event.time_range.start
    lu.assertEquals(event.count, 1)
    names[#names + 1] = event.key .. event.input_shapes
  end
  lu.assertEquals({names[#names - 1], names[#names]}, {'aten::exp[[2]]', 'aten::neg[[2]]'})
  lu.assertStrContains(message_of(prof.export_stacks, prof), 'group_by_stack_n')
end

function TestProfile:test_groups_by_shape()
  local prof = profile_of({record_shapes = true}, function()
    for _, n in ipairs{2, 2, 3} do torch.ones(n):add(1) end
  end)
  local calls = {}
  for _, event in ipairs(prof:key_averages{group_by_input_shape = true}) do
    if event.key == 'aten::add' then calls[event.input_shapes] = event.count end
  end
  lu.assertEquals(calls, {['[[2], [], []]'] = 2, ['[[3], [], []]'] = 1})
  lu.assertEquals(prof:key_averages():find('aten::add').count, 3)
end

function TestProfile:test_memory_is_what_operators_take_and_give_back()
  local prof = profile_of({profile_memory = true}, function()
    local x = torch.empty(1024)
    x:release()
  end)
  lu.assertTrue(prof:key_averages():find('aten::empty').cpu_memory_usage >= 4096)
  lu.assertTrue(prof:key_averages():find('[memory]').cpu_memory_usage <= -4096)
  lu.assertStrContains(prof:key_averages():table(), 'Self CPU Mem')
end

function TestProfile:test_with_stack_names_the_line()
  local line
  local prof = profile_of({with_stack = true}, function()
    line = debug.getinfo(1, 'l').currentline + 1
    torch.ones(2):cumsum(0)
  end)
  local found
  for _, event in ipairs(prof:key_averages{group_by_stack_n = 1}) do
    if event.key == 'aten::cumsum' then found = event.stack[1] end
  end
  lu.assertStrContains(found, 'profiler_test.lua:' .. line)
  prof:export_chrome_trace(self.folder .. '/trace.json')
  lu.assertStrContains(text_of(self.folder .. '/trace.json'), 'profiler_test.lua:' .. line)
end

function TestProfile:test_ranges_and_metadata_are_in_the_trace()
  local path = self.folder .. '/trace.json'
  local prof, result = profile_of({}, function(p)
    p:add_metadata('who', 'the "tester"')
    return torch.profiler.record_function('my part', function(n) return torch.ones(n):sum():item() end, 5)
  end)
  lu.assertEquals(result, 5)
  lu.assertTrue(prof:key_averages():find('my part').is_user_annotation)
  prof:export_chrome_trace(path)
  lu.assertStrMatches(text_of(path), '.*"cat": "user_annotation",%s*"name": "my part".*')
  lu.assertStrContains(text_of(path), [["who": "the 'tester'"]])
  lu.assertStrContains(message_of(prof.export_chrome_trace, prof, path), 'was written before')
end

-- LibTorch would drop such a name, or write invalid JSON.
function TestProfile:test_names_that_json_would_escape()
  local prof = profile_of({}, function() torch.profiler.record_function('a "b" \\\n', function() torch.ones(1) end) end)
  lu.assertEquals(prof:key_averages():find([[a 'b' / ]]).count, 1)
end

function TestProfile:test_an_error_ends_the_recording()
  lu.assertStrContains(message_of(torch.profiler.profile, {}, function() error 'inside' end), 'inside')
  lu.assertStrContains(message_of(torch.profiler.profile, {}, function()
    torch.profiler.record_function('part', function() error 'in a range' end)
  end), 'in a range')
  lu.assertEquals(profile_of({}, function() torch.ones(1) end):key_averages():find('aten::ones').count, 1)
end

function TestProfile:test_one_at_a_time()
  torch.profiler.profile({}, function()
    lu.assertStrContains(message_of(torch.profiler.profile, {}, function() end), 'under way already: torch.profiler at ')
  end)
end

function TestProfile:test_all_threads()
  local prof = profile_of({experimental_config = {profile_all_threads = true}}, function() torch.ones(3):exp() end)
  lu.assertEquals(prof:key_averages():find('aten::exp').count, 1)
end

function TestProfile:test_refusals()
  lu.assertStrContains(message_of(torch.profiler.profile, {record_shape = true}), "did you mean 'record_shapes'")
  lu.assertStrContains(message_of(torch.profiler.profile, {with_modules = true}), 'TorchScript')
  lu.assertStrContains(message_of(torch.profiler.profile, {activities = {'GPU'}}), "activities cannot be 'GPU'")
  lu.assertStrContains(message_of(torch.profiler.profile, {schedule = function() return 'RECRD' end}), "mean 'RECORD'")
  lu.assertStrContains(message_of(torch.profiler.profile, {schedule = 3}), 'schedule: expected a function, got number')
  local prof = torch.profiler.profile{}
  lu.assertStrContains(message_of(prof.step, prof), 'step() before start()')
  lu.assertStrContains(message_of(prof.key_averages, prof), 'nothing was recorded yet')
  lu.assertStrContains(message_of(function() return torch.profiler.ProfilerActivity.GPU end), 'GPU')
  prof = profile_of({}, function() torch.ones(1) end)
  lu.assertStrContains(message_of(prof.export_chrome_trace, prof, '/no/such/folder/x.json'), 'No such file')
  local averages = prof:key_averages()
  lu.assertStrContains(message_of(averages.table, averages, {sort_by = 'self_cpu'}), "sort_by cannot be 'self_cpu'")
end

TestSchedule = {}

-- PyTorch's rule step by step: wait, warmup, active, again and again.
function TestSchedule:test_steps()
  local of = torch.profiler.schedule{wait = 1, warmup = 1, active = 2, repeat_ = 2, skip_first = 1}
  local N, W, R, S = ACTION.NONE, ACTION.WARMUP, ACTION.RECORD, ACTION.RECORD_AND_SAVE
  local actions = {}
  for step = 0, 10 do actions[#actions + 1] = of(step) end
  lu.assertEquals(actions, {N, N, W, R, S, N, W, R, S, N, N})
  lu.assertEquals(torch.profiler.schedule{wait = 2, warmup = 0, active = 1, skip_first_wait = 1}(0), S)
  lu.assertEquals(torch.profiler.schedule{wait = 2, warmup = 0, active = 1}(5), S)
end

function TestSchedule:test_refusals()
  lu.assertStrContains(message_of(torch.profiler.schedule, {wait = 1, warmup = 1}), 'active is missing')
  lu.assertStrContains(message_of(torch.profiler.schedule, {wait = 1, warmup = 1, active = 0}), '1 or more, got 0')
  lu.assertStrContains(message_of(torch.profiler.schedule, {wait = 1, warmup = 1, active = 1, repeats = 1}), 'repeats')
end

-- The trace of each cycle has only the steps of that cycle.
function TestSchedule:test_a_profile_follows_it()
  local seen = {}
  torch.profiler.profile({
    schedule = torch.profiler.schedule{wait = 1, warmup = 1, active = 2, repeat_ = 2},
    on_trace_ready = function(prof)
      local averages = prof:key_averages()
      seen[#seen + 1] = {prof.step_num, averages:find('aten::add_').count, averages:find('ProfilerStep*').count}
    end,
  }, function(prof)
    local x = torch.zeros(2)
    for _ = 1, 10 do
      x:add_(1)
      prof:step()
    end
  end)
  lu.assertEquals(seen, {{4, 2, 2}, {8, 2, 2}})
end

-- A loop that ends while it records has a trace. One that ends earlier has no trace, and others can record then.
function TestSchedule:test_a_loop_that_ends_early()
  local traces = 0
  for steps = 0, 3 do
    torch.profiler.profile({
      schedule = torch.profiler.schedule{wait = 1, warmup = 1, active = 2},
      on_trace_ready = function() traces = traces + 1 end,
    }, function(prof)
      for _ = 1, steps do prof:step() end
    end)
  end
  lu.assertEquals(traces, 2)
  lu.assertEquals(profile_of({}, function() torch.ones(1) end).step_num, 0)
end

TestTraceHandler = {}

function TestTraceHandler:test_a_file_for_each_trace()
  local folder = system.make_temp 'traces-'
  local handler = torch.profiler.tensorboard_trace_handler(folder .. '/log', 'worker')
  for _ = 1, 2 do torch.profiler.profile({on_trace_ready = handler}, function() torch.ones(2) end) end
  local files = system.list_folder(folder .. '/log')
  lu.assertEquals(#files, 2)
  system.remove_tree(folder)
end

os.exit(lu.LuaUnit.run(), true)

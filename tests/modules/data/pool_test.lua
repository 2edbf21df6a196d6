-- Threads that run a Lua function: torch._C.data.Pool.
local C = require 'torch._C'
local lu = require 'luaunit'
local torch = require 'torch'

local function pool_of(fn, options)
  options = options or {}
  options.fn = fn
  return C.data.Pool(options)
end

local function double(indices)
  return torch.tensor(indices, {dtype = 'int64'}) * 2, #indices
end

-- A stream of `count` results for the request {name, count}: (name, 0), (name, 1), …
local function counting(request)
  local i = -1
  return function()
    i = i + 1
    if i < request.count then return request.name, i end
  end
end

-- Returns all results in flight as text, for example 'a0 a1 b0'.
local function drained(pool)
  local out = {}
  while pool:in_flight() > 0 do
    local name, i = pool:next()
    if name then out[#out + 1] = name .. (i or '') end
  end
  return table.concat(out, ' ')
end

local message_of = require('refusal').message_of

TestPool = {}

function TestPool:test_results_come_in_the_order_of_submission()
  local pool = pool_of(double, {num_workers = 3, capacity = 12})
  for i = 1, 12 do lu.assertTrue(pool:submit{i, i + 1}) end
  lu.assertFalse(pool:submit{13})
  lu.assertEquals(pool:in_flight(), 12)
  for i = 1, 12 do
    local batch, count = pool:next()
    lu.assertEquals(batch:tolist(), {2 * i, 2 * i + 2})
    lu.assertEquals(count, 2)
  end
  lu.assertEquals(pool:in_flight(), 0)
  lu.assertEquals(select('#', pool:next()), 0)
  pool:close()
end

function TestPool:test_a_dumped_function_and_the_worker_ids()
  local blob = (require('base._closure').dump(function(_, worker_id) return worker_id end))
  local pool = C.data.Pool{blob = blob, num_workers = 2}
  pool:submit{}
  local id = pool:next()
  lu.assertTrue(id == 0 or id == 1)
end

function TestPool:test_tensors_of_the_function_are_shared_not_copied()
  local weights = torch.zeros(3)
  local views = {weights, weights:narrow(0, 1, 1)}
  local pool = pool_of(function(value)
    views[2]:fill_(value)
    return views[1]:sum()
  end)
  pool:submit(5)
  lu.assertEquals(pool:next():item(), 5)
  lu.assertEquals(weights:tolist(), {0, 5, 0})
end

function TestPool:test_an_error_names_the_request_and_the_pool_goes_on()
  local pool = pool_of(function(request)
    if request == 'bad' or request[1] == 7 or request.name then error('bad picture') end
    return request[1]
  end, {capacity = 5, name = 'Loading'})
  pool:submit{7, 8}
  pool:submit{9}
  pool:submit{name = 'a.parquet, row group 3'}
  pool:submit('bad')
  local text, err = message_of(pool.next, pool)
  lu.assertStrContains(text, 'Loading worker 0, samples 7, 8')
  lu.assertStrContains(text, 'bad picture')
  lu.assertStrContains(err.traceback, 'pool_test.lua')
  lu.assertEquals(pool:next(), 9)
  lu.assertStrContains(message_of(pool.next, pool), 'worker 0, a.parquet, row group 3: ')
  lu.assertStrContains(message_of(pool.next, pool), 'worker 0, a request: ')
end

function TestPool:test_what_cannot_cross_is_named()
  local pool = pool_of(function() return {deep = {print}} end)
  pool:submit{1}
  lu.assertStrContains(message_of(pool.next, pool), 'result.deep[1]')
  lu.assertStrContains(message_of(pool.submit, pool, {f = print}), 'request.f')
end

function TestPool:test_clear_forgets_what_was_asked_for()
  local pool = pool_of(double, {num_workers = 2})
  for i = 1, 4 do pool:submit{i} end
  pool:clear()
  lu.assertEquals(pool:in_flight(), 0)
  pool:submit{10}
  lu.assertEquals(pool:next():tolist(), {20})
end

function TestPool:test_close_release_and_collection_end_the_threads()
  local pool = pool_of(double, {num_workers = 2})
  pool:submit{1}
  pool:close()
  pool:close()
  lu.assertEquals(pool:in_flight(), 0)
  lu.assertStrContains(message_of(pool.submit, pool, {1}), 'after close()')
  pool:release()
  lu.assertErrorMsgContains('was released', pool.next, pool)
  for _ = 1, 3 do pool_of(double):submit{1} end
  collectgarbage()
  collectgarbage()
end

function TestPool:test_a_thread_that_does_not_come_back_is_left_behind()
  local flag = torch.zeros(1)
  local pool = pool_of(function()
    flag[0] = 1
    while flag[0]:item() == 1 do end
  end, {close_timeout_s = 0.05})
  pool:submit{1}
  while flag[0]:item() == 0 do end
  pool:close()
  lu.assertEquals(pool:in_flight(), 0)
  flag[0] = 2
end

function TestPool:test_a_function_that_does_not_load_fails_every_request()
  local pool = C.data.Pool{blob = 'no closure', name = 'DataLoader'}
  pool:submit{1}
  lu.assertErrorMsgContains('DataLoader worker 0', pool.next, pool)
  pool:submit{2}
  lu.assertErrorMsgContains('DataLoader worker 0', pool.next, pool)
end

function TestPool:test_a_late_result_is_an_error_that_names_the_setting()
  local pool = pool_of(function(request)
    local stop = os.clock() + request.busy_s
    while os.clock() < stop do end
    return 'late'
  end, {timeout_s = 0.01, timeout_name = 'timeout', name = 'DataLoader'})
  pool:submit{name = 'slow.csv', busy_s = 0.2}
  local text, err = message_of(pool.next, pool)
  lu.assertEquals(err.code, 'timeout')
  lu.assertStrContains(text, 'DataLoader: slow.csv took longer than 0.01 s')
  lu.assertStrContains(text, 'raise timeout')
  local ok, value
  repeat ok, value = pcall(pool.next, pool) until ok
  lu.assertEquals(value, 'late')
end

function TestPool:test_options_are_checked()
  lu.assertErrorMsgContains("did you mean 'num_workers'?", C.data.Pool, {num_worker = 1})
  lu.assertErrorMsgContains('num_workers must be at least 1, got 0', C.data.Pool, {num_workers = 0, fn = double})
  lu.assertErrorMsgContains('capacity must be at least 1', C.data.Pool, {capacity = 0, fn = double})
end

TestStreams = {}

function TestStreams:test_results_of_a_request_stay_together_and_in_order()
  local pool = pool_of(counting, {num_workers = 3, capacity = 4})
  for _, name in ipairs{'a', 'b', 'c', 'd'} do pool:submit{name = name, count = name == 'b' and 0 or 3} end
  lu.assertEquals(drained(pool), 'a0 a1 a2 c0 c1 c2 d0 d1 d2')
  lu.assertEquals(pool:in_flight(), 0)
end

function TestStreams:test_without_order_they_stay_together_too()
  local pool = pool_of(counting, {num_workers = 3, capacity = 5, in_order = false})
  for _, name in ipairs{'a', 'b', 'c', 'd', 'e'} do pool:submit{name = name, count = 3} end
  local text = drained(pool)
  for _, name in ipairs{'a', 'b', 'c', 'd', 'e'} do
    lu.assertStrContains(text, ('%s0 %s1 %s2'):format(name, name, name))
  end
  lu.assertEquals(#text, 15 * 3 - 1)
end

-- The results in the pool never exceed the limit by more than one result per worker.
local function bounded(options)
  options.num_workers, options.capacity, options.capacity_bytes = 2, 3, 10000
  local pool = pool_of(function(request)
    local left = request.count
    return function()
      left = left - 1
      if left >= 0 then return torch.zeros({4000}, {dtype = 'uint8'}), request.id end
    end
  end, options)
  for id = 1, 3 do pool:submit{id = id, count = 20} end
  local most, seen = 0, {}
  while pool:in_flight() > 0 do
    most = math.max(most, pool:stats().bytes_waiting)
    local value, id = pool:next()
    if value then seen[id] = (seen[id] or 0) + 1 end
  end
  lu.assertEquals(seen, {20, 20, 20})
  lu.assertTrue(most < 10000 + 2 * 5000, most)
end

function TestStreams:test_finished_bytes_are_bounded()
  bounded{in_order = true}
  bounded{in_order = false}
end

function TestStreams:test_a_limit_below_one_result_still_moves_on()
  for _, in_order in ipairs{true, false} do
    local pool = pool_of(counting, {num_workers = 3, capacity = 3, capacity_bytes = 1, in_order = in_order})
    for _, name in ipairs{'a', 'b', 'c'} do pool:submit{name = name, count = 4} end
    lu.assertEquals(#drained(pool), 12 * 3 - 1)
  end
end

function TestStreams:test_an_error_in_a_stream_comes_after_its_results_and_ends_it()
  local pool = pool_of(function(request)
    local i = 0
    return function()
      i = i + 1
      if i == 3 then error('line 3 is not a number') end
      return request.name, i
    end
  end, {num_workers = 2})
  pool:submit{name = 'a.csv'}
  pool:submit{name = 'b.csv'}
  for _, name in ipairs{'a.csv', 'b.csv'} do
    lu.assertEquals({pool:next()}, {name, 1})
    lu.assertEquals({pool:next()}, {name, 2})
    lu.assertStrContains(message_of(pool.next, pool), name .. ': ')
  end
  lu.assertEquals(pool:in_flight(), 0)
end

function TestStreams:test_clear_and_close_stop_endless_streams()
  local function endless()
    local i = 0
    return function()
      i = i + 1
      return i
    end
  end
  for _, limit in ipairs{1000, math.huge} do
    local pool = pool_of(endless, {num_workers = 2, capacity_bytes = limit})
    pool:submit{}
    pool:submit{}
    lu.assertEquals(pool:next(), 1)
    pool:clear()
    lu.assertEquals(pool:stats().bytes_waiting, 0)
    pool:submit{}
    lu.assertEquals(pool:next(), 1)
    lu.assertEquals(pool:next(), 2)
    pool:close()
  end
end

function TestStreams:test_stats_count_what_was_made()
  local pool = pool_of(counting, {num_workers = 2, capacity = 4})
  for _, name in ipairs{'a', 'b', 'c', 'd'} do pool:submit{name = name, count = 5} end
  drained(pool)
  local stats = pool:stats()
  lu.assertEquals(#stats.workers, 2)
  lu.assertEquals(stats.workers[1].results + stats.workers[2].results, 20)
  for _, worker in ipairs(stats.workers) do
    lu.assertTrue(worker.busy_s >= 0 and worker.wait_s >= 0 and worker.blocked_s >= 0)
  end
  lu.assertEquals(stats.in_flight, 0)
  lu.assertEquals(stats.results_waiting, 0)
  lu.assertEquals(stats.bytes_waiting, 0)
  lu.assertTrue(stats.next_wait_s >= 0)
end

os.exit(lu.LuaUnit.run(), true)

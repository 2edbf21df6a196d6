-- Datasets dealt by steps: all ranks together have in a step the rows that one rank with their batches has, for random
-- schedules of sizes of the group. The ranks are iterators in one process; e2e/data/test_steps.py has some in processes.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local torch = require 'torch'
local DataIterator = require 'rtrain.data.loop.iterator'
local intervals = require 'rtrain.data.rows.intervals'
local PlanFeed = require 'rtrain.data.executor.feed'
local Position = require 'rtrain.data.loop.position'

local SCHEDULES = 10000

-- Rows of a step → sizes of the group that share them.
local SIZES = {[1] = {1}, [6] = {1, 2, 3, 6}, [12] = {1, 2, 3, 4, 6, 12}, [60] = {1, 2, 3, 4, 5, 6, 10, 12}}
local STEPS = {1, 6, 12, 60}

-- Lehmer's generator: the same schedules on every machine.
local state = 1

local function below(n)
  state = state * 48271 % 2147483647
  return state % n
end

local function one_of(list) return list[below(#list) + 1] end

local function rows_of(slices)
  local out = {}
  for interval in intervals.each(slices) do
    for row = interval[1], interval[2] - 1 do out[#out + 1] = row end
  end
  return out
end

-- Returns a schedule: a group of some size makes some steps, then the next one continues.
local function schedule(num_rows)
  local out, left = {}, num_rows
  repeat
    local step = one_of(STEPS)
    local steps = below(4)
    if below(4) == 0 then steps = math.ceil(left / step) end
    out[#out + 1] = {step = step, workers = one_of(SIZES[step]), steps = steps}
    left = left - steps * step
  until left <= 0 or #out == 6
  return out
end

-- The ranks' parts of step k, in the order of the ranks.
local function step_of(parts, k, batch_size)
  local out, size = {}, nil
  for _, rows in ipairs(parts) do
    local first, last = k * batch_size + 1, math.min((k + 1) * batch_size, #rows)
    size = size or last - first
    lu.assertEquals(last - first, size)
    for i = first, last do out[#out + 1] = rows[i] end
  end
  return out
end

TestPositions = {}

-- Each step begins where the one before it ended, whatever the sizes of the groups.
function TestPositions.test_the_steps_of_any_schedule_are_the_rows_in_their_order()
  for _ = 1, SCHEDULES do
    local num_rows = below(400)
    local saved, at
    at = 0
    for _, group in ipairs(schedule(num_rows)) do
      local batching, parts, ranks = {batch_size = group.step / group.workers, by_steps = true}, {}, {}
      for rank = 0, group.workers - 1 do
        ranks[rank + 1] = Position('train', {world_size = group.workers, rank = rank}, 7)
        if saved then ranks[rank + 1]:load_state(saved) end
        parts[rank + 1] = rows_of(ranks[rank + 1]:begin(num_rows, batching).rows)
        lu.assertEquals(#parts[rank + 1], math.floor((num_rows - at) / group.workers))
      end
      for k = 0, group.steps - 1 do
        local rows = step_of(parts, k, batching.batch_size)
        for i, row in ipairs(rows) do lu.assertEquals(row, at + i - 1) end
        local left = num_rows - at
        lu.assertEquals(#rows, left >= group.step and group.step or left - left % group.workers)
        at = at + #rows
        for _, rank in ipairs(ranks) do rank:advance(#rows / group.workers) end
      end
      saved = ranks[below(group.workers) + 1]:state()
    end
  end
end

-- A state without `by_steps`, as it was saved when each rank had neighbouring rows. The group of that size goes on so.
function TestPositions.test_an_older_state_goes_on_with_each_row_once()
  for _ = 1, SCHEDULES / 10 do
    local num_rows, workers, batch_size = below(200), below(4) + 1, below(5) + 1
    local rows = batch_size * below(4)
    local share = math.floor(num_rows / workers)
    local older = {version = 1, epoch = 2, finished = false, rows = math.min(rows, share), num_rows = num_rows,
                   world_size = workers, batch_size = batch_size, seed = 7}
    local seen = {}
    for rank = 0, workers - 1 do
      for row = rank * share, rank * share + older.rows - 1 do seen[row] = true end
    end
    local now = below(2) == 0 and workers or below(6) + 1
    local count = 0
    for rank = 0, now - 1 do
      local position = Position('train', {world_size = now, rank = rank}, 7)
      position:load_state(older)
      local own = rows_of(position:begin(num_rows, {batch_size = batch_size, by_steps = true}).rows)
      if now == workers then
        lu.assertEquals(own, rows_of {{rank * share + older.rows, (rank + 1) * share}})
      end
      for _, row in ipairs(own) do
        lu.assertNil(seen[row])
        seen[row], count = true, count + 1
      end
      local following = position:begin(num_rows, {batch_size = batch_size, by_steps = true}).rows
      lu.assertEquals(#rows_of(following), math.floor(num_rows / now))
    end
    local left = num_rows - older.rows * workers
    lu.assertEquals(count, now == workers and (share - older.rows) * now or left - left % now)
  end
end

TestLoaders = {}

-- The sampler that prepare_data_loader makes: step k of a group has the samples of one worker with its batches.
function TestLoaders.test_the_samples_of_a_step_are_those_of_one_worker()
  local Sampler = torch.utils.data.DistributedSampler
  for _ = 1, SCHEDULES do
    local set = torch.utils.data.TensorDataset(torch.arange(below(100) + 1))
    local options = {shuffle = below(2) == 0, seed = below(9), num_replicas = 1, rank = 0, drop_last = true}
    local alone = Sampler(set, options)
    alone:set_epoch(3)
    local order, saved, at = alone:order(), nil, 0
    for _, group in ipairs(schedule(set:len())) do
      options.num_replicas = group.workers
      local sampler, steps = Sampler(set, options), math.min(group.steps, math.floor((set:len() - at) / group.step))
      if saved then
        sampler:load_state(saved)
        sampler:resume()
      else
        sampler:set_epoch(3)
      end
      local columns = sampler:columns()
      for k = 0, steps - 1 do
        local own = columns:narrow(0, k * group.step / group.workers, group.step / group.workers)
        lu.assertTrue(torch.equal(own:flatten(), order:narrow(0, at, group.step)))
        at = at + group.step
      end
      saved = sampler:state(steps * group.step / group.workers)
    end
  end
end

TestPlans = {}

local function items(count)
  local out = {}
  for i = 1, count do out[i] = {id = i - 1} end
  return data.from_items(out)
end

local function noisy(row)
  local pytorch = require 'torch'
  row.noise = pytorch.rand({1}, {generator = pytorch.utils.data.sample_generator()}):item()
  return row
end

local function is_odd(row) return row.id % 2 == 1 end

local function twice(row) return {row, row} end

-- Each returns a dataset of about that many rows.
local PLANS = {
  function(n) return data.range(n) end,
  function(n) return data.range(n, {override_num_blocks = 7}):map(noisy) end,
  function(n) return items(n):random_shuffle {seed = 3} end,
  function(n) return items(n):random_shuffle {seed = 3}:map(noisy) end,
  function(n) return data.range(n):union(items(n), data.range(5)):map(noisy) end,
  function(n) return data.range(n):map(noisy):union(items(9):random_shuffle {seed = 1}:map(noisy)) end,
  function(n) return data.range(n):mix(items(n):random_shuffle {seed = 4}, {weights = {0.75, 0.25}}):map(noisy) end,
  function(n) return data.range(n):mix(items(2 * n), data.range(n), {weights = {5, 2, 1}}) end,
  function(n) return data.range(n):flat_map(twice):filter(is_odd):random_shuffle {seed = 5}:map(noisy) end,
  function(n) return data.range(n):map(noisy):sort('noise') end,
  function(n) return data.range(n):repartition(3):map(noisy) end,
  function(n) return data.range(n + 5):train_test_split(5, {shuffle = true, seed = 2}):map(noisy) end,
}

local function feed_of(dataset, by_steps)
  return PlanFeed(dataset._plan, {seed = 11, may_count = true, by_steps = by_steps, options = {num_threads = 0}})
end

-- Returns the rows of an epoch: id and noise of each, as one worker has them.
local function whole(dataset)
  local out = {}
  local stream = feed_of(dataset):stream {epoch = 0, seed = 11, ahead = false}
  for block in function() return stream:next() end do
    for _, row in ipairs(block:rows()) do out[#out + 1] = ('%d %s'):format(row.id, tostring(row.noise)) end
  end
  return out
end

-- Runs a schedule in one epoch of a plan, and compares each step with the whole.
local function check_plan(dataset, by_steps)
  local order, at, saved = whole(dataset), 0, nil
  for _, group in ipairs(schedule(#order)) do
    local nexts, ranks, feed = {}, {}, feed_of(dataset, by_steps)
    lu.assertTrue(feed:deals_by_steps())
    for rank = 0, group.workers - 1 do
      local iterator = DataIterator {feed = feed, name = 'train', seed = 11, world_size = group.workers, rank = rank,
                                     agreement = {}}
      if saved then iterator:load_state(saved) end
      ranks[rank + 1] = iterator
      nexts[rank + 1] = iterator:iter_batches {batch_size = group.step / group.workers, prefetch_batches = 0}:iter()
    end
    for _ = 1, group.steps do
      local rows = {}
      for _, next_batch in ipairs(nexts) do
        local batch = next_batch()
        for i = 0, (batch and #batch.id or 0) - 1 do
          rows[#rows + 1] = ('%d %s'):format(batch.id[i]:item(), tostring(batch.noise and batch.noise[i]:item()))
        end
      end
      local left = #order - at
      lu.assertEquals(#rows, left >= group.step and group.step or left - left % group.workers)
      for i, row in ipairs(rows) do lu.assertEquals(row, order[at + i]) end
      at = at + #rows
      if #rows < group.step then break end
    end
    saved = ranks[below(group.workers) + 1]:state()
    for _, rank in ipairs(ranks) do rank:close() end
    if saved.finished then return end
  end
end

function TestPlans.test_steps_of_plans_are_the_rows_in_their_order()
  for _, plan in ipairs(PLANS) do
    for _ = 1, 5 do check_plan(plan(below(80) + 1)) end
  end
end

-- With DataConfig.enable_shard_locality = false each rank runs a plan whose number of rows is not known.
function TestPlans.test_steps_of_plans_that_change_the_number_of_rows()
  for _ = 1, 5 do
    local n = below(80) + 1
    check_plan(data.range(n, {override_num_blocks = 5}):filter(is_odd):map(noisy), true)
    check_plan(data.range(n):filter(is_odd):random_shuffle {seed = 1}:map(noisy), true)
    check_plan(data.range(n):flat_map(twice), true)
    check_plan(data.range(n):filter(is_odd):mix(items(n), {weights = {1, 1}}), true)
  end
end

function TestPlans.test_where_the_rows_are_dealt_by_steps()
  local numbers = data.range(8)
  lu.assertTrue(feed_of(numbers):deals_by_steps())
  lu.assertFalse(feed_of(numbers:filter(is_odd)):deals_by_steps())
  lu.assertTrue(feed_of(numbers:filter(is_odd), true):deals_by_steps())
  local path = os.tmpname() .. '.csv'
  local file = assert(io.open(path, 'w'))
  file:write('id\n1\n2\n')
  file:close()
  lu.assertFalse(feed_of(data.read_csv(path)):deals_by_steps())
  lu.assertFalse(feed_of(numbers:mix(data.read_csv(path), {weights = {1, 1}})):deals_by_steps())
  lu.assertFalse(feed_of(numbers:union(data.read_csv(path))):deals_by_steps())
  lu.assertTrue(feed_of(data.read_csv(path):random_shuffle()):deals_by_steps())
  os.remove(path)
end

os.exit(lu.LuaUnit.run(), true)

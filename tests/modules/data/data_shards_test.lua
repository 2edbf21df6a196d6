-- Shards of a dataset: for any world size, batches, shuffles and resumptions, each row of an epoch is seen once or left
-- out by the rule, and all ranks take equal steps. The ranks are iterators in one process over a feed without files.
local lu = require 'luaunit'
local torch = require 'torch'
local DataIterator = require 'rtrain.data.loop.iterator'
local Feed = require 'row_feed'

-- The attempt's store for coroutines: a rank that waits yields to the others.
local function new_store()
  local values = {}
  return {
    values = values,
    store_set = function(key, value) values[key] = value end,
    store_get = function(key)
      while not values[key] do coroutine.yield() end
      return values[key]
    end,
    store_delete = function(key) values[key] = nil end,
  }
end

-- Each call simulates another run, which has another seed.
local runs = 0

local function ranks_of(feed, world_size, seed)
  runs = runs + 1
  local out, store = {}, new_store()
  for rank = 0, world_size - 1 do
    out[rank + 1] = DataIterator {feed = feed, name = 'train', seed = seed or 17 + runs, world_size = world_size, rank = rank,
                                  agreement = {store = store, name = 'train', rank = rank, world_size = world_size,
                                               timeout_s = 1}}
  end
  return out, store
end

-- Runs one function for each rank until all have finished.
local function together(count, fn)
  local waiting, results = {}, {}
  for i = 1, count do waiting[i] = coroutine.create(fn) end
  local left = count
  while left > 0 do
    left = 0
    for i, thread in ipairs(waiting) do
      if coroutine.status(thread) ~= 'dead' then
        local ok, value = coroutine.resume(thread, i)
        if not ok then error(value, 0) end
        if coroutine.status(thread) == 'dead' then results[i] = value else left = left + 1 end
      end
    end
  end
  return results
end

-- Returns the batches of one loop of each rank, at most `most` of them, as lists of ids.
local function loops(ranks, options, most)
  return together(#ranks, function(i)
    local out = {}
    local loop = ranks[i]:iter_batches(options)
    local next_batch = loop:iter()
    while #out < (most or math.huge) do
      local batch = next_batch()
      if batch == nil then break end
      out[#out + 1] = batch.id:tolist()
    end
    return out
  end)
end

local function flat(...)
  local out = {}
  local function add(value)
    if type(value) ~= 'table' then out[#out + 1] = value return end
    for _, item in ipairs(value) do add(item) end
  end
  for i = 1, select('#', ...) do add((select(i, ...))) end
  return out
end

local function seen_once(ids, n)
  local seen = {}
  for _, id in ipairs(ids) do
    lu.assertNil(seen[id], id)
    lu.assertTrue(id >= 0 and id < n)
    seen[id] = true
  end
  return #ids
end

local function check_batches(batches, batch_size, drop_last)
  for _, rank in ipairs(batches) do
    lu.assertEquals(#rank, #batches[1])
    for k, batch in ipairs(rank) do
      lu.assertEquals(#batch, #batches[1][k])
      if k < #rank or drop_last then lu.assertEquals(#batch, batch_size) end
    end
  end
end

-- Calls fn with each combination of the settings.
local function each_setting(fn)
  for _, n in ipairs {0, 4, 23, 60} do
    for _, batch_size in ipairs {1, 4, 7} do
      for _, drop_last in ipairs {false, true} do
        for _, shuffle in ipairs {'none', 'local', 'global', 'both'} do
          local options = {batch_size = batch_size, drop_last = drop_last}
          if shuffle == 'local' or shuffle == 'both' then options.local_shuffle_buffer_size = 5 end
          for _, by_steps in ipairs(options.local_shuffle_buffer_size and {false} or {false, true}) do
            fn(n, options, Feed {n = n, sizes = {3, 1, 8, 0, 2}, shuffled = shuffle == 'global' or shuffle == 'both',
                                 by_steps = by_steps})
          end
        end
      end
    end
  end
end

TestShards = {}

function TestShards.test_each_row_once_and_equal_steps()
  each_setting(function(n, options, feed)
    for world_size = 1, 5 do
      local ranks = ranks_of(feed, world_size)
      for _ = 1, 2 do
        local batches = loops(ranks, options)
        check_batches(batches, options.batch_size, options.drop_last)
        local share = math.floor(n / world_size)
        if options.drop_last then share = share - share % options.batch_size end
        lu.assertEquals(seen_once(flat(batches), n), share * world_size)
      end
      lu.assertEquals(feed.open, 0)
    end
  end)
end

function TestShards.test_a_restored_shard_gives_exactly_the_rest()
  each_setting(function(n, options, feed)
    for _, world_size in ipairs {1, 3} do
      local whole = loops(ranks_of(feed, world_size, 5), options)
      local following
      for taken = 0, #whole[1] do
        local first = ranks_of(feed, world_size, 5)
        lu.assertEquals(flat(loops(first, options, taken)), flat((function()
          local out = {}
          for i, rank in ipairs(whole) do out[i] = {unpack(rank, 1, taken)} end
          return out
        end)()))
        local states = {}
        for i, rank in ipairs(first) do states[i] = rank:state() end
        local second = ranks_of(feed, world_size)
        -- All ranks can load the state of rank 0.
        for _, rank in ipairs(second) do rank:load_state(states[1]) end
        local rest = loops(second, options)
        for i, rank in ipairs(whole) do lu.assertEquals(rest[i], {unpack(rank, taken + 1)}, n) end
        local next_epoch = loops(second, options)
        following = following or next_epoch
        lu.assertEquals(next_epoch, following)
      end
    end
  end)
end

function TestShards.test_another_world_size_takes_what_nobody_has_had()
  each_setting(function(n, options, feed)
    local sizes = {3, 2, 5}
    local ranks = ranks_of(feed, sizes[1])
    local seen, state = {}, nil
    for k, world_size in ipairs(sizes) do
      if state then
        ranks = ranks_of(feed, world_size)
        for _, rank in ipairs(ranks) do rank:load_state(state) end
      end
      local batches = loops(ranks, options, k < #sizes and 1 or nil)
      check_batches(batches, options.batch_size, options.drop_last)
      seen = flat(seen, batches)
      state = ranks[#ranks]:state()
    end
    local count = seen_once(seen, n)
    -- At the end fewer rows are left than ranks; with drop_last, fewer than one batch per rank.
    local last = sizes[#sizes]
    lu.assertTrue(n - count < (options.drop_last and options.batch_size * last or last), n - count)
  end)
end

function TestShards.test_the_state_is_plain_data_that_checkpoints_keep()
  local feed = Feed {n = 40, sizes = {6}}
  local options = {batch_size = 4, local_shuffle_buffer_size = 6}
  local ranks = ranks_of(feed, 2)
  loops(ranks, options, 2)
  local path = os.tmpname()
  torch.save({shard = ranks[1]:state()}, path)
  local rest = {}
  for i, state in ipairs {ranks[1]:state(), torch.load(path).shard} do
    local other = ranks_of(feed, 3)
    for _, rank in ipairs(other) do rank:load_state(state) end
    rest[i] = loops(other, options)
  end
  os.remove(path)
  lu.assertEquals(rest[1], rest[2])
end

function TestShards.test_states_that_do_not_fit_are_refused()
  local function message(f, ...)
    local ok, err = pcall(f, ...)
    lu.assertFalse(ok)
    return err.message
  end
  local function state_of(feed, world_size)
    local ranks = ranks_of(feed, world_size)
    loops(ranks, {batch_size = 2}, 1)
    return ranks[1]:state()
  end
  local state = state_of(Feed {n = 20, sizes = {5}}, 1)
  local other = ranks_of(Feed {n = 21, sizes = {5}}, 1)[1]
  other:load_state(state)
  lu.assertStrContains(message(loops, {other}, {batch_size = 2}),
    "dataset 'train' has 21 rows, and 20 when the state was saved")
  lu.assertStrContains(message(other.load_state, other, {epoch = 1}), 'not the state of a dataset shard')
  lu.assertStrContains(message(other.load_state, other, {epochs = 1}), "did you mean 'epoch'?")
  for name, value in next, {version = 2, rows = -1, world_size = 0, epoch = 'x', seed = 0.5, remaining = {{5, 3}}, base = {},
                            num_rows = -1, batch_size = 0, shuffle_size = 'many'} do
    local damaged = state_of(Feed {n = 20, sizes = {5}}, 1)
    damaged[name] = value
    lu.assertStrContains(message(other.load_state, other, damaged), ("its field '%s' is missing or wrong"):format(name))
  end
  local ranks = ranks_of(Feed {n = 20, sizes = {5}}, 2)
  loops(ranks, {batch_size = 'none'}, 1)
  local alone = ranks_of(Feed {n = 20, sizes = {5}}, 1)[1]
  alone:load_state(ranks[1]:state())
  lu.assertStrContains(message(loops, {alone}, {batch_size = 2}), 'without a batch_size each rank has had another number')
end

TestAgreement = {}

local function odd(ids) return ids:bitwise_and(1):to('bool') end

-- The rows that pass the filter are in the first half, so the ranks have unequal numbers.
local function early(ids) return ids:lt(31) end

function TestAgreement.test_equal_steps_where_the_number_of_rows_is_not_known()
  for _, keeps in ipairs {odd, early, function(ids) return ids:lt(0) end} do
    for _, options in ipairs {{batch_size = 1}, {batch_size = 4}, {batch_size = 4, drop_last = true},
                              {batch_size = 7, local_shuffle_buffer_size = 5}} do
      for world_size = 1, 4 do
        local feed = Feed {n = 61, sizes = {3, 9, 1}, keeps = keeps}
        local ranks, store = ranks_of(feed, world_size)
        -- The number of rows that each rank would have alone.
        local least = math.huge
        for rank = 0, world_size - 1 do
          local part = Feed.part_of(61, {rank = rank, world_size = world_size})[1]
          least = math.min(least, keeps(torch.arange(part[1], part[2])):sum():item())
        end
        if options.drop_last then least = least - least % options.batch_size end
        for _ = 1, 2 do
          local batches = loops(ranks, options)
          check_batches(batches, options.batch_size, options.drop_last)
          lu.assertEquals(seen_once(flat(batches), 61), least * world_size)
        end
        local keys = 0
        for _ in next, store.values do keys = keys + 1 end
        lu.assertEquals(keys, world_size > 1 and world_size or 0)
      end
    end
  end
end

function TestAgreement.test_a_restored_shard_gives_exactly_the_rest()
  local feed = Feed {n = 61, sizes = {3, 9, 1}, keeps = odd, shuffled = true}
  local options = {batch_size = 3, local_shuffle_buffer_size = 4}
  local whole = loops(ranks_of(feed, 2, 5), options)
  for taken = 0, #whole[1] do
    local first = ranks_of(feed, 2, 5)
    loops(first, options, taken)
    local second = ranks_of(feed, 2)
    for i, rank in ipairs(second) do rank:load_state(first[i]:state()) end
    local rest = loops(second, options)
    for i, rank in ipairs(whole) do lu.assertEquals(rest[i], {unpack(rank, taken + 1)}) end
  end
end

function TestAgreement.test_another_world_size_takes_what_nobody_has_had()
  for _, options in ipairs {{batch_size = 3}, {batch_size = 2, local_shuffle_buffer_size = 4}} do
    local feed = Feed {n = 80, sizes = {3, 9, 1}, keeps = odd, shuffled = true}
    local seen, state, left = {}, nil, 40
    for k, world_size in ipairs {3, 2, 4} do
      local ranks = ranks_of(feed, world_size)
      for _, rank in ipairs(state and ranks or {}) do rank:load_state(state) end
      local batches = loops(ranks, options, k < 3 and 2 or nil)
      check_batches(batches, options.batch_size, false)
      seen = flat(seen, batches)
      left, state = 40 - #seen, ranks[1]:state()
      for _, rank in ipairs(ranks) do rank:close() end
    end
    seen_once(seen, 80)
    lu.assertTrue(left < 4, left)
    lu.assertEquals(feed.open, 0)
  end
end

function TestAgreement.test_the_missing_rank_is_named()
  local feed = Feed {n = 20, sizes = {5}, keeps = odd}
  local ranks, store = ranks_of(feed, 2)
  store.store_get = nil
  local late = setmetatable({store_get = function(key)
    if store.values[key] then return store.values[key] end
    require('base.errors').raise('timeout', 'waited 1 s for ' .. key)
  end}, {__index = store})
  ranks[1]._agreement._store = late
  local ok, err = pcall(loops, {ranks[1]}, {})
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'timeout')
  lu.assertStrContains(err.message, "dataset 'train': rank 1 has not asked for more batches of loop 1 within 1 s")
end

os.exit(lu.LuaUnit.run(), true)

-- The building blocks of dataset shards: intervals of rows, orders of shuffles, batches, the local shuffle.
local lu = require 'luaunit'
local torch = require 'torch'
local batches = require 'rtrain.data.blocks.batches'
local Block = require 'rtrain.data.blocks.block'
local intervals = require 'rtrain.data.rows.intervals'
local LocalShuffle = require 'rtrain.data.loop.local_shuffle'
local Permutation = require 'rtrain.data.rows.permutation'

-- Returns a stream of the rows first … first + count - 1 in blocks whose sizes cycle through `sizes`.
local function stream(count, sizes, first)
  local at, k = 0, 0
  return function()
    if at >= count then return nil end
    k = k + 1
    local size = math.min(sizes[(k - 1) % #sizes + 1], count - at)
    at = at + size
    return Block({'id'}, {torch.arange(at - size, at) + (first or 0)})
  end
end

local function ids(next_block)
  local out, sizes = {}, {}
  for block in next_block do
    sizes[#sizes + 1] = block:num_rows()
    for _, id in ipairs(block:column('id'):tolist()) do out[#out + 1] = id end
  end
  return out, sizes
end

local sorted = require('lists').sorted
local range = require('lists').range

local function rows_of(list)
  local out = {}
  for _, interval in ipairs(list) do
    for row = interval[1], interval[2] - 1 do out[#out + 1] = row end
  end
  return out
end

TestIntervals = {}

function TestIntervals.test_partition_gives_each_rank_as_many_rows()
  for num_rows = 0, 23 do
    for world_size = 1, 5 do
      local seen = {}
      for rank = 0, world_size - 1 do
        local first, count = intervals.partition(num_rows, world_size, rank)
        lu.assertEquals(count, math.floor(num_rows / world_size))
        for row = first, first + count - 1 do seen[#seen + 1] = row end
      end
      lu.assertEquals(seen, range(0, num_rows - num_rows % world_size))
    end
  end
end

function TestIntervals.test_sets()
  local list = {{0, 4}, {6, 7}, {10, 20}}
  lu.assertEquals(intervals.count(list), 15)
  lu.assertEquals(intervals.without(list, {{1, 2}, {3, 11}, {19, 30}}), {{0, 1}, {2, 3}, {11, 19}})
  lu.assertEquals(intervals.without(list, {}), list)
  lu.assertEquals(intervals.union {{{5, 7}, {9, 10}}, {{0, 6}, {10, 11}}}, {{0, 7}, {9, 11}})
  lu.assertEquals(intervals.pick(list, {0, 1, 4, 5, 14}), {{0, 2}, {6, 7}, {10, 11}, {19, 20}})
  lu.assertEquals(rows_of(intervals.slice(list, 3, 4)), {3, 6, 10, 11})
  lu.assertEquals(intervals.slice(list, 15, 4), {})
  lu.assertEquals(intervals.within(list, 2, 10), {{2, 4}, {6, 7}, {10, 12}})
  lu.assertEquals(intervals.within(list, 7, 3), {})
  lu.assertEquals({intervals.coarse(list, 3)}, {{{0, 7}, {10, 20}}, {{0, 4}, {6, 17}}})
end

TestPermutation = {}

function TestPermutation.test_both_kinds_are_bijections_of_seed_and_size()
  for _, options in ipairs {{held = 1e6}, {held = 0}} do
    for _, n in ipairs {1, 2, 5, 64, 1000, 4097} do
      local order = Permutation(n, 3, options)
      local rows = order:row_at(torch.arange(n))
      lu.assertEquals(rows:sort():tolist(), range(0, n))
      lu.assertEquals(order:place_of(rows):tolist(), range(0, n))
      lu.assertTrue(torch.equal(Permutation(n, 3, options):row_at(torch.arange(n)), rows))
      if n >= 64 then lu.assertFalse(torch.equal(Permutation(n, 4, options):row_at(torch.arange(n)), rows)) end
    end
  end
end

function TestPermutation.test_the_network_scatters_neighbours()
  local n = 2 ^ 33
  local order = Permutation(n, 11)
  local places = torch.arange(n / 2, n / 2 + 20000)
  local rows = order:row_at(places)
  lu.assertTrue(torch.equal(order:place_of(rows), places))
  -- Rows spread evenly over tenths, and neither neighbours nor rows of equal parity stay together.
  local tenths = (rows:double() / n * 10):floor():long():bincount():double()
  lu.assertTrue((tenths - 2000):abs():max():item() < 200)
  local steps = (rows:slice(0, 1) - rows:slice(0, 0, -1)):double() / n
  lu.assertTrue(math.abs(steps:abs():mean():item() - 1 / 3) < 0.02)
  lu.assertTrue(math.abs(rows:bitwise_and(1):double():mean():item() - 0.5) < 0.02)
end

TestBatches = {}

function TestBatches.test_all_batches_are_full_but_the_last()
  for _, count in ipairs {0, 1, 7, 24, 25} do
    for _, sizes in ipairs {{1}, {3}, {7, 1, 0, 2}, {100}} do
      for _, drop_last in ipairs {false, true} do
        local seen, lengths = ids(batches.of(stream(count, sizes), 4, drop_last))
        local expected = drop_last and count - count % 4 or count
        lu.assertEquals(seen, range(0, expected))
        for i = 1, #lengths - 1 do lu.assertEquals(lengths[i], 4) end
      end
    end
  end
  local seen, lengths = ids(batches.of(stream(7, {3, 0, 2}), nil))
  lu.assertEquals({seen, lengths}, {range(0, 7), {3, 2, 2}})
end

TestLocalShuffle = {}

function TestLocalShuffle.test_a_function_of_the_rows_alone()
  for _, count in ipairs {0, 1, 9, 30, 100} do
    local expected = ids(LocalShuffle(10, 4, 5):blocks(stream(count, {1000})))
    lu.assertEquals(sorted(expected), range(0, count))
    for _, sizes in ipairs {{1}, {3, 5}, {17, 1, 0}} do
      lu.assertEquals((ids(LocalShuffle(10, 4, 5):blocks(stream(count, sizes)))), expected)
    end
    if count == 100 then
      lu.assertNotEquals(expected, range(0, count))
      lu.assertNotEquals((ids(LocalShuffle(10, 4, 6):blocks(stream(count, {1000})))), expected)
    end
  end
end

function TestLocalShuffle.test_each_row_is_drawn_from_so_many()
  -- Row r comes out only after at least as many later rows were read as the buffer holds.
  local seen = ids(LocalShuffle(10, 4, 1):blocks(stream(400, {7})))
  local late = 0
  for place, id in ipairs(seen) do
    lu.assertTrue(id - (place - 1) < 10 + 8)
    if place - 1 - id > 20 then late = late + 1 end
  end
  lu.assertTrue(late > 0)
end

function TestLocalShuffle.test_batches_are_full_so_that_ranks_take_equal_steps()
  for _, count in ipairs {11, 32, 61} do
    local _, lengths = ids(batches.of(LocalShuffle(5, 4, 2):blocks(stream(count, {1, 6})), 4))
    lu.assertEquals(#lengths, math.ceil(count / 4))
    for i = 1, #lengths - 1 do lu.assertEquals(lengths[i], 4) end
  end
end

function TestLocalShuffle.test_resumes_after_any_row()
  for _, size in ipairs {1, 3, 10, 64} do
    for _, count in ipairs {5, 12, 31, 60} do
      local shuffle = LocalShuffle(size, 4, 9)
      local whole = ids(shuffle:blocks(stream(count, {9})))
      for taken = 0, count do
        local position = shuffle:position(count, taken)
        local left, first = shuffle:remaining(count, position)
        local rest = {unpack(whole, taken + 1)}
        for row = first, count - 1 do left[#left + 1] = row end
        lu.assertEquals(sorted(left), sorted(rest))
        local carried = position.carried:sort()
        local tail = stream(count - position.next, {9}, position.next)
        local sent = carried:size(0) == 0
        local resumed = ids(shuffle:blocks(function()
          if sent then return tail() end
          sent = true
          return Block({'id'}, {carried})
        end, position))
        lu.assertEquals(resumed, rest)
      end
    end
  end
end

os.exit(lu.LuaUnit.run(), true)

-- Dataset:mix: the shares are exact for any blocks, threads, ranks and resumptions.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local message_of = require('refusal').message_of
local numbers = require('lists').numbers
local range = require('lists').range
local sorted = require('lists').sorted
local Turns = require 'rtrain.data.rows.turns'

local context = data.DataContext.get_current()

-- Returns a dataset of the rows first … last - 1.
local function rows(first, last, blocks)
  return data.range(last - first, {override_num_blocks = blocks or 1}):map(function(row)
    row.id = row.id + first
    return row
  end)
end

-- Returns the same rows as a dataset whose number of rows is unknown.
local function uncounted(ds) return ds:filter(function() return true end) end

local function ids(ds)
  local out = {}
  for i, row in ipairs(ds:take_all()) do out[i] = row.id end
  return out
end

local function always() return true end

-- Counts how many rows of a list are from 100 k … 100 k + 99, for each k.
local function shares(list, count)
  local out = {}
  for i = 1, count do out[i] = 0 end
  for _, id in ipairs(list) do
    local i = math.floor(id / 100) + 1
    out[i] = out[i] + 1
  end
  return out
end

TestTurns = {}

function TestTurns.test_shares_are_exact_after_each_repetition_and_never_a_row_ahead()
  for _, weights in ipairs {{1}, {1, 1}, {3, 1}, {2, 3, 5}, {7, 1, 1, 1}, {1, 1000}, {600, 400}} do
    local turns, given, sum, total = Turns(weights), {}, 0, 0
    for i, weight in ipairs(weights) do given[i], total = 0, total + weight end
    for row = 1, 2 * total do
      local i = turns:next(always)
      given[i], sum = given[i] + 1, sum + 1
      for k, weight in ipairs(weights) do lu.assertTrue(given[k] * total < weight * row + total) end
      if row % total == 0 then
        for k, weight in ipairs(weights) do lu.assertEquals(given[k], weight * row / total) end
      end
    end
  end
end

-- Skipping many rows at once gives the same state as single steps.
function TestTurns.test_skip_is_as_many_steps()
  local weights, counts = {3, 1, 2}, {20, 9, 4}
  for _, stops in ipairs {false, true} do
    local order, left = {}, {unpack(counts)}
    local single = Turns(weights, stops)
    local function has_row(i)
      if left[i] == 0 then return false end
      left[i] = left[i] - 1
      return true
    end
    for i in function() return single:next(has_row) end do order[#order + 1] = i end
    if not stops then lu.assertEquals(#order, 33) end
    for rows_before = 0, #order do
      local turns = Turns(weights, stops)
      left = {unpack(counts)}
      lu.assertEquals(turns:skip(rows_before, left), rows_before)
      local rest = {}
      for i in function() return turns:next(has_row) end do rest[#rest + 1] = i end
      lu.assertEquals(rest, {unpack(order, rows_before + 1)}, rows_before)
    end
    left = {unpack(counts)}
    lu.assertEquals(Turns(weights, stops):skip(math.huge, left), #order)
  end
end

TestMix = {}

-- The order is the same with and without threads, for any blocks, and for known and unknown numbers of rows.
function TestMix.test_the_order_is_that_of_weights_and_rows_alone()
  local expected = {0, 1, 100, 2, 3, 4, 101, 5, 6, 7, 102, 8, 9, 103, 104}
  for _, threads in ipairs {0, 2} do
    context.num_threads = threads
    for _, blocks in ipairs {1, 3, 5} do
      local a, b = rows(0, 10, blocks), rows(100, 105, 4)
      for _, options in ipairs {{weights = {3, 1}}, {weights = {0.75, 0.25}}, {weights = {0.6, 0.2}}} do
        lu.assertEquals(ids(a:mix(b, options)), expected)
        lu.assertEquals(ids(uncounted(a):mix(b, options)), expected)
        lu.assertEquals(ids(a:mix(uncounted(b), options)), expected)
      end
    end
  end
  context.num_threads = 0
end

function TestMix.test_equal_weights_by_default_and_one_dataset_alone()
  lu.assertEquals(ids(rows(0, 3):mix(rows(100, 103), rows(200, 203))), {0, 100, 200, 1, 101, 201, 2, 102, 202})
  lu.assertEquals(ids(rows(0, 3):mix()), {0, 1, 2})
end

function TestMix.test_stopping_conditions()
  local a, b = rows(0, 8), rows(100, 102)
  local longest, shortest = a:mix(b), a:mix(b, {stopping_condition = data.MixStoppingCondition.STOP_ON_SHORTEST})
  lu.assertEquals(ids(longest), {0, 100, 1, 101, 2, 3, 4, 5, 6, 7})
  lu.assertEquals(ids(shortest), {0, 100, 1, 101, 2})
  lu.assertEquals({longest:count(), shortest:count()}, {10, 5})
  lu.assertEquals(ids(uncounted(a):mix(b, {stopping_condition = 'stop_on_shortest'})), {0, 100, 1, 101, 2})
  lu.assertEquals(ids(a:mix(rows(100, 100))), numbers(8))
end

function TestMix.test_parts_of_a_mix_are_those_of_the_whole()
  local ds = rows(0, 40, 3):random_shuffle {seed = 1}:mix(rows(100, 117, 2), rows(200, 205), {weights = {5, 2, 1}})
  local function of(slices)
    local out = {}
    for block in ds:execute {slices = slices, seed = 3} do
      for _, row in ipairs(block:rows()) do out[#out + 1] = row.id end
    end
    return out
  end
  local whole = of()
  lu.assertEquals(#whole, 62)
  for _, slices in ipairs {{}, {{0, 62}}, {{5, 6}}, {{3, 20}, {22, 23}, {40, 62}}, {{60, 62}}} do
    local wanted = {}
    for _, slice in ipairs(slices) do
      for i = slice[1], slice[2] - 1 do wanted[#wanted + 1] = whole[i + 1] end
    end
    lu.assertEquals(of(slices), wanted)
  end
end

-- Operators after a mix, and datasets combined with a mix.
function TestMix.test_a_mix_is_a_dataset_like_others()
  local mixed = rows(0, 6):mix(rows(100, 102), {weights = {3, 1}})
  local all = {0, 1, 2, 3, 4, 5, 100, 101}
  lu.assertEquals(ids(mixed:filter(function(row) return row.id >= 100 end)), {100, 101})
  lu.assertEquals(ids(mixed:sort('id')), all)
  lu.assertEquals(sorted(ids(mixed:random_shuffle {seed = 1})), all)
  lu.assertEquals(ids(mixed:limit(3)), {0, 1, 100})
  lu.assertEquals(ids(mixed:union(rows(7, 8))), {0, 1, 100, 2, 3, 4, 101, 5, 7})
  lu.assertEquals(ids(mixed:mix(rows(200, 202), {weights = {4, 1}})), {0, 1, 200, 100, 2, 3, 4, 201, 101, 5})
  lu.assertEquals(mixed:schema().names, {'id'})
end

local function loop(iterator, most)
  local out, next_batch = {}, iterator:iter_batches {batch_size = 8}:iter()
  while #out < most do
    local batch = next_batch()
    if batch == nil then break end
    out[#out + 1] = batch.id:tolist()
  end
  return out
end

function TestMix.test_every_batch_has_the_shares_and_a_restored_iterator_gives_exactly_the_rest()
  local function made()
    local a = rows(0, 60, 7):random_shuffle {seed = 1}
    return a:mix(rows(100, 120, 3), {weights = {0.75, 0.25}}):iterator()
  end
  local whole = loop(made(), math.huge)
  lu.assertEquals(#whole, 10)
  for _, batch in ipairs(whole) do lu.assertEquals(shares(batch, 2), {6, 2}) end
  for taken = 0, 10 do
    local first, second = made(), made()
    loop(first, taken)
    second:load_state(first:state())
    lu.assertEquals(loop(second, math.huge), {unpack(whole, taken + 1)}, taken)
  end
end

-- A rank's part of a mix has the shares, too, if its rows cannot be counted.
function TestMix.test_the_part_of_a_rank_has_the_shares()
  local feed = require 'rtrain.data.executor.feed'
  local ds = uncounted(rows(0, 60, 4)):mix(uncounted(rows(100, 120)), {weights = {3, 1}})
  local seen = {}
  for rank = 0, 1 do
    local stream = feed(ds._plan, {seed = 1}):stream {epoch = 0, part = {rank = rank, world_size = 2}, ahead = false}
    local own = {}
    for block in function() return stream:next() end do
      for _, row in ipairs(block:rows()) do own[#own + 1], seen[#seen + 1] = row.id, row.id end
    end
    lu.assertEquals(shares(own, 2), {30, 10})
    lu.assertEquals(shares({unpack(own, 1, 20)}, 2), {15, 5})
  end
  local all = numbers(60)
  for _, id in ipairs(range(100, 120)) do all[#all + 1] = id end
  lu.assertEquals(sorted(seen), all)
end

function TestMix.test_what_cannot_be_mixed_is_refused()
  local a, b = data.range(3), data.range(3)
  lu.assertStrContains(message_of(a.mix, a, 5), 'mix: expected a Dataset, got a number')
  lu.assertStrContains(message_of(a.mix, a, b, {weight = {1, 1}}), "did you mean 'weights'?")
  lu.assertStrContains(message_of(a.mix, a, b, {weights = {1}}), 'weights is a list of 2 numbers')
  lu.assertStrContains(message_of(a.mix, a, b, {weights = 0.5}), 'weights is a list of 2 numbers')
  for _, weight in ipairs {0, -1, 1e7, 1e-7, 0 / 0, math.huge, 'half'} do
    lu.assertStrContains(message_of(a.mix, a, b, {weights = {1, weight}}), 'mix: weight 2 is ')
  end
  lu.assertStrContains(message_of(a.mix, a, b, {stopping_condition = 'stop_on_short'}),
    "stopping_condition cannot be 'stop_on_short': valid names: stop_on_longest_drop, stop_on_shortest")
  lu.assertStrContains(message_of(a.mix, a, b:rename_columns {id = 'x'}),
    'dataset 1 has the columns id: int64 and dataset 2 has x: int64')
  -- Here only the data shows that the columns differ.
  local other = b:map(function(row) return {x = row.id} end)
  lu.assertStrContains(message_of(function() return a:mix(other):take_all() end),
    'dataset 1 has the columns id: int64 and dataset 2 has x: ')
end

os.exit(lu.LuaUnit.run(), true)

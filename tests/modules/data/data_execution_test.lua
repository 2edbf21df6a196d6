-- rtrain.data: when and how a plan of operators runs: slices, random numbers, threads, statistics.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local torch = require 'torch'

local context = data.DataContext.get_current()

local message_of = require('refusal').message_of
local with_and_without_threads = require('threads').with_and_without

TestRunning = {}

function TestRunning.test_nothing_runs_before_rows_are_asked_for()
  local ds = data.range(10):map(function() error('ran') end)
  lu.assertEquals(ds:count(), 10)
  lu.assertEquals(tostring(data.range(10)), 'Dataset(num_rows=10, schema={id: int64})')
  lu.assertErrorMsgContains('ran', ds.take, ds)
end

TestRunning.test_an_execution_that_is_left_early_ends = with_and_without_threads(function()
  for _ = 1, 5 do
    local left = data.range(1e6, {override_num_blocks = 100}):map(function(row) return row end):execute()
    lu.assertTrue(left:next():num_rows() > 0)
  end
  collectgarbage()
  collectgarbage()
  local execution = data.range(1e6):map(function(row) return row end):execute()
  execution:next()
  execution:close()
  execution:close()
  lu.assertNil(execution:next())
end)

-- An execution for slices of the source yields exactly those rows of the whole.
TestRunning.test_slices = with_and_without_threads(function()
  local function of(ds, slices)
    local out = {}
    for block in ds:execute{slices = slices, seed = 3} do
      for _, row in ipairs(block:rows()) do out[#out + 1] = row.id end
    end
    return out
  end
  local plain = data.range(50, {override_num_blocks = 6})
  for _, ds in ipairs{plain, plain:map(function(row) return row end), plain:random_shuffle(), plain:sort('id'),
                      plain:flat_map(function(row) return {row} end):random_shuffle(),
                      plain:union(plain), plain:zip(plain), plain:repartition(3)} do
    local whole = of(ds)
    local wanted = {}
    for _, slice in ipairs{{3, 20}, {22, 23}, {40, 50}} do
      for i = slice[1], slice[2] - 1 do wanted[#wanted + 1] = whole[i + 1] end
    end
    lu.assertEquals(of(ds, {{3, 20}, {22, 23}, {40, 50}}), wanted)
    lu.assertEquals(of(ds, {}), {})
  end
end)

-- The random numbers of a row depend on seed, epoch and row, but not on threads or block sizes.
function TestRunning.test_random_numbers_of_rows()
  local worker = require 'torch.utils.data.worker'
  local function of(threads, options)
    context.num_threads = threads
    options.seed = 7
    local out = {}
    local ds = data.range(40, {override_num_blocks = options.blocks or 4}):map(function(row)
      row.noise = torch.rand({1}, {generator = worker.generator()}):item()
      return row
    end)
    for block in ds:execute(options) do
      for _, row in ipairs(block:rows()) do out[row.id + 1] = row.noise end
    end
    return out
  end
  local all = of(0, {})
  lu.assertEquals(of(2, {}), all)
  lu.assertEquals(of(2, {blocks = 7}), all)
  local part = of(2, {slices = {{13, 29}}})
  for i = 14, 29 do lu.assertEquals(part[i], all[i]) end
  lu.assertNotEquals(of(0, {epoch = 1}), all)
  lu.assertNil(worker.generator())
end

-- The same after an operator that needs all rows: ranks and operators before it do not share random numbers.
function TestRunning.test_random_numbers_of_rows_behind_a_global_operator()
  local worker = require 'torch.utils.data.worker'
  local function noisy(ds, options)
    options.seed = 7
    local out = {}
    local noised = ds:map(function(row)
      row.noise = torch.rand({1}, {generator = worker.generator()}):item()
      return row
    end)
    for block in noised:execute(options) do
      for _, row in ipairs(block:rows()) do out[row.id + 1] = row.noise end
    end
    return out
  end
  local plain = data.range(40, {override_num_blocks = 4})
  for _, ds in ipairs{plain:random_shuffle{seed = 1}, plain:sort('id', {descending = true}), plain:mix(data.range(0))} do
    context.num_threads = 0
    local whole, parts = noisy(ds, {}), {}
    context.num_threads = 2
    lu.assertEquals(noisy(ds, {}), whole)
    for _, slices in ipairs{{{0, 13}}, {{13, 20}, {22, 25}, {30, 40}}, {{20, 22}, {25, 30}}} do
      for id, noise in pairs(noisy(ds, {slices = slices})) do parts[id] = noise end
    end
    lu.assertEquals(parts, whole)
  end
  -- A dataset whose number of rows is unknown.
  local seen, count = {}, 0
  for rank = 0, 1 do
    local uncounted = plain:filter(function() return true end):sort('id')
    for _, noise in pairs(noisy(uncounted, {part = {rank = rank, world_size = 2}})) do
      lu.assertNil(seen[noise])
      seen[noise], count = true, count + 1
    end
  end
  lu.assertEquals(count, 40)
end

function TestRunning.test_stats()
  context.num_threads = 2
  local ds = data.range(1000, {override_num_blocks = 5}):filter(function(row) return row.id < 100 end)
    :map(function(row) return row end):sort('id')
  lu.assertErrorMsgContains('did not run', ds.stats, ds)
  ds:take_all()
  local stats = ds:stats():to_table()
  local rows = {}
  for i, entry in ipairs(stats) do rows[i] = entry.rows end
  lu.assertEquals(rows, {1000, 100, 100, 100})
  lu.assertEquals(stats[4].operator, 'Sort')
  lu.assertTrue(stats[2].time_s > 0 and stats[2].bytes == 800)
  lu.assertStrContains(tostring(ds:stats()), 'Operator 1 filter(data_execution_test.lua:')
end

function TestRunning.test_a_dataset_travels()
  local closure = require 'base._closure'
  local ds = data.from_items{{x = 1, s = 'a'}, {x = 2, s = 'b'}}:map(function(row)
    row.x = row.x * 10
    return row
  end):random_shuffle{seed = 1}
  local function use() return ds:take_all() end
  local there = closure.load((closure.dump(use)))
  lu.assertEquals(there(), use())
end

function TestRunning.test_unknown_methods()
  lu.assertStrContains(message_of(function() return data.range(3):flter() end), "did you mean 'filter'?")
  lu.assertStrContains(message_of(function() return data.range(3):map_groups(print) end), 'use groupby(key):map_groups(fn)')
end

function TestRunning.test_from_torch()
  context.num_threads = 2
  local Labelled = torch.utils.data.Dataset:extend('Labelled')
  Labelled.dtypes = {[2] = 'int64'}
  function Labelled:len() return 600 end
  function Labelled:get(i) return torch.full({2}, i), i % 10 end
  local ds = data.from_torch(Labelled())
  lu.assertEquals(ds:count(), 600)
  local named = ds:map(function(row) return {image = row.item[1], label = row.item[2]} end)
  lu.assertEquals(named:schema().types, {'tensor<float32>[2]', 'int64'})
  local rows = named:random_shuffle{seed = 1}:take_all()
  lu.assertEquals(#rows, 600)
  for _, row in ipairs(rows) do lu.assertEquals(row.label, row.image[0]:item() % 10) end
end

os.exit(lu.LuaUnit.run(), true)

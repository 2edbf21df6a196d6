-- train.tune's search spaces: their values, their errors, and the trials made of them.

local lu = require 'luaunit'
local Random = require 'rtrain.tune.random'
local space = require 'rtrain.tune.space'
local tune = require('rtrain').tune
local Variants = require 'rtrain.tune.variants'

TestSpaces = {}

local function drawn(domain, count)
  local random, out = Random(3), {}
  for i = 1, count or 2000 do out[i] = domain:draw(random) end
  return out
end

local function extremes(values) return math.min(unpack(values)), math.max(unpack(values)) end

local function mean(values)
  local sum = 0
  for _, value in ipairs(values) do sum = sum + value end
  return sum / #values
end

-- Counts how often each value occurs.
local function counts(values)
  local out = {}
  for _, value in ipairs(values) do out[value] = (out[value] or 0) + 1 end
  return out
end

function TestSpaces:test_uniform_fills_its_range()
  local values = drawn(tune.uniform(-2, 6))
  local least, most = extremes(values)
  lu.assertTrue(least >= -2 and least < -1.9 and most < 6 and most > 5.9)
  lu.assertAlmostEquals(mean(values), 2, 0.2)
end

function TestSpaces:test_loguniform_has_as_many_of_each_order_of_magnitude()
  local below = 0
  for _, value in ipairs(drawn(tune.loguniform(1e-4, 1))) do
    lu.assertTrue(value >= 1e-4 and value <= 1)
    if value < 1e-2 then below = below + 1 end
  end
  lu.assertAlmostEquals(below / 2000, 0.5, 0.05)
end

function TestSpaces:test_a_quantized_range_gives_multiples_and_both_bounds()
  local seen = counts(drawn(tune.quniform(0, 1, 0.25)))
  for value in pairs(seen) do lu.assertEquals(value * 4 % 1, 0) end
  lu.assertTrue(seen[0] > 0 and seen[1] > 0 and seen[0.5] > seen[0])
end

function TestSpaces:test_randint_leaves_out_its_upper_bound_and_qrandint_does_not()
  local seen = counts(drawn(tune.randint(2, 5)))
  lu.assertEquals({seen[1], seen[5]}, {})
  for value = 2, 4 do lu.assertAlmostEquals(seen[value] / 2000, 1 / 3, 0.05) end
  seen = counts(drawn(tune.qrandint(2, 6, 2)))
  lu.assertTrue(seen[2] > 0 and seen[4] > 0 and seen[6] > 0)
  lu.assertEquals(seen[2] + seen[4] + seen[6], 2000)
end

function TestSpaces:test_lograndint_gives_integers_of_its_range()
  for _, value in ipairs(drawn(tune.lograndint(1, 1000))) do
    lu.assertTrue(value % 1 == 0 and value >= 1 and value <= 999)
  end
  for _, value in ipairs(drawn(tune.qlograndint(8, 512, 8))) do
    lu.assertTrue(value % 8 == 0 and value >= 8 and value <= 512)
  end
end

function TestSpaces:test_randn_has_its_mean_and_deviation()
  local values = drawn(tune.randn(10, 2), 5000)
  lu.assertAlmostEquals(mean(values), 10, 0.15)
  local squares = {}
  for i, value in ipairs(values) do squares[i] = (value - 10) ^ 2 end
  lu.assertAlmostEquals(math.sqrt(mean(squares)), 2, 0.15)
  for _, value in ipairs(drawn(tune.qrandn(0, 1, 0.5), 100)) do lu.assertEquals(value * 2 % 1, 0) end
end

function TestSpaces:test_choice_may_be_written_as_in_python()
  local written = require 'rtrain.tune.written'
  for text, values in pairs {
    ['w=choice([16,32])'] = '16 32', ['w=choice([ "a", b ])'] = 'a b', ['w=choice(16,32)'] = '16 32',
    ['w=choice([1,2],[3])'] = '[1,2] [3]',
  } do
    local seen = {}
    for value in pairs(counts(drawn(select(2, written.space(text))))) do seen[#seen + 1] = value end
    table.sort(seen)
    lu.assertEquals(table.concat(seen, ' '), values, text)
  end
end

function TestSpaces:test_choice_gives_each_value_equally_often()
  local seen = counts(drawn(tune.choice {'adam', 'sgd'}))
  lu.assertAlmostEquals(seen.adam / 2000, 0.5, 0.05)
end

function TestSpaces:test_a_space_that_makes_no_sense_is_refused()
  for _, case in ipairs {
    {function() tune.uniform(2, 1) end, 'lower bound 2 is not below the upper bound 1'},
    {function() tune.loguniform(0, 1) end, 'has no logarithm'},
    {function() tune.quniform(0, 1, 0.3) end, '1 is not a multiple of q'},
    {function() tune.randint(0.5, 3) end, '0.5 is not an integer'},
    {function() tune.choice {} end, 'at least one value'},
    {function() tune.uniform('a', 1) end, "'a', expected a number"},
    {function() tune.grid_search(3) end, 'got 3'},
    {function() tune.sample_from(3) end, 'expected a function'},
    {function() tune.TuneConfig {mode = 'best'} end, 'mode'},
    {function() tune.TuneConfig {num_sample = 2} end, "did you mean 'num_samples'"},
  } do
    local ok, failure = pcall(case[1])
    lu.assertFalse(ok)
    lu.assertEquals(failure.code, 'config')
    lu.assertStrContains(tostring(failure), case[2])
  end
end

TestVariants = {}

local function all(tree, options)
  local variants, out = Variants(tree, options), {}
  while true do
    local config = variants:suggest(#out)
    if config == nil then return out, variants.count end
    out[#out + 1] = config
  end
end

function TestVariants:test_all_combinations_of_the_grids_come_as_often_as_there_are_samples()
  local configs, count = all({
    a = tune.grid_search {1, 2}, b = {c = tune.grid_search {'x', 'y'}, d = 7}, e = tune.uniform(0, 1),
  }, {num_samples = 2, seed = 1})
  lu.assertEquals({#configs, count}, {8, 8})
  local order, e = {}, {}
  for i, config in ipairs(configs) do
    order[i], e[config.e] = config.a .. config.b.c .. config.b.d, true
  end
  -- As in Ray, the first name changes fastest.
  lu.assertEquals(table.concat(order, ' '), '1x7 2x7 1y7 2y7 1x7 2x7 1y7 2y7')
  local different = 0
  for _ in pairs(e) do different = different + 1 end
  lu.assertEquals(different, 8)
end

function TestVariants:test_the_seed_decides()
  local tree = {lr = tune.loguniform(1e-4, 1)}
  local first, again = all(tree, {num_samples = 3, seed = 5}), all(tree, {num_samples = 3, seed = 5})
  lu.assertEquals(first, again)
  lu.assertNotEquals(first, (all(tree, {num_samples = 3, seed = 6})))
end

function TestVariants:test_sample_from_sees_what_was_drawn()
  local configs = all({
    width = tune.grid_search {8, 16}, heads = tune.sample_from(function(spec) return spec.config.width / 8 end),
    double = tune.sample_from(function(config) return config.width * 2 end),
  }, {num_samples = 1, seed = 0})
  lu.assertEquals(configs, {{width = 8, heads = 1, double = 16}, {width = 16, heads = 2, double = 32}})
end

function TestVariants:test_without_a_domain_all_samples_are_the_same()
  lu.assertEquals(all({lr = 0.1}, {num_samples = 2, seed = 0}), {{lr = 0.1}, {lr = 0.1}})
end

TestSpace = {}

function TestSpace:test_joined_changes_what_is_named_and_neither_table()
  local base = {lr = 1, model = {width = 2, depth = 3}, sizes = {1, 2, 3}}
  local changed = space.joined(base, {model = {width = 8}, sizes = {9}})
  lu.assertEquals(changed, {lr = 1, model = {width = 8, depth = 3}, sizes = {9}})
  lu.assertEquals(base, {lr = 1, model = {width = 2, depth = 3}, sizes = {1, 2, 3}})
end

function TestSpace:test_a_misspelt_part_is_refused()
  local Tuner, trainable = require('rtrain').Tuner, function() end
  local ok, err = pcall(Tuner, {trainable = trainable, param_space = {train_loop_confg = {lr = 0.1}}})
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'config')
  lu.assertStrContains(err.message, "param_space.train_loop_confg: there is no such part: did you mean 'train_loop_config'")
  lu.assertTrue(pcall(Tuner, {trainable = trainable, param_space = {model = {width = 1}, lr = 0.1}}))
end

os.exit(lu.LuaUnit.run())

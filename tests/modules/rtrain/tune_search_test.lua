-- train.tune.search: samplers' values and errors. tests/oracle/tpe_test.lua compares them with Optuna.

local lu = require 'luaunit'
local normal = require 'rtrain.tune.search.normal'
local tune = require('rtrain').tune

TestNormal = {}

function TestNormal:test_the_distribution_has_all_its_digits()
  for x, expected in next, {
    [0] = 0.5, [1] = 0.8413447460685429, [-1] = 0.15865525393145707, [-3] = 0.0013498980316300933,
    [-4.5] = 3.3976731247300535e-06, [-10] = 7.619853024160527e-24, [-30] = 4.906713927148187e-198,
  } do
    lu.assertAlmostEquals(normal.cdf(x) / expected, 1, 1e-13)
  end
  lu.assertAlmostEquals(normal.mass(5, 6) / 2.856649842341569e-07, 1, 1e-12)
  lu.assertEquals(normal.mass(5, 6), normal.mass(-6, -5))
  lu.assertAlmostEquals(normal.mass(-1, 2), 0.8185946141203637, 1e-15)
end

TestTpe = {}

local SPACE = {
  rate = tune.loguniform(1e-5, 1), width = tune.qrandint(16, 512, 16), depth = tune.randint(1, 9),
  inner = {batch = tune.lograndint(8, 65), kind = tune.choice {'sgd', {'adam', 2}}},
  dropout = tune.quniform(0, 0.8, 0.1), fixed = 7,
  double = tune.sample_from(function(spec) return spec.config.depth * 2 end),
}

local function sampler_of(tree, options)
  local sampler = tune.search.TPESampler(options)
  sampler:set_search_properties(tree, {metric = 'loss', mode = 'min', num_samples = 60, seed = 3})
  return sampler
end

local function loss_of(config) return math.abs(math.log10(config.rate) + 3) + math.abs(config.depth - 4) end

-- Returns the configurations of a search in order.
local function search(sampler, loss)
  local out = {}
  for number = 0, sampler.count - 1 do
    out[number + 1] = sampler:suggest(number)
    sampler:add_result {number = number, last = {loss = loss(out[number + 1])}}
  end
  return out
end

function TestTpe:test_its_values_are_of_the_space()
  for _, config in ipairs(search(sampler_of(SPACE), loss_of)) do
    lu.assertTrue(config.rate >= 1e-5 and config.rate <= 1)
    lu.assertTrue(config.width % 16 == 0 and config.width >= 16 and config.width <= 512)
    lu.assertTrue(config.depth % 1 == 0 and config.depth >= 1 and config.depth <= 8)
    lu.assertTrue(config.inner.batch % 1 == 0 and config.inner.batch >= 8 and config.inner.batch <= 64)
    lu.assertTrue(config.inner.kind == 'sgd' or config.inner.kind[2] == 2)
    lu.assertAlmostEquals(config.dropout * 10 % 1, math.floor(config.dropout * 10 % 1 + 0.5), 1e-9)
    lu.assertEquals({config.fixed, config.double}, {7, config.depth * 2})
  end
end

function TestTpe:test_it_searches_where_results_are_good()
  local configs = search(sampler_of(SPACE), loss_of)
  local early, late = 0, 0
  for i = 1, 10 do early, late = early + loss_of(configs[i]), late + loss_of(configs[#configs - i + 1]) end
  lu.assertTrue(late < early / 2, ('%g, %g'):format(early, late))
end

function TestTpe:test_a_maximum_is_the_minimum_of_the_negative()
  local largest = tune.search.TPESampler()
  largest:set_search_properties(SPACE, {metric = 'loss', mode = 'max', num_samples = 60, seed = 3})
  lu.assertEquals(search(largest, function(config) return -loss_of(config) end), search(sampler_of(SPACE), loss_of))
end

function TestTpe:test_the_same_results_give_the_same_trials_in_whatever_order_they_came()
  local first, second = sampler_of(SPACE), sampler_of(SPACE)
  local results = {}
  for number = 0, 19 do results[number] = loss_of(first:suggest(number)) end
  for number = 0, 19 do second:suggest(number) end
  for number = 0, 19 do
    first:add_result {number = number, last = {loss = results[number]}}
    second:add_result {number = 19 - number, last = {loss = results[19 - number]}}
  end
  lu.assertEquals(first:suggest(20), second:suggest(20))
  lu.assertNotEquals(first:suggest(20), first:suggest(21))
end

function TestTpe:test_a_trial_that_failed_does_not_count_and_a_nan_is_the_worst()
  local tree = {x = tune.uniform(0, 1)}
  local with, without = sampler_of(tree, {n_startup_trials = 3}), sampler_of(tree, {n_startup_trials = 3})
  for number = 0, 5 do
    for _, sampler in ipairs {with, without} do sampler:suggest(number) end
  end
  for number = 0, 3 do
    for _, sampler in ipairs {with, without} do sampler:add_result {number = number, last = {loss = number}} end
  end
  with:add_result {number = 4, error = 'out of memory', last = {loss = -1}}
  with:add_result {number = 4}
  lu.assertEquals(with:suggest(6), without:suggest(6))
  with:add_result {number = 5, last = {loss = 0 / 0}}
  without:add_result {number = 5, last = {loss = 1e9}}
  lu.assertEquals(with:suggest(6), without:suggest(6))
end

function TestTpe:test_it_ends_after_as_many_samples_as_were_asked_for()
  lu.assertNil(sampler_of(SPACE):suggest(60))
end

function TestTpe:test_what_it_cannot_search_is_refused()
  for _, case in ipairs {
    {function() sampler_of {x = tune.grid_search {1, 2}} end, 'a search has no grid_search{1, 2}: give train.tune.choice'},
    {function() sampler_of {x = tune.randn(0, 1)} end, 'a search has no randn(0, 1)'},
    {function() sampler_of {x = 1} end, 'nothing to search'},
    {function() tune.search.TPESampler {n_startup_trial = 1} end, "did you mean 'n_startup_trials'"},
    {function() tune.TuneConfig {search_alg = 'tpe'} end, 'expected a sampler of train.tune.search'},
  } do
    local ok, failure = pcall(case[1])
    lu.assertFalse(ok)
    lu.assertEquals(failure.code, 'config')
    lu.assertStrContains(tostring(failure), case[2])
  end
end

os.exit(lu.LuaUnit.run())

-- PopulationBasedTraining: which trial copies which other trial, and how configurations are changed.
-- tests/e2e/tune/test_tune_population.py trains with it.

local explore = require 'rtrain.tune.schedulers.explore'
local lu = require 'luaunit'
local Random = require 'rtrain.tune.random'
local tune = require('rtrain').tune

TestExplore = {}

-- Counts how often mutating a config gives each value.
local function outcomes(value, mutation, resample_probability)
  local random, out = Random(4), {}
  for _ = 1, 1000 do
    local config = {x = value, other = 1}
    explore.mutate(config, {x = mutation}, random, {
      resample_probability = resample_probability, perturbation_factors = {1.2, 0.8},
    })
    lu.assertEquals(config.other, 1)
    out[config.x] = (out[config.x] or 0) + 1
  end
  return out
end

function TestExplore:test_a_number_is_multiplied_with_a_factor()
  local seen = outcomes(10, tune.uniform(0, 100), 0)
  lu.assertEquals(seen[12] + seen[8], 1000)
  lu.assertTrue(seen[12] > 400 and seen[8] > 400)
end

function TestExplore:test_an_integer_stays_one()
  local seen = outcomes(16, tune.randint(1, 64), 0)
  lu.assertEquals(seen[19] + seen[13], 1000)
end

function TestExplore:test_a_value_of_a_list_goes_to_a_neighbour()
  local seen = outcomes(32, {16, 32, 64}, 0)
  lu.assertEquals(seen[16] + seen[64], 1000)
  seen = outcomes(64, tune.choice {16, 32, 64}, 0)
  lu.assertEquals(seen[32] + seen[64], 1000)
  seen = outcomes(7, {16, 32, 64}, 0)
  lu.assertEquals(seen[16] + seen[32] + seen[64], 1000, 'one that is not in the list is drawn')
end

function TestExplore:test_as_often_as_the_probability_says_a_value_is_drawn_again()
  local seen = outcomes(10, function() return 77 end, 0.25)
  lu.assertEquals(seen[12] + seen[8] + seen[77], 1000)
  lu.assertAlmostEquals(seen[77] / 1000, 0.25, 0.05)
  for value in pairs(outcomes(10, tune.uniform(20, 30), 1)) do lu.assertTrue(value >= 20 and value < 30) end
end

function TestExplore:test_nested_names_are_mutated_and_filled()
  local config = {optimizer = {lr = 1}}
  local mutations = {optimizer = {lr = tune.uniform(0, 1), beta = {0.9}}, width = {8}}
  explore.fill(config, mutations, Random(1))
  lu.assertEquals(config, {optimizer = {lr = 1, beta = 0.9}, width = 8})
  explore.mutate(config, mutations, Random(1), {resample_probability = 0, perturbation_factors = {2}})
  lu.assertEquals(config, {optimizer = {lr = 2, beta = 0.9}, width = 8})
end

TestPopulation = {}

local function population(options)
  options.time_attr, options.metric, options.mode = 'training_iteration', 'score', 'max'
  options.hyperparam_mutations = options.hyperparam_mutations or {lr = tune.uniform(0, 1)}
  local scheduler = tune.schedulers.PopulationBasedTraining(options)
  scheduler:set_search_properties(nil, nil, 5)
  for number = 0, 7 do scheduler:on_trial_add(number, {train_loop_config = {lr = number + 1}}) end
  return scheduler
end

-- Reports the trial's number as its score; returns the scheduler's decision.
local function report(scheduler, number, time, has_checkpoint)
  return scheduler:on_trial_result(number, {training_iteration = time, score = number},
    {has_checkpoint = has_checkpoint ~= false})
end

function TestPopulation:test_the_worst_quarter_takes_over_from_the_best()
  local scheduler = population {perturbation_interval = 2, perturbation_factors = {3}, resample_probability = 0}
  for number = 7, 0, -1 do lu.assertEquals(report(scheduler, number, 1).action, 'CONTINUE', 'before the interval') end
  local donors = {}
  for round = 1, 20 do
    for number = 7, 0, -1 do
      local decision = report(scheduler, number, 2 * round)
      -- In the first round few trials have reported.
      if round > 1 then lu.assertEquals(decision.action, number <= 1 and 'PAUSE' or 'CONTINUE') end
      if decision.exploit then
        local donor = decision.exploit.donor
        donors[donor] = true
        lu.assertEquals(decision.exploit.config, {train_loop_config = {lr = 3 * (donor + 1)}})
      end
    end
  end
  lu.assertEquals(donors, {[6] = true, [7] = true})
end

function TestPopulation:test_a_donor_has_a_checkpoint_and_trains()
  local scheduler = population {perturbation_interval = 1}
  for number = 7, 0, -1 do lu.assertNil(report(scheduler, number, 1, false).exploit) end
  scheduler:on_trial_complete(7)
  scheduler:on_trial_error(6)
  for number = 5, 0, -1 do
    local exploit = report(scheduler, number, 2).exploit
    if exploit then lu.assertTrue(exploit.donor == 5 or exploit.donor == 4) end
  end
  lu.assertTrue(report(scheduler, 0, 3).exploit ~= nil)
end

function TestPopulation:test_a_trial_that_went_on_from_another_hands_on_its_new_configuration()
  local scheduler = population {perturbation_interval = 1, perturbation_factors = {1}, resample_probability = 0,
    custom_explore_fn = function(config)
      config.seen = true
      return config
    end}
  for time = 1, 2 do
    for number = 7, 0, -1 do report(scheduler, number, time) end
  end
  for _, donor in ipairs {6, 7} do scheduler:on_trial_exploit(donor, {train_loop_config = {lr = 99}}) end
  lu.assertEquals(report(scheduler, 0, 3).exploit.config, {train_loop_config = {lr = 99, seen = true}})
end

function TestPopulation:test_the_same_reports_give_the_same_decisions()
  local function decisions()
    local scheduler, out = population {perturbation_interval = 1}, {}
    for time = 1, 5 do
      for number = 7, 0, -1 do out[#out + 1] = report(scheduler, number, time).exploit or false end
    end
    return out
  end
  lu.assertEquals(decisions(), decisions())
end

os.exit(lu.LuaUnit.run())

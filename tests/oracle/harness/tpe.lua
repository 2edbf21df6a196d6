-- Densities of train.tune's Parzen estimator, and minima that its TPESampler finds; harness/tpe.py does the same with
-- Optuna.

local Axis = require 'rtrain.tune.search.axis'
local ParzenEstimator = require 'rtrain.tune.search.parzen_estimator'
local Random = require 'rtrain.tune.random'
local torch = require 'torch'
local tune = require('rtrain').tune

local tpe = {}

---Returns the densities at some values, estimated from the values seen. For a choice, both are numbers from 0.
---@param domain rtrain.tune.Domain
---@param seen number[]
---@param at number[]
---@return torch.Tensor
function tpe.densities(domain, seen, at)
  local axis, places, out = Axis(domain), {}, {}
  for i, value in ipairs(seen) do places[i] = axis.count and value + 1 or axis:place_of(value) end
  local estimator = ParzenEstimator(axis, places)
  for i, value in ipairs(at) do out[i] = estimator:density(axis.count and value + 1 or value) end
  return torch.tensor(out, {dtype = 'float64'})
end

local problems = {}

local function branin(x, y)
  local inner = y - 5.1 / (4 * math.pi ^ 2) * x ^ 2 + 5 / math.pi * x - 6
  return inner ^ 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10
end

local PLANE = {x1 = tune.uniform(-5, 10), x2 = tune.uniform(0, 15)}

problems.branin = {space = PLANE, value = function(config) return branin(config.x1, config.x2) end}
problems.noisy = {space = PLANE, value = problems.branin.value, noise = 1}

local ALPHA = {1, 1.2, 3, 3.2}
local A = {{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}
local P = {
  {1312, 1696, 5569, 124, 8283, 5886}, {2329, 4135, 8307, 3736, 1004, 9991},
  {2348, 1451, 3522, 2883, 3047, 6650}, {4047, 8828, 8732, 5743, 1091, 381},
}

problems.hartmann6 = {space = {}, value = function(config)
  local sum = 0
  for i = 1, 4 do
    local exponent = 0
    for j = 1, 6 do exponent = exponent + A[i][j] * (config['x' .. j] - P[i][j] * 1e-4) ^ 2 end
    sum = sum + ALPHA[i] * math.exp(-exponent)
  end
  return -sum
end}
for j = 1, 6 do problems.hartmann6.space['x' .. j] = tune.uniform(0, 1) end

local KINDS = {sgd = 0, adam = 0.3, rmsprop = 1}

-- Similar to a neural network's: an optimal rate, width and optimizer.
problems.mixed = {
  space = {
    rate = tune.loguniform(1e-5, 1), width = tune.qrandint(16, 512, 16), depth = tune.randint(1, 9),
    batch = tune.lograndint(8, 513), optimizer = tune.choice {'sgd', 'adam', 'rmsprop'}, dropout = tune.quniform(0, 0.8, 0.1),
  },
  value = function(config)
    return 1 + math.log10(config.rate / 3e-3) ^ 2 + ((config.width - 256) / 128) ^ 2 + ((config.depth - 4) / 3) ^ 2
      + (math.log(config.batch / 64) / math.log(4)) ^ 2 + KINDS[config.optimizer] + 4 * (config.dropout - 0.2) ^ 2
  end,
}

-- Returns the noise-free value of the trial with the best noisy value.
local function best_of(problem, seed, num_trials)
  local sampler, noise = tune.search.TPESampler(), Random(seed, 1000)
  sampler:set_search_properties(problem.space, {metric = 'loss', mode = 'min', num_samples = num_trials, seed = seed})
  local best, value_of_best
  for number = 0, num_trials - 1 do
    local value = problem.value(sampler:suggest(number))
    local seen = value + (problem.noise or 0) * noise:normal()
    if best == nil or seen < best then best, value_of_best = seen, value end
    sampler:add_result {number = number, last = {loss = seen}}
  end
  return value_of_best
end

---Returns the median over seeds of the best value after 100 trials.
---@param name 'branin'|'hartmann6'|'noisy'|'mixed'
---@param num_seeds? integer default 20
---@return torch.Tensor (1)
function tpe.median_best(name, num_seeds)
  local values = {}
  for seed = 1, num_seeds or 20 do values[seed] = best_of(problems[name], seed, 100) end
  table.sort(values)
  local middle = #values / 2
  return torch.tensor({(values[middle] + values[middle + 1]) / 2}, {dtype = 'float64'})
end

return tpe

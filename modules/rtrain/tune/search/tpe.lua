-- rtrain/tune/search/tpe.lua: TPESampler: draws values that are likely among the good trials and unlikely among the
-- others.

local Axis = require 'rtrain.tune.search.axis'
local class = require 'base.class'
local errors = require 'base.errors'
local ParzenEstimator = require 'rtrain.tune.search.parzen_estimator'
local Random = require 'rtrain.tune.random'
local schema = require 'rtrain.config.schema'
local space = require 'rtrain.tune.space'

local function check_function(value)
  if type(value) ~= 'function' then return 'expected a function: how many trials are good, of their number' end
end

local Options = schema.define('TPESampler', {
  {'n_startup_trials', default = 10, check = schema.integer(0)},
  {'n_ei_candidates', default = 24, check = schema.integer(1)},
  {'gamma', check = check_function},
  {'seed', check = schema.integer(0)},
  {'multivariate', default = false, absent = 'each parameter is drawn by itself'},
  {'group', default = false, absent = 'each parameter is drawn by itself'},
  {'constant_liar', default = false, absent = 'trials that run are not taken into account'},
})

---@class rtrain.tune.TPESamplerOptions
---@field n_startup_trials? integer draws at random until that many trials have ended; default 10
---@field n_ei_candidates? integer number of candidates from which it chooses one; default 24
---@field gamma? fun(count: integer): integer returns how many of the trials count as good; default: a tenth, at most
---  25
---@field seed? integer default: the TuneConfig's

---The tree-structured Parzen estimator: for each parameter it fits one density to the best tenth of the trials and one
---to the others, draws from the first, and chooses the candidate with the largest ratio of the two. It searches ranges,
---steps, logarithms and choices. A failed trial does not count; a trial whose last value is NaN is worse than all
---others. `num_samples` is the number of trials. Optuna equivalent: optuna.samplers.TPESampler (Ray: OptunaSearch,
---HyperOptSearch).
---
---```lua
---local train = require 'rtrain'
---local grid = train.Tuner({
---  trainer = train.TorchTrainer {train_loop_per_worker = function(config) train.report {loss = (config.x - 2) ^ 2} end},
---  param_space = {x = train.tune.uniform(-10, 10)},
---  tune_config = train.tune.TuneConfig {
---    metric = 'loss', mode = 'min', num_samples = 3, search_alg = train.tune.search.TPESampler {n_startup_trials = 2},
---  },
---}):fit()
---assert(#grid == 3)
---```
---@class rtrain.tune.TPESampler
---@overload fun(options?: rtrain.tune.TPESamplerOptions): rtrain.tune.TPESampler
local TPESampler = class('TPESampler')

---@param options? rtrain.tune.TPESamplerOptions
---Raises code 'config' for an unknown field or a wrong value.
function TPESampler:init(options)
  self._options = Options(options)
end

---Sets the search space, and clears the observations.
---@param tree table the param_space
---@param options {metric: string, mode: 'min'|'max', num_samples: integer, seed: integer}
---Raises code 'config' for a space with a grid or a normal distribution, or without parameters to search.
function TPESampler:set_search_properties(tree, options)
  self._tree, self._mode, self._metric = tree, options.mode, options.metric
  self._seed = self._options.seed or options.seed
  ---The number of trials.
  self.count = options.num_samples
  self._axes, self._functions = {}, {}
  for _, leaf in ipairs(space.leaves(tree)) do
    if leaf.domain.kind == 'function' then
      self._functions[#self._functions + 1] = leaf
    else
      self._axes[#self._axes + 1] = {leaf = leaf, axis = Axis(leaf.domain)}
    end
  end
  if #self._axes == 0 then errors.raise('config', 'TPESampler: the param_space has nothing to search') end
  self._drawn = {}  -- number → list of values, one for each axis
  self._seen = {}  -- list of {number =, loss =} of ended trials, sorted by number
end

-- Returns how many of the trials count as good.
function TPESampler:_num_good()
  if self._options.gamma then return math.min(math.max(0, self._options.gamma(#self._seen)), #self._seen) end
  return math.min(math.ceil(0.1 * #self._seen), 25)
end

-- Returns the numbers of the good and the other trials, both oldest first.
function TPESampler:_split()
  local by_loss = {unpack(self._seen)}
  table.sort(by_loss, function(a, b)
    if a.loss ~= b.loss then return a.loss < b.loss end
    return a.number < b.number
  end)
  local is_good, good, bad = {}, {}, {}
  for i = 1, self:_num_good() do is_good[by_loss[i].number] = true end
  for _, trial in ipairs(self._seen) do table.insert(is_good[trial.number] and good or bad, trial.number) end
  return good, bad
end

function TPESampler:_estimator(i, numbers)
  local axis, places = self._axes[i].axis, {}
  for k, number in ipairs(numbers) do
    local value = self._drawn[number][i]
    places[k] = axis.count and value or axis:place_of(value)
  end
  return ParzenEstimator(axis, places)
end

-- Returns the candidate with the largest ratio of its densities among the good and the other trials.
function TPESampler:_choose(i, good, bad, random)
  local among_good, among_bad = self:_estimator(i, good), self:_estimator(i, bad)
  local best, best_ratio
  for _ = 1, self._options.n_ei_candidates do
    local value = among_good:draw(random)
    local ratio = among_good:density(value) / among_bad:density(value)
    if best == nil or ratio > best_ratio then best, best_ratio = value, ratio end
  end
  return best
end

-- Returns a random value; for a category its number.
local function at_random(axis, random)
  if axis.count then return random:below(axis.count) + 1 end
  return axis.domain:draw(random)
end

---Returns the configuration of a trial. It depends on the space, the seed, the number, and the results that were added
---before.
---@param number integer number of the trial, from 0
---@return table? config nil: there are no more trials
function TPESampler:suggest(number)
  if number >= self.count then return nil end
  local random, drawn = Random(self._seed, number), {}
  local is_random = #self._seen < math.max(1, self._options.n_startup_trials)
  local good, bad
  if not is_random then good, bad = self:_split() end
  local config = space.without_domains(self._tree)
  for i, item in ipairs(self._axes) do
    drawn[i] = is_random and at_random(item.axis, random) or self:_choose(i, good, bad, random)
    space.set(config, item.leaf.path, item.axis.count and item.leaf.domain.values[drawn[i]] or drawn[i])
  end
  self._drawn[number] = drawn
  local spec = setmetatable({config = config}, {__index = config})
  for _, leaf in ipairs(self._functions) do space.set(config, leaf.path, leaf.domain:draw(random, spec)) end
  return config
end

---Called when a trial has ended.
---@param trial rtrain.tune.Trial uses its number, error, and last report
function TPESampler:add_result(trial)
  local value = trial.last and trial.last[self._metric]
  if trial.error or type(value) ~= 'number' then return end
  local loss = self._mode == 'max' and -value or value
  if loss ~= loss then loss = math.huge end
  local at = #self._seen + 1
  while at > 1 and self._seen[at - 1].number > trial.number do at = at - 1 end
  table.insert(self._seen, at, {number = trial.number, loss = loss})
end

-- Returns a text that is the same for the same search.
function TPESampler:_identity()
  local options = self._options
  return ('TPESampler n_startup_trials=%d n_ei_candidates=%d seed=%d'):format(options.n_startup_trials,
    options.n_ei_candidates, self._seed)
end

return TPESampler

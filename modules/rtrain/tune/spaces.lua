-- rtrain/tune/spaces.lua: the functions that define a param_space, with Ray Tune's names and arguments.

local Domain = require 'rtrain.tune.domain'
local errors = require 'base.errors'

local spaces = {}

---Samples a number between two bounds. Ray equivalent: ray.tune.uniform.
---@param lower number
---@param upper number
---@return rtrain.tune.Domain
function spaces.uniform(lower, upper) return Domain.float('uniform', {lower = lower, upper = upper}) end

---Samples a multiple of `q` between two bounds, which are multiples too. Ray equivalent: ray.tune.quniform.
---@param lower number
---@param upper number
---@param q number
---@return rtrain.tune.Domain
function spaces.quniform(lower, upper, q) return Domain.float('quniform', {lower = lower, upper = upper, step = q}) end

---Samples a number between two bounds above 0, with a uniform logarithm. Ray equivalent: ray.tune.loguniform.
---@param lower number
---@param upper number
---@return rtrain.tune.Domain
---
---```lua
---local tune = require('rtrain').tune
---local random = require 'rtrain.tune.random'
---local rate = tune.loguniform(1e-4, 1e-1):draw(random(7))
---assert(rate >= 1e-4 and rate <= 1e-1)
---```
function spaces.loguniform(lower, upper)
  return Domain.float('loguniform', {lower = lower, upper = upper, is_log = true})
end

---Samples a multiple of `q` between two bounds above 0, with a uniform logarithm. Ray equivalent: ray.tune.qloguniform.
---@param lower number
---@param upper number
---@param q number
---@return rtrain.tune.Domain
function spaces.qloguniform(lower, upper, q)
  return Domain.float('qloguniform', {lower = lower, upper = upper, is_log = true, step = q})
end

---Samples a number of the normal distribution. Ray equivalent: ray.tune.randn.
---@param mean? number default 0
---@param sd? number default 1
---@return rtrain.tune.Domain
function spaces.randn(mean, sd) return Domain.normal('randn', {mean = mean or 0, sd = sd or 1}) end

---Samples a multiple of `q`, of the normal distribution. Ray equivalent: ray.tune.qrandn.
---@param mean number
---@param sd number
---@param q number
---@return rtrain.tune.Domain
function spaces.qrandn(mean, sd, q) return Domain.normal('qrandn', {mean = mean, sd = sd, step = q}) end

---Samples an integer from `lower` to `upper` - 1. Ray equivalent: ray.tune.randint.
---@param lower integer
---@param upper integer
---@return rtrain.tune.Domain
function spaces.randint(lower, upper) return Domain.integer('randint', {lower = lower, upper = upper}) end

---Samples a multiple of `q` from `lower` to `upper`, inclusive. Ray equivalent: ray.tune.qrandint.
---@param lower integer
---@param upper integer
---@param q? integer default 1
---@return rtrain.tune.Domain
function spaces.qrandint(lower, upper, q) return Domain.integer('qrandint', {lower = lower, upper = upper, step = q or 1}) end

---Samples an integer from `lower` to `upper` - 1, with a uniform logarithm. Ray equivalent: ray.tune.lograndint.
---@param lower integer above 0
---@param upper integer
---@return rtrain.tune.Domain
function spaces.lograndint(lower, upper)
  return Domain.integer('lograndint', {lower = lower, upper = upper, is_log = true})
end

---Samples a multiple of `q` from `lower` to `upper`, with a uniform logarithm. Ray equivalent: ray.tune.qlograndint.
---@param lower integer above 0
---@param upper integer
---@param q integer
---@return rtrain.tune.Domain
function spaces.qlograndint(lower, upper, q)
  return Domain.integer('qlograndint', {lower = lower, upper = upper, is_log = true, step = q})
end

---Samples one of these values. Ray equivalent: ray.tune.choice.
---@param categories any[] plain data
---@return rtrain.tune.Domain
function spaces.choice(categories) return Domain.list('choice', 'categorical', categories) end

---Tries each of these values: all combinations of all grids are tried, `num_samples` times. Ray equivalent:
---ray.tune.grid_search.
---@param values any[] plain data
---@return rtrain.tune.Domain
function spaces.grid_search(values) return Domain.list('grid_search', 'grid', values) end

---Samples the result of a function, which is called once for each trial, after all other values are drawn. Ray
---equivalent: ray.tune.sample_from.
---@param fn fun(spec: table): any `spec.config` is the trial's param_space with the values drawn so far
---@return rtrain.tune.Domain
---
---```lua
---local tune = require('rtrain').tune
---local Variants = require 'rtrain.tune.variants'
---local variants = Variants({
---  width = tune.grid_search {8, 16},
---  depth = tune.sample_from(function(spec) return spec.config.width / 4 end),
---}, {num_samples = 1, seed = 0})
---assert(variants:suggest(1).width == 16 and variants:suggest(1).depth == 4 and variants:suggest(2) == nil)
---```
function spaces.sample_from(fn)
  if type(fn) ~= 'function' then
    errors.raise('config', ('train.tune.sample_from: expected a function, got a %s'):format(type(fn)))
  end
  return Domain('sample_from', {kind = 'function', fn = fn})
end

return spaces

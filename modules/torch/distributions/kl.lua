-- torch/distributions/kl.lua: kl_divergence and register_kl: the formulas for pairs of families.

local Distribution = require 'torch.distributions.distribution'
local class = require 'base.class'
local errors = require 'base.errors'
local warnings = require 'base.warnings'

local kl = {}

-- {p = class, q = class, fn = formula} in the order of registration; and a cache of searches: class of p → class of q →
-- formula or false.
local registry, found = {}, {}

local function is_subclass(of, base)
  while of and of ~= base do of = rawget(of, '__base') end
  return of ~= nil
end

local function check_class(name, of)
  if not class.is_class(of) or not is_subclass(of, Distribution) then
    errors.raise('argument', ('Expected %s to be a Distribution subclass but got %s'):format(name, tostring(of)))
  end
end

---Registers the formula of kl_divergence(p, q) for two classes and their subclasses. The most specific formula is used;
---for two equally specific formulas there is a warning.
---@param type_p table class of p
---@param type_q table class of q
---@param fn? fun(p: distributions.Distribution, q: distributions.Distribution): torch.Tensor without it, a function that
---  takes the formula is returned, for use as a decorator
---@return function fn
---
---```lua
---local torch = require 'torch'
---local distributions = torch.distributions
---local Mine = distributions.Normal:extend('Mine')
---distributions.register_kl(Mine, Mine, function(p) return torch.zeros_like(p.loc) end)
---assert(distributions.kl_divergence(Mine(0, 1), Mine(5, 1)):item() == 0)
---```
function kl.register_kl(type_p, type_q, fn)
  check_class('type_p', type_p)
  check_class('type_q', type_q)
  if fn == nil then return function(given) return kl.register_kl(type_p, type_q, given) end end
  found = {}
  for _, entry in ipairs(registry) do
    if entry.p == type_p and entry.q == type_q then
      entry.fn = fn
      return fn
    end
  end
  registry[#registry + 1] = {p = type_p, q = type_q, fn = fn}
  return fn
end

-- Returns whether one entry is at least as specific as the other, by the first class and then by the second.
local function is_as_specific(a, b, first, second)
  if not is_subclass(a[first], b[first]) then return false end
  return a[first] ~= b[first] or is_subclass(a[second], b[second])
end

local function most_specific(matches, first, second)
  local best = matches[1]
  for i = 2, #matches do
    if is_as_specific(matches[i], best, first, second) then best = matches[i] end
  end
  return best
end

local function formula_for(type_p, type_q)
  local matches = {}
  for _, entry in ipairs(registry) do
    if is_subclass(type_p, entry.p) and is_subclass(type_q, entry.q) then matches[#matches + 1] = entry end
  end
  if #matches == 0 then return false end
  local left, right = most_specific(matches, 'p', 'q'), most_specific(matches, 'q', 'p')
  if left.fn ~= right.fn then
    warnings.warn(('Ambiguous kl_divergence(%s, %s). Please register_kl(%s, %s)'):format(type_p.__name, type_q.__name,
      left.p.__name, right.q.__name))
  end
  return left.fn
end

---Returns the Kullback-Leibler divergence KL(p ‖ q), the mean of log p(x) - log q(x) for x from p. Raises code
---'unsupported' if no formula is registered for the families.
---@param p distributions.Distribution
---@param q distributions.Distribution
---@return torch.Tensor divergence of the batch shape
---
---```lua
---local torch = require 'torch'
---local distributions = torch.distributions
---local divergence = distributions.kl_divergence(distributions.Normal(1, 1), distributions.Normal(0, 1))
---assert(divergence:item() == 0.5)
---```
function kl.kl_divergence(p, q)
  local type_p, type_q = class.of(p), class.of(q)
  check_class('p', type_p)
  check_class('q', type_q)
  found[type_p] = found[type_p] or {}
  local fn = found[type_p][type_q]
  if fn == nil then
    fn = formula_for(type_p, type_q)
    found[type_p][type_q] = fn
  end
  if not fn then
    errors.raise('unsupported', ('No KL(p || q) is implemented for p type %s and q type %s'):format(type_p.__name,
      type_q.__name))
  end
  return fn(p, q)
end

for _, file in ipairs{'same_family', 'normals', 'different_families'} do
  require('torch.distributions.kl.' .. file)(kl.register_kl, kl.kl_divergence)
end

return kl

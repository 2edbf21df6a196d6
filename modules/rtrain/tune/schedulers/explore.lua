-- rtrain/tune/schedulers/explore.lua: changes a good configuration to a similar one, for population based training.
--
-- Pure: all randomness comes from the given generator. Jaderberg et al., Population Based Training of Neural Networks
-- (2017), with Ray Tune's rules.

local class = require 'base.class'
local Domain = require 'rtrain.tune.domain'
local index_of = require 'base.index_of'
local ordered = require 'base.ordered'

local explore = {}

local function is_nested(mutation) return class.of(mutation) == nil and type(mutation) == 'table' and #mutation == 0 end

---Returns a value of a mutation: a list, a domain or a function.
---@param mutation any[]|rtrain.tune.Domain|function
---@param random table
---@return any
function explore.drawn(mutation, random)
  if type(mutation) == 'function' then return mutation() end
  if class.is(mutation, Domain) then return mutation:draw(random) end
  return random:choice(mutation)
end

-- Returns a neighbour in the list; at its ends perhaps the same value.
local function shifted(list, at, random)
  local to = at + (random:uniform() < 0.5 and -1 or 1)
  return list[math.min(math.max(to, 1), #list)]
end

local function mutated(value, mutation, random, options)
  local is_resampled = random:uniform() < options.resample_probability
  local values = class.is(mutation, Domain) and mutation.values or type(mutation) == 'table' and #mutation > 0 and mutation
  if values then
    local at = index_of(values, value)
    if is_resampled or at == nil then return random:choice(values) end
    return shifted(values, at, random)
  end
  if is_resampled or type(value) ~= 'number' then return explore.drawn(mutation, random) end
  value = value * random:choice(options.perturbation_factors)
  local is_integer = class.is(mutation, Domain) and mutation.kind == 'integer'
  return is_integer and math.floor(value + 0.5) or value
end

---Adds values for the names in the mutations that the config lacks.
---@param config table changed in place
---@param mutations table
---@param random table
function explore.fill(config, mutations, random)
  for _, name in ipairs(ordered.keys_of(mutations)) do
    local mutation = mutations[name]
    if is_nested(mutation) then
      config[name] = config[name] or {}
      explore.fill(config[name], mutation, random)
    elseif config[name] == nil then
      config[name] = explore.drawn(mutation, random)
    end
  end
end

---Changes each value that the mutations name: draws a new value with `resample_probability`, else takes a neighbour in
---its list, or multiplies it by one of the factors.
---@param config table changed in place
---@param mutations table
---@param random table
---@param options {resample_probability: number, perturbation_factors: number[]}
function explore.mutate(config, mutations, random, options)
  for _, name in ipairs(ordered.keys_of(mutations)) do
    local mutation = mutations[name]
    if is_nested(mutation) then
      explore.mutate(config[name], mutation, random, options)
    else
      config[name] = mutated(config[name], mutation, random, options)
    end
  end
end

---Returns the error in the mutations as text, or nil.
---@param mutations any
---@return string? problem
function explore.problem(mutations)
  if type(mutations) ~= 'table' or class.of(mutations) or next(mutations) == nil or #mutations > 0 then
    return 'expected a table name → list, space or function'
  end
  for _, name in ipairs(ordered.keys_of(mutations)) do
    local mutation = mutations[name]
    local is_space = class.is(mutation, Domain) and mutation.kind ~= 'grid' and mutation.kind ~= 'function'
    local is_list = type(mutation) == 'table' and class.of(mutation) == nil and #mutation > 0
    local is_other = type(mutation) == 'table' and not is_list and not is_space
    local problem = is_other and explore.problem(mutation)
    if problem or not (is_space or is_list or is_other or type(mutation) == 'function') then
      return ("'%s': expected a list, a space or a function"):format(tostring(name))
    end
  end
end

return explore

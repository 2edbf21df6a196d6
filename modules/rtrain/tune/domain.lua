-- rtrain/tune/domain.lua: Domain: the set of values of a parameter in param_space: a range with its distribution, a
-- list, a function, a grid.

local class = require 'base.class'
local errors = require 'base.errors'
local list_length = require 'base.list_length'
local schema = require 'rtrain.config.schema'

---A set of values from which each trial draws. Ray equivalent: ray.tune.search.sample.Domain.
---@class rtrain.tune.Domain
---@field kind 'float'|'integer'|'normal'|'categorical'|'function'|'grid'
---@field lower? number
---@field upper? number exclusive for an integer range
---@field is_log? boolean whether the logarithm is uniform
---@field step? number values are rounded to multiples of it
---@field values? any[] the values of a list or a grid
local Domain = class('Domain')

local function show_all(list)
  local out = {}
  for i, value in ipairs(list) do out[i] = schema.show(value) end
  return table.concat(out, ', ')
end

---@param name string name of the function in scripts, for messages
---@param fields table
function Domain:init(name, fields)
  self.name = name
  for key, value in next, fields do self[key] = value end
end

function Domain:__tostring()
  if self.values then return ('%s{%s}'):format(self.name, show_all(self.values)) end
  if self.kind == 'function' then return self.name .. '(…)' end
  if self.kind == 'normal' then return ('%s(%g, %g)'):format(self.name, self.mean, self.sd) end
  local most = self.kind == 'integer' and self.step ~= nil and self.upper - 1 or self.upper
  return ('%s(%g, %g)'):format(self.name, self.lower, most)
end

local function clipped(self, x)
  if self.lower == nil then return x end
  local most = self.kind == 'integer' and self.upper - 1 or self.upper
  return math.min(math.max(x, self.lower), most)
end

---Returns the nearest value in the domain's range that is a multiple of its step.
---@param x number
---@return number
function Domain:rounded(x)
  if self.kind == 'integer' and self.step == nil then return clipped(self, math.floor(x)) end
  if self.step then x = math.floor(x / self.step + 0.5) * self.step end
  return clipped(self, x)
end

local function draw_number(self, random)
  if self.kind == 'normal' then return self:rounded(self.mean + self.sd * random:normal()) end
  local u = random:uniform()
  if not self.is_log then return self:rounded(self.lower + u * (self.upper - self.lower)) end
  local low, high = math.log(self.lower), math.log(self.upper)
  return self:rounded(math.exp(low + u * (high - low)))
end

---Draws a value.
---@param random table a rtrain.tune.random
---@param spec? table for a function: `spec.config` has the values drawn before
---@return any value
function Domain:draw(random, spec)
  if self.kind == 'function' then return self.fn(spec or {config = {}}) end
  if self.values then return random:choice(self.values) end
  return draw_number(self, random)
end

---Returns whether the domain could produce the value, which was drawn elsewhere.
---@param value any
---@return boolean
function Domain:has(value)
  for _, item in ipairs(self.values or {}) do
    if item == value then return true end
  end
  return self.values == nil and type(value) == 'number'
    and (self.lower == nil or (value >= self.lower and value <= self.upper))
end

local function check_number(name, what, value)
  if type(value) == 'number' and value == value and math.abs(value) < math.huge then return end
  errors.raise('config', ('train.tune.%s: %s is %s, expected a number'):format(name, what, schema.show(value)))
end

local function check_range(name, lower, upper, is_log)
  check_number(name, 'the lower bound', lower)
  check_number(name, 'the upper bound', upper)
  if lower >= upper then
    errors.raise('config', ('train.tune.%s: the lower bound %g is not below the upper bound %g'):format(name, lower, upper))
  end
  if is_log and lower <= 0 then
    errors.raise('config', ('train.tune.%s: the lower bound %g is not above 0: it has no logarithm'):format(name, lower))
  end
end

local function check_step(name, step, ...)
  check_number(name, 'q', step)
  if step <= 0 then errors.raise('config', ('train.tune.%s: q is %g, expected a number above 0'):format(name, step)) end
  for i = 1, select('#', ...) do
    local bound = select(i, ...)
    if math.abs(bound / step - math.floor(bound / step + 0.5)) > 1e-9 then
      errors.raise('config', ('train.tune.%s: the bound %g is not a multiple of q, %g'):format(name, bound, step))
    end
  end
end

local function check_whole(name, ...)
  for i = 1, select('#', ...) do
    local value = select(i, ...)
    if value % 1 ~= 0 then errors.raise('config', ('train.tune.%s: %g is not an integer'):format(name, value)) end
  end
end

---Returns a range of numbers.
---@param name string
---@param fields table lower, upper, is_log, step
---@return rtrain.tune.Domain
function Domain.float(name, fields)
  check_range(name, fields.lower, fields.upper, fields.is_log)
  if fields.step then check_step(name, fields.step, fields.lower, fields.upper) end
  fields.kind = 'float'
  return Domain(name, fields)
end

---Returns a range of integers. With a step the upper bound is inclusive, as in Ray.
---@param name string
---@param fields table lower, upper, is_log, step
---@return rtrain.tune.Domain
function Domain.integer(name, fields)
  check_range(name, fields.lower, fields.upper, fields.is_log)
  check_whole(name, fields.lower, fields.upper)
  if fields.step then
    check_step(name, fields.step, fields.lower, fields.upper)
    check_whole(name, fields.step)
    fields.upper = fields.upper + 1
  end
  fields.kind = 'integer'
  return Domain(name, fields)
end

---Returns the normal distribution.
---@param name string
---@param fields table mean, sd, step
---@return rtrain.tune.Domain
function Domain.normal(name, fields)
  check_number(name, 'the mean', fields.mean)
  check_number(name, 'the standard deviation', fields.sd)
  if fields.step then check_step(name, fields.step) end
  fields.kind = 'normal'
  return Domain(name, fields)
end

---Returns a choice among some values.
---@param name string
---@param kind 'categorical'|'grid'
---@param values any[]
---@return rtrain.tune.Domain
function Domain.list(name, kind, values)
  if type(values) ~= 'table' or #values == 0 then
    errors.raise('config', ('train.tune.%s: expected a list with at least one value, got %s'):format(name,
      type(values) == 'table' and 'an empty one' or schema.show(values)))
  end
  list_length('train.tune.' .. name, values)
  return Domain(name, {kind = kind, values = values})
end

return Domain

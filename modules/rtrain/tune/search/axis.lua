-- rtrain/tune/search/axis.lua: Axis: a domain for a sampler: a range of numbers, perhaps logarithmic or in steps, or a
-- number of categories.

local class = require 'base.class'
local errors = require 'base.errors'

local Axis = class('Axis')

-- Returns {low, high, step} in the scale of the values; both ends are inclusive for integers.
local function range_of(domain)
  if domain.kind == 'float' then return domain.lower, domain.upper, domain.step end
  local step = domain.step or 1
  return domain.lower, domain.upper - 1, step
end

---@param domain rtrain.tune.Domain
---Raises code 'config' for a domain that cannot be an axis.
function Axis:init(domain)
  self.domain = domain
  if domain.kind == 'categorical' then
    self.count = #domain.values
    return
  end
  if domain.kind == 'grid' or domain.kind == 'normal' then
    errors.raise('config', ('a search has no %s: give %s'):format(tostring(domain),
      domain.kind == 'grid' and 'train.tune.choice, or leave search_alg out' or 'a range, such as train.tune.uniform'))
  end
  self.low, self.high, self.step = range_of(domain)
  local half = self.step and self.step / 2 or 0
  self._bounds = {self:_scaled(self.low - half), self:_scaled(self.high + half)}
end

function Axis:_scaled(value) return self.domain.is_log and math.log(value) or value end

---Returns the range in which densities are fitted: extended by half a step at both ends for steps, logarithmic for a
---logarithm.
---@return number low, number high
function Axis:bounds() return self._bounds[1], self._bounds[2] end

---Returns a value's place in that range; for a category its number, from 1.
---@param value number
---@return number
function Axis:place_of(value) return self:_scaled(value) end

---Returns the part of that range that belongs to a value of a range in steps.
---@param value number
---@return number low, number high
function Axis:cell_of(value) return self:_scaled(value - self.step / 2), self:_scaled(value + self.step / 2) end

---Returns the nearest value of the domain to a place in the range.
---@param place number
---@return number
function Axis:value_at(place)
  local value = self.domain.is_log and math.exp(place) or place
  if self.step then value = self.low + math.floor((value - self.low) / self.step + 0.5) * self.step end
  return math.min(math.max(value, self.low), self.high)
end

return Axis

-- rtrain/tune/search/axis.lua: Axis: a domain as a sampler sees it: a range of numbers, perhaps by its logarithm or in steps,
-- or as many categories as there are values.

local class = require 'base.class'
local errors = require 'base.errors'

local Axis = class('Axis')

-- {low, high, step} in the values' own scale; of integers both ends are in it.
local function range_of(domain)
  if domain.kind == 'float' then return domain.lower, domain.upper, domain.step end
  local step = domain.step or 1
  return domain.lower, domain.upper - 1, step
end

---@param domain rtrain.tune.Domain
---Raises code 'config' for a domain that has no such axis.
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

---The range in which densities are fitted: of steps half a step longer at both ends, of a logarithm its logarithm.
---@return number low, number high
function Axis:bounds() return self._bounds[1], self._bounds[2] end

---A value's place in that range; of a category its number, from 1.
---@param value number
---@return number
function Axis:place_of(value) return self:_scaled(value) end

---The part of that range that stands for a value of a range in steps.
---@param value number
---@return number low, number high
function Axis:cell_of(value) return self:_scaled(value - self.step / 2), self:_scaled(value + self.step / 2) end

---The value at a place of the range: the nearest one that the domain has.
---@param place number
---@return number
function Axis:value_at(place)
  local value = self.domain.is_log and math.exp(place) or place
  if self.step then value = self.low + math.floor((value - self.low) / self.step + 0.5) * self.step end
  return math.min(math.max(value, self.low), self.high)
end

return Axis

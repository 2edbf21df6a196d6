-- rtrain/tune/random.lua: Random: the random numbers of a sweep: the same for the same seed, on every machine, without
-- LibTorch.

local class = require 'base.class'
local seed = require 'base.seed'

local Random = class('Random')

---@param base integer from 0
---@param ... integer from 0: further numbers that select a generator, such as a trial's
function Random:init(base, ...)
  self._seed, self._count = base, 0
  for i = 1, select('#', ...) do self._seed = seed.mixed(self._seed, (select(i, ...))) end
end

---@return number x 0 ≤ x < 1
function Random:uniform()
  self._count = self._count + 1
  return seed.mixed(self._seed, self._count) / 2 ^ 52
end

---@return number x normally distributed
function Random:normal()
  local radius = math.sqrt(-2 * math.log(1 - self:uniform()))
  return radius * math.cos(2 * math.pi * self:uniform())
end

---@param count integer
---@return integer i 0 ≤ i < count
function Random:below(count) return math.min(math.floor(self:uniform() * count), count - 1) end

---@param list any[] not empty
---@return any item
function Random:choice(list) return list[self:below(#list) + 1] end

---Returns an index of the list, drawn with these probabilities.
---@param weights number[] at least 0, not all of them 0
---@return integer index from 1
function Random:weighted(weights)
  local total = 0
  for _, weight in ipairs(weights) do total = total + weight end
  local left = self:uniform() * total
  for i, weight in ipairs(weights) do
    left = left - weight
    if left < 0 then return i end
  end
  return #weights
end

return Random

-- rtrain/tune/search/parzen_estimator.lua: ParzenEstimator: a density on one axis, from the observed values: a kernel
-- around each value, and a wide kernel for the prior.
--
-- Bergstra et al., Algorithms for Hyper-Parameter Optimization (2011), in the form that Watanabe, Tree-Structured
-- Parzen Estimator (2023) describes as Optuna's: kernels are truncated normal distributions, as wide as the larger
-- distance to a neighbour, but at least the range divided by min(100, kernels + 1); old values have smaller weights.

local class = require 'base.class'
local normal = require 'rtrain.tune.search.normal'

local ParzenEstimator = class('ParzenEstimator')

-- The newest values that have full weight; older values have smaller weights.
local NUM_FULL = 25

-- Returns the weights of the values, oldest first, and of the prior; their sum is 1.
local function weights_of(count)
  local weights, sum = {}, 1
  local num_old = math.max(0, count - NUM_FULL)
  for i = 1, count do
    weights[i] = 1
    if i <= num_old then weights[i] = 1 / count + (1 - 1 / count) * (i - 1) / math.max(1, num_old - 1) end
    sum = sum + weights[i]
  end
  weights[count + 1] = 1
  for i = 1, count + 1 do weights[i] = weights[i] / sum end
  return weights
end

-- Returns the larger distance to a neighbour for each value. The ends of the range count as neighbours only of a single
-- value.
local function widths_of(places, low, high)
  local order, widths = {}, {}
  for i = 1, #places do order[i] = i end
  table.sort(order, function(a, b)
    if places[a] ~= places[b] then return places[a] < places[b] end
    return a < b
  end)
  for k, i in ipairs(order) do
    local left = k > 1 and places[i] - places[order[k - 1]]
    local right = k < #order and places[order[k + 1]] - places[i]
    if #order == 1 then left, right = places[i] - low, high - places[i] end
    widths[i] = math.max(left or 0, right or 0)
  end
  return widths
end

local function numeric_kernels(self, places)
  local low, high = self._axis:bounds()
  local range = high - low
  local least = range / math.min(100, #places + 2)
  local widths = widths_of(places, low, high)
  for i, place in ipairs(places) do
    self._kernels[i] = {mean = place, width = math.min(math.max(widths[i], least), range)}
  end
  self._kernels[#places + 1] = {mean = (low + high) / 2, width = range}
  for _, kernel in ipairs(self._kernels) do
    kernel.mass = normal.mass((low - kernel.mean) / kernel.width, (high - kernel.mean) / kernel.width)
  end
end

-- Each observed value gives weight to its own category, and a share to every category.
local function category_kernels(self, places)
  local share = 1 / (#places + 1)
  for i = 1, #places + 1 do
    local kernel, sum = {}, places[i] and 1 + share * self._axis.count or share * self._axis.count
    for c = 1, self._axis.count do kernel[c] = (share + (c == places[i] and 1 or 0)) / sum end
    self._kernels[i] = kernel
  end
end

local function density_of_category(self, value)
  local sum = 0
  for i, kernel in ipairs(self._kernels) do sum = sum + self._weights[i] * kernel[value] end
  return sum
end

local function density_of_step(self, value)
  local low, high = self._axis:cell_of(value)
  local sum = 0
  for i, kernel in ipairs(self._kernels) do
    local mass = normal.mass((low - kernel.mean) / kernel.width, (high - kernel.mean) / kernel.width)
    sum = sum + self._weights[i] * mass / kernel.mass
  end
  return sum
end

local function density_of_number(self, value)
  local place, sum = self._axis:place_of(value), 0
  for i, kernel in ipairs(self._kernels) do
    sum = sum + self._weights[i] * normal.pdf((place - kernel.mean) / kernel.width) / (kernel.width * kernel.mass)
  end
  return sum
end

---@param axis table a rtrain.tune.search.axis
---@param places number[] observations, the oldest first: places on the axis, or numbers of categories
function ParzenEstimator:init(axis, places)
  self._axis, self._kernels = axis, {}
  self._densities = {}  -- value → density: a range in steps needs the same values repeatedly
  self._weights = weights_of(#places)
  if axis.count then category_kernels(self, places) else numeric_kernels(self, places) end
  self._density = axis.count and density_of_category or axis.step and density_of_step or density_of_number
end

---Draws a value, or the number of a category.
---@param random table a rtrain.tune.random
---@return number
function ParzenEstimator:draw(random)
  local kernel = self._kernels[random:weighted(self._weights)]
  if self._axis.count then return random:weighted(kernel) end
  local low, high = self._axis:bounds()
  -- At least a third of the kernel lies in the range, so the loop ends soon.
  repeat
    local place = kernel.mean + kernel.width * random:normal()
    if place >= low and place <= high then return self._axis:value_at(place) end
  until false
end

---Returns the density of a value on the axis; for a step or category its probability.
---@param value number a result of draw()
---@return number above 0
function ParzenEstimator:density(value)
  local known = self._densities[value]
  if known then return known end
  local found = self._density(self, value)
  self._densities[value] = found
  return found
end

return ParzenEstimator

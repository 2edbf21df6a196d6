-- rtrain/data/rows/turns.lua: Turns: chooses the dataset that gives the next row of a mix.
--
-- For each row, every dataset is credited with its weight. The dataset with the most credit gives the row, and its
-- credit is reduced by the sum of all weights. The sequence repeats after as many rows as this sum; in each repetition
-- a dataset gives exactly its weight in rows, and never more than a row ahead of its share. A dataset without rows at
-- its turn drops out, and the others start again among themselves.
-- All numbers are whole, so the sequence depends only on the weights and the numbers of rows, on every machine.

local class = require 'base.class'

---Arguments: weights, whole numbers from 1 on, one for each dataset; stops_on_shortest: the mix ends when a dataset
---would drop out.
---
---```lua
---local Turns = require 'rtrain.data.rows.turns'
---local turns, order = Turns({3, 1}), {}
---for i = 1, 8 do order[i] = turns:next(function() return true end) end
---assert(table.concat(order) == '11211121')
---```
---@class data.Turns
---@overload fun(weights: integer[], stops_on_shortest?: boolean): data.Turns
local Turns = class('Turns')

local function common_divisor(a, b)
  while b > 0 do a, b = b, a % b end
  return a
end

-- Sets the credit of all datasets to zero.
local function begin(self)
  local divisor = 0
  for _, weight in ipairs(self._weights) do divisor = common_divisor(divisor, weight) end
  self._credits, self._total, self._step = {}, 0, 0
  for i, weight in ipairs(self._weights) do
    if weight > 0 then self._weights[i] = weight / divisor end
    self._credits[i], self._total = 0, self._total + self._weights[i]
  end
end

function Turns:init(weights, stops_on_shortest)
  self._weights, self._stops_on_shortest = {unpack(weights)}, stops_on_shortest
  begin(self)
end

local function pick(self)
  local credits, best = self._credits, nil
  for i, weight in ipairs(self._weights) do
    if weight > 0 then
      credits[i] = credits[i] + weight
      if not best or credits[i] > credits[best] then best = i end
    end
  end
  if not best then return nil end
  credits[best] = credits[best] - self._total
  self._step = (self._step + 1) % self._total
  return best
end

-- A dataset of weight 0 has dropped out.
local function drop(self, i)
  self._weights[i] = 0
  if self._stops_on_shortest then
    for k = 1, #self._weights do self._weights[k] = 0 end
  end
  begin(self)
end

---Returns the dataset that gives the next row; nil at the end.
---@param has_row fun(i: integer): boolean returns whether dataset i has a row left, and if so takes it
---@return integer|nil i from 1
function Turns:next(has_row)
  while true do
    local i = pick(self)
    if i == nil or has_row(i) then return i end
    drop(self, i)
  end
end

-- Takes at once the rows of all complete repetitions for which every dataset has enough rows.
local function skip_repetitions(self, rows, left)
  local count = math.floor(rows / self._total)
  for i, weight in ipairs(self._weights) do
    if weight > 0 then count = math.min(count, math.floor(left[i] / weight)) end
  end
  for i, weight in ipairs(self._weights) do left[i] = left[i] - count * weight end
  return count * self._total
end

---Skips that many rows, or all until the end.
---@param rows number
---@param left integer[] how many rows each dataset has left; reduced by the skipped rows
---@return integer rows the skipped rows, fewer at the end
function Turns:skip(rows, left)
  local function has_row(i)
    if left[i] == 0 then return false end
    left[i] = left[i] - 1
    return true
  end
  local skipped = 0
  while skipped < rows do
    if self._step == 0 and self._total > 0 then skipped = skipped + skip_repetitions(self, rows - skipped, left) end
    if skipped == rows or not self:next(has_row) then break end
    skipped = skipped + 1
  end
  return skipped
end

return Turns

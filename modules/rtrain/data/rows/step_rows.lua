-- rtrain/data/rows/step_rows.lua: StepRows: the rows of a rank, dealt by steps: step k of all ranks together has neighbouring
-- rows, which are the same for any number of ranks whose batches have as many rows together.
--
-- Of the rows of a sequence step k has those from k · world_size · batch_size on, and each rank a batch of them, in the
-- order of the ranks. Of the rows behind the last whole step each rank gets equally many; the remainder of the division is
-- left out. Intervals are made when they are asked for: an epoch may have many steps.

local class = require 'base.class'
local intervals = require 'rtrain.data.rows.intervals'
local torch = require 'torch'

---Arguments: first, last: the rows first … last - 1; share; batch_size.
---
---```lua
---local StepRows = require 'rtrain.data.rows.step_rows'
---local rows = StepRows(0, 11, {world_size = 2, rank = 1}, 2)
---local text = ''
---for interval in rows:each() do text = text .. ('%d-%d '):format(interval[1], interval[2]) end
---assert(text == '2-4 6-8 9-10 ')
---```
---@class data.StepRows
---@overload fun(first: integer, last: integer, share: {world_size: integer, rank: integer}, batch_size: integer): data.StepRows
local StepRows = class('StepRows')

function StepRows:init(first, last, share, batch_size)
  self._first, self._batch_size = first, batch_size
  self._step = share.world_size * batch_size
  self._steps = math.floor((last - first) / self._step)
  self._from = share.rank * batch_size
  -- The part of the last step, which is not whole.
  self._rest = math.floor((last - first - self._steps * self._step) / share.world_size)
  self._rest_first = first + self._steps * self._step + share.rank * self._rest
end

-- Returns the interval of step k.
local function interval_of(self, k)
  if k == self._steps then return {self._rest_first, self._rest_first + self._rest} end
  local first = self._first + k * self._step + self._from
  return {first, first + self._batch_size}
end

---@return integer rows
function StepRows:count() return self._steps * self._batch_size + self._rest end

---@return integer last the number behind the last row
function StepRows:last()
  if self:count() == 0 then return 0 end
  return interval_of(self, self._rest > 0 and self._steps or self._steps - 1)[2]
end

---Iterates over the intervals.
---@return fun(): data.Interval|nil
function StepRows:each()
  local k = -1
  return function()
    k = k + 1
    if k < self._steps or (k == self._steps and self._rest > 0) then return interval_of(self, k) end
  end
end

-- Returns the first and the last step that may have rows within first … last - 1.
local function steps_within(self, first, last)
  return math.max(0, math.floor((first - self._first) / self._step)),
    math.min(self._steps, math.floor((last - 1 - self._first) / self._step))
end

-- Returns the part of step k within first … last - 1; the end may be before the beginning.
local function clipped(self, k, first, last)
  local interval = interval_of(self, k)
  return {math.max(interval[1], first), math.min(interval[2], last)}
end

---Returns the part within first … first + count - 1.
---@param first integer
---@param count integer
---@return data.Interval[]
function StepRows:within(first, count)
  local out, from, to = {}, steps_within(self, first, first + count)
  for k = from, to do
    local interval = clipped(self, k, first, first + count)
    if interval[1] < interval[2] then out[#out + 1] = interval end
  end
  return out
end

---Returns the same as a tensor, where that is more than two steps: for many short intervals.
---@param first integer
---@param count integer
---@return torch.Tensor|nil places int64, counted from `first`
---@return integer|nil run number of neighbouring rows
function StepRows:places(first, count)
  local from, to = steps_within(self, first, first + count)
  if to - from < 2 then return nil end
  local function of_step(k)
    local interval = clipped(self, k, first, first + count)
    return torch.arange(interval[1] - first, math.max(interval[1], interval[2]) - first)
  end
  -- All between the first and the last are whole.
  local starts = torch.arange(from + 1, to) * self._step + (self._first + self._from - first)
  local middle = (starts:unsqueeze(1) + torch.arange(self._batch_size)):flatten()
  return torch.cat {of_step(from), middle, of_step(to)}, self._batch_size
end

---Returns the interval of all rows between the first of all ranks and the last of this rank.
---@return data.Interval
function StepRows:span() return {self._first, math.max(self._first, self:last())} end

---Returns which of these rows are among them.
---@param rows torch.Tensor int64 (n)
---@return torch.Tensor bool (n)
function StepRows:mask(rows)
  local places, step = rows - self._first, self._step
  local is_power = 2 ^ math.floor(math.log(step) / math.log(2) + 0.5) == step  -- then the remainder is a few bits
  local in_step = (is_power and places:bitwise_and(step - 1) or places:remainder(step)) - self._from
  local is_whole = places:ge(0):logical_and(places:lt(self._steps * self._step))
  local is_rest = rows:ge(self._rest_first):logical_and(rows:lt(self._rest_first + self._rest))
  return in_step:ge(0):logical_and(in_step:lt(self._batch_size)):logical_and(is_whole):logical_or(is_rest)
end

---Returns the rows of a rank, dealt by steps.
---@param list data.Interval[] the rows of all ranks
---@param share {world_size: integer, rank: integer}
---@param batch_size integer rows of a rank in a step
---@return data.Slices
function StepRows.of(list, share, batch_size)
  if share.world_size == 1 then return list end
  if #list == 1 then return StepRows(list[1][1], list[1][2], share, batch_size) end
  local places, out = StepRows(0, intervals.count(list), share, batch_size), {}
  for place in places:each() do out[#out + 1] = intervals.slice(list, place[1], place[2] - place[1]) end
  return intervals.union(out)
end

return StepRows

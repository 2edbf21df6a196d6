-- rtrain/data/rows/intervals.lua: sets of rows as lists of intervals {first, last + 1}, ascending and disjoint: plain data.
--
-- Rows are numbered over the whole epoch, in the order of the plan. A list is also a sequence: the rows of its
-- intervals, numbered from 0.

local errors = require 'base.errors'
local ffi = require 'ffi'

local intervals = {}

-- {first, last + 1}
---@alias data.Interval integer[]

-- A list of intervals, or an object that makes them when they are asked for (rtrain.data.rows.step_rows).
---@alias data.Slices data.Interval[]|data.StepRows

---Returns all rows of an epoch.
---@param num_rows integer
---@return data.Interval[]
function intervals.all(num_rows) return num_rows > 0 and {{0, num_rows}} or {} end

---@param list data.Interval[]
---@return integer rows
function intervals.count(list)
  local rows = 0
  for _, interval in ipairs(list) do rows = rows + interval[2] - interval[1] end
  return rows
end

---Adds first … last - 1 behind the rows of a list, merged with its last interval if they touch.
---@param list data.Interval[]
---@param first integer
---@param last integer
function intervals.append(list, first, last)
  if first >= last then return end
  local previous = list[#list]
  if previous and previous[2] == first then
    previous[2] = last
  else
    list[#list + 1] = {first, last}
  end
end

local append = intervals.append

---Iterates over the intervals.
---@param slices data.Slices
---@return fun(): data.Interval|nil
function intervals.each(slices)
  if slices.each then return slices:each() end
  local i = 0
  return function()
    i = i + 1
    return slices[i]
  end
end

---Returns the same intervals, with numbers that are smaller by `first`.
---@param list data.Interval[]
---@param first integer
---@return data.Interval[]
function intervals.behind(list, first)
  local out = {}
  for i, interval in ipairs(list) do out[i] = {interval[1] - first, interval[2] - first} end
  return out
end

---Returns the rows start … start + length - 1 of the sequence.
---@param list data.Interval[]
---@param start integer from 0
---@param length integer
---@return data.Interval[]
---
---```lua
---local intervals = require 'rtrain.data.rows.intervals'
---local part = intervals.slice({{0, 4}, {10, 14}}, 2, 4)
---assert(part[1][1] == 2 and part[1][2] == 4 and part[2][1] == 10 and part[2][2] == 12)
---```
function intervals.slice(list, start, length)
  local out, at = {}, 0
  for _, interval in ipairs(list) do
    local size = interval[2] - interval[1]
    local from, to = math.max(start - at, 0), math.min(start + length - at, size)
    append(out, interval[1] + from, interval[1] + to)
    at = at + size
    if at >= start + length then break end
  end
  return out
end

---Returns the part of a rank: the same number of rows for each; the remainder of the division is left out. A pure
---function.
---@param list data.Interval[]
---@param world_size integer
---@param rank integer
---@return data.Interval[]
function intervals.deal(list, world_size, rank)
  if rank < 0 or rank >= world_size then
    errors.raise('argument', ('rank %d is not one of 0 … %d'):format(rank, world_size - 1))
  end
  local share = math.floor(intervals.count(list) / world_size)
  return intervals.slice(list, rank * share, share)
end

---Returns the interval of a rank in an epoch of that many rows: num_rows // world_size rows; no rank gets the last
---num_rows % world_size rows.
---@param num_rows integer
---@param world_size integer
---@param rank integer
---@return integer first
---@return integer count
function intervals.partition(num_rows, world_size, rank)
  local part = intervals.deal(intervals.all(num_rows), world_size, rank)[1]
  if part == nil then return 0, 0 end
  return part[1], part[2] - part[1]
end

-- Returns the first interval that ends after a row.
local function first_behind(list, row)
  local low, high = 1, #list + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if list[middle][2] > row then high = middle else low = middle + 1 end
  end
  return low
end

---Returns the part of the list within first … first + count - 1.
---@param list data.Slices
---@param first integer
---@param count integer
---@return data.Interval[]
function intervals.within(list, first, count)
  if list.within then return list:within(first, count) end
  local out, last = {}, first + count
  for k = first_behind(list, first), #list do
    if list[k][1] >= last then break end
    append(out, math.max(list[k][1], first), math.min(list[k][2], last))
  end
  return out
end

---Returns fewer intervals that contain all of these rows: merges intervals with less than `gap` rows between them.
---@param list data.Interval[]
---@param gap integer
---@return data.Interval[] coarse
---@return data.Interval[] places the rows of `list` as places of the sequence `coarse`
function intervals.coarse(list, gap)
  local coarse, places, before = {}, {}, 0
  for _, interval in ipairs(list) do
    local current = coarse[#coarse]
    if current and interval[1] - current[2] < gap then
      current[2] = interval[2]
    else
      if current then before = before + current[2] - current[1] end
      current = {interval[1], interval[2]}
      coarse[#coarse + 1] = current
    end
    append(places, before + interval[1] - current[1], before + interval[2] - current[1])
  end
  return coarse, places
end

---Returns the rows of the list that are not in the other list.
---@param list data.Interval[]
---@param taken data.Interval[]
---@return data.Interval[]
function intervals.without(list, taken)
  local out, k = {}, 1
  for _, interval in ipairs(list) do
    local first, last = interval[1], interval[2]
    while taken[k] and taken[k][2] <= first do k = k + 1 end
    local j = k
    while taken[j] and taken[j][1] < last do
      append(out, first, math.min(taken[j][1], last))
      first = math.max(first, taken[j][2])
      j = j + 1
    end
    append(out, first, last)
  end
  return out
end

---Returns all rows that are in at least one of the lists.
---@param lists data.Interval[][]
---@return data.Interval[]
function intervals.union(lists)
  local all, out = {}, {}
  for _, list in ipairs(lists) do
    for _, interval in ipairs(list) do all[#all + 1] = interval end
  end
  table.sort(all, function(a, b) return a[1] < b[1] end)
  for _, interval in ipairs(all) do
    local previous = out[#out]
    append(out, previous and math.max(interval[1], previous[2]) or interval[1], interval[2])
  end
  return out
end

-- Writes the rows of some intervals of a list that lie within `lowest` … `highest` - 1, less `lowest`, into a new tensor.
local function filled(list, from, to, lowest, highest, rows)
  local out = require('torch').empty({rows}, {dtype = 'int64'})
  local pointer, at = ffi.cast('int64_t *', out:data_ptr()), 0
  for k = from, to do
    for row = math.max(list[k][1], lowest), math.min(list[k][2], highest) - 1 do
      pointer[at] = row - lowest
      at = at + 1
    end
  end
  return out
end

---Returns all rows as a tensor.
---@param list data.Interval[]
---@return torch.Tensor int64
function intervals.places(list) return filled(list, 1, #list, 0, math.huge, intervals.count(list)) end

---Returns the part of the list within first … first + count - 1 as a tensor, where it has several intervals.
---@param list data.Slices
---@param first integer
---@param count integer
---@return torch.Tensor|nil places int64, counted from `first`
---@return number|nil run mean number of rows of an interval
function intervals.places_within(list, first, count)
  if list.places then return list:places(first, count) end
  local from, last, rows = first_behind(list, first), first + count, 0
  local to = from - 1
  while list[to + 1] and list[to + 1][1] < last do
    to = to + 1
    rows = rows + math.min(list[to][2], last) - math.max(list[to][1], first)
  end
  if to <= from then return nil end
  return filled(list, from, to, first, last, rows), rows / (to - from + 1)
end

---Returns the rows at the given places of the sequence.
---@param list data.Interval[]
---@param places integer[] ascending, from 0
---@return data.Interval[]
function intervals.pick(list, places)
  local out, k, at = {}, 1, 0
  for _, place in ipairs(places) do
    while list[k] and place >= at + list[k][2] - list[k][1] do
      at = at + list[k][2] - list[k][1]
      k = k + 1
    end
    local row = list[k][1] + place - at
    append(out, row, row + 1)
  end
  return out
end

return intervals

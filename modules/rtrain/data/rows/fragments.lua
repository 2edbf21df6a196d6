-- rtrain/data/rows/fragments.lua: counts and cuts the rows of fragments, for all sources.

local intervals = require 'rtrain.data.rows.intervals'

local fragments = {}

-- Shorter runs of rows in memory are copied together; others are blocks of their own.
local RUN_BYTES = 2 ^ 14

---Counts the rows of the fragments that do not know them. The source remembers the counts.
---@param source data.Source
---@param list table[]
---@return table[] list the same list
function fragments.counted(source, list)
  for _, fragment in ipairs(list) do
    if fragment.rows == nil then
      local known = source._counted and fragment.path and source._counted[fragment.path]
      fragment.rows = known or source:count_rows(fragment)
      if fragment.path then
        source._counted = source._counted or {}
        source._counted[fragment.path] = fragment.rows
      end
    end
  end
  return list
end

---@param list table[] with rows
---@return integer
function fragments.num_rows(list)
  local rows = 0
  for _, fragment in ipairs(list) do rows = rows + fragment.rows end
  return rows
end

---Returns several parts of a fragment that is read in its order as one fragment: Chain skips the rows between the parts.
---@param source data.Source
---@param fragment table
---@param parts data.Interval[] at least two, in rows of the fragment
---@return table
function fragments.parts_of_file(source, fragment, parts)
  local from = parts[1][1]
  local out = source:cut(fragment, from, parts[#parts][2] - from)
  out.keep, out.rows = intervals.behind(parts, from), intervals.count(parts)
  return out
end

---Returns some rows of a fragment in memory as one fragment. nil if the runs of rows are so long that each is better read
---alone.
---@param fragment table with start
---@param places torch.Tensor int64, in rows of the fragment, ascending
---@param run_bytes number of neighbouring rows
---@return table|nil
function fragments.gathered(fragment, places, run_bytes)
  if run_bytes > RUN_BYTES then return nil end
  return {start = fragment.start, rows = places:size(0), span = fragment.rows, places = places, numbers = places}
end

-- Returns rows of a fragment that lie in some intervals as one fragment; nil if each interval is better read alone.
local function gathered(source, fragment, first, keep)
  local places, run = intervals.places_within(keep, first, fragment.rows)
  return places and source:gather(fragment, places, run)
end

-- Returns the parts of a fragment that lie in some intervals.
local function cut_one(source, fragment, first, keep)
  local in_order = fragment.path or fragment.in_order
  local whole = not in_order and gathered(source, fragment, first, keep)
  if whole then return {whole} end
  local parts = intervals.behind(intervals.within(keep, first, fragment.rows), first)
  if in_order and parts[2] then return {source:cut_parts(fragment, parts)} end
  for i, part in ipairs(parts) do
    local count = part[2] - part[1]
    parts[i] = count == fragment.rows and fragment or source:cut(fragment, part[1], count)
  end
  return parts
end

---Iterates over the fragments that hold the rows of some intervals, cut to them.
---@param source data.Source
---@param list table[] all fragments of the source
---@param keep? data.Slices ascending, in rows of the source; nil: all
---@return fun(): table|nil, integer|nil fragment, and the number of the one in `list` that it is of, from 0
function fragments.each(source, list, keep)
  local i, first, pieces, k = 0, 0, {}, 0
  if keep then fragments.counted(source, list) end
  return function()
    k = k + 1
    while pieces[k] == nil do
      i, k = i + 1, 1
      local fragment = list[i]
      if fragment == nil then return nil end
      pieces = keep and cut_one(source, fragment, first, keep) or {fragment}
      first = keep and first + fragment.rows
    end
    return pieces[k], i - 1
  end
end

---Returns the fragments that hold the rows of some intervals, cut to them.
---@param source data.Source
---@param list table[] all fragments of the source
---@param keep data.Slices ascending, in rows of the source
---@return table[]
function fragments.cut(source, list, keep)
  local out = {}
  for fragment in fragments.each(source, list, keep) do out[#out + 1] = fragment end
  return out
end

return fragments

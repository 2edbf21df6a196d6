-- rtrain/data/rows/fragments.lua: counts and cuts the rows of fragments, for all sources.

local intervals = require 'rtrain.data.rows.intervals'

local fragments = {}

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

-- Cuts a fragment to several parts: the file is read once, and Chain skips the rows between the parts.
local function cut_to_parts(source, fragment, first, parts)
  local from, to = parts[1][1], parts[#parts][2]
  local out, keep = source:cut(fragment, from - first, to - from), {}
  for i, part in ipairs(parts) do keep[i] = {part[1] - from, part[2] - from} end
  out.keep, out.rows = keep, intervals.count(keep)
  return out
end

---Returns the fragments that hold the rows of some intervals, cut to them.
---@param source data.Source
---@param list table[] all fragments of the source
---@param keep data.Interval[] ascending, in rows of the source
---@return table[]
function fragments.cut(source, list, keep)
  local out, first = {}, 0
  for _, fragment in ipairs(fragments.counted(source, list)) do
    local parts = intervals.within(keep, first, fragment.rows)
    if #parts > 1 and fragment.path then
      out[#out + 1], parts = cut_to_parts(source, fragment, first, parts), {}
    end
    for _, part in ipairs(parts) do
      local count = part[2] - part[1]
      out[#out + 1] = count == fragment.rows and fragment or source:cut(fragment, part[1] - first, count)
    end
    first = first + fragment.rows
  end
  return out
end

return fragments

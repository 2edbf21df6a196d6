-- rtrain/data/blocks/origins.lua: which files the rows of a block come from, for messages.
--
-- A list of {n, label, first}: n rows of the file (or row group) of that label, from its row `first` on, counted from 0.
-- `label` is nil where nobody knows.

local origins = {}

---Rows start … start + length - 1.
---@param list? table nil: not known
---@param start integer from 0
---@param length integer
---@return table?
function origins.narrow(list, start, length)
  if list == nil then return nil end
  local out, stop = {}, start + length
  local first = 0
  for _, part in ipairs(list) do
    local from, to = math.max(first, start), math.min(first + part.n, stop)
    if from < to then
      out[#out + 1] = {n = to - from, label = part.label, first = part.first and part.first + from - first}
    end
    first = first + part.n
  end
  return out
end

---Those of several blocks behind each other.
---@param lists (table|false)[] of each block; false: not known
---@param rows integer[] of each block
---@return table? nil where none is known
function origins.concat(lists, rows)
  local out, is_known = {}, false
  for i, list in ipairs(lists) do
    is_known = is_known or list ~= false
    for _, part in ipairs(list or {{n = rows[i]}}) do out[#out + 1] = part end
  end
  return is_known and out or nil
end

---Where a row comes from: 'row 3 of /data/a.csv'; nil where nobody knows.
---@param list? table
---@param row integer from 0
---@return string?
function origins.of_row(list, row)
  for _, part in ipairs(list or {}) do
    if row < part.n then
      if part.label == nil then return nil end
      return ('row %d of %s'):format(part.first + row, part.label)
    end
    row = row - part.n
  end
end

return origins

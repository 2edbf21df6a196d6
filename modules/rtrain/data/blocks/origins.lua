-- rtrain/data/blocks/origins.lua: the files that the rows of a block come from, for messages.
--
-- A list of {n, label, first}: n rows of the file (or row group) `label`, from its row `first` on, counted from 0.
-- `label` is nil if the origin is unknown.

local origins = {}

---Returns the origins of the rows start … start + length - 1.
---@param list? table nil: unknown
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

---Concatenates the origins of several blocks.
---@param lists (table|false)[] of each block; false: unknown
---@param rows integer[] of each block
---@return table? nil if all are unknown
function origins.concat(lists, rows)
  local out, is_known = {}, false
  for i, list in ipairs(lists) do
    is_known = is_known or list ~= false
    for _, part in ipairs(list or {{n = rows[i]}}) do out[#out + 1] = part end
  end
  return is_known and out or nil
end

---Returns the origin of a row: 'row 3 of /data/a.csv'; nil if it is unknown.
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

-- rtrain/results/data_frame.lua: DataFrame: the metrics of every report, as a table.

local class = require 'base.class'
local number = require 'base.number'
local write_file = require 'base.write_file'

---@class DataFrame
---An array of rows, each a map of column → value.
local DataFrame = class('DataFrame')

---@param rows table[] becomes the frame itself, without a copy: there may be millions
---@return DataFrame
function DataFrame.of(rows) return setmetatable(rows, DataFrame) end

function DataFrame:__tostring() return require 'base.table_text'({unpack(self)}) end

local function csv_field(value)
  if value == nil then return '' end
  if type(value) == 'number' then
    if value == 0 and 1 / value < 0 then return '-0.0' end
    return value == math.floor(value) and math.abs(value) < 2 ^ 53 and ('%d'):format(value) or ('%.17g'):format(value)
  end
  local text = number.text(value)
  if text:find('[",\n\r]') then text = '"' .. text:gsub('"', '""') .. '"' end
  return text
end

-- Flattens nested maps to columns 'outer/inner', lists to 'name/1'.
local function flatten(row, prefix, out)
  for key, value in next, row do
    local name = prefix .. tostring(key)
    if type(value) == 'table' then
      flatten(value, name .. '/', out)
    else
      out[name] = value
    end
  end
  return out
end

---Returns the rows as CSV, columns sorted by name.
---@param path? string file to write; nil: only the text is returned
---@return string text
function DataFrame:to_csv(path)
  local columns, seen, rows = {}, {}, {}
  for i, row in ipairs(self) do
    rows[i] = flatten(row, '', {})
    for name in next, rows[i] do
      if not seen[name] then
        seen[name] = true
        columns[#columns + 1] = name
      end
    end
  end
  table.sort(columns)
  local header = {}
  for c, name in ipairs(columns) do header[c] = csv_field(name) end
  local lines = {table.concat(header, ',')}
  for _, row in ipairs(rows) do
    local cells = {}
    for c, name in ipairs(columns) do cells[c] = csv_field(row[name]) end
    lines[#lines + 1] = table.concat(cells, ',')
  end
  local text = table.concat(lines, '\n') .. '\n'
  if path then write_file(path, text) end
  return text
end

return DataFrame

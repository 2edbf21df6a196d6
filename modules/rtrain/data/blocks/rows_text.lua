-- rtrain/data/blocks/rows_text.lua: formats a row for show().

local ordered = require 'base.ordered'
local torch = require 'torch'

local SHOWN_VALUES, SHOWN_BYTES = 8, 60

local function text_of(value)
  local kind = type(value)
  if kind == 'string' then
    local shown = #value > SHOWN_BYTES and value:sub(1, SHOWN_BYTES) .. '…' or value
    return ('%q'):format(shown):gsub('\\\n', '\\n')
  end
  if kind == 'userdata' and torch.is_tensor(value) then
    if value:numel() <= SHOWN_VALUES and value:dim() == 1 then return '{' .. table.concat(value:tolist(), ', ') .. '}' end
    return ('tensor<%s>[%s]'):format(value.dtype, table.concat(value:size(), ','))
  end
  if kind ~= 'table' or value == torch.none then return tostring(value) end
  local parts = {}
  for i, item in ipairs(value) do
    if i > SHOWN_VALUES then
      parts[i] = '…'
      break
    end
    parts[i] = text_of(item)
  end
  for _, key in ipairs(ordered.keys_of(value)) do
    if type(key) == 'string' then parts[#parts + 1] = key .. ' = ' .. text_of(value[key]) end
  end
  return '{' .. table.concat(parts, ', ') .. '}'
end

---Returns a row in Lua syntax, with long values cut.
---@param row table<string, any>
---@param names string[] the columns in order
---@return string
local function row_text(row, names)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = name .. ' = ' .. text_of(row[name]) end
  return '{' .. table.concat(parts, ', ') .. '}'
end

return row_text

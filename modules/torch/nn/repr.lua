-- torch/nn/repr.lua: formats modules as PyTorch prints them.

local class = require 'base.class'

local repr = {}

-- Formats a number as Python does: the shortest text that reads back as the same number.
local function number_text(value)
  if value ~= value then return 'nan' end
  if value == math.huge or value == -math.huge then return value > 0 and 'inf' or '-inf' end
  if value % 1 == 0 and math.abs(value) < 1e16 then return ('%d'):format(value) end
  local text
  for digits = 1, 17 do
    text = ('%.' .. digits .. 'g'):format(value)
    if tonumber(text) == value then break end
  end
  return text
end

---Returns a value as Python writes it: True, None, (3, 3), 'text', 1e-05.
---@param value any
---@return string
function repr.value(value)
  if value == nil or value == require('torch').none then return 'None' end
  if type(value) == 'boolean' then return value and 'True' or 'False' end
  if type(value) == 'string' then return "'" .. value .. "'" end
  if type(value) == 'number' then return number_text(value) end
  if type(value) == 'function' then return '<function>' end
  if type(value) ~= 'table' or class.of(value) then return tostring(value) end
  local out = {}
  for i, item in ipairs(value) do out[i] = repr.value(item) end
  return '(' .. table.concat(out, ', ') .. (#out == 1 and ',' or '') .. ')'
end

---Returns a list as Python writes it: [1, 2].
---@param list any[]
---@return string
function repr.list(list)
  local out = {}
  for i, item in ipairs(list) do out[i] = repr.value(item) end
  return '[' .. table.concat(out, ', ') .. ']'
end

---Returns a number as Python writes a float: 0.5, 1.0, 1e-05; or a list of such numbers.
---@param value number|number[]
---@return string
function repr.float(value)
  if type(value) == 'table' then
    local out = {}
    for i, item in ipairs(value) do out[i] = repr.float(item) end
    return '(' .. table.concat(out, ', ') .. (#out == 1 and ',' or '') .. ')'
  end
  local text = repr.value(value)
  return text:match '^%-?%d+$' and text .. '.0' or text
end

local TYPE_NAMES = {string = 'str', boolean = 'bool', ['nil'] = 'NoneType', ['function'] = 'function'}

---Returns Python's name for the type of a value that is not a tensor.
---@param value any
---@return string
function repr.type_name(value)
  if type(value) == 'number' then return value % 1 == 0 and 'int' or 'float' end
  local of = class.of(value)
  if of then return of.__name end
  return TYPE_NAMES[type(value)] or (#value > 0 and 'list' or 'dict')
end

---Returns "name=value, name=value" for pairs {name, value}. An entry with an empty name gives only the value; {name,
---text, true} gives the text without quotes.
---@param pairs_list any[][]
---@return string
function repr.fields(pairs_list)
  local out = {}
  for i, pair in ipairs(pairs_list) do
    local text = pair[3] and pair[2] or repr.value(pair[2])
    out[i] = pair[1] == '' and text or pair[1] .. '=' .. text
  end
  return table.concat(out, ', ')
end

local function indented(text) return (text:gsub('\n', '\n  ')) end

-- Returns {name, text} of every registered module, including shared and absent ones, as PyTorch shows them.
local function child_lines(module)
  if module._sync then module:_sync() end
  local lines = {}
  for i, name in ipairs(module._modules) do lines[i] = {name, indented(repr.value(module._fields[name]))} end
  return lines
end

-- Merges equal neighbours of a ModuleList into one line: "(0-2): 3 x Linear(…)".
local function merged(lines)
  local out, first = {}, 1
  for i = 1, #lines do
    if not lines[i + 1] or lines[i + 1][2] ~= lines[i][2] then
      local count = i - first + 1
      -- Neighbours are numbered from 0, whatever their names.
      local name = count == 1 and tostring(i - 1) or ('%d-%d'):format(first - 1, i - 1)
      out[#out + 1] = {name, count == 1 and lines[i][2] or count .. ' x ' .. lines[i][2]}
      first = i + 1
    end
  end
  return out
end

---@param module nn.Module
---@return string
function repr.module(module)
  local name, extra, lines = class.of(module).__name, module:extra_repr(), child_lines(module)
  if module._merges_equal_children then lines, extra = merged(lines), '' end
  if #lines == 0 and not extra:find('\n', 1, true) then return name .. '(' .. extra .. ')' end
  local out = {name .. '('}
  if extra ~= '' then out[#out + 1] = '  ' .. indented(extra) end
  for _, line in ipairs(lines) do out[#out + 1] = ('  (%s): %s'):format(line[1], line[2]) end
  out[#out + 1] = ')'
  return table.concat(out, '\n')
end

return repr

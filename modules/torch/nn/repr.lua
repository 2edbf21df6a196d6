-- torch/nn/repr.lua: modules as text, in the form that PyTorch prints.

local class = require 'rtrain.class'

local repr = {}

---A value as Python writes it: True, None, (3, 3), 'text', 1e-05.
---@param value any
---@return string
function repr.value(value)
  if value == nil then return 'None' end
  if type(value) == 'boolean' then return value and 'True' or 'False' end
  if type(value) == 'string' then return "'" .. value .. "'" end
  if type(value) ~= 'table' then
    local text = tostring(value)
    return (text:gsub('^(%-?%d+%.?%d*)e([-+])(%d)$', '%1e%20%3'))
  end
  local out = {}
  for i, item in ipairs(value) do out[i] = repr.value(item) end
  return '(' .. table.concat(out, ', ') .. (#out == 1 and ',' or '') .. ')'
end

---A number that Python has as a float: 0.5, 1.0, 1e-05.
---@param value number
---@return string
function repr.float(value)
  local text = repr.value(value)
  return text:match '^%-?%d+$' and text .. '.0' or text
end

---"name=value, name=value" for pairs {name, value}; an entry without a name is the value alone; {name, text, true} shows
---the text without quotes.
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

local function child_lines(module)
  local lines = {}
  for name, child in module:named_children() do lines[#lines + 1] = {name, indented(tostring(child))} end
  return lines
end

-- "(0-2): 3 x Linear(…)": equal neighbours of a ModuleList on one line.
local function merged(lines)
  local out, first = {}, 1
  for i = 1, #lines do
    if not lines[i + 1] or lines[i + 1][2] ~= lines[i][2] then
      local count = i - first + 1
      local name = count == 1 and lines[i][1] or lines[first][1] .. '-' .. lines[i][1]
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
  if #lines == 0 then return name .. '(' .. extra .. ')' end
  if module._merges_equal_children then lines = merged(lines) end
  local out = {name .. '('}
  if extra ~= '' then out[#out + 1] = '  ' .. extra end
  for _, line in ipairs(lines) do out[#out + 1] = ('  (%s): %s'):format(line[1], line[2]) end
  out[#out + 1] = ')'
  return table.concat(out, '\n')
end

return repr

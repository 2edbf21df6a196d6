-- rtrain/metrics/text.lua: formats metrics on one line.

local number = require 'base.number'
local ordered = require 'base.ordered'
local system = require 'base._system'
local text_width = require 'base.text_width'

local metrics_text = {}

local MORE = '…'
local LONGEST = 80 -- columns of a name or a value: rtrain show --json prints them in full
local BREAKS = {['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t'}

-- Shown first if the script's order is unknown.
local FIRST = {'epoch', 'step'}

---Formats a number with at most 5 significant digits, a string unchanged, a table abbreviated.
---@param value any
---@return string
function metrics_text.value(value)
  if type(value) == 'number' then
    return value == math.floor(value) and math.abs(value) < 1e15 and ('%d'):format(value) or ('%.5g'):format(value)
  end
  if type(value) ~= 'table' then return number.text(value) end
  return #value > 0 and ('[%d values]'):format(#value) or '{' .. metrics_text.line(value) .. '}'
end

---Returns the names of metrics: in the given order, else epoch and step first and the others sorted by name.
---@param metrics table
---@param first? string[] names in the script's order
---@return string[]
function metrics_text.names(metrics, first)
  if ordered.is(metrics) then return ordered.keys(metrics) end
  local keys, seen = {}, {}
  for _, name in ipairs(first or FIRST) do
    if metrics[name] ~= nil and not seen[name] then keys[#keys + 1] = name end
    seen[name] = true
  end
  local rest = {}
  for name in next, metrics do
    if not seen[name] then rest[#rest + 1] = tostring(name) end
  end
  table.sort(rest)
  for _, name in ipairs(rest) do keys[#keys + 1] = name end
  return keys
end

local function parts_of(metrics, order)
  local parts = {}
  for _, key in ipairs(metrics_text.names(metrics or {}, order)) do
    parts[#parts + 1] = ('%s=%s'):format(text_width.cut_middle(key, LONGEST), text_width.cut(metrics_text.value(metrics[key]),
      LONGEST)):gsub('[\n\r\t]', BREAKS)
    parts[#parts] = system.terminal_line(parts[#parts])
  end
  return parts
end

---Returns 'epoch=3 accuracy=0.91 loss=0.2': in the given order, else epoch and step first and the others sorted by
---name.
---@param metrics? table
---@param order? string[] names in the script's order
---@return string
function metrics_text.line(metrics, order) return table.concat(parts_of(metrics, order), ' ') end

---As `line`, for a terminal: leaves out the last metrics if the line is too wide.
---@param metrics? table
---@param order? string[]
---@param columns integer
---@return string
function metrics_text.fit(metrics, order, columns)
  local line
  local parts = parts_of(metrics, order)
  for i, part in ipairs(parts) do
    local longer = line and line .. ' ' .. part or part
    local more = i < #parts and 2 or 0
    if text_width.of(longer) + more > columns then
      return line and line .. ' ' .. MORE or text_width.cut(part, columns)
    end
    line = longer
  end
  return line or ''
end

-- Returns the names whose values differ between ranks.
local function names_that_differ(ranks)
  local names, first = {}, ranks[1] or {}
  for _, metrics in ipairs(ranks) do
    for _, one in ipairs {first, metrics} do
      for name in next, one do
        if metrics_text.value(first[name]) ~= metrics_text.value(metrics[name]) then names[name] = true end
      end
    end
  end
  return names
end

---Returns the metrics that differ between ranks.
---@param ranks? table[] metrics by rank + 1
---@return table[] differences the same list with only those metrics; empty if nothing differs
function metrics_text.differences(ranks)
  local names, out = names_that_differ(ranks or {}), {}
  if next(names) == nil then return out end
  for i, metrics in ipairs(ranks) do
    out[i] = {}
    for name in next, names do out[i][name] = metrics[name] end
  end
  return out
end

return metrics_text

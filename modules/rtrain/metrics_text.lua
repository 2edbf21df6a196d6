-- rtrain/metrics_text.lua: metrics on one line.

local ordered = require 'rtrain.ordered'

local metrics_text = {}

-- Shown first, when there.
local FIRST = {'epoch', 'step'}

---A number in at most 5 significant digits, text as it is, a table in short.
---@param value any
---@return string
function metrics_text.value(value)
  if type(value) == 'number' then
    return value == math.floor(value) and math.abs(value) < 1e15 and ('%d'):format(value) or ('%.5g'):format(value)
  end
  if type(value) ~= 'table' then return tostring(value) end
  return #value > 0 and ('[%d values]'):format(#value) or '{' .. metrics_text.line(value) .. '}'
end

local function keys_of(metrics)
  if ordered.is(metrics) then return ordered.keys(metrics) end
  local keys, seen = {}, {}
  for _, name in ipairs(FIRST) do
    seen[name] = true
    if metrics[name] ~= nil then keys[#keys + 1] = name end
  end
  local rest = {}
  for name in next, metrics do
    if not seen[name] then rest[#rest + 1] = tostring(name) end
  end
  table.sort(rest)
  for _, name in ipairs(rest) do keys[#keys + 1] = name end
  return keys
end

---'epoch=3 accuracy=0.91 loss=0.2': epoch and step first, the others by name.
---@param metrics? table
---@return string
function metrics_text.line(metrics)
  local parts = {}
  for _, key in ipairs(keys_of(metrics or {})) do
    parts[#parts + 1] = ('%s=%s'):format(key, metrics_text.value(metrics[key]))
  end
  return table.concat(parts, ' ')
end

---One line for each rank, 'rank 1  loss=0.3', when their metrics differ; else none.
---@param ranks? table[] metrics by rank + 1
---@return string[]
function metrics_text.differing(ranks)
  local lines, differ = {}, false
  for i, metrics in ipairs(ranks or {}) do
    local text = metrics_text.line(metrics)
    lines[i] = ('rank %d  %s'):format(i - 1, text)
    differ = differ or text ~= metrics_text.line(ranks[1])
  end
  return differ and lines or {}
end

return metrics_text

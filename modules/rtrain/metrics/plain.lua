-- rtrain/metrics/plain.lua: converts metrics to plain data: 0-dim tensors become numbers.

local errors = require 'base.errors'
local show = require 'base.shown'

local function to_number(tensor, name)
  if tensor:dim() == 0 then return tensor:item() end
  errors.raise('argument', ('%s is a tensor of shape {%s}: give a number, such as its :mean():item()'):format(name,
    table.concat(tensor.shape, ', ')))
end

-- The same limit as in the C++ reader of tables (host/lua/table_reader.h).
local MAX_DEPTH = 60

-- Returns the value with every 0-dim tensor replaced by its number. Only tables that contain a tensor are copied.
local function without_tensors(value, is_tensor, name, depth)
  if type(value) == 'userdata' and is_tensor(value) then return to_number(value, name) end
  if type(value) ~= 'table' then return value end
  if depth > MAX_DEPTH then errors.raise('argument', name .. ': nested too deeply, or a table within itself') end
  local changed
  for k, item in next, value do
    local kind = type(item)
    if kind == 'table' or kind == 'userdata' then
      local plain = without_tensors(item, is_tensor, name .. '.' .. tostring(k), depth + 1)
      if plain ~= item then
        changed = changed or {}
        changed[k] = plain
      end
    end
  end
  if not changed then return value end
  local copy = setmetatable({}, getmetatable(value))
  for k, item in next, value do
    if changed[k] ~= nil then item = changed[k] end
    rawset(copy, k, item)
  end
  return copy
end

---Returns the metrics without tensors. Only tables that contain a tensor are copied.
---@param metrics any the user's value
---@param operation string name of the caller, for errors
---@return table metrics
local function plain_metrics(metrics, operation)
  if type(metrics) ~= 'table' then
    errors.raise('argument', ('%s: expected a table of metrics, got %s'):format(operation, type(metrics)))
  end
  if metrics[1] ~= nil then
    errors.raise('argument', ('%s: the metrics are a list, whose first item is %s: expected a table of names, such as '
      .. '{loss = 0.5}'):format(operation, show(metrics[1])))
  end
  -- Tensors exist only if the engine is loaded.
  local engine = package.loaded['torch._C']
  if type(engine) ~= 'table' then return metrics end
  local ordered = require 'base.ordered'
  local name = operation .. ': metrics'
  if not ordered.is(metrics) then return without_tensors(metrics, engine.is_tensor, name, 0) end
  local copy = ordered.new()
  for key, value in ordered.items(metrics) do copy[key] = without_tensors(value, engine.is_tensor, name .. '.' .. key, 1) end
  return copy
end

return plain_metrics

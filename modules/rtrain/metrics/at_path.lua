-- rtrain/metrics/at_path.lua: finds a metric of a report by name or path.

---Returns the metric of that name, or at that path: 'val/loss' of {val = {loss = 0.5}}. As in
---host/base/codec/metric_path.h, the exact name takes precedence, then the map with the shorter name.
---@param metrics table
---@param name string
---@return any value nil if there is no such metric
local function at_path(metrics, name)
  if metrics[name] ~= nil then return metrics[name] end
  for slash in name:gmatch '()/' do
    local inner = metrics[name:sub(1, slash - 1)]
    if type(inner) == 'table' then
      local value = at_path(inner, name:sub(slash + 1))
      if value ~= nil then return value end
    end
  end
end

return at_path

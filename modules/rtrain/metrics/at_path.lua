-- rtrain/metrics/at_path.lua: one metric of a report.

---The metric of that name, or at that path: 'val/loss' of {val = {loss = 0.5}}.
---@param metrics table
---@param name string
---@return any value nil: there is none
return function(metrics, name)
  if metrics[name] ~= nil then return metrics[name] end
  local value = metrics
  for part in name:gmatch '[^/]+' do
    if type(value) ~= 'table' then return nil end
    value = value[part]
  end
  return value
end

-- text/models/with.lua: returns a table with the fields of both tables; the second one's count.

---@param base table
---@param more table
---@return table
return function(base, more)
  local out = {}
  for name, value in pairs(base) do out[name] = value end
  for name, value in pairs(more) do out[name] = value end
  return out
end

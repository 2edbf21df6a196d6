-- rtrain/elastic/ring.lua: which rank keeps the rows of which.

---Returns for each rank the one that keeps its rows: one on another node, where there is one for it.
---@param nodes table<integer, integer> rank → its node
---@param world_size integer
---@return table<integer, integer> next_of
---
---```lua
---local next_of = require 'rtrain.elastic.ring'({[0] = 0, 0, 1, 1}, 4)  -- 0 → 2 → 1 → 3 → 0
---assert(next_of[0] == 2 and next_of[2] == 1 and next_of[1] == 3 and next_of[3] == 0)
---```
return function(nodes, world_size)
  local order, place, count = {}, {}, {}
  for rank = 0, world_size - 1 do
    count[nodes[rank]] = (count[nodes[rank]] or 0) + 1
    order[#order + 1], place[rank] = rank, count[nodes[rank]]
  end
  table.sort(order, function(a, b)
    if place[a] ~= place[b] then return place[a] < place[b] end
    return a < b
  end)
  local next_of = {}
  for i, rank in ipairs(order) do next_of[rank] = order[i % world_size + 1] end
  return next_of
end

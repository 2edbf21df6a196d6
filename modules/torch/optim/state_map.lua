-- torch/optim/state_map.lua: an optimizer's `state`: parameter → table, an empty ordered map at the first access, like
-- Python's defaultdict. Use rawget to test for an entry.

local ordered = require 'base.ordered'

local state_map = {}

local meta = {__name = 'torch.optim.state'}

function meta.__index(map, key)
  local state = ordered.new()
  rawset(map, key, state)
  return state
end

function meta.__pack(map)
  local keys, values = {}, {}
  -- The order is irrelevant: each key is set once.
  for key, value in next, map do keys[#keys + 1], values[#values + 1] = key, value end
  return 'torch.optim.state_map', 'unpack', {keys = keys, values = values}
end

---@return table<torch.Tensor, table> state
function state_map.new() return setmetatable({}, meta) end

---Rebuilds a state from a result of `__pack`.
---@param packed {keys: any[], values: table[]}
---@return table<torch.Tensor, table> state
function state_map.unpack(packed)
  local map = state_map.new()
  for i, key in ipairs(packed.keys) do map[key] = packed.values[i] end
  return map
end

return state_map

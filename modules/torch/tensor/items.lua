-- torch/tensor/items.lua: iterates over maps in their order: state_dict, results of torch.load.

local checks = require 'torch.functions.checks'
local ordered = require 'base.ordered'

local items = {}

---Returns the keys of a map in the order in which they were added (state_dict, torch.load); for a plain table sorted by
---text.
---@param map table
---@return any[] keys
---
---```lua
---local torch = require 'torch'
---local names = torch.keys(torch.nn.Linear(2, 1):state_dict())
---assert(table.concat(names, ' ') == 'weight bias')
---```
function items.keys(map) return ordered.keys_of(checks.table('keys', map)) end

---Iterates over key, value in the order of torch.keys. The order of pairs is undefined.
---@param map table
---@return fun(): any, any
---
---```lua
---local torch = require 'torch'
---local names = {}
---for name, tensor in torch.items(torch.nn.Linear(2, 1):state_dict()) do names[#names + 1] = name .. tensor:dim() end
---assert(table.concat(names, ' ') == 'weight2 bias1')
---```
function items.items(map)
  local keys, i = items.keys(map), 0
  return function()
    i = i + 1
    if keys[i] ~= nil then return keys[i], map[keys[i]] end
  end
end

return items

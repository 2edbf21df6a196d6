-- torch/utils/data/pin_memory.lua: copies batches to pinned memory, from which a GPU copies asynchronously.

local torch = require 'torch'

local pinned

local function pinned_fields(value)
  local out = setmetatable({}, getmetatable(value))
  for key, field in next, value do rawset(out, key, pinned(field)) end  -- in any order: fields keep their keys
  return out
end

-- Returns the value with its tensors pinned. GPU tensors and values without tensors are returned unchanged; an object
-- may define a method pin_memory().
function pinned(value)
  if torch.is_tensor(value) then return value.is_cuda and value or value:pin_memory() end
  local kind = type(value)
  if kind ~= 'table' and kind ~= 'userdata' then return value end
  local meta = getmetatable(value)
  local methods = type(meta) == 'table' and type(meta.__index) ~= 'nil'
  if methods and value.pin_memory then return value:pin_memory() end
  return kind == 'table' and pinned_fields(value) or value
end

local function pinned_values(count, ...)
  local values = {...}
  for i = 1, count do values[i] = pinned(values[i]) end
  return unpack(values, 1, count)
end

---Returns the values of a batch, with their tensors pinned.
---@param ... any
---@return any ...
local function pin_memory(...) return pinned_values(select('#', ...), ...) end

return pin_memory

-- rtrain/torch/each_tensor.lua: applies a function to the tensors of a batch, also in tables.

local class = require 'base.class'
local ordered = require 'base.ordered'
local torch = require 'torch'

local each

local function each_of_table(value, fn)
  local out, is_changed = {}, false
  for key, item in next, value do
    out[key] = each(item, fn)
    is_changed = is_changed or out[key] ~= item
  end
  -- A value without tensors is returned unchanged.
  return is_changed and setmetatable(out, getmetatable(value)) or value
end

---Returns the value with fn(tensor) in place of each tensor; tables are copied, all other values are unchanged.
---@param value any
---@param fn fun(tensor: torch.Tensor): torch.Tensor
---@return any
function each(value, fn)
  if type(value) == 'userdata' and torch.is_tensor(value) then return fn(value) end
  if ordered.is(value) then
    local out = ordered.new()
    for key, item in ordered.items(value) do out[key] = each(item, fn) end
    return out
  end
  if type(value) == 'table' and not class.of(value) then return each_of_table(value, fn) end
  return value
end

return each

-- torch/func/tree.lua: tensors in nested tables: arguments and results of transformed functions.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local shown = require 'base.shown'
local torch = require 'torch'

local tree = {}

local function is_branch(value) return type(value) == 'table' and not class.of(value) end

---Returns a copy of the value with fn(tensor) in place of each tensor, in the order of `leaves`. Other values are
---unchanged.
---@param value any a tensor, or tables of them
---@param fn fun(tensor: torch.Tensor): any
---@return any
---
---```lua
---local torch, tree = require 'torch', require 'torch.func.tree'
---local twice = tree.map({a = torch.ones(1), {torch.ones(2), 'text'}}, function(x) return x * 2 end)
---assert(twice.a:item() == 2 and twice[1][1]:sum():item() == 4 and twice[1][2] == 'text')
---```
function tree.map(value, fn)
  if torch.is_tensor(value) then return fn(value) end
  if not is_branch(value) then return value end
  local new = ordered.is(value) and ordered.new() or setmetatable({}, getmetatable(value))
  for _, key in ipairs(ordered.keys_of(value)) do new[key] = tree.map(value[key], fn) end
  return new
end

---Returns the tensors of a value, in the order of `map`.
---@param value any
---@return torch.Tensor[]
function tree.leaves(value)
  local out = {}
  tree.map(value, function(tensor)
    out[#out + 1] = tensor
    return tensor
  end)
  return out
end

---Returns the tensors of a value that contains only tensors.
---@param name string the function, for messages
---@param value any
---@param place string description of the value, for messages: 'argument 0'
---@return torch.Tensor[] at least one
---Errors: 'argument' with the place of a value that is not a tensor.
function tree.tensors(name, value, place)
  if torch.is_tensor(value) then return {value} end
  local keys = is_branch(value) and ordered.keys_of(value) or {}
  if #keys == 0 then
    errors.raise('argument', ('%s: expected a Tensor, or tables of Tensors, got %s for %s'):format(name, shown(value), place))
  end
  local out = {}
  for _, key in ipairs(keys) do
    local at = type(key) == 'number' and ('%s[%d]'):format(place, key) or place .. '.' .. key
    for _, tensor in ipairs(tree.tensors(name, value[key], at)) do out[#out + 1] = tensor end
  end
  return out
end

---Returns a copy of the value with the items of a list in place of its tensors.
---@param value any
---@param items any[] one for each of its leaves
---@return any
function tree.filled(value, items)
  local i = 0
  return tree.map(value, function()
    i = i + 1
    return items[i]
  end)
end

return tree

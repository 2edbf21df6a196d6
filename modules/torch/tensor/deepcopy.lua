-- torch/tensor/deepcopy.lua: Python's copy.deepcopy.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local parameter = require 'torch.nn.parameter'
local shards = require 'torch.tensor.shards'

local copy

-- The key under which a copy's memo keeps the copied storages.
local STORAGES = {}

local function copy_tensor(tensor, memo)
  if not tensor.is_leaf then
    errors.raise('argument', 'deepcopy: only tensors that no operation made can be copied deeply: detach() or clone() it')
  end
  local shard = shards.of(tensor)
  if shard then
    errors.raise('unsupported', ("deepcopy: '%s' is sharded (fully_shard), and a copy of its module would use the module's own "
      .. 'parameters: copy it before it is sharded'):format(shard.name))
  end
  -- As in Python, a parameter gets separate memory; other tensors share memory if the originals do.
  if parameter.is_parameter(tensor) then
    return parameter.Parameter(tensor:detach():clone(), tensor.requires_grad)
  end
  local new = require('torch._C')._copy_with_storage(tensor, memo[STORAGES])
  new.requires_grad = tensor.requires_grad
  if tensor.grad ~= nil then new.grad = copy(tensor.grad, memo) end
  return new
end

local function copy_table(value, memo)
  local new = ordered.is(value) and ordered.new() or {}
  memo[value] = new
  if ordered.is(value) then
    for key, item in ordered.items(value) do new[key] = copy(item, memo) end
    return new
  end
  -- The order is irrelevant: every key is set once.
  for key, item in next, value do rawset(new, copy(key, memo), copy(item, memo)) end
  return setmetatable(new, getmetatable(value))
end

function copy(value, memo)
  local kind = type(value)
  if kind ~= 'table' and kind ~= 'userdata' or class.is_class(value) then return value end
  if memo[value] == nil then
    if kind == 'table' then
      memo[value] = copy_table(value, memo)
    elseif require('torch').is_tensor(value) then
      memo[value] = copy_tensor(value, memo)
    elseif class.of(value) then
      memo[value] = class.unpack{class = class.of(value), fields = copy(getmetatable(value).__fields, memo)}
    else
      memo[value] = value
    end
  end
  return memo[value]
end

---Returns a copy of a value and of everything in it: tables, objects, tensors with separate memory. Sharing and cycles
---are kept, also tensors that are views of one memory; functions, classes, generators and files are not copied.
---Python equivalent: Python's copy.deepcopy.
---@generic T
---@param value T
---@return T
---
---```lua
---local torch = require 'torch'
---local state = {torch.ones(2), {step = 3}}
---local copy = torch.deepcopy(state)
---copy[1]:zero_()
---assert(state[1]:sum():item() == 2 and copy[2].step == 3)
---```
local function deepcopy(value) return copy(value, {[STORAGES] = {}}) end

return {deepcopy = deepcopy}

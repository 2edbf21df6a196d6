-- torch/distributed/checkpoint/leaves.lua: the tensors and plain values of a state dict, each with its name.

local class = require 'base.class'
local errors = require 'base.errors'
local is_list = require 'base.is_list'
local json = require 'json'
local ordered = require 'base.ordered'
local torch = require 'torch'

---A tensor or a plain value of a state dict.
---@class checkpoint.Leaf
---@field name string the path, joined with dots
---@field path any[] keys; the place i in a list, from 0, is {i}
---@field value any
---@field parent table the table that has it
---@field key any its key there

local leaves = {}

---@param value any
---@return boolean
function leaves.is_tensor(value) return type(value) == 'userdata' and torch.is_tensor(value) end

-- A state with integer keys, such as an optimizer's, is a map also if they are 1…n.
local function is_array(value)
  return not ordered.is(value) and getmetatable(value) ~= torch._intmap_meta and #value > 0 and is_list(value)
end

local function is_map(value)
  local meta = getmetatable(value)
  return meta == nil or ordered.is(value) or meta == torch._intmap_meta or meta == torch._list_meta
end

local function refuse(owner, name, value)
  local of = class.of(value)
  errors.raise('argument', ('%s: %s is a %s: expected tensors, numbers, strings, booleans and tables of them%s'):format(owner,
    name, of and of.__name or type(value), of and ', such as its state_dict()' or ''))
end

-- Returns the value as JSON has it.
local function plain(owner, name, value)
  local kind = type(value)
  if value == torch.none then return json.null end
  if kind == 'number' or kind == 'string' or kind == 'boolean' or kind == 'cdata' then return value end
  if kind ~= 'table' or not is_map(value) then refuse(owner, name, value) end
  if next(value) == nil then return value end
  local copy = {}
  for i, item in ipairs(value) do copy[i] = plain(owner, ('%s.%d'):format(name, i - 1), item) end
  return copy
end

-- A list of plain values is one value.
local function has_parts(value)
  for _, item in ipairs(value) do
    if leaves.is_tensor(item) or type(item) == 'table' and item ~= torch.none then return true end
  end
  return false
end

local function keys_of(owner, name, value)
  local keys = ordered.keys_of(value)
  for _, key in ipairs(keys) do
    if type(key) ~= 'string' and (type(key) ~= 'number' or key % 1 ~= 0) then
      errors.raise('argument', ('%s: %s has a key that is a %s: expected names or integers'):format(owner,
        name == '' and 'the state dict' or name, type(key)))
    end
  end
  return keys
end

---Returns the name of a path.
---@param path any[]
---@return string
function leaves.name_of(path)
  local words = {}
  for i, key in ipairs(path) do words[i] = tostring(type(key) == 'table' and key[1] or key) end
  return table.concat(words, '.')
end

---Returns the tensors and plain values of a state dict, in order.
---@param owner string the function, for messages
---@param state table nested tables of tensors and plain values
---@return checkpoint.Leaf[] found
---@return table<string, checkpoint.Leaf> by_name
---Errors: 'argument' for a value that is not data, and for two values of one name.
function leaves.of(owner, state)
  if type(state) ~= 'table' or not is_map(state) then
    errors.raise('argument', ('%s: expected a state dict, a table of tensors and plain values, got %s'):format(owner,
      class.of(state) and 'a ' .. class.of(state).__name or 'a ' .. type(state)))
  end
  local found, by_name = {}, {}
  local function walk(value, path, parent, key)
    if type(value) == 'table' and value ~= torch.none and is_map(value) and (next(value) ~= nil or not parent) then
      local array = is_array(value)
      if not (array and not has_parts(value)) then
        for _, each in ipairs(keys_of(owner, leaves.name_of(path), value)) do
          local inner = {unpack(path)}
          inner[#inner + 1] = array and {each - 1} or each
          walk(value[each], inner, value, each)
        end
        return
      end
    end
    local leaf = {name = leaves.name_of(path), path = path, parent = parent, key = key,
                  value = leaves.is_tensor(value) and value or plain(owner, leaves.name_of(path), value)}
    if by_name[leaf.name] then
      errors.raise('argument', ("%s: two values have the name '%s': names are joined with dots"):format(owner, leaf.name))
    end
    found[#found + 1], by_name[leaf.name] = leaf, leaf
  end
  walk(state, {})
  return found, by_name
end

---Returns a value that `leaves.of` has made for JSON as scripts have it.
---@param value any
---@return any
function leaves.restored(value)
  if value == json.null then return torch.none end
  if type(value) ~= 'table' or next(value) == nil then return value end
  local copy = {}
  for i, item in ipairs(value) do copy[i] = leaves.restored(item) end
  return torch.list(copy)
end

return leaves

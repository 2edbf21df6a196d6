-- rtrain/results/state_part.lua: finds the state dict of the model in a checkpoint file.

local has_items_alone = require 'base.is_list'
local ordered = require 'base.ordered'

local state_part = {}

-- Usual places of a model's state dict; the first existing one is used. The second is that of train.state.
local MODEL_PARTS = {'model', 'parts.model', 'model_state_dict', 'state_dict'}

---@param value any
---@return boolean
function state_part.is_tensor(value) return type(value) == 'userdata' and require('torch').is_tensor(value) end

-- A dict with integer keys, such as an optimizer's state, is not a list: its key 0 would be lost, and the others
-- renumbered.
local function is_list(value)
  return type(value) == 'table' and not ordered.is(value) and getmetatable(value) ~= require('torch')._intmap_meta
    and #value > 0 and has_items_alone(value)
end

---Returns the keys of a table; for a list 0, 1, …, as Python counts.
---@param value any
---@return any[] keys
function state_part.keys_of(value)
  if type(value) ~= 'table' then return {} end
  if not is_list(value) then return ordered.keys_of(value) end
  local keys = {}
  for i = 1, #value do keys[i] = i - 1 end
  return keys
end

---Returns the value of such a key.
---@param value any
---@param key any
---@return any item
function state_part.get(value, key)
  if is_list(value) then return value[tonumber(key) + 1] end
  return value[key]
end

-- Returns the value at the path 'a.b', or nil.
local function find(value, part)
  for key in part:gmatch '[^.]+' do
    if type(value) ~= 'table' or is_list(value) and not tonumber(key) then return nil end
    local inner = state_part.get(value, key)
    if inner == nil and tonumber(key) then inner = state_part.get(value, tonumber(key)) end
    value = inner
  end
  return value
end

local function has_tensors(value)
  if state_part.is_tensor(value) then return true end
  for _, key in ipairs(state_part.keys_of(value)) do
    if has_tensors(state_part.get(value, key)) then return true end
  end
  return false
end

local function is_state_dict(value)
  if type(value) ~= 'table' then return false end
  for _, key in ipairs(state_part.keys_of(value)) do
    if not state_part.is_tensor(state_part.get(value, key)) then return false end
  end
  return #state_part.keys_of(value) > 0
end

---Returns the requested part: the value itself if it is a state dict, or the state dict under a name that scripts use.
---@param value any the contents of the file
---@param wanted? string the requested name
---@param file string for the message
---@param raise fun(format: string, ...) raises an error with that message
---@return any part the whole value if no state dict is found
---@return string? name of the part
function state_part.choose(value, wanted, file, raise)
  if wanted then
    local part = find(value, wanted)
    if part ~= nil then return part, wanted end
    local names = {}
    for _, key in ipairs(state_part.keys_of(value)) do names[#names + 1] = tostring(key) end
    raise("%s has no part '%s', it has %s", file, wanted, table.concat(names, ', '))
  end
  if is_state_dict(value) then return value, nil end
  for _, name in ipairs(MODEL_PARTS) do
    local part = find(value, name)
    if type(part) == 'table' and has_tensors(part) then return part, name end
  end
  return value, nil
end

return state_part

-- rtrain/state/parts.lua: the kinds of parts of a train.state, and how each is saved and restored.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

local parts = {}

local function has(value, name)
  local kind = type(value)
  if kind ~= 'table' and kind ~= 'userdata' then return false end
  local ok, found = pcall(function() return value[name] end)
  return ok and type(found) == 'function'
end

local function unwrap(part) return require('rtrain.torch').unwrap(part) end

-- How each kind of part is saved and restored. `own`: whether each rank has its own state.
local KINDS = {
  state_dict = {
    own = false,
    get = function(part) return unwrap(part):state_dict() end,
    set = function(part, state) unwrap(part):load_state_dict(state) end,
  },
  position = {
    own = true,
    get = function(part) return part:state() end,
    set = function(part, state) part:load_state(state) end,
  },
  generator = {
    own = true,
    get = function(part) return part:get_state() end,
    set = function(part, state) part:set_state(state) end,
  },
}

---@param value any
---@return string? kind nil for a plain value
function parts.kind_of(value)
  if has(value, 'state_dict') and has(value, 'load_state_dict') then return 'state_dict' end
  if has(value, 'state') and has(value, 'load_state') then return 'position' end
  if has(value, 'get_state') and has(value, 'set_state') then return 'generator' end
  return nil
end

---Raises code 'argument' for a value that a state cannot save.
---@param name string name of the field
---@param value any
function parts.check_plain(name, value)
  local kind = type(value)
  if kind == 'number' or kind == 'boolean' or kind == 'string' or kind == 'cdata' then return end
  if kind == 'userdata' and require('torch').is_tensor(value) then return end
  if kind == 'table' and class.of(value) == nil then return end
  local found = class.of(value)
  errors.raise('argument', ('train.state: %s is %s: a part has state_dict and load_state_dict, or state and load_state; '
    .. 'anything else is a plain value or a tensor'):format(name, found and 'a ' .. found.__name or 'a ' .. kind))
end

---@param map table
---@return string[] names except those that begin with '_', in order
function parts.names(map)
  local names = {}
  for name in next, map do
    if not name:find('^_') then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

---Returns the names of the parts that are own, or common.
---@param state TrainState
---@param own boolean true: each rank has its own; false: the common ones
---@return string[]
function parts.names_of(state, own)
  local names = {}
  for _, name in ipairs(parts.names(state._parts)) do
    if KINDS[state._parts[name]].own == own then names[#names + 1] = name end
  end
  return names
end

---@param state TrainState
---@param name string name of a part
---@return any
function parts.get(state, name) return KINDS[state._parts[name]].get(state[name]) end

---@param state TrainState
---@param name string name of a part
---@param saved any a result of get
function parts.set(state, name, saved) KINDS[state._parts[name]].set(state[name], saved) end

---@param state TrainState
---@param names string[] names of parts
---@return table states ordered, by name
function parts.states(state, names)
  local states = ordered.new()
  for _, name in ipairs(names) do states[name] = parts.get(state, name) end
  return states
end

local function buffers_of(part)
  local buffers = ordered.new()
  local model = unwrap(part)
  if not has(model, 'named_buffers') then return buffers end
  for name, buffer in model:named_buffers() do buffers[name] = buffer end
  return buffers
end

---Returns the buffers of the modules. They differ between ranks without DistributedDataParallel, and after its last
---step.
---@param state TrainState
---@return table buffers ordered, by part and name
function parts.buffers(state)
  local buffers = ordered.new()
  for _, name in ipairs(parts.names(state._parts)) do
    if state._parts[name] == 'state_dict' then buffers[name] = buffers_of(state[name]) end
  end
  return buffers
end

---@param state TrainState
---@param saved table a result of buffers
function parts.set_buffers(state, saved)
  local torch = require 'torch'
  torch.no_grad(function()
    for name, buffers in ordered.items(saved) do
      local own = state._parts[name] == 'state_dict' and buffers_of(state[name]) or {}
      for key, buffer in ordered.items(buffers) do
        if own[key] then own[key]:copy_(buffer) end
      end
    end
  end)
end

---Returns the plain values, which are the state's fields.
---@param state TrainState
---@return table values ordered, by name
function parts.values(state)
  local values = ordered.new()
  for _, name in ipairs(parts.names(state)) do
    if not state._parts[name] then
      parts.check_plain(name, state[name])
      values[name] = state[name]
    end
  end
  return values
end

---@param state TrainState
---@param saved table a result of values
function parts.set_values(state, saved)
  for name, value in ordered.items(saved) do state[name] = value end
end

---Returns the modules among the parts, without wrappers.
---@param state TrainState
---@return table modules ordered, by name
function parts.modules(state)
  local modules = ordered.new()
  for _, name in ipairs(parts.names(state._parts)) do
    local part = unwrap(state[name])
    if has(part, 'named_parameters') then modules[name] = part end
  end
  return modules
end

---@param state TrainState
---@return table optimizers ordered, by name
function parts.optimizers(state)
  local optimizers = ordered.new()
  for _, name in ipairs(parts.names(state._parts)) do
    if class.is(state[name], require('torch.optim.optimizer').Optimizer) then optimizers[name] = state[name] end
  end
  return optimizers
end

return parts

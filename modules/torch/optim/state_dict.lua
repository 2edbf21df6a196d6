-- torch/optim/state_dict.lua: converts an optimizer's state and options to Python's layout and back.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local state_map = require 'torch.optim.state_map'
local torch = require 'torch'

local state_dict = {}

-- Options about how Python executed its steps, which do not apply here.
local IGNORED = {capturable = true, differentiable = true}

local function is_tensor(value) return type(value) == 'userdata' and torch.is_tensor(value) end

---Returns the fields of a group as Python has them, without `params`: the optimizer's options, then fields that were
---added later (initial_lr, …), including options that are None.
---@param optimizer optim.Optimizer
---@param group table
---@return string[]
function state_dict.group_keys(optimizer, group)
  local keys, seen = {}, {params = true}
  for i, name in ipairs(optimizer._options and optimizer._options.keys or {}) do
    keys[i], seen[name] = name, true
  end
  for _, name in ipairs(ordered.keys(group)) do
    if not seen[name] then keys[#keys + 1] = name end
  end
  return keys
end

local function pack_group(optimizer, group, first)
  local packed, indices = ordered.new(), {}
  for _, name in ipairs(state_dict.group_keys(optimizer, group)) do
    local value = group[name]
    if value == nil then value = torch.none end
    packed[name] = value
  end
  for k = 1, #group.params do indices[k] = first + k - 1 end
  packed.params = torch.list(indices)
  return packed
end

local function is_empty(value) return type(value) == 'table' and next(value) == nil end

-- Adds to the packed state the values that a user-defined optimizer keeps under names, not for parameters.
local function with_names(packed, state, count)
  local names = {}
  for key in next, state do
    if type(key) == 'string' then names[#names + 1] = key end
  end
  if #names == 0 then return packed end
  table.sort(names)
  local all = ordered.new()
  for i = 0, count - 1 do all[i] = packed[i] end
  for _, name in ipairs(names) do
    if not is_empty(state[name]) then all[name] = state[name] end
  end
  return all
end

-- Returns the state of a parameter. That of a sharded one has the same rows of a whole state, where it has rows.
local function marked(optimizer, of_param, param)
  local shard = shards.has_replaced() and type(of_param) == 'table' and shards.of(param)
  if not shard then return of_param end
  local copy = ordered.new()
  for _, name in ipairs(ordered.keys_of(of_param)) do
    local value = of_param[name]
    if is_tensor(value) and optimizer:_has_rows(name, value.shape, param.shape) then
      value = value:detach()
      shards.add(value, shards.with_columns(shard, value.shape))
    end
    copy[name] = value
  end
  return copy
end

---@param optimizer optim.Optimizer
---@return table state base.ordered map {state, param_groups}
function state_dict.pack(optimizer)
  local state, groups, count = setmetatable({}, torch._intmap_meta), {}, 0
  for i, group in ipairs(optimizer.param_groups) do
    groups[i] = pack_group(optimizer, group, count)
    for _, param in ipairs(group.params) do
      local of_param = rawget(optimizer.state, param)
      if of_param ~= nil and not is_empty(of_param) then state[count] = marked(optimizer, of_param, param) end
      count = count + 1
    end
  end
  state = with_names(state, optimizer.state, count)
  return ordered.new{{'state', state}, {'param_groups', torch.list(groups)}}
end

local function raise(optimizer, text, ...)
  errors.raise('argument', class.of(optimizer).__name .. ': ' .. text:format(...))
end

local function check_layout(optimizer, given)
  if type(given) ~= 'table' or type(given.param_groups) ~= 'table' or type(given.state) ~= 'table' then
    raise(optimizer, 'expected a state dict with state and param_groups')
  end
  local own, groups = optimizer.param_groups, given.param_groups
  if #groups ~= #own then
    raise(optimizer, 'the loaded state dict has %d parameter groups, the optimizer %d', #groups, #own)
  end
  for i, group in ipairs(groups) do
    if #group.params ~= #own[i].params then
      raise(optimizer, "group %d of the loaded state dict has %d parameters, the optimizer's %d", i, #group.params,
        #own[i].params)
    end
  end
end

-- Copies a value of the state. Floating-point state gets the parameter's dtype, as in Python; `step` keeps its own.
local function adopt(name, value, param)
  if is_tensor(value) then
    if name == 'step' then return value:clone() end
    local dtype = param:is_floating_point() and param.dtype or value.dtype
    return value:to{dtype = dtype, device = param.device, copy = true}
  end
  if type(value) ~= 'table' then return value end
  local copy = ordered.is(value) and ordered.new() or setmetatable({}, getmetatable(value))
  for _, key in ipairs(ordered.keys_of(value)) do copy[key] = adopt(key, value[key], param) end
  return copy
end

local function adopted_state(optimizer, given)
  local state = state_map.new()
  for i, group in ipairs(given.param_groups) do
    for k, index in ipairs(group.params) do
      local param, loaded = optimizer.param_groups[i].params[k], given.state[tonumber(index)]
      if type(loaded) == 'table' then
        for _, name in ipairs(ordered.keys_of(loaded)) do state[param][name] = adopt(name, loaded[name], param) end
      elseif loaded ~= nil then
        state[param] = adopt('', loaded, param)
      end
    end
  end
  for _, name in ipairs(ordered.names_of(given.state)) do state[name] = given.state[name] end
  return state
end

-- Returns the options of a loaded group, with the present options for missing ones.
local function merged(optimizer, own, loaded)
  local fields, optional = ordered.new(), {}
  for _, spec in ipairs(optimizer._options and optimizer._options.specs or {}) do
    optional[spec[1]] = spec[2] == nil
    if not optional[spec[1]] then fields[spec[1]] = own[spec[1]] end
  end
  for _, name in ipairs(ordered.keys_of(loaded)) do
    if name ~= 'params' and not IGNORED[name] and loaded[name] ~= torch.none then fields[name] = loaded[name] end
  end
  if is_tensor(fields.lr) then fields.lr = fields.lr:clone() end
  if fields.param_names == nil then fields.param_names = own.param_names end
  if optimizer._options then optimizer._options:check(fields) end
  return fields
end

---@param optimizer optim.Optimizer
---@param given table a result of pack, here or in Python
function state_dict.load(optimizer, given)
  check_layout(optimizer, given)
  local groups = {}
  for i, group in ipairs(given.param_groups) do groups[i] = merged(optimizer, optimizer.param_groups[i], group) end
  optimizer.state = adopted_state(optimizer, given)
  optimizer._plans = {}
  for i, fields in ipairs(groups) do
    local own = optimizer.param_groups[i]
    for _, name in ipairs(ordered.keys(own)) do
      if name ~= 'params' and fields[name] == nil then own[name] = nil end
    end
    for name, value in ordered.items(fields) do own[name] = value end
  end
end

return state_dict

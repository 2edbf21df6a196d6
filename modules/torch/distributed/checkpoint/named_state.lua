-- torch/distributed/checkpoint/named_state.lua: an optimizer's state with names of parameters instead of numbers.

local errors = require 'base.errors'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

local named_state = {}

local function each_param(optimizer, fn)
  local number = 0
  for i, group in ipairs(optimizer.param_groups) do
    for k, param in ipairs(group.params) do
      fn(param, number, i, k)
      number = number + 1
    end
  end
end

local function raise(text, ...) errors.raise('argument', text:format(...)) end

---Returns the state of an optimizer.
---@param optimizer optim.Optimizer
---@param name_of fun(param: torch.Tensor, number: integer): string
---@return table state base.ordered map {state = {name = …}, param_groups = list of options, with names as params}
function named_state.get(optimizer, name_of)
  local packed = optimizer:state_dict()
  local state, groups, kept = ordered.new(), {}, ordered.names_of(packed.state)
  if #kept > 0 then
    raise("the optimizer keeps '%s' under a name, not for a parameter: it cannot be saved by the names of parameters", kept[1])
  end
  for i, group in ipairs(packed.param_groups) do
    groups[i] = ordered.new()
    for _, key in ipairs(ordered.keys_of(group)) do groups[i][key] = group[key] end
    groups[i].params = torch.list{}
  end
  each_param(optimizer, function(param, number, i, k)
    local name = name_of(param, number)
    groups[i].params[k] = name
    if packed.state[number] ~= nil then state[name] = packed.state[number] end
  end)
  return ordered.new{{'state', state}, {'param_groups', torch.list(groups)}}
end

-- Returns this rank's rows of what an optimizer keeps for a whole parameter.
local function own_rows(optimizer, name, value, shard)
  if type(value) == 'table' then
    local copy = ordered.new()
    for _, key in ipairs(ordered.keys_of(value)) do copy[key] = own_rows(optimizer, key, value[key], shard) end
    return copy
  end
  local has_rows = type(value) == 'userdata' and torch.is_tensor(value) and #value.shape > 0
    and optimizer:_has_rows(name, value.shape, shard.sizes)
  return has_rows and value:narrow(0, shard.begin, shard.count) or value
end

-- Returns the saved group with the parameter.
local function group_with(saved, name)
  for _, group in ipairs(saved.param_groups) do
    for _, other in ipairs(group.params) do
      if other == name then return group end
    end
  end
  raise("the loaded state dict of the optimizer has no parameter group with '%s'", name)
end

---Loads a result of get. Groups are found by the name of their first parameter.
---@param optimizer optim.Optimizer
---@param saved table
---@param name_of fun(param: torch.Tensor, number: integer): string
---@param is_whole boolean|nil whether the saved tensors are whole: of a sharded parameter's each rank takes its rows
function named_state.set(optimizer, saved, name_of, is_whole)
  if type(saved) ~= 'table' or type(saved.state) ~= 'table' or type(saved.param_groups) ~= 'table' then
    raise 'expected the state dict of an optimizer, with state and param_groups'
  end
  local state, groups = setmetatable({}, torch._intmap_meta), {}
  each_param(optimizer, function(param, number, i)
    local name = name_of(param, number)
    if not groups[i] then
      local found = group_with(saved, name)
      groups[i] = ordered.new()
      for _, key in ipairs(ordered.keys_of(found)) do groups[i][key] = found[key] end
      groups[i].params = {}
    end
    table.insert(groups[i].params, number)
    local shard = is_whole and shards.of(param)
    local of_param = saved.state[name]
    state[number] = shard and of_param ~= nil and own_rows(optimizer, name, of_param, shard) or of_param
  end)
  optimizer:load_state_dict{state = state, param_groups = groups}
end

---Makes the state of an optimizer that has taken no step, with a step that changes nothing.
---@param optimizer optim.Optimizer
function named_state.make(optimizer)
  local is_new, grads = true, {}
  each_param(optimizer, function(param)
    if rawget(optimizer.state, param) ~= nil or param.grad ~= nil then is_new = false end
  end)
  if not is_new then return end
  local rates = {}
  each_param(optimizer, function(param)
    if param.requires_grad then
      param.grad = torch.zeros_like(param)
      grads[#grads + 1] = param
    end
  end)
  for i, group in ipairs(optimizer.param_groups) do
    rates[i] = group.lr
    if group.lr ~= nil then
      group.lr = torch.is_tensor(group.lr) and torch.zeros_like(group.lr) or 0
    end
  end
  local ok, problem = xpcall(optimizer.step, errors.wrap, optimizer)
  for i, group in ipairs(optimizer.param_groups) do group.lr = rates[i] end
  for _, param in ipairs(grads) do param.grad = nil end
  if not ok then error(problem, 0) end
end

return named_state

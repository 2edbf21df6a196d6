-- torch/optim/optimizer.lua: what all optimizers share: parameter groups, state, their dictionaries.
--
-- A group is an ordered map of options with its parameters under `params`; `state[param]` is an ordered map that the
-- optimizer fills. state_dict has the layout of Python's, so that each side reads the other's.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local ordered = require 'rtrain.ordered'
local parameter = require 'torch.nn.parameter'
local torch = require 'torch'

---Base of the optimizers. A subclass passes the names and defaults of its options to `init`, in the order in which
---state_dict shows them, and defines `_update(group, params, grads)` for parameters of one dtype and device.
---
---```lua
---local torch = require 'torch'
---local a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
---local optimizer = torch.optim.SGD({{params = a:parameters(), lr = 0.1}, {params = b:parameters()}}, {lr = 1})
---assert(optimizer.param_groups[1].lr == 0.1 and optimizer.param_groups[2].lr == 1)
---```
---@class optim.Optimizer
---@field param_groups table[] 1-based; each has its options and `params`
---@field state table<torch.Tensor, table>
local Optimizer = class('Optimizer')

local function describe(value)
  local of = class.of(value)
  return of and of.__name or type(value)
end

local function is_tensor(value) return type(value) == 'userdata' and torch.is_tensor(value) end

-- One group for a list of tensors, or the groups of a list of tables with `params`.
local function group_list(self, params)
  if is_tensor(params) or type(params) ~= 'table' or class.of(params) then
    errors.raise('argument', ('%s: expected a list of parameters, got %s: pass model:parameters()'):format(
      class.of(self).__name, is_tensor(params) and 'a Tensor' or describe(params)))
  end
  if #params == 0 then
    errors.raise('argument', class.of(self).__name .. ': optimizer got an empty parameter list')
  end
  if is_tensor(params[1]) then return {{params = params}} end
  return params
end

---@param params torch.Tensor[]|table[] parameters, or groups {params = …, lr = …}
---@param defaults any[][] list of {name, value}
---@param given? table the caller's options
function Optimizer:init(params, defaults, given)
  local names = {}
  for i, default in ipairs(defaults) do names[i] = default[1] end
  given = args.options(given, names, class.of(self).__name)
  self.defaults = ordered.new()
  self._option_names = names
  for _, default in ipairs(defaults) do
    local value = given[default[1]]
    if value == nil then value = default[2] end
    self.defaults[default[1]] = value
  end
  self.param_groups, self.state = {}, {}
  for _, group in ipairs(group_list(self, params)) do self:add_param_group(group) end
end

local function check_param(self, param, seen)
  local name = class.of(self).__name
  if not is_tensor(param) then
    errors.raise('argument', ('%s: can only optimize Tensors, got %s'):format(name, describe(param)))
  end
  if not param.is_leaf then errors.raise('argument', name .. ": can't optimize a non-leaf Tensor") end
  if seen[param] then errors.raise('argument', name .. ': a parameter appears more than once') end
  seen[param] = true
end

---Adds parameters with options of their own, for example a new layer's.
---@param group table {params = tensors, option = value, …}
function Optimizer:add_param_group(group)
  local allowed = {'params', unpack(self._option_names)}
  args.options(group, allowed, class.of(self).__name .. ': parameter group')
  local params = is_tensor(group.params) and {group.params} or group.params
  if type(params) ~= 'table' then
    errors.raise('argument', class.of(self).__name .. ': a parameter group needs params, a list of Tensors')
  end
  local seen = {}
  for _, other in ipairs(self.param_groups) do
    for _, param in ipairs(other.params) do seen[param] = true end
  end
  for _, param in ipairs(params) do check_param(self, param, seen) end
  local new = ordered.new{{'params', params}}
  for name, default in ordered.items(self.defaults) do
    if group[name] ~= nil then new[name] = group[name] else new[name] = default end
  end
  self:_check_options(new)
  self.param_groups[#self.param_groups + 1] = new
  self:_init_group(new)
end

---Raises 'argument' when an option of the group has an impossible value.
function Optimizer:_check_options(group)
  if type(group.lr) ~= 'number' or group.lr < 0 then
    errors.raise('argument', ('%s: invalid learning rate: %s'):format(class.of(self).__name, tostring(group.lr)))
  end
  self:_check_not_negative(group, {'weight_decay', 'eps', 'momentum', 'lr_decay', 'initial_accumulator_value'})
end

function Optimizer:_check_not_negative(group, names)
  for _, name in ipairs(names) do
    local value = group[name]
    if value ~= nil and (type(value) ~= 'number' or value < 0) then
      errors.raise('argument', ('%s: invalid %s: %s'):format(class.of(self).__name, name, tostring(value)))
    end
  end
end

-- State that exists before the first step.
function Optimizer:_init_group() end

---The state of a parameter, made empty when there is none yet.
---@param param torch.Tensor
---@return table
function Optimizer:_state_of(param)
  local state = self.state[param]
  if not state then
    state = ordered.new()
    self.state[param] = state
  end
  return state
end

-- Lists of parameters that have a gradient, with it, by dtype and device: a fused kernel takes one kind.
local function batches(group)
  local list, by_kind = {}, {}
  for _, param in ipairs(group.params) do
    local grad = param.grad
    if grad ~= nil then
      local kind = param.dtype .. tostring(param.device)
      local batch = by_kind[kind]
      if not batch then
        batch = {params = {}, grads = {}}
        by_kind[kind] = batch
        list[#list + 1] = batch
      end
      batch.params[#batch.params + 1] = param
      batch.grads[#batch.grads + 1] = grad
    end
  end
  return list
end

local function update_all(self)
  for _, group in ipairs(self.param_groups) do
    for _, batch in ipairs(batches(group)) do self:_update(group, batch.params, batch.grads) end
  end
end

---One step of optimization.
---@param closure? fun(): torch.Tensor computes the loss again, with gradients
---@return torch.Tensor|nil loss what the closure returned
function Optimizer:step(closure)
  local loss = closure and torch.enable_grad(closure) or nil
  torch.no_grad(update_all, self)
  return loss
end

---Forgets the gradients (`set_to_none = false` zeroes them). Gradients that DistributedDataParallel holds in its
---buckets are always zeroed in place.
---@param options? {set_to_none: boolean} default true
function Optimizer:zero_grad(options)
  options = args.options(options, {'set_to_none'}, 'zero_grad')
  for _, group in ipairs(self.param_groups) do
    parameter.zero_grads(group.params, options.set_to_none ~= false)
  end
end

---State and options, in the layout of Python's: parameters are numbered from 0 over all groups.
---@return table state rtrain.ordered map {state, param_groups}
function Optimizer:state_dict()
  local state, groups, count = setmetatable({}, torch._intmap_meta), {}, 0
  for i, group in ipairs(self.param_groups) do
    local packed, indices = ordered.new(), {}
    for name, value in ordered.items(group) do
      if name ~= 'params' then packed[name] = value end
    end
    for k, param in ipairs(group.params) do
      indices[k] = count
      local of_param = self.state[param]
      if of_param and ordered.len(of_param) > 0 then state[count] = of_param end
      count = count + 1
    end
    packed.params = torch.list(indices)
    groups[i] = packed
  end
  return ordered.new{{'state', state}, {'param_groups', torch.list(groups)}}
end

local function items_of(map)
  if ordered.is(map) then return ordered.keys(map) end
  local keys = {}
  for key in next, map do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function check_groups(self, groups)
  local name = class.of(self).__name
  if #groups ~= #self.param_groups then
    errors.raise('argument', ('%s: the loaded state dict has %d parameter groups, the optimizer %d'):format(name,
      #groups, #self.param_groups))
  end
  for i, group in ipairs(groups) do
    if #group.params ~= #self.param_groups[i].params then
      errors.raise('argument', ("%s: group %d of the loaded state dict has %d parameters, the optimizer's %d"):format(
        name, i, #group.params, #self.param_groups[i].params))
    end
  end
end

-- Moments get the parameter's dtype and device; `step` stays float32.
local function adopt(name, value, param)
  if not is_tensor(value) then return value end
  if name == 'step' then return value:clone() end
  return value:to{dtype = param.dtype, device = param.device, copy = true}
end

---Takes over state and options of a state_dict, from here or from Python.
---@param given table
---Raises code 'argument' when groups or their numbers of parameters differ.
function Optimizer:load_state_dict(given)
  if type(given) ~= 'table' or type(given.param_groups) ~= 'table' or type(given.state) ~= 'table' then
    errors.raise('argument', class.of(self).__name .. ': expected a state dict with state and param_groups')
  end
  check_groups(self, given.param_groups)
  local new_state = {}
  for i, group in ipairs(given.param_groups) do
    local own = self.param_groups[i]
    for k, index in ipairs(group.params) do
      local param, loaded = own.params[k], given.state[tonumber(index)]
      if loaded then
        local adopted = ordered.new()
        for _, name in ipairs(items_of(loaded)) do adopted[name] = adopt(name, loaded[name], param) end
        new_state[param] = adopted
      end
    end
    for _, name in ipairs(items_of(group)) do
      if name ~= 'params' then own[name] = group[name] end
    end
  end
  self.state = new_state
end

function Optimizer.__tostring(self)
  local out = {class.of(self).__name .. ' ('}
  for i, group in ipairs(self.param_groups) do
    out[#out + 1] = 'Parameter Group ' .. (i - 1)
    local names = {}
    for _, name in ipairs(ordered.keys(group)) do
      if name ~= 'params' then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do
      out[#out + 1] = ('    %s: %s'):format(name, require('torch.nn.repr').value(group[name]))
    end
    out[#out + 1] = ''
  end
  out[#out] = ')'
  return table.concat(out, '\n')
end

return {Optimizer = Optimizer}

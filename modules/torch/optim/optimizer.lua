-- torch/optim/optimizer.lua: Optimizer: the base of all optimizers: parameter groups, the step, hooks.
--
-- A group is an ordered map of options with its parameters under `params`; `state[param]` is an ordered map, empty at
-- first, that the optimizer fills. An optimizer of this library has `_options` and either updates a Plan's batches
-- (`_update`, see plan.lua) or, like a user's own, defines `step`.

local args = require 'base.args'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local errors = require 'base.errors'
local hooks = require 'torch.optim.hooks'
local host_update = require 'torch.optim.host_update'
local list_length = require 'base.list_length'
local ordered = require 'base.ordered'
local parameter = require 'torch.nn.parameter'
local phases = require 'base.phases'
local Plan = require 'torch.optim.plan'
local Rates = require 'torch.optim.rates'
local repr = require 'torch.nn.repr'
local shards = require 'torch.tensor.shards'
local state_dict = require 'torch.optim.state_dict'
local state_map = require 'torch.optim.state_map'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'
local warnings = require 'base.warnings'

---@alias optim.Params torch.Tensor[]|table[]|function

---Base of the optimizers. Their constructors take the parameters (a list of tensors, a list of groups
---`{params = …, lr = …}`, or `model:named_parameters()`), then the options in Python's order or by name.
---
---```lua
---local torch = require 'torch'
---local a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
---local optimizer = torch.optim.SGD({{params = a:parameters(), lr = 0.1}, {params = b:parameters()}}, {lr = 1})
---assert(optimizer.param_groups[1].lr == 0.1 and optimizer.param_groups[2].lr == 1)
---```
---
---A custom optimizer extends it, passes the defaults to `init` and defines `step(closure)`:
---
---```lua
---local torch = require 'torch'
---local Descent = torch.optim.Optimizer:extend 'Descent'
---function Descent:init(params, lr) torch.optim.Optimizer.init(self, params, {lr = lr}) end
---function Descent:step()
---  torch.no_grad(function()
---    for _, group in ipairs(self.param_groups) do
---      for _, param in ipairs(group.params) do param:add_(param.grad, {alpha = -group.lr}) end
---    end
---  end)
---end
---local x = torch.tensor({1}, {requires_grad = true})
---torch.sum(x * 3):backward()
---Descent({x}, 0.1):step()
---assert(math.abs(x:item() - 0.7) < 1e-6)
---```
---
---Its state for a parameter is in `self.state[param]`, which is initially an empty map; state_dict saves it.
---
---```lua
---local torch = require 'torch'
---local Momentum = torch.optim.Optimizer:extend 'Momentum'
---function Momentum:init(params, lr) torch.optim.Optimizer.init(self, params, {lr = lr}) end
---function Momentum:step()
---  torch.no_grad(function()
---    for _, group in ipairs(self.param_groups) do
---      for _, param in ipairs(group.params) do
---        local state = self.state[param]
---        state.mean = (state.mean or torch.zeros_like(param)) * 0.9 + param.grad
---        param:add_(state.mean, {alpha = -group.lr})
---      end
---    end
---  end)
---end
---local x = torch.tensor({1}, {requires_grad = true})
---local optimizer = Momentum({x}, 0.1)
---for _ = 1, 2 do
---  optimizer:zero_grad()
---  torch.sum(x):backward()
---  optimizer:step()
---end
---assert(optimizer:state_dict().state[0].mean:item() > 1.8)
---```
---@class optim.Optimizer
---@field defaults table base.ordered map: the options of groups that do not have their own
---@field param_groups table[] 1-based; each has its options and `params`
---@field state table<torch.Tensor, table>
local Optimizer = class('Optimizer')

-- Whether a CUDA graph can contain a step: it then reads from Lua only options that do not change, and takes the
-- learning rates from tensors of this dtype.
Optimizer._can_be_captured, Optimizer._rate_dtype = false, 'float64'

local function describe(value)
  local of = class.of(value)
  return of and of.__name or type(value)
end

local function is_tensor(value) return type(value) == 'userdata' and torch.is_tensor(value) end

local function raise(self, text, ...) errors.raise('argument', class.of(self).__name .. ': ' .. text:format(...)) end

-- Returns the {name, tensor} pairs of an iterator such as named_parameters().
local function pairs_of(iterator)
  local list = {}
  for name, param in iterator do list[#list + 1] = {name, param} end
  return list
end

-- Returns one group for a list of tensors, or the groups of a list of tables with `params`.
local function group_list(self, params)
  if type(params) == 'function' then params = pairs_of(params) end
  if is_tensor(params) or type(params) ~= 'table' or class.of(params) then
    raise(self, 'expected a list of parameters, got %s: pass model:parameters()',
      is_tensor(params) and 'a Tensor' or describe(params))
  end
  if list_length(class.of(self).__name, params) == 0 then raise(self, 'optimizer got an empty parameter list') end
  local first = params[1]
  if is_tensor(first) or type(first) == 'table' and is_tensor(first[2]) then return {{params = params}} end
  return params
end

-- Returns the defaults of a user-defined optimizer: sorted by name if the table has no order.
local function defaults_of(given)
  local defaults = ordered.new()
  for _, name in ipairs(ordered.keys_of(given or {})) do defaults[name] = given[name] end
  return defaults
end

---@param params optim.Params parameters, groups {params = …, lr = …}, or model:named_parameters()
---@param ... any the options, in Python's order or by name; a custom optimizer passes its table of defaults
---Raises code 'argument' for values that are not parameters, and with the name of the option for an impossible value.
function Optimizer:init(params, ...)
  if self._options then
    params, self.defaults = self._options:bind(params, ...)
  else
    self.defaults = defaults_of(...)
  end
  self.param_groups, self.state, self._plans = {}, state_map.new(), {}
  for _, group in ipairs(group_list(self, params)) do self:add_param_group(group) end
  if virtual_ranks.get() then self:_wrap_own_step() end
end

local function check_param(self, param, seen)
  if not is_tensor(param) then raise(self, 'can only optimize Tensors, got %s', describe(param)) end
  if not param.is_leaf then raise(self, "can't optimize a non-leaf Tensor") end
  if seen[param] then raise(self, 'a parameter appears more than once') end
  seen[param] = true
end

-- Returns the tensors, and their names if the list has pairs {name, tensor}.
local function split_names(self, given)
  if is_tensor(given) then return {given} end
  if type(given) == 'function' then given = pairs_of(given) end
  if type(given) ~= 'table' then raise(self, 'a parameter group needs params, a list of Tensors') end
  if not class.of(given) then list_length(class.of(self).__name, given) end
  local params, names = {}, {}
  for i, item in ipairs(given) do
    local pair = type(item) == 'table' and is_tensor(item[2])
    params[i] = pair and item[2] or item
    if pair then names[#names + 1] = item[1] end
  end
  if #names > 0 and #names ~= #params then raise(self, 'either all parameters have names or none') end
  return params, #names > 0 and names or nil
end

local function check_params(self, params, names)
  local seen = {}
  for _, other in ipairs(self.param_groups) do
    for _, param in ipairs(other.params) do seen[param] = true end
    if (other.param_names ~= nil) ~= (names ~= nil) then
      raise(self, 'either the parameters of all groups have names or those of none')
    end
  end
  for _, param in ipairs(params) do check_param(self, param, seen) end
end

-- Refuses rows of parameters, of which the optimizer would compute other statistics than of the whole ones.
local function check_whole(self, params)
  for _, param in ipairs(params) do
    local shard = shards.of(param)
    if shard then
      raise(self, "the parameter '%s' is sharded (fully_shard), and this optimizer computes with whole parameters: take AdamW, "
        .. 'SGD, Muon or another one that works on rows', shard.name)
    end
  end
end

-- A group may change its list, such as betas, which all optimizers of the class have as default.
local function own_copy(value)
  if type(value) ~= 'table' or getmetatable(value) ~= nil then return value end
  local copy = {}
  for key, item in next, value do copy[key] = item end
  return copy
end

---Adds parameters with separate options, for example a new layer's.
---@param group table {params = tensors, option = value, …}
function Optimizer:add_param_group(group)
  local allowed = {'params'}
  for i, name in ipairs(self._options and self._options.keys or ordered.keys(self.defaults)) do allowed[i + 1] = name end
  args.options(group, allowed, class.of(self).__name .. ': parameter group')
  local params, names = split_names(self, group.params)
  check_params(self, params, names)
  local new = ordered.new{{'params', params}, {'param_names', names}}
  for _, name in ipairs(allowed) do
    if name ~= 'params' then
      local value = group[name]
      if value == nil then value = own_copy(self.defaults[name]) end
      new[name] = value
    end
  end
  if self._options then self._options:check(new) end
  if self._check_group then self:_check_group(new) end
  if self._needs_whole then check_whole(self, params) end
  self.param_groups[#self.param_groups + 1] = new
  if self._options and new.capturable then self._rates = self._rates or Rates.new(self, self._rate_dtype) end
  if self._init_group then self:_init_group(new) end
end

---Returns whether a tensor of the state has a row for each row of its parameter: of a sharded parameter each rank has its
---rows of it, of another one the whole. Optimizers whose state has other shapes than their parameters override it.
---@param _ string the name in the state
---@param shape integer[] of the tensor
---@param of_param integer[] shape of the parameter, both as a whole or both as this rank's rows
---@return boolean
function Optimizer:_has_rows(_, shape, of_param) return table.concat(shape, ' ') == table.concat(of_param, ' ') end

---Returns the state of a parameter, also if the script has replaced `state` by a plain table.
---@param param torch.Tensor
---@return table
function Optimizer:_state_of(param)
  local state = self.state[param]
  if state == nil then
    state = ordered.new()
    self.state[param] = state
  end
  return state
end

---Returns the group's learning rate for a step: the number, or a tensor on the device if a CUDA graph may contain the
---step.
---@param group table
---@param device string
---@return number|torch.Tensor
function Optimizer:_lr_of(group, device)
  if not self._rates then return Rates.number(group.lr) end
  return self._rates:of(group, device)
end

---Prepares the steps for a CUDA graph.
---@param is_capturing boolean whether a capture has begun
---@return string|nil refusal why that is impossible
function Optimizer:_make_capturable(is_capturing)
  local name = class.of(self).__name
  if not self._can_be_captured then
    return ('%s: a CUDA graph cannot hold its step, which computes on the host: take Adam, AdamW, SGD, Adagrad, Adadelta, '
      .. 'Adamax, RMSprop, Rprop or Muon, or call step() outside of the graph'):format(name)
  end
  if self._rates then return nil end
  if is_capturing then
    return ('%s: step() was called in a capture, but its learning rate is not on the device yet: create it with capturable = '
      .. 'true and call step() before the capture, as train.graph does'):format(name)
  end
  self._rates, self._plans = Rates.new(self, self._rate_dtype), {}
end

-- Warns once for each optimizer.
local function warn_of_no_gradient(self)
  if self._has_warned then return end
  self._has_warned = true
  warnings.warn(('%s: no parameter of this optimizer has a gradient, so step() changed nothing: is it the optimizer of another '
    .. 'model, or is loss:backward() missing?'):format(class.of(self).__name))
end

local function check_not_replaced(self)
  if not shards.has_replaced() then return end
  for _, group in ipairs(self.param_groups) do
    for _, param in ipairs(group.params) do
      local name = shards.name_of_replaced(param)
      if name then
        raise(self, "it was made before fully_shard, which has put this rank's rows in the place of the parameter '%s': make "
          .. 'the optimizer after the model is sharded', name)
      end
    end
  end
end

local function update_groups(self)
  check_not_replaced(self)
  local has_gradient = false
  if self._rates and not capture.is_capturing() then self._rates:write() end
  for _, group in ipairs(self.param_groups) do
    local plan, grads = Plan.of(self, group)
    if plan then
      has_gradient = true
      for _, batch in ipairs(plan.batches) do host_update.run(self, group, plan.names, batch, batch:pick(grads)) end
      -- No other code has these handles: zero_grad can free the gradients before the garbage collector runs.
      for i = 1, #grads do grads[i]:release() end
    end
  end
  if not has_gradient then warn_of_no_gradient(self) end
end

---Makes a step without its hooks.
function Optimizer:_step_alone()
  if self._update then torch.no_grad(update_groups, self) else class.of(self).step(self) end
end

---Takes one step of optimization.
---@param closure? fun(): torch.Tensor recomputes the loss, with gradients
---@return torch.Tensor|nil loss the result of the closure
function Optimizer:step(closure)
  if virtual_ranks.holds_step(class.of(self).__name, closure) then return nil end
  if capture.current then capture.current:add_optimizer(self) end
  local depth = phases.enter(phases.OPTIMIZER)
  local given = hooks.run(self, 'step_pre', {closure})
  local loss
  if given[1] then loss = torch.enable_grad(given[1]) end
  if not self._update then raise(self, 'an optimizer of your own defines step(closure)') end
  self:_step_alone()
  hooks.run(self, 'step_post', given)
  hooks.made{self}
  require('torch._C').step_boundary()  -- the graph of this step is garbage now
  phases.leave(depth)
  return loss
end

---Drops the gradients (`set_to_none = false` zeroes them). Gradients in buckets of DistributedDataParallel
---are always zeroed in place.
---@param options? {set_to_none: boolean} default true
function Optimizer:zero_grad(options)
  if type(options) == 'boolean' then options = {set_to_none = options} end
  options = args.options(options, {'set_to_none'}, 'zero_grad')
  for _, group in ipairs(self.param_groups) do
    parameter.zero_grads(group.params, options.set_to_none ~= false)
  end
end

-- Wraps the step of a user-defined optimizer, which does not call hooks itself.
function Optimizer:_wrap_own_step()
  local step = self.step
  if class.of(self).step == Optimizer.step or self._runs_hooks then return end
  self._runs_hooks = true
  self.step = class.checked('step', function(optimizer, closure)
    if virtual_ranks.holds_step(class.of(optimizer).__name, closure) then return nil end
    local given = hooks.run(optimizer, 'step_pre', {closure})
    local loss = step(optimizer, given[1])
    hooks.run(optimizer, 'step_post', given)
    hooks.made{optimizer}
    return loss
  end)
end

---Runs fn(optimizer, {closure}) before each step; a list that it returns replaces the arguments.
---
---```lua
---local torch = require 'torch'
---local optimizer, steps = torch.optim.SGD({torch.ones(1, {requires_grad = true})}), 0
---local handle = optimizer:register_step_pre_hook(function() steps = steps + 1 end)
---optimizer:step()
---handle.remove()
---optimizer:step()
---assert(steps == 1)
---```
---@param fn fun(optimizer: optim.Optimizer, args: any[]): any[]|nil
---@return {remove: fun()} handle
function Optimizer:register_step_pre_hook(fn)
  self:_wrap_own_step()
  return hooks.add(self, 'step_pre', fn)
end

---Runs fn(optimizer, {closure}) after each step.
---@param fn fun(optimizer: optim.Optimizer, args: any[])
---@return {remove: fun()} handle
function Optimizer:register_step_post_hook(fn)
  self:_wrap_own_step()
  return hooks.add(self, 'step_post', fn)
end

local function prepends(options) return args.options(options, {'prepend'}, 'register hook').prepend end

---Runs fn(optimizer) before state_dict.
---@param fn fun(optimizer: optim.Optimizer)
---@param options? {prepend: boolean} before the existing hooks
---@return {remove: fun()} handle
function Optimizer:register_state_dict_pre_hook(fn, options)
  return hooks.add(self, 'state_dict_pre', fn, prepends(options))
end

---Runs fn(optimizer, state) after state_dict; its result, if any, replaces the state.
---@param fn fun(optimizer: optim.Optimizer, state: table): table|nil
---@param options? {prepend: boolean}
---@return {remove: fun()} handle
function Optimizer:register_state_dict_post_hook(fn, options)
  return hooks.add(self, 'state_dict_post', fn, prepends(options))
end

---Runs fn(optimizer, state) before load_state_dict; its result, if any, is loaded instead.
---@param fn fun(optimizer: optim.Optimizer, state: table): table|nil
---@param options? {prepend: boolean}
---@return {remove: fun()} handle
function Optimizer:register_load_state_dict_pre_hook(fn, options)
  return hooks.add(self, 'load_state_dict_pre', fn, prepends(options))
end

---Runs fn(optimizer) after load_state_dict.
---@param fn fun(optimizer: optim.Optimizer)
---@param options? {prepend: boolean}
---@return {remove: fun()} handle
function Optimizer:register_load_state_dict_post_hook(fn, options)
  return hooks.add(self, 'load_state_dict_post', fn, prepends(options))
end

---Returns state and options, in Python's layout: parameters are numbered from 0 over all groups.
---@return table state base.ordered map {state, param_groups}; its tensors are the optimizer's own
function Optimizer:state_dict()
  hooks.run(self, 'state_dict_pre')
  return hooks.run(self, 'state_dict_post', state_dict.pack(self))
end

---Loads state and options of a state_dict, from here or from Python. The tensors are copied.
---@param state table
---Raises code 'argument' if groups or their numbers of parameters differ; then nothing is changed.
function Optimizer:load_state_dict(state)
  state_dict.load(self, hooks.run(self, 'load_state_dict_pre', state))
  hooks.run(self, 'load_state_dict_post')
end

function Optimizer.__tostring(self)
  local out = {class.of(self).__name .. ' ('}
  for i, group in ipairs(self.param_groups) do
    out[#out + 1] = 'Parameter Group ' .. (i - 1)
    local names = {}
    for k, name in ipairs(state_dict.group_keys(self, group)) do names[k] = name end
    table.sort(names)
    for _, name in ipairs(names) do
      out[#out + 1] = ('    %s: %s'):format(name, repr.value(group[name]))
    end
    out[#out + 1] = ''
  end
  out[#out] = ')'
  return table.concat(out, '\n')
end

return {Optimizer = Optimizer}

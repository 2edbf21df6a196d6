-- torch/optim/plan.lua: Plan: the parameters of a group that a step updates, and their state, as lists for operators.
--
-- Building these lists costs more than updating small parameters, so a plan is kept from step to step. Each step checks
-- it: the plan is rebuilt if other parameters have a gradient, the state was loaded or replaced, or the group's options
-- require other state. Right after such a change the plan is `loose` (nothing is merged in memory); after two equal
-- steps `_prepare` may do more. Optimizers define
--
--   _names(group)                 → {scalars = {…}, tensors = {…}}, always the same table for the same names
--   _start(state, group, param)   adds the missing names to the state of a parameter
--   _kind(state)                  → string, optional: parameters of different kinds are updated separately
--   _prepare(group, batch, loose) optional
--   _update(group, batch, grads)  one step for the parameters of a batch

local capture = require 'torch.cuda.capture'
local errors = require 'base.errors'
local torch = require 'torch'

---@class optim.Batch parameters of one dtype, device and layout of gradients
---@field params torch.Tensor[]
---@field states table[]
---@field lists table<string, torch.Tensor[]> for each name of the state
---@field packed table<string, torch.Tensor> scalars that are views of one tensor
---@field indices? integer[] places of the gradients among the plan's; nil for all
---@field strides? integer[][] strides of the parameters, which Fused has given to their state
---@field sparse boolean whether the gradients are sparse
---@field dtype string
---@field device string
---@field complex boolean
local Batch = {}
Batch.__index = Batch

---Returns the gradients of this batch.
---@param grads torch.Tensor[] the plan's gradients
---@return torch.Tensor[]
function Batch:pick(grads)
  if not self.indices then return grads end
  local own = {}
  for i, index in ipairs(self.indices) do own[i] = grads[index] end
  return own
end

---Puts a scalar of all states into one tensor; the states get views of it. One call then changes all.
---@param states table[]
---@param name string
---@return torch.Tensor packed one element for each state
local function pack(states, name)
  local list = {}
  for i, state in ipairs(states) do list[i] = state[name] end
  local packed = torch.stack(list)
  for i, view in ipairs(packed:unbind(0)) do states[i][name] = view end
  return packed
end

---Increments the count of steps of all parameters.
function Batch:count_step()
  if self.packed.step then self.packed.step:add_(1) else torch._foreach_add_(self.lists.step, 1) end
end

local Plan = {pack = pack}
Plan.__index = Plan

local function new_batch(param, grad)
  return setmetatable({params = {}, states = {}, indices = {}, lists = {}, packed = {}, dtype = param.dtype,
                       device = param.device, sparse = grad.is_sparse, complex = param:is_complex()}, Batch)
end

-- Groups parameters with a gradient by kind, in order.
local function batches_of(optimizer, plan, grads)
  local list, by_kind = {}, {}
  for n, param in ipairs(plan.params) do
    local grad, state = grads[n], plan.states[n]
    local kind = ('%s %s %s %s'):format(param.dtype, param.device, grad.layout, optimizer._kind and
      optimizer:_kind(state) or '')
    local batch = by_kind[kind]
    if not batch then
      batch = new_batch(param, grad)
      by_kind[kind], list[#list + 1] = batch, batch
    end
    local i = #batch.params + 1
    batch.params[i], batch.states[i], batch.indices[i] = param, state or false, n
  end
  if #list == 1 then list[1].indices = nil end
  return list
end

local function state_lists(states, names)
  local lists = {}
  for _, kind in ipairs{'scalars', 'tensors'} do
    for _, name in ipairs(names[kind]) do
      local list = {}
      for i, state in ipairs(states) do list[i] = state[name] end
      lists[name] = list
    end
  end
  return lists
end

local function start_state(optimizer, group, param)
  local state = optimizer:_state_of(param)
  if type(state.step) == 'number' then state.step = Plan.scalar(state.step) end
  optimizer:_start(state, group, param)
  return state
end

-- Raises an error in a capture, since its replays would make the state again.
local function check_no_capture()
  if not capture.is_capturing() then return end
  errors.raise('argument', 'an optimizer stepped in a capture, but its state is not there yet or other parameters have a '
    .. 'gradient than in the step before: call the same step() before the capture, as train.graph does')
end

local function build(optimizer, group, names, present, loose)
  check_no_capture()
  if capture.current then capture.current:note_new_state() end
  local plan = setmetatable({names = names, params = present.params, states = {}, loose = loose}, Plan)
  local has_state = #names.scalars + #names.tensors > 0
  for n, param in ipairs(present.params) do
    plan.states[n] = has_state and start_state(optimizer, group, param)
      or rawget(optimizer.state, param)
  end
  plan.batches = batches_of(optimizer, plan, present.grads)
  for _, batch in ipairs(plan.batches) do
    if optimizer._prepare then optimizer:_prepare(group, batch, loose) end
    if has_state then batch.lists = state_lists(batch.states, names) end
  end
  plan.watched = {}
  if has_state then
    for name, list in next, state_lists(plan.states, names) do plan.watched[#plan.watched + 1] = {name, list} end
  end
  return plan
end

---Returns whether the n-th parameter and its state are those of the plan.
---@param n integer
---@param param torch.Tensor
---@param state? table
---@return boolean
function Plan:holds(n, param, state)
  if self.params[n] ~= param or self.states[n] ~= state then return false end
  local watched = self.watched
  for i = 1, #watched do
    local entry = watched[i]
    if state[entry[1]] ~= entry[2][n] then return false end
  end
  return true
end

-- Returns the existing gradients, and whether the plan fits them.
local function collect(optimizer, group, plan)
  local params, state, grads, n = group.params, optimizer.state, {}, 0
  local fits = plan ~= nil
  for i = 1, #params do
    local param = params[i]
    local grad = param.grad
    if grad ~= nil then
      n = n + 1
      grads[n] = grad
      fits = fits and plan:holds(n, param, rawget(state, param))
    end
  end
  return grads, fits and n == #plan.params
end

-- A model may be cast or moved between steps.
function Plan:_has_kinds()
  for _, batch in ipairs(self.batches) do
    local param = batch.params[1]
    if param.dtype ~= batch.dtype or param.device ~= batch.device then return false end
  end
  return true
end

local function with_gradient(group)
  local params = {}
  for _, param in ipairs(group.params) do
    if param.grad ~= nil then params[#params + 1] = param end
  end
  return params
end

---Returns the plan for the gradients that the group's parameters have now.
---@param optimizer optim.Optimizer
---@param group table
---@return table? plan with `batches`; nil if no parameter has a gradient
---@return torch.Tensor[]? grads
function Plan.of(optimizer, group)
  local names, plan = optimizer:_names(group), optimizer._plans[group]
  if plan and (plan.names ~= names or not plan:_has_kinds()) then plan = nil end
  local grads, fits = collect(optimizer, group, plan)
  if #grads == 0 then return nil end
  if not fits or plan.loose then
    local loose = plan ~= nil and not fits
    plan = build(optimizer, group, names, {params = with_gradient(group), grads = grads}, loose)
    optimizer._plans[group] = plan
  end
  return plan, grads
end

---Returns a number of the state that Python keeps as a tensor, such as `step`.
---@param value number
---@param options? {dtype: string, device: string} default: a CPU tensor of the default dtype, float32 or float64
---@return torch.Tensor
function Plan.scalar(value, options)
  local dtype = torch.get_default_dtype() == 'float64' and 'float64' or 'float32'
  return torch.tensor(value, options or {dtype = dtype})
end

return Plan

-- torch/optim/host_update.lua: updates that train.compile does not record operator by operator.
--
-- A plan calls operators with the numbers of its recording. Where Lua computes a number in each step (a correction that
-- depends on the count of steps, a learning rate that changes and is an operator's number), the plan calls the update.

local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local shards = require 'torch.tensor.shards'

local host_update = {}

-- What the update changes: parameters and their state, in the order of names.
local function changed_by(batch, names)
  local out = {unpack(batch.params)}
  for _, kind in ipairs{'scalars', 'tensors'} do
    for _, name in ipairs(names[kind]) do
      for i in ipairs(batch.params) do out[#out + 1] = batch.lists[name] and batch.lists[name][i] end
    end
  end
  return out
end

local function is_used(optimizer, group) return optimizer._updates_on_host or group.fused == false end

-- Options that are numbers of operators, and have changed between recordings, will change between calls of a plan.
local function note_options(optimizer, group)
  local recorded = optimizer._recorded_groups and optimizer._recorded_groups[group]
  if recorded and capture.changed_option(group, recorded) then optimizer._updates_on_host = true end
end

---Updates the parameters of a batch.
---@param optimizer optim.Optimizer `_updates_on_host`: a plan calls its update; `_recorded_groups`: by group, the options
---  that the last recording took as given
---@param group table
---@param names {scalars: string[], tensors: string[]} of the state
---@param batch table
---@param grads torch.Tensor[]
function host_update.run(optimizer, group, names, batch, grads)
  local is_recorded = capture.current and capture.current.add_rate
  if is_recorded then note_options(optimizer, group) end
  if not is_recorded or not is_used(optimizer, group) then return optimizer:_update(group, batch, grads) end
  local function update(_, read)
    optimizer:_update(group, batch, read)
    for i = 1, #read do read[i]:release() end
  end
  local name = class.of(optimizer).__name .. ':step()'
  shards.with_rows(require('torch._C').recording.effect, name, update, changed_by(batch, names), grads)
end

-- Keeps the options that decide which operators an update has.
local function without_numbers(given)
  local names = {}
  for _, name in ipairs(given.names) do
    local kind = type(given.values[name])
    if kind ~= 'number' and kind ~= 'table' then names[#names + 1] = name end
  end
  return names
end

---Called when a recording is complete: completes what its plan takes as given of the groups.
---@param optimizer optim.Optimizer
---@param given {names: string[], values: table}[] by number of the group: the options that are compared
---@param rated table<table, integer> the groups whose learning rate the plan takes in each call
function host_update.settle(optimizer, given, rated)
  optimizer._recorded_groups = {}
  for k, group in ipairs(optimizer.param_groups) do
    if is_used(optimizer, group) then
      given[k].names, given[k].state_names = without_numbers(given[k]), optimizer:_names(group)
    elseif not rated[group] and not optimizer._rates then
      given[k].names[#given[k].names + 1], given[k].values.lr = 'lr', group.lr
    end
    optimizer._recorded_groups[group] = given[k]
  end
end

---Returns what an update in a plan takes as given and has changed.
---@param optimizer optim.Optimizer
---@param given {state_names?: table}[] by number of the group
---@return string|nil change
function host_update.change(optimizer, given)
  for k, group in ipairs(optimizer.param_groups) do
    local names = given[k].state_names
    if names and optimizer:_names(group) ~= names then return ('group %d needs another state now'):format(k) end
  end
end

return host_update

-- rtrain/elastic/replica.lua: the rows of a sharded model that another rank has, kept here too, with the optimizers'
-- state of them: the loss of a rank then costs no checkpoint.
--
-- The ranks form a ring, and each keeps the rows of the one before it. Before an optimizer's step each rank sends the
-- gradients of its rows to the next one. When all have them (Commits:prepare), each rank makes the step twice: with its
-- rows, and with those that it keeps. The same numbers give the same bits, so a kept copy is at the same step as its
-- owner without being sent, and nobody has to take a step back.

local class = require 'base.class'
local errors = require 'base.errors'
local messages = require 'rtrain.elastic.messages'
local ordered = require 'base.ordered'
local ring = require 'rtrain.elastic.ring'
local shards = require 'torch.tensor.shards'
local state_map = require 'torch.optim.state_map'
local torch = require 'torch'

---@class elastic.Replica
---@field previous integer the rank whose rows are kept here
---@field next integer the rank that keeps the rows of this one
local Replica = class 'Replica'

-- Returns the sharded parameters, in an order that all ranks share.
local function sharded_params(modules)
  local params, seen = {}, {}
  for _, module in ordered.items(modules) do
    for _, param in ipairs(module:parameters()) do
      if shards.of(param) and not seen[param] then
        seen[param] = true
        params[#params + 1] = param
      end
    end
  end
  return params
end

---@param modules table ordered, by name
---@param optimizers table ordered, by name
function Replica:init(modules, optimizers)
  self._params, self._optimizers = sharded_params(modules), {}
  for _, optimizer in ordered.items(optimizers) do table.insert(self._optimizers, optimizer) end
end

-- Returns tensors for the rows of a rank, by parameter.
local function rows_of(self, rank, world_size)
  local rows, shard_rows = {}, require('torch._C').distributed.shard_rows
  for _, param in ipairs(self._params) do
    local sizes = {unpack(shards.of(param).sizes)}
    local _, count = shard_rows(sizes[1], rank, world_size)
    sizes[1] = count
    rows[param] = torch.zeros(sizes, {dtype = param.dtype, device = param.device})
  end
  return rows
end

local function each_param(optimizer, fn)
  for _, group in ipairs(optimizer.param_groups) do
    for _, param in ipairs(group.params) do fn(param) end
  end
end

local function num_params(optimizer)
  local count = 0
  each_param(optimizer, function() count = count + 1 end)
  return count
end

-- Returns an optimizer of the kept rows: what the given one is, with parameters and a state of its own.
local function twin_of(self, optimizer)
  local twin = setmetatable({}, getmetatable(optimizer))
  for name, value in next, optimizer do twin[name] = value end
  twin.step, twin._hooks = nil, nil
  twin.state, twin._plans, twin.param_groups = state_map.new(), {}, {}
  for i, group in ipairs(optimizer.param_groups) do
    local params = {}
    for _, param in ipairs(group.params) do params[#params + 1] = self._rows[param] end
    twin.param_groups[i] = ordered.new{{'params', params}}
  end
  return twin
end

local function versions(self)
  local sum = 0
  for _, param in ipairs(self._params) do sum = sum + param._version end
  return sum
end

-- Records that this rank and the next one have the same.
local function record(self)
  self._versions, self._states = versions(self), {}
  for _, optimizer in ipairs(self._optimizers) do
    self._states[optimizer] = {state = optimizer.state, num_params = num_params(optimizer)}
  end
end

-- Whether something else than a step has changed this rank's rows or an optimizer: the loading of a checkpoint.
local function has_changed(self)
  if self._versions ~= versions(self) then return true end
  for _, optimizer in ipairs(self._optimizers) do
    local recorded = self._states[optimizer]
    if optimizer.state ~= recorded.state or num_params(optimizer) ~= recorded.num_params then return true end
  end
  return false
end

local function make_twins(self)
  self._twins, self._grads = {}, {}
  for _, optimizer in ipairs(self._optimizers) do self._twins[optimizer] = twin_of(self, optimizer) end
end

---Joins the ring of the group: the first one of this process, or that of another attempt. A collective.
---@param context table
function Replica:connect(context)
  self._next_of = ring(messages.gathered(context, context.node_rank), context.world_size)
  self._previous_of = {}
  for rank, following in next, self._next_of do self._previous_of[following] = rank end
  self._rank = context.world_rank
  if self._rows then return end
  self._rows = rows_of(self, self._previous_of[self._rank], context.world_size)
  make_twins(self)
end

-- Returns rows of a parameter, and the state that each optimizer has of them: this rank's, or those that it keeps.
local function packed(self, param, is_kept)
  local key, states = is_kept and self._rows[param] or param, {}
  for i, optimizer in ipairs(self._optimizers) do
    states[i] = rawget(is_kept and self._twins[optimizer].state or optimizer.state, key) or false
  end
  return {rows = is_kept and key or require('torch._C').distributed.unmarked(param), states = states}
end

local function unpack_into(self, param, is_kept, given)
  local key = is_kept and self._rows[param] or param
  torch.no_grad(function() key:copy_(given.rows) end)
  for i, optimizer in ipairs(self._optimizers) do
    local own = is_kept and self._twins[optimizer] or optimizer
    own.state[key], own._plans = given.states[i] or nil, {}
  end
end

local function send_all(self, is_kept, rank)
  for _, param in ipairs(self._params) do messages.send(packed(self, param, is_kept), rank) end
end

local function receive_all(self, is_kept, rank)
  for _, param in ipairs(self._params) do unpack_into(self, param, is_kept, messages.receive(rank)) end
end

-- Sends this rank's rows to the next rank, and takes those of the previous one.
local function exchange_all(self)
  make_twins(self)
  local following, previous = self._next_of[self._rank], self._previous_of[self._rank]
  for _, param in ipairs(self._params) do
    unpack_into(self, param, true, messages.swap(packed(self, param, false), following, previous))
  end
  record(self)
end

-- Returns the gradients to send, and the tensors for those to receive.
local function gradients_of(self, optimizer)
  local sent, received, count = {}, {}, 0
  each_param(optimizer, function(param)
    local rows = self._rows[param]
    if not rows then return end
    local grad = param.grad
    if grad == nil then
      rows.grad = nil
      return
    end
    local kept = self._grads[param] or torch.empty_like(rows)
    rows.grad, self._grads[param], count = kept, kept, count + 1
    if grad:numel() > 0 then sent[#sent + 1] = grad end
    if rows:numel() > 0 then received[#received + 1] = kept end
  end)
  return sent, received, count
end

local function check_counts(most, least)
  if most == least then return end
  errors.raise('user', ('train.elastic: a rank has gradients of %d sharded parameters, another one of %d: with replicas = 1 '
    .. 'all ranks have those of the same ones'):format(most, least))
end

---Sends what the next rank keeps: all of it at first and after a change by something else than a step, and the gradients
---for a step that comes. A collective.
---@param optimizer? optim.Optimizer nil: no step comes
function Replica:send(optimizer)
  local sent, received, count = {}, {}, 0
  if optimizer then sent, received, count = gradients_of(self, optimizer) end
  local all = torch.tensor({has_changed(self) and 1 or 0, count, -count}, {dtype = torch.int64})
  torch.distributed.all_reduce(all, {op = 'max'})
  local is_changed, most, least = unpack(all:tolist())
  check_counts(most, -least)
  if is_changed > 0 then
    exchange_all(self)
    if optimizer then sent, received = gradients_of(self, optimizer) end
  end
  messages.exchange(sent, self._next_of[self._rank], received, self._previous_of[self._rank])
  for _, grad in ipairs(sent) do grad:release() end
end

---Makes the step that the given optimizer has made, with the kept rows.
---@param optimizer optim.Optimizer
function Replica:step(optimizer)
  local twin = self._twins[optimizer]
  for i, group in ipairs(optimizer.param_groups) do
    for name, value in ordered.items(group) do
      if name ~= 'params' then twin.param_groups[i][name] = value end
    end
  end
  twin:_step_alone()
  record(self)
end

---Returns whether the ranks that are left have the rows of all lost ones.
---@param held table<integer, integer> by rank: 0 for a lost one
---@return boolean
function Replica:is_complete(held)
  for rank, step in next, held do
    if step == 0 and held[self._next_of[rank]] == 0 then return false end
  end
  return true
end

---Gives the ranks that have taken the places of lost ones their rows, and those that they keep. A collective.
---@param held table<integer, integer> by rank: 0 for a lost one
function Replica:restore(held)
  for rank = 0, #held do
    if held[rank] == 0 then
      local following, previous = self._next_of[rank], self._previous_of[rank]
      if self._rank == following then send_all(self, true, rank) end
      if self._rank == rank then receive_all(self, false, following) end
      if self._rank == previous then send_all(self, false, rank) end
      if self._rank == rank then receive_all(self, true, previous) end
    end
  end
  record(self)
end

return Replica

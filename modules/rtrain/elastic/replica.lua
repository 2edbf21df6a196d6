-- rtrain/elastic/replica.lua: the rows of a sharded model that another rank has, kept here too, with the optimizers'
-- state of them: the loss of a rank then costs no checkpoint.
--
-- Each rank keeps the rows of one other rank, on another node where there is one (host/decide/row_keepers.h). Before an
-- optimizer's step each rank sends the gradients of its rows to the one that keeps them. When all have them
-- (Commits:prepare), each rank makes the step twice: with its rows, and with those that it keeps. The same numbers give the
-- same bits, so a kept copy is at the same step as its owner without being sent, and nobody has to take a step back.

local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local errors = require 'base.errors'
local host = require 'rtrain._elastic'
local index_of = require 'base.index_of'
local messages = require 'rtrain.elastic.messages'
local ordered = require 'base.ordered'
local rows = require 'rtrain.state.rows'
local state_map = require 'torch.optim.state_map'
local torch = require 'torch'

---@class elastic.Replica
local Replica = class 'Replica'

---@param modules table ordered, by name
---@param optimizers table ordered, by name
function Replica:init(modules, optimizers)
  self._params, self._optimizers = rows.params(modules), {}
  for _, optimizer in ordered.items(optimizers) do table.insert(self._optimizers, optimizer) end
end

-- Makes tensors for the rows of a rank, by parameter, which do not have them yet.
local function make_kept(self)
  self._kept, self._begin, self._are_kept = {}, {}, false
  for _, param in ipairs(self._params) do
    local range, shape = rows.range(param, self._previous, self._world_size), {unpack(param.shape)}
    shape[1] = range.count
    self._kept[param] = torch.empty(shape, {dtype = param.dtype, device = param.device})
    self._begin[param] = range.begin
  end
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
  twin.step, twin._hooks, twin._has_warned = nil, nil, true  -- the given one warns
  twin.state, twin._plans, twin.param_groups = state_map.new(), {}, {}
  for i, group in ipairs(optimizer.param_groups) do
    local params = {}
    for _, param in ipairs(group.params) do params[#params + 1] = self._kept[param] end
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

---Learns whose rows this rank keeps in the group: the first one of this process, or that of another attempt. A collective.
---@param context table
---@return integer[] keepers the rank that keeps each rank's rows
function Replica:connect(context)
  local numbers, nodes = messages.gathered(context, context.node_number or 0), {}
  for rank = 0, context.world_size - 1 do nodes[rank + 1] = numbers[rank] end
  local keepers = host.row_keepers(nodes)
  local previous = index_of(keepers, context.world_rank) - 1
  local is_same = self._world_size == context.world_size and self._previous == previous
  self._rank, self._world_size = context.world_rank, context.world_size
  self._next, self._previous = keepers[self._rank + 1], previous
  if is_same then return keepers end
  make_kept(self)
  make_twins(self)
  return keepers
end

-- Returns the rows of a parameter that this rank keeps for another one.
local function kept_rows(self, param)
  local kept, states = self._kept[param], {}
  for i, optimizer in ipairs(self._optimizers) do states[i] = rawget(self._twins[optimizer].state, kept) or false end
  return {begin = self._begin[param], rows = kept, states = states}
end

local function keep(self, param, given)
  local kept = self._kept[param]
  torch.no_grad(function() kept:copy_(given.rows) end)
  for i, optimizer in ipairs(self._optimizers) do
    local twin = self._twins[optimizer]
    twin.state[kept], twin._plans = given.states[i] or nil, {}
  end
end

-- Whether no other rank is there.
local function is_alone(self) return self._world_size == 1 end

-- Sends this rank's rows to the next rank, and takes those of the previous one.
local function exchange_all(self)
  self._are_kept = false
  make_twins(self)
  for _, param in ipairs(is_alone(self) and {} or self._params) do
    keep(self, param, messages.swap(rows.of(param, self._optimizers), self._next, self._previous))
  end
  self._are_kept = true
  record(self)
end

-- Sends this rank's rows to a new process that keeps them from now on.
local function hand_over(self, rank)
  for _, param in ipairs(self._params) do
    if self._next == rank then messages.send(rows.of(param, self._optimizers), rank) end
    if self._rank == rank then keep(self, param, messages.receive(self._previous)) end
  end
end

---Returns the gradients of this rank's rows. In a plan of train.compile they are not the parameters' yet.
---@param optimizer optim.Optimizer
---@return torch.Tensor[] grads
---@return table<torch.Tensor, integer> places of parameters that have one
function Replica:gradients(optimizer)
  local grads, places = {}, {}
  each_param(optimizer, function(param)
    local grad = self._kept[param] and param.grad
    if grad then grads[#grads + 1], places[param] = grad, #grads + 1 end
  end)
  return grads, places
end

-- Returns the gradients to send, and the tensors for those to receive.
local function gradients_of(self, optimizer, grads, places)
  local sent, received, count = {}, {}, 0
  each_param(optimizer, function(param)
    local kept = self._kept[param]
    if not kept then return end
    local grad = grads[places[param]]
    if grad == nil then
      kept.grad = nil
      return
    end
    local of_kept = self._grads[param] or torch.empty_like(kept)
    kept.grad, self._grads[param], count = of_kept, of_kept, count + 1
    if grad:numel() > 0 then sent[#sent + 1] = grad end
    if kept:numel() > 0 then received[#received + 1] = of_kept end
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
---@param grads? torch.Tensor[] a result of `gradients`
---@param places? table<torch.Tensor, integer> the other one
function Replica:send(optimizer, grads, places)
  if is_alone(self) then return end
  local sent, received, count = {}, {}, 0
  if optimizer then sent, received, count = gradients_of(self, optimizer, grads, places) end
  local all = torch.tensor({has_changed(self) and 1 or 0, count, -count}, {dtype = torch.int64})
  torch.distributed.all_reduce(all, {op = 'max'})
  local is_changed, most, least = unpack(all:tolist())
  check_counts(most, -least)
  if is_changed > 0 then
    exchange_all(self)
    if optimizer then sent, received = gradients_of(self, optimizer, grads, places) end
  end
  messages.exchange(sent, self._next, received, self._previous)
  for _, grad in ipairs(sent) do grad:release() end
end

-- A replica in a plan of train.compile: versions of parameters grow when the plan has run.
---@class elastic.ReplicaInPlan: torch.compile.Participant
local InPlan = class 'ReplicaInPlan'

---@param replica elastic.Replica
function InPlan:init(replica) self._replica = replica end

---Does nothing.
function InPlan:settle() end

---Returns nil: after a loss of ranks no plan is used again.
function InPlan:change() end

---Records that this rank and the next one have the same.
function InPlan:follow() record(self._replica) end

---Does nothing.
function InPlan:abandon() end

---Makes the step that the given optimizer has made, with the kept rows.
---@param optimizer optim.Optimizer
function Replica:step(optimizer)
  if is_alone(self) then return end
  local twin = self._twins[optimizer]
  for i, group in ipairs(optimizer.param_groups) do
    for name, value in ordered.items(group) do
      if name ~= 'params' then twin.param_groups[i][name] = value end
    end
  end
  local recorded = capture.current
  if recorded then recorded:add_participant(self, InPlan) end
  capture.current = nil  -- a plan calls this again
  twin:_step_alone()
  capture.current = recorded
  record(self)
end

---@return {rank: integer, kept: integer, size: integer} place this rank in its group; kept: the rank whose rows it keeps, -1
---  as long as it has not got all of them; -1 and 0 for a rank that has no rows yet
function Replica:place()
  return {rank = self._rank or -1, kept = self._are_kept and self._previous or -1, size = self._world_size or 0}
end

---Returns rows of a parameter: this rank's, or those that it keeps.
---@param param torch.Tensor
---@param is_kept boolean
---@return rtrain.Rows
function Replica:rows_of(param, is_kept)
  if is_kept then return kept_rows(self, param) end
  return rows.of(param, self._optimizers)
end

---Gives the new processes of a group their rows, or, where its size has changed, all ranks. A collective.
---@param context table
---@param holders elastic.Holders
function Replica:restore(context, holders)
  local pieces = {}
  for i, param in ipairs(self._params) do pieces[i] = holders:pass_on(self, param) end
  if holders:is_resized() then
    torch.distributed.barrier()  -- until here each rank can go back
    self._are_kept = false
  end
  for i, param in ipairs(self._params) do
    -- A rank of a group of the same size has got all of its rows in one piece.
    local own = pieces[i] and (holders:is_resized() and rows.join(pieces[i]) or pieces[i][1])
    if own then rows.set(param, self._optimizers, own) end
    pieces[i] = nil
  end
  local keepers = self:connect(context)
  if holders:is_resized() or not holders:are_kept_by(keepers) then return exchange_all(self) end
  for rank = 0, context.world_size - 1 do
    if holders:is_new(rank) then hand_over(self, rank) end
  end
  self._are_kept = true
  record(self)
end

return Replica

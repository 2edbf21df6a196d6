-- rtrain/elastic/replica_check.lua: compares what all ranks should have the same of, and gives a rank that differs the
-- state of the others (FailureConfig.verify_replicas).
--
-- Under DistributedDataParallel parameters and optimizer state are the same on all ranks, to the last bit. A rank differs if
-- its memory, its processor or its device has changed a bit; its next gradients would spread that to all.

local class = require 'base.class'
local errors = require 'base.errors'
local index_of = require 'base.index_of'
local messages = require 'rtrain.elastic.messages'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local Suspects = require 'rtrain.elastic.suspects'
local torch = require 'torch'
local tree = require 'torch.func.tree'
local VerifyPace = require 'rtrain.elastic.verify_pace'

---@class ReplicaCheck
local ReplicaCheck = class 'ReplicaCheck'

---@param modules table ordered, by name
---@param optimizers table ordered, by name
---@param every integer|'auto' FailureConfig.verify_replicas
function ReplicaCheck:init(modules, optimizers, every)
  self._modules, self._optimizers, self._every = modules, optimizers, every
end

-- Whether the ranks divide its state, though its parameters are whole.
local function is_divided(optimizer) return class.is(optimizer, torch.distributed.optim.ZeroRedundancyOptimizer) end

-- Returns the tensors that are the same on all ranks. Rows of sharded parameters are not. `names`: a list that gets their
-- names.
local function tensors_of(self, names)
  local tensors = {}
  local function add(tensor, format, ...)
    if not torch.is_tensor(tensor) or shards.of(tensor) then return end
    tensors[#tensors + 1] = tensor
    if names then names[#names + 1] = format:format(...) end
  end
  for part, module in ordered.items(self._modules) do
    for name, param in module:named_parameters() do add(param:detach(), '%s.%s', part, name) end
  end
  for part, optimizer in ordered.items(self._optimizers) do
    for _, group in ipairs(is_divided(optimizer) and {} or optimizer.param_groups) do
      for i, param in ipairs(group.params) do
        local state = not shards.of(param) and optimizer.state[param] or {}
        for _, name in ipairs(ordered.keys_of(state)) do
          for _, tensor in ipairs(tree.leaves(state[name])) do add(tensor, '%s.state[%d].%s', part, i, name) end
        end
      end
    end
  end
  return tensors
end

local function listed(ranks)
  local last = ranks[#ranks]
  if #ranks == 1 then return ('rank %d'):format(last) end
  return ('ranks %s and %d'):format(table.concat(ranks, ', ', 1, #ranks - 1), last)
end

-- Returns the first tensor that differs on these ranks and how many more do. A collective.
local function where(self, context, hashes, differing, source)
  local counts = messages.gathered(context, #hashes)
  for _, rank in ipairs(differing) do
    if counts[rank] ~= counts[source] then return ('the state (%d tensors, %d)'):format(counts[source], counts[rank]) end
  end
  local found, names = {}, {}
  tensors_of(self, names)
  for i, hash in ipairs(hashes) do
    local all = messages.gathered(context, hash)
    for _, rank in ipairs(differing) do
      if all[rank] ~= all[source] and found[#found] ~= names[i] then found[#found + 1] = names[i] end
    end
  end
  local more = #found > 1 and (' and %d more'):format(#found - 1) or ''
  return ("'%s'%s"):format(found[1], more), true
end

-- Gives the differing ranks the tensors of the source.
local function repair(context, tensors, differing, source)
  local own = context.world_rank
  for _, rank in ipairs(differing) do
    if own == source then
      messages.send(tensors, rank)
    elseif own == rank then
      torch.no_grad(function()
        for i, tensor in ipairs(messages.receive(source)) do tensors[i]:copy_(tensor) end
      end)
    end
  end
end

-- Returns the hash of this rank's state, and what it is of.
local function hashed(self)
  local tensors = tensors_of(self)
  local all, hashes = require('torch._C')._hash_tensors(tensors)
  return all, {tensors = tensors, hashes = hashes}
end

-- Returns the given ranks that differ, and one that is believed; nil without a majority.
local function vote(of_ranks, ranks)
  local hashes = {}
  for i, rank in ipairs(ranks) do hashes[i] = of_ranks[rank] end
  local places, source = require('rtrain._elastic').vote(hashes)
  local differing = {}
  for i, place in ipairs(places) do differing[i] = ranks[place + 1] end
  return differing, source and ranks[source + 1]
end

local CAUSE = 'a bit was changed in memory or on a device'

local function raise_undecided(what)
  errors.raise('worker_lost', ('%s, and it is not known which is right: %s (FailureConfig.verify_replicas)'):format(what,
    CAUSE))
end

local function tell(text) require('rtrain._worker').report_health(text, false) end

local function tell_of_repair(what) tell(('%s: %s, it has their state now'):format(what, CAUSE)) end

-- Returns when to compare.
local function pace_of(self)
  if self._pace then return self._pace end
  local uses_device = false
  for _, module in ordered.items(self._modules) do
    for _, param in ipairs(module:parameters()) do uses_device = uses_device or param.is_cuda end
  end
  self._pace = VerifyPace(self._every, uses_device)
  return self._pace
end

-- Looks for a state that ranks have had before the group began again. `hash`: of the state that all have come to.
local function see(self, context, hash, count, what)
  if not self._suspects:see(hash, count) then return end
  tell(('the steps up to %s %d were made again: rank %d had another state than they have: %s'):format(what, count,
    context.world_rank, CAUSE))
end

-- Compares the ranks' states. Returns the ranks that differ, one that is believed, and this rank's state.
local function compare(self, context, count)
  local pace = pace_of(self)
  local every = pace:start(count)
  local own, state = hashed(self)
  local ranks = {}
  for rank = 0, context.world_size - 1 do ranks[rank + 1] = rank end
  local hashes, agreed = messages.gathered(context, own, every)
  pace:finish(count, agreed)
  local differing, source = vote(hashes, ranks)
  state.hash, state.of_ranks = own, hashes
  return differing, source, state
end

-- Until verify() has looked, there may be some.
local function may_have_suspects(self) return not self._suspects or not self._suspects:is_empty() end

---@param count integer of commits or steps so far, the same on all ranks
---@return boolean whether verify() is due: to compare, or to look for a state of before the group began again
function ReplicaCheck:is_due(count) return may_have_suspects(self) or pace_of(self):is_due(count) end

---Compares the ranks' states, and mends those that differ. A collective.
---@param context table
---@param count integer of commits or steps so far, the same on all ranks
---@param what string 'commit' or 'step'
---@return boolean was_mended whether this rank got the state of another one
---Errors: 'worker_lost' if there is no majority.
function ReplicaCheck:verify(context, count, what)
  self._suspects = self._suspects or Suspects(context)
  if not pace_of(self):is_due(count) then
    if may_have_suspects(self) then see(self, context, (hashed(self)), count, what) end
    return false
  end
  local differing, source, state = compare(self, context, count)
  if #differing == 0 then
    if may_have_suspects(self) then see(self, context, state.hash, count, what) end
    return false
  end
  local place, has_same_tensors = where(self, context, state.hashes, differing, source or differing[1])
  what = ('after %s %d %s of %s %s'):format(what, count, place, listed(differing),
    source and 'differs from the other ranks' or 'differ from each other')
  if not source or not has_same_tensors then
    Suspects.keep(context, count, state.of_ranks)
    raise_undecided(what)
  end
  repair(context, state.tensors, differing, source)
  local was_mended = index_of(differing, context.world_rank) ~= nil
  if was_mended then tell_of_repair(what) end
  return was_mended
end

---Compares the states of the ranks that hold one after a loss, before one of them gives it to the new ranks. A
---collective.
---@param context table
---@param held table<integer, integer> the commit that each rank holds; 0 for none
---@return table<integer, integer> held without the ranks that differ: they get the state of another one
---Errors: 'worker_lost' if there is no majority.
function ReplicaCheck:believed(context, held)
  pace_of(self):reset()  -- new ranks know nothing of the others' pace
  local holders = {}
  for rank = 0, context.world_size - 1 do
    if held[rank] > 0 then holders[#holders + 1] = rank end
  end
  local own_rank = context.world_rank
  local hashes = messages.gathered(context, held[own_rank] > 0 and (hashed(self)) or 0)
  local differing, source = vote(hashes, holders)
  if #differing == 0 then return held end
  local what = ('after a loss the state of %s %s'):format(listed(differing),
    source and 'differs from the other ranks' or 'differ from each other')
  if not source then raise_undecided(what) end
  local out = {}
  for rank, step in next, held do out[rank] = index_of(differing, rank) and 0 or step end
  if index_of(differing, own_rank) then tell_of_repair(what) end
  return out
end

return ReplicaCheck

-- rtrain/elastic/replicas.lua: compares what all ranks should have the same of, and gives a rank that differs the state of
-- the others (FailureConfig.verify_replicas).
--
-- Under DistributedDataParallel parameters and optimizer state are the same on all ranks, to the last bit. A rank differs if
-- its memory, its processor or its device has changed a bit; its next gradients would spread that to all.

local class = require 'base.class'
local errors = require 'base.errors'
local messages = require 'rtrain.elastic.messages'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'
local tree = require 'torch.func.tree'

---@class Replicas
local Replicas = class 'Replicas'

---@param modules table ordered, by name
---@param optimizers table ordered, by name
function Replicas:init(modules, optimizers)
  self._modules, self._optimizers = modules, optimizers
end

-- Returns the tensors that are the same on all ranks, and their names. Rows of sharded parameters are not.
local function tensors_of(self)
  local tensors, names = {}, {}
  local function add(tensor, name)
    if not torch.is_tensor(tensor) or shards.of(tensor) then return end
    tensors[#tensors + 1], names[#names + 1] = tensor, name
  end
  for part, module in ordered.items(self._modules) do
    for name, param in module:named_parameters() do add(param:detach(), ('%s.%s'):format(part, name)) end
  end
  for part, optimizer in ordered.items(self._optimizers) do
    for _, group in ipairs(optimizer.param_groups) do
      for i, param in ipairs(group.params) do
        local state = not shards.of(param) and optimizer.state[param] or {}
        for _, name in ipairs(ordered.keys_of(state)) do
          for _, tensor in ipairs(tree.leaves(state[name])) do add(tensor, ('%s.state[%d].%s'):format(part, i, name)) end
        end
      end
    end
  end
  return tensors, names
end

local function listed(ranks)
  local last = ranks[#ranks]
  if #ranks == 1 then return ('rank %d'):format(last) end
  return ('ranks %s and %d'):format(table.concat(ranks, ', ', 1, #ranks - 1), last)
end

-- Returns the first tensor that differs on these ranks and how many more do. A collective.
local function where(context, names, hashes, differing, source)
  local counts = messages.gathered(context, #hashes)
  for _, rank in ipairs(differing) do
    if counts[rank] ~= counts[source] then return ('it has %d tensors instead of %d'):format(counts[rank], counts[source]) end
  end
  local found = {}
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

---Compares the ranks' states, and mends those that differ. A collective.
---@param context table
---@param commits integer how many there were
---@return boolean was_mended whether this rank got the state of another one
---Errors: 'worker_lost' if there is no majority.
function Replicas:verify(context, commits)
  local tensors, names = tensors_of(self)
  local own, hashes = require('torch._C')._hash_tensors(tensors)
  local of_ranks, all = messages.gathered(context, own), {}
  for rank = 0, context.world_size - 1 do all[rank + 1] = of_ranks[rank] end
  local differing, source = require('rtrain._elastic').vote(all)
  if #differing == 0 then return false end
  local place, has_same_tensors = where(context, names, hashes, differing, source or differing[1])
  local what = ('after commit %d %s of %s %s'):format(commits, place, listed(differing), source and 'differs from the other ranks'
    or 'differ from each other')
  if not source or not has_same_tensors then
    errors.raise('worker_lost', ('%s, and it is not known which is right: a bit was changed in memory or on a device '
      .. '(FailureConfig.verify_replicas)'):format(what))
  end
  repair(context, tensors, differing, source)
  for _, rank in ipairs(differing) do
    if rank == context.world_rank then
      require('rtrain._worker').report_health(what .. ': a bit was changed in memory or on a device, it has their state now', false)
      return true
    end
  end
  return false
end

return Replicas

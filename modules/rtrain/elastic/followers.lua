-- rtrain/elastic/followers.lua: adapts a rank's samplers and shards to its place in a smaller group.
--
-- A restarted train function would make its loaders again for the smaller group. Here it is not restarted: from their
-- next loop on, samplers and shards take another rank's part, and the position that is restored afterwards says which
-- rows are left.

local errors = require 'base.errors'

local followers = {}

local function each_sampler() return require('torch.utils.data').DistributedSampler.each() end

local function is_of(sampler, context)
  if sampler.is_of_all then return true end  -- of all virtual ranks
  return sampler.num_replicas == context.world_size and sampler.rank == context.world_rank
end

-- Returns the first sampler that is split differently from the group.
local function foreign(context)
  for sampler in each_sampler() do
    if sampler.num_replicas > 1 and not is_of(sampler, context) then return sampler end
  end
end

local function text_of(sampler, context)
  return ('a %s is that of rank %d of %d, and not of rank %d of %d'):format(require('base.class').of(sampler).__name,
    sampler.rank, sampler.num_replicas, context.world_rank, context.world_size)
end

---Returns why this rank cannot continue in a smaller group, or nil.
---@param state table state of the session
---@return string?
function followers.problem(state)
  if state.trial then return "the sweep knows the processes of a trial's ranks" end
  local sampler = foreign(state.context)
  return sampler and text_of(sampler, state.context) or nil
end

---Gives the samplers that a spare has made its rank.
---@param context table
function followers.take_place(context)
  for sampler in each_sampler() do
    if sampler.wait_for_rank then
      sampler.wait_for_rank = nil
      sampler:set_place(context.world_size, context.world_rank)
    end
  end
end

---Adapts samplers and shards when the session's context has changed. Raises code 'unsupported' for a sampler that
---cannot follow.
---@param before table
---@param state table state of the session
function followers.move(before, state)
  local now = state.context
  if now.world_size == before.world_size then return end
  local sampler = foreign(before)
  if sampler then
    errors.raise('unsupported', ('train.elastic: the group goes on with %d ranks instead of %d, and %s: make it before '
      .. 'train.elastic, or of the size of the group'):format(now.world_size, before.world_size, text_of(sampler, before)))
  end
  for each in each_sampler() do
    if each.num_replicas > 1 and not each.is_of_all then each:set_place(now.world_size, now.world_rank) end
  end
  require('rtrain.functions.dataset_shards').set_place(state)
end

return followers

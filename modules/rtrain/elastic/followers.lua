-- rtrain/elastic/followers.lua: what a rank has made for its place in the group, and how that follows into a smaller group.
--
-- A train function that begins again in a smaller group makes its loaders again. Here it does not: samplers and shards take
-- another rank's part from their next loop on, and the position that is put back behind this says what is left for all.

local errors = require 'base.errors'

local followers = {}

local function each_sampler() return require('torch.utils.data').DistributedSampler.each() end

local function is_of(sampler, context)
  return sampler.num_replicas == context.world_size and sampler.rank == context.world_rank
end

-- The first one that is split otherwise than the group.
local function foreign(context)
  for sampler in each_sampler() do
    if sampler.num_replicas > 1 and not is_of(sampler, context) then return sampler end
  end
end

local function text_of(sampler, context)
  return ('a %s is that of rank %d of %d, and not of rank %d of %d'):format(require('base.class').of(sampler).__name,
    sampler.rank, sampler.num_replicas, context.world_rank, context.world_size)
end

---Why this rank cannot go on in a smaller group; nil: it can.
---@param state table the session's
---@return string?
function followers.problem(state)
  if state.trial then return "the sweep knows the processes of a trial's ranks" end
  local sampler = foreign(state.context)
  return sampler and text_of(sampler, state.context) or nil
end

---The session has another context than this one. Raises code 'unsupported' for a sampler that cannot follow.
---@param before table
---@param state table the session's
function followers.move(before, state)
  local now = state.context
  if now.world_size == before.world_size then return end
  local sampler = foreign(before)
  if sampler then
    errors.raise('unsupported', ('train.elastic: the group goes on with %d ranks instead of %d, and %s: make it before '
      .. 'train.elastic, or of the size of the group'):format(now.world_size, before.world_size, text_of(sampler, before)))
  end
  for each in each_sampler() do
    if each.num_replicas > 1 then each:set_place(now.world_size, now.world_rank) end
  end
  require('rtrain.functions.dataset_shards').set_place(state)
end

return followers

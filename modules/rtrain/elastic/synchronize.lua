-- rtrain/elastic/synchronize.lua: gives the ranks of a new attempt one common state. Ranks that hold a commit return to
-- it, and the first of them sends the large data to the replacement processes. In a smaller group all ranks take the
-- first rank's positions.

local ddp = require 'torch.nn.parallel.distributed'
local errors = require 'base.errors'
local followers = require 'rtrain.elastic.followers'
local Holders = require 'rtrain.elastic.holders'
local messages = require 'rtrain.elastic.messages'
local session = require 'rtrain.session'

-- Waits for the other ranks, which may still load their data.
local function wait_for_all(context)
  local host = require 'rtrain._worker'
  host.store_set(('elastic/%d'):format(context.world_rank), 'here')
  for rank = 0, context.world_size - 1 do host.store_get(('elastic/%d'):format(rank), context.timeout_s) end
end

-- Returns the first rank's own state if a rank's state was kept in a group of another size; else nil. After a second
-- loss only some ranks may already have it.
local function first_of_all(context, kept)
  local is_same = true
  for _, size in next, messages.gathered(context, kept.size) do is_same = is_same and size == context.world_size end
  if is_same then return nil end
  return messages.broadcast(context, kept.own)
end

-- Returns the first rank that holds a step, and that step.
local function source_of(held, world_size)
  for rank = 0, world_size - 1 do
    if held[rank] > 0 then return rank, held[rank] end
  end
  errors.raise('peer_lost', 'train.elastic: no rank is left that holds a commit')
end

-- Returns who has which rows of a sharded model. Without all of them no rank can continue from its commit.
local function holders_of(commits, context)
  local holders = Holders(context, commits.replica)
  if holders:are_complete() then return holders end
  commits.step = 0
  errors.raise('peer_lost', 'train.elastic: a lost rank and the one that kept its rows were lost together')
end

---Gives this rank the common state, and exchanges the own state of each rank. Raises code 'peer_lost' if another rank
---is lost during the synchronization.
---@param commits Commits
---@param host table rtrain._elastic
local function synchronize(commits, host)
  local state = session.get('train.elastic')
  local context = state.context
  host.enter(commits.step)
  wait_for_all(context)
  state.is_joining = false
  local held = messages.gathered(context, commits.step)
  if commits.replica_check then held = commits.replica_check:believed(context, held) end
  local source, step = source_of(held, context.world_size)
  local holders = commits.replica and holders_of(commits, context)
  local large, orders = nil, step > 1 and ddp.gradient_orders() or nil
  if held[context.world_rank] == 0 then
    large = messages.receive(source)
    commits:set_large(large)
    orders = large.orders
  elseif context.world_rank == source then
    for rank = 0, context.world_size - 1 do
      if held[rank] == 0 then messages.send(commits:large(orders), rank) end
    end
  end
  if holders then commits.replica:restore(context, holders) end
  commits:reset_gradients(large and large.gradients)
  ddp.rebuild_all(orders)
  local kept = commits:kept(step, large and large.common)
  commits:restore(step, kept, first_of_all(context, kept))
  host.enter(step)
  host.set_healable(true, followers.problem(state))
end

return synchronize

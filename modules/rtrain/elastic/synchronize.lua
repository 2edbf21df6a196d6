-- rtrain/elastic/synchronize.lua: the ranks of a new attempt get one and the same state: those that hold a commit go back to
-- it, and the first of them sends what is large to those that have taken a lost rank's place.

local ddp = require 'rtrain.torch.ddp'
local errors = require 'base.errors'
local session = require 'rtrain.worker.session'
local torch = require 'torch'

-- The others may still load their data.
local function wait_for_all(context)
  local host = require 'rtrain._worker'
  host.store_set(('elastic/%d'):format(context.world_rank), 'here')
  for rank = 0, context.world_size - 1 do host.store_get(('elastic/%d'):format(rank), context.timeout_s) end
end

-- By rank, from 0: the step that it holds.
local function held_by_all(context, step)
  local steps = {}
  for rank = 0, context.world_size - 1 do steps[rank + 1] = torch.zeros({1}, {dtype = torch.int64}) end
  torch.distributed.all_gather(steps, torch.tensor({step}, {dtype = torch.int64}))
  local held = {}
  for rank = 0, context.world_size - 1 do held[rank] = steps[rank + 1]:item() end
  return held
end

local function send(value, rank)
  local bytes = require('torch._C').data.pack_tensor(value)
  torch.distributed.send(torch.tensor({bytes:numel()}, {dtype = torch.int64}), rank)
  torch.distributed.send(bytes, rank)
end

local function receive(rank)
  local size = torch.zeros({1}, {dtype = torch.int64})
  torch.distributed.recv(size, rank)
  local bytes = torch.empty({size:item()}, {dtype = torch.uint8})
  torch.distributed.recv(bytes, rank)
  return require('torch._C').data.unpack_tensor(bytes)
end

-- The first rank that holds a step, and that step.
local function source_of(held, world_size)
  for rank = 0, world_size - 1 do
    if held[rank] > 0 then return rank, held[rank] end
  end
  errors.raise('peer_lost', 'train.elastic: no rank is left that holds a commit')
end

---Gives this rank the state of all, and all of them what was each rank's own. Raises code 'peer_lost' where another one is lost
---meanwhile.
---@param commits Commits
---@param host table rtrain._elastic
local function synchronize(commits, host)
  local state = session.get('train.elastic')
  local context = state.context
  host.enter(commits.step)
  wait_for_all(context)
  state.is_joining = false
  local held = held_by_all(context, commits.step)
  local source, step = source_of(held, context.world_size)
  local large, orders = nil, step > 1 and ddp.gradient_orders() or nil
  if held[context.world_rank] == 0 then
    large = receive(source)
    commits:set_large(large)
    orders = large.orders
  elseif context.world_rank == source then
    for rank = 0, context.world_size - 1 do
      if held[rank] == 0 then send(commits:large(orders), rank) end
    end
  end
  commits:reset_gradients(large and large.gradients)
  ddp.rebuild_all(orders)
  commits:restore(step, large and large.common)
  host.enter(step)
  host.set_healable(true)
end

return synchronize

-- torch/utils/data/epoch.lua: makes the batches of one loop of a DataLoader: in this thread, or in workers.
--
-- Each function here returns next_batch(), which returns the values of the next batch, and nothing at the end. `begun`
-- is the description of the loop by torch.utils.data.position: its number, its seed, the samples and batches to skip.

local class = require 'base.class'
local fetch = require 'torch.utils.data.fetch'
local phases = require 'base.phases'
local BatchSampler = require('torch.utils.data.batch_sampler').BatchSampler
local Sampler = require('torch.utils.data.sampler').Sampler
local system = require 'base._system'

local epoch = {}

local PREFETCH = 2

-- Returns batches of indices as int64 tensors, cut from the sampler's order.
local function tensor_batches(order, batches, skip)
  local start, count = math.min(skip, order:size(0)), order:size(0)
  local batch_size, drop_last = batches.batch_size, batches.drop_last
  return function()
    local size = math.min(batch_size, count - start)
    if size <= 0 or (size < batch_size and drop_last) then return nil end
    local batch = order:narrow(0, start, size)
    start = start + size
    return batch
  end
end

local function without_first(next_item, skip)
  for _ = 1, skip do
    if next_item() == nil then return function() end end
  end
  return next_item
end

-- A subclass may override iter.
local function gives_indices(sampler) return sampler.indices ~= nil and sampler.iter == Sampler.iter end

local function single_requests(sampler, begun)
  if not gives_indices(sampler) then return without_first(sampler:iter(), begun.samples) end
  local list, i = sampler:indices():tolist(), begun.samples
  return function()
    i = i + 1
    return list[i]
  end
end

-- Returns the sampler's order on the device for the dataset's indices. This only applies to whole batches; single
-- samples need Lua numbers.
local function order_of(loader, sampler)
  local device = not loader.collate_fn and loader.dataset.batch_device
  return device and sampler:indices():to(device) or sampler:indices()
end

-- Yields the requests in order: tensors or lists of indices; single indices without batches.
local function requests(loader, begun)
  local batches, sampler = loader.batch_sampler, loader.sampler
  if batches == nil then return single_requests(sampler, begun) end
  if not class.is(batches, BatchSampler) or batches.iter ~= BatchSampler.iter then
    return without_first(batches:iter(), begun.batches)
  end
  if gives_indices(batches.sampler) then
    return tensor_batches(order_of(loader, batches.sampler), batches, begun.samples)
  end
  return batches:batches_of(without_first(batches.sampler:iter(), begun.samples))
end

local function own_map(loader, begun)
  local next_request, fetcher, making = requests(loader, begun), fetch.fetcher(loader), {seed = begun.seed}
  return function()
    local request = next_request()
    if request == nil then return nil end
    return fetcher:fetch(making, request)
  end
end

local function values_after(more, ...)
  if more then return ... end
end

local function own_stream(loader, begun)
  local stream, making = fetch.stream(loader), {seed = begun.seed}
  return function() return values_after(stream:next_batch(making)) end
end

-- Returns the fields that are sent to the workers; the dataset's tensors are shared.
local function plain(loader)
  return {dataset = loader.dataset, collate_fn = loader.collate_fn, is_single = loader.is_single,
          batch_size = loader.batch_size, drop_last = loader.drop_last, num_workers = loader.num_workers,
          worker_init_fn = loader.worker_init_fn, pins = loader.pins}
end

local function new_pool(loader, options)
  options.fn, options.name = fetch.worker(plain(loader)), 'DataLoader'
  options.timeout_s = loader.timeout > 0 and loader.timeout or system.default_timeout_s
  options.timeout_name, options.in_order = 'timeout', loader.in_order
  return require('torch._C').data.Pool(options)
end

local function map_pools(loader)
  local prefetch = loader.prefetch_factor or PREFETCH
  return {new_pool(loader, {num_workers = loader.num_workers, capacity = loader.num_workers * prefetch})}
end

-- Each worker has a separate iterator, so each is a separate pool; batches are taken from the pools in turn.
local function stream_pools(loader)
  local pools = {}
  for id = 0, loader.num_workers - 1 do
    pools[id + 1] = new_pool(loader, {num_workers = 1, first_worker = id, capacity = loader.prefetch_factor or PREFETCH})
  end
  return pools
end

---Ends the loader's worker threads, if it has any.
---@param loader data.DataLoader
function epoch.close(loader)
  local pools = loader._pools
  loader._pools = nil
  for _, pool in ipairs(pools or {}) do pool:close() end
end

local function pools_of(loader, make)
  if not loader.persistent_workers then epoch.close(loader) end
  loader._pools = loader._pools or make(loader)
  for _, pool in ipairs(loader._pools) do pool:clear() end
  return loader._pools
end

local function ended(loader)
  if not loader.persistent_workers then epoch.close(loader) end
end

-- Requests more batches before the present batch is used.
local function refilled(fill, ...)
  fill()
  return ...
end

local function threaded_map(loader, begun)
  local next_request, pool = requests(loader, begun), pools_of(loader, map_pools)[1]
  local waiting
  local function fill()
    while true do
      waiting = waiting or next_request()
      if waiting == nil then return end
      if not pool:submit{indices = waiting, seed = begun.seed} then return end
      waiting = nil
    end
  end
  local is_ended
  return function()
    if is_ended then return nil end
    fill()
    if pool:in_flight() == 0 then
      is_ended = true
      return ended(loader)
    end
    return refilled(fill, pool:next())
  end
end

local function threaded_stream(loader, begun)
  local active = {unpack(pools_of(loader, stream_pools))}
  local request, turn = {seed = begun.seed, loop = begun.loop}, 1
  for _, pool in ipairs(active) do
    while pool:submit(request) do end
  end
  local take
  local function taken(pool, more, ...)
    if not more then
      table.remove(active, turn)
      if turn > #active then turn = 1 end
      return take()
    end
    pool:submit(request)
    turn = turn % #active + 1
    return ...
  end
  function take()
    local pool = active[turn]
    if pool == nil then return ended(loader) end
    return taken(pool, pool:next())
  end
  return take
end

---@param loader data.DataLoader
---@param begun {seed: integer, loop: integer, samples: integer, batches: integer}
---@return fun(): ... next_batch
function epoch.batches(loader, begun)
  local is_threaded = loader.num_workers > 0
  local next_batch
  if loader.is_iterable then
    next_batch = without_first((is_threaded and threaded_stream or own_stream)(loader, begun), begun.batches)
  else
    next_batch = (is_threaded and threaded_map or own_map)(loader, begun)
  end
  return phases.timed(phases.DATA, next_batch)
end

return epoch

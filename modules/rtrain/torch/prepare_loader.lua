-- rtrain/torch/prepare_loader.lua: makes a DataLoader from which each rank takes its part.

local class = require 'base.class'
local data = require 'torch.utils.data'
local errors = require 'base.errors'
local session = require 'rtrain.session'

-- Returns whether a sampler's order is a permutation, as that of a DistributedSampler.
local function is_permutation(sampler, dataset)
  return class.of(sampler) == data.RandomSampler and not sampler.replacement and sampler:len() == dataset:len()
end

-- Returns the sampler of one rank: the same kind of order as before, split.
local function split_at(sampler, dataset, place)
  if class.of(sampler) == data.SequentialSampler then
    place.shuffle = false
    return data.DistributedSampler(dataset, place)
  end
  if is_permutation(sampler, dataset) then return data.DistributedSampler(dataset, place) end
  return data.DistributedSamplerWrapper(sampler, place)
end

-- The sampler of a spare gets its rank when the process does (rtrain/session/spare.lua), at the latest at its first order.
-- With `drop_last` it repeats no samples: then whole steps alone are left, as many as one worker with their batches has.
local function split(sampler, dataset, context, drop_last)
  local rank = rawget(context, 'world_rank')
  local part = split_at(sampler, dataset, {num_replicas = context.world_size, rank = rank or 0, drop_last = drop_last})
  if rank == nil then part.rank, part.wait_for_rank = nil, session.take_place end
  return part
end

local function split_batches(batches, dataset, context)
  if class.of(batches) ~= data.BatchSampler then
    errors.raise('argument', ('prepare_data_loader: the batch_sampler is a %s, whose batches cannot be dealt out: make it of a '
      .. 'DistributedSampler, or pass add_dist_sampler = false'):format(tostring(batches)))
  end
  return data.BatchSampler(split(batches.sampler, dataset, context, batches.drop_last), batches.batch_size, batches.drop_last)
end

-- Returns whether the loader gives one worker the samples of all as it is. In a run that may have more workers its order is
-- theirs.
local function is_whole(loader, context)
  if context.world_size > 1 then return false end
  if not context.can_grow or class.of(loader.sampler) == data.SequentialSampler then return true end
  if loader.batch_sampler and class.of(loader.batch_sampler) ~= data.BatchSampler then return true end
  local is_random = is_permutation(loader.sampler, loader.dataset)
  if is_random then loader.sampler:_set_seed(0) end
  return is_random
end

---@param loader data.DataLoader
---@param context table world_size, world_rank, can_grow
---@return data.DataLoader
local function distributed(loader, context)
  local is_split = class.is(loader.sampler, data.DistributedSampler)
  if is_split or loader.is_iterable or is_whole(loader, context) then return loader end
  local given = loader:options()
  if given.batch_sampler then
    given.batch_sampler = split_batches(given.batch_sampler, loader.dataset, context)
  else
    given.shuffle, given.sampler = nil, split(loader.sampler, loader.dataset, context, loader.drop_last)
  end
  return data.DataLoader(given)
end

local function refuse(text) errors.raise('unsupported', 'prepare_data_loader with ScalingConfig.virtual_workers: ' .. text) end

-- Returns a loader that gives the batches of this process's virtual ranks.
local function virtual_batches(loader, ranks, options)
  if loader.is_iterable then refuse 'an IterableDataset has an order of its own: take a dataset with len() and get()' end
  if loader.is_single then refuse 'samples one by one: take a batch_size' end
  if not loader.in_order then refuse 'in_order = false: which batch comes first depends on the time' end
  if options.add_dist_sampler == false then refuse 'add_dist_sampler = false: virtual ranks divide the samples' end
  if class.is(loader.sampler, data.DistributedSampler) then
    refuse 'a DistributedSampler of the script divides the samples among processes: pass the loader without it'
  end
  local given, batches = loader:options(), loader.batch_sampler
  if given.batch_sampler then
    given.batch_sampler = split_batches(given.batch_sampler, loader.dataset, {world_size = ranks.count, world_rank = 0})
    batches = given.batch_sampler
  end
  local sampler = given.batch_sampler and batches.sampler
    or split(loader.sampler, loader.dataset, {world_size = ranks.count, world_rank = 0}, batches.drop_last)
  sampler.is_of_all = true
  given.shuffle, given.sampler, given.batch_size, given.drop_last = nil, nil, nil, nil
  given.batch_sampler = require 'rtrain.virtual.batches'(sampler, batches, ranks, options.padding ~= false)
  return data.DataLoader(given)
end

---@param loader data.DataLoader
---@param context table world_size, world_rank
---@param device string
---@param options table add_dist_sampler, move_to_device, auto_transfer, padding
---@param ranks rtrain.VirtualRanks|nil
---@return data.DataLoader
local function prepare(loader, context, device, options, ranks)
  if not class.is(loader, data.DataLoader) then
    errors.raise('argument', ('prepare_data_loader: expected a DataLoader, got a %s'):format(type(loader)))
  end
  if ranks then
    loader = virtual_batches(loader, ranks, options)
  else
    if options.add_dist_sampler ~= false then loader = distributed(loader, context) end
    if options.padding == false then loader = require 'rtrain.torch.unpadded_loader'(loader) end
  end
  if device ~= 'cpu' and options.move_to_device ~= false then
    loader = require 'rtrain.torch.device_loader'(loader, device, options.auto_transfer ~= false)
  end
  return ranks and require 'rtrain.virtual.loader'(loader, ranks) or loader
end

return prepare

-- rtrain/torch/unpadded_loader.lua: makes a loader from which all ranks together take each sample once.

local class = require 'base.class'
local data = require 'torch.utils.data'
local DeviceLoader = require 'rtrain.torch.device_loader'

local function with_sampler(loader, sampler)
  local given = loader:options()
  local batches = given.batch_sampler
  if batches then
    given.batch_sampler = data.BatchSampler(sampler, batches.batch_size, batches.drop_last)
  else
    given.shuffle, given.sampler = nil, sampler
  end
  return data.DataLoader(given)
end

-- Returns whether the loader may repeat samples of other ranks, and can be made without them.
local function can_repeat(loader)
  if not class.is(loader, data.DataLoader) then return false end
  local sampler, batches = loader.sampler, loader:options().batch_sampler
  return class.is(sampler, data.DistributedSampler) and not sampler.drop_last
    and (not batches or class.of(batches) == data.BatchSampler)
end

---Returns the loader without the samples that a DistributedSampler repeats to give all ranks the same number: a rank
---may have a sample less than another rank, and so a batch less.
---@param loader any a result of prepare_data_loader, or another source of batches
---@return any loader the loader itself if nothing is repeated, or if that is unknown
local function unpadded(loader)
  local inner = class.is(loader, DeviceLoader) and loader.loader or loader
  if not can_repeat(inner) then return loader end
  local own = with_sampler(inner, inner.sampler:unpadded())
  return inner == loader and own or DeviceLoader(own, loader.device, loader.auto_transfer)
end

return unpadded

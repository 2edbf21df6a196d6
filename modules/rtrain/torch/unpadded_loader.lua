-- rtrain/torch/unpadded_loader.lua: a loader of which all ranks together take each sample once.

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

-- Whether its order may have samples that another rank has too, and can be given without them.
local function can_repeat(loader)
  if not class.is(loader, data.DataLoader) then return false end
  local sampler, batches = loader.sampler, loader:options().batch_sampler
  return class.is(sampler, data.DistributedSampler) and not sampler.drop_last
    and (not batches or class.of(batches) == data.BatchSampler)
end

---The same loader without the samples that a DistributedSampler repeats, so that all ranks have equally many: a rank may have a
---sample less than another one here, and so a batch less.
---@param loader any what prepare_data_loader gave, or another source of batches
---@return any loader itself where nothing is repeated, or nobody can know
local function unpadded(loader)
  local inner = class.is(loader, DeviceLoader) and loader.loader or loader
  if not can_repeat(inner) then return loader end
  local own = with_sampler(inner, inner.sampler:unpadded())
  return inner == loader and own or DeviceLoader(own, loader.device, loader.auto_transfer)
end

return unpadded

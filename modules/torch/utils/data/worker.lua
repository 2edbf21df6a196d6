-- torch/utils/data/worker.lua: the description of a loader's worker thread for itself, and the random numbers of
-- samples.
--
-- While a loader makes a sample it has a separate generator, seeded by the loader's seed, the epoch and the index. The
-- numbers depend neither on the number of workers nor on their timing, and are the same after a restart in the middle
-- of an epoch. Worker threads refuse to draw from the default generator, which belongs to the process.

local mixed, mixed_all = require('base.seed').mixed, require('base.seed').mixed_all
local torch = require 'torch'

local worker = {}

-- The present work: {seed, info}, and the index of the sample or the indices of the whole batch, a list or a tensor.
local context, current_index, current_indices, current_generator

---@class data.WorkerInfo
---@field id integer from 0
---@field num_workers integer
---@field seed integer changes with the epoch and the worker
---@field dataset data.Dataset this thread's copy

---Returns the description of this worker thread; nil elsewhere. PyTorch equivalent: torch.utils.data.get_worker_info.
---@return data.WorkerInfo|nil
function worker.get_worker_info() return context and context.info end

-- Returns the index of the sample, or the first one of the batch.
local function index_now()
  if current_index ~= nil then return current_index end
  if type(current_indices) == 'table' then return current_indices[1] end
  return current_indices:select(0, 0):item()
end

---Returns the generator of the sample that a loader is making, for random operators in a custom dataset or
---transform; nil outside of a loader, which means the default generator.
---@return userdata|nil
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local Noisy = data.Dataset:extend('Noisy')
---function Noisy:len() return 4 end
---function Noisy:get() return torch.rand({1}, {generator = data.sample_generator()}) end
---local function epoch(num_workers)
---  torch.manual_seed(1)
---  return data.DataLoader(Noisy(), {batch_size = 4, num_workers = num_workers}):iter()()
---end
---assert(torch.equal(epoch(0), epoch(2)))
---```
function worker.sample_generator()
  if context == nil then return nil end
  if not current_generator then current_generator = torch.Generator(mixed(context.seed, index_now())) end
  return current_generator
end

worker.generator = worker.sample_generator

---Called before each sample.
---@param making {seed: integer, info: data.WorkerInfo?} the data common to the loop
---@param index integer
function worker.begin(making, index)
  context, current_index, current_indices, current_generator = making, index, nil, nil
end

---Called before each batch.
---@param making {seed: integer, info: data.WorkerInfo?}
---@param indices integer[]|torch.Tensor of its samples
function worker.begin_batch(making, indices)
  context, current_index, current_indices, current_generator = making, nil, indices, nil
end

---Called when the batch is made: no sample is being made any more.
function worker.finish() context, current_index, current_indices, current_generator = nil, nil, nil, nil end

---Returns the seeds of the generators of the batch's samples, in order, for transforms that draw for a whole batch at
---once; nil outside of a loader and while single samples are made.
---@return torch.Tensor|nil int64
function worker.batch_seeds()
  if not current_indices then return nil end
  local indices = current_indices
  if type(indices) == 'table' then indices = torch.tensor(indices, {dtype = 'int64'}) end
  return mixed_all(context.seed, indices)
end

return worker

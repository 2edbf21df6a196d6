-- torch/utils/data/worker.lua: what a loader's worker thread knows about itself, and its random numbers.
--
-- The default generator belongs to the process, so that threads drawing from it would make the data depend on their
-- timing: in a worker every sample has a generator of its own, seeded by the loader's seed, the epoch and the index.

local mixed = require('rtrain.seed').mixed
local torch = require 'torch'

local worker = {}

local current_info, current_generator, current_indices

---In a worker thread {num_workers, seed, dataset}; elsewhere nil.
---@return {num_workers: integer, seed: integer, dataset: data.Dataset}|nil
function worker.get_worker_info() return current_info end

---The generator that random transforms draw from: the sample's in a worker thread, else nil (the default one).
---@return userdata|nil
function worker.generator() return current_generator end

---Called in the worker threads before each sample.
---@param info table
---@param index integer
function worker.begin(info, index)
  current_info, current_indices = info, nil
  current_generator = torch.Generator(mixed(info.seed, index))
end

---Called in the worker threads before each batch, with the indices of its samples.
---@param info table
---@param indices integer[]
function worker.begin_batch(info, indices)
  worker.begin(info, indices[1])
  current_indices = indices
end

---The seeds that the generators of the batch's samples have, in order, for transforms that draw for a whole batch at once;
---nil outside a worker thread and while single samples are made.
---@return integer[]|nil
function worker.batch_seeds()
  if not current_indices then return nil end
  local seeds = {}
  for i, index in ipairs(current_indices) do seeds[i] = mixed(current_info.seed, index) end
  return seeds
end

return worker

-- torch/utils/data/worker.lua: what a loader's worker thread knows about itself, and its random numbers.
--
-- The default generator belongs to the process, so that threads drawing from it would make the data depend on their
-- timing: in a worker every sample has a generator of its own, seeded by the loader's seed, the epoch and the index.

local torch = require 'torch'

local worker = {}

local current_info, current_generator

---In a worker thread {num_workers, seed, dataset}; elsewhere nil.
---@return {num_workers: integer, seed: integer, dataset: data.Dataset}|nil
function worker.get_worker_info() return current_info end

---The generator that random transforms draw from: the sample's in a worker thread, else nil (the default one).
---@return userdata|nil
function worker.generator() return current_generator end

-- Sebastiano Vigna's splitmix64: neighbouring samples get unrelated generators.
local function mixed(seed, index)
  local z = 0x9E3779B97F4A7C15ULL * (index + 1ULL) + seed
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
  return tonumber(bit.rshift(bit.bxor(z, bit.rshift(z, 31)), 12))
end

---Called in the worker threads before each batch, with its first index, and before each sample.
---@param info table
---@param index integer
function worker.begin(info, index)
  current_info = info
  current_generator = torch.Generator(mixed(info.seed, index))
end

return worker

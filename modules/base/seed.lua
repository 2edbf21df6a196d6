-- base/seed.lua: derives seeds from other numbers, so that neighbouring ranks, epochs and samples get unrelated
-- generators.

local seed = {}

---Derives a seed from a seed and a number, by Sebastiano Vigna's splitmix64.
---@param base integer from 0
---@param index integer from 0
---@return integer seed 0 ≤ seed < 2^52
function seed.mixed(base, index)
  local z = 0x9E3779B97F4A7C15ULL * (index + 1ULL) + base
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
  return tonumber(bit.rshift(bit.bxor(z, bit.rshift(z, 31)), 12))
end

-- Constants and masks for int64 tensors: products wrap around like unsigned ones, but shifts keep the sign.
local STEP, FIRST, SECOND = 0x9E3779B97F4A7C15LL, 0xBF58476D1CE4E5B9LL, 0x94D049BB133111EBLL

local function shifted(z, bits) return z:bitwise_right_shift(bits):bitwise_and(2 ^ (64 - bits) - 1) end

---Computes seed.mixed for many numbers at once.
---@param base integer from 0
---@param indices torch.Tensor int64, from 0
---@return torch.Tensor seeds int64
---
---```lua
---local torch = require 'torch'
---local seed = require 'base.seed'
---assert(seed.mixed_all(7, torch.arange(3)):tolist()[3] == seed.mixed(7, 2))
---```
function seed.mixed_all(base, indices)
  local z = (indices + 1):mul_(STEP):add_(base)
  z = z:bitwise_xor(shifted(z, 30)):mul_(FIRST)
  z = z:bitwise_xor(shifted(z, 27)):mul_(SECOND)
  return shifted(z:bitwise_xor(shifted(z, 31)), 12)
end

---Derives a seed from several numbers; their order matters.
---@param first integer from 0
---@param ... integer from 0
---@return integer seed 0 ≤ seed < 2^52
---
---```lua
---local seed = require 'base.seed'
---assert(seed.of(7, 0, 1) == seed.of(7, 0, 1) and seed.of(7, 0, 1) ~= seed.of(7, 1, 0))
---```
function seed.of(first, ...)
  local out = seed.mixed(0, first)
  for i = 1, select('#', ...) do out = seed.mixed(out, (select(i, ...))) end
  return out
end

return seed

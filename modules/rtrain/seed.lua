-- rtrain/seed.lua: seeds made of other numbers, so that neighbouring ranks, epochs and samples get unrelated generators.

local seed = {}

---A seed of a seed and a number: Sebastiano Vigna's splitmix64.
---@param base integer from 0
---@param index integer from 0
---@return integer seed 0 ≤ seed < 2^52
function seed.mixed(base, index)
  local z = 0x9E3779B97F4A7C15ULL * (index + 1ULL) + base
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
  return tonumber(bit.rshift(bit.bxor(z, bit.rshift(z, 31)), 12))
end

---A seed of several numbers; their order matters.
---@param first integer from 0
---@param ... integer from 0
---@return integer seed 0 ≤ seed < 2^52
---
---```lua
---local seed = require 'rtrain.seed'
---assert(seed.of(7, 0, 1) == seed.of(7, 0, 1) and seed.of(7, 0, 1) ~= seed.of(7, 1, 0))
---```
function seed.of(first, ...)
  local out = seed.mixed(0, first)
  for i = 1, select('#', ...) do out = seed.mixed(out, (select(i, ...))) end
  return out
end

return seed

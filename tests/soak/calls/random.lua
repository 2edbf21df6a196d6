-- An independent random generator (a linear congruence modulo 2^31 - 1): the same numbers on every machine.

local bit, ffi = require 'bit', require 'ffi'

local Random = {}
Random.__index = Random

local MODULUS = 2147483647

-- Neighbouring seeds must not give neighbouring numbers (the mixing step of SplitMix64).
local function mixed(seed)
  local z = ffi.cast('uint64_t', seed) * 0x9E3779B97F4A7C15ULL
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
  return bit.bxor(z, bit.rshift(z, 31))
end

function Random.new(seed)
  return setmetatable({state = tonumber(mixed(seed) % (MODULUS - 1)) + 1}, Random)
end

function Random:next()
  self.state = self.state * 16807 % MODULUS
  return self.state
end

--- Returns a number from 0 to n - 1.
function Random:below(n) return math.floor(self:next() / MODULUS * n) end

--- Returns one of the items.
function Random:pick(items) return items[self:below(#items) + 1] end

return Random

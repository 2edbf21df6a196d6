-- rtrain/data/preprocessors/sha256.lua: the hash with which Ray's preprocessors choose the place of a token.

local bit = require 'bit'

local band, bnot, bxor, ror, rshift, tobit = bit.band, bit.bnot, bit.bxor, bit.ror, bit.rshift, bit.tobit

local sha256 = {}

-- Returns the first 32 bits of the fractional part of a root of each of the first primes (FIPS 180-4, 4.2.2, 5.3.3).
local function fractions(count, exponent)
  local out, candidate = {}, 2
  while #out < count do
    local is_prime = true
    for divisor = 2, math.floor(math.sqrt(candidate)) do is_prime = is_prime and candidate % divisor ~= 0 end
    if is_prime then out[#out + 1] = tobit(math.floor(candidate ^ exponent % 1 * 2 ^ 32)) end
    candidate = candidate + 1
  end
  return out
end

local START, ROUND = fractions(8, 1 / 2), fractions(64, 1 / 3)

local function word_of(value) return string.char(rshift(value, 24), band(rshift(value, 16), 255), band(rshift(value, 8), 255),
  band(value, 255)) end

local function padded(text)
  local bits = #text * 8
  return text .. '\128' .. ('\0'):rep((55 - #text) % 64) .. word_of(tobit(math.floor(bits / 2 ^ 32))) .. word_of(tobit(bits))
end

local function schedule(text, at)
  local words = {}
  for i = 0, 15 do
    local a, b, c, d = text:byte(at + 4 * i, at + 4 * i + 3)
    words[i + 1] = tobit(a * 2 ^ 24 + b * 2 ^ 16 + c * 2 ^ 8 + d)
  end
  for i = 17, 64 do
    local x, y = words[i - 15], words[i - 2]
    local s0 = bxor(ror(x, 7), ror(x, 18), rshift(x, 3))
    local s1 = bxor(ror(y, 17), ror(y, 19), rshift(y, 10))
    words[i] = tobit(words[i - 16] + s0 + words[i - 7] + s1)
  end
  return words
end

local function add_chunk(state, words)
  local a, b, c, d, e, f, g, h = unpack(state)
  for i = 1, 64 do
    local s1 = bxor(ror(e, 6), ror(e, 11), ror(e, 25))
    local first = tobit(h + s1 + bxor(band(e, f), band(bnot(e), g)) + ROUND[i] + words[i])
    local s0 = bxor(ror(a, 2), ror(a, 13), ror(a, 22))
    local second = tobit(s0 + bxor(band(a, b), band(a, c), band(b, c)))
    a, b, c, d, e, f, g, h = tobit(first + second), a, b, c, tobit(d + first), e, f, g
  end
  for i, value in ipairs{a, b, c, d, e, f, g, h} do state[i] = tobit(state[i] + value) end
end

-- Returns the hash as eight numbers of 32 bits, with a sign.
local function words_of(text)
  local state, whole = {unpack(START)}, padded(text)
  for at = 1, #whole, 64 do add_chunk(state, schedule(whole, at)) end
  return state
end

---Returns the SHA-256 of a text.
---@param text string
---@return string hex 64 characters
---
---```lua
---local sha256 = require 'rtrain.data.preprocessors.sha256'
---assert(sha256.hex('abc'):sub(1, 16) == 'ba7816bf8f01cfea')
---```
function sha256.hex(text)
  local out = {}
  for i, word in ipairs(words_of(text)) do out[i] = bit.tohex(word) end
  return table.concat(out)
end

---Returns the SHA-256 of a text, as a number, modulo `n`.
---@param text string
---@param n integer up to 2^37
---@return integer place from 0
function sha256.modulo(text, n)
  local rest = 0
  for _, word in ipairs(words_of(text)) do
    rest = (rest * 65536 + band(rshift(word, 16), 0xffff)) % n
    rest = (rest * 65536 + band(word, 0xffff)) % n
  end
  return rest
end

return sha256

-- rtrain/data/rows/permutation.lua: Permutation: the order of a global shuffle, a pure function of its seed and the
-- number of rows.
--
-- Up to HELD rows the order is a torch.randperm, kept as a tensor (8 bytes a row). For more rows a keyed bijection
-- computes the place of a single row: a Feistel network over the next power of four, repeated until the result is below
-- the number of rows. Small numbers need randperm, because a network of few bits reaches only few of the orders.

local class = require 'base.class'
local seeds = require 'base.seed'
local torch = require 'torch'

local HELD = 2 ^ 22
local ROUNDS = 6

---A random order of the rows 0 … n - 1. Arguments: num_rows, seed, {held}: the largest number of rows for which the
---order is kept.
---
---```lua
---local Permutation = require 'rtrain.data.rows.permutation'
---local torch = require 'torch'
---local order = Permutation(100, 7)
---local rows = order:row_at(torch.arange(100))
---assert(torch.equal(order:place_of(rows), torch.arange(100)))
---```
---@class data.Permutation
---@overload fun(num_rows: integer, seed: integer, options?: {held: integer}): data.Permutation
local Permutation = class('Permutation')

function Permutation:init(num_rows, seed, options)
  self.num_rows = num_rows
  if num_rows <= (options and options.held or HELD) then
    self._rows = torch.randperm(num_rows, {generator = torch.Generator(seed)})
    return
  end
  self._half = 1
  while 4 ^ self._half < num_rows do self._half = self._half + 1 end
  self._mask = 2 ^ self._half - 1
  self._keys = {}
  for i = 1, ROUNDS do self._keys[i] = seeds.of(seed, i) % 2 ^ self._half end
end

-- Returns a hash of half a number. Multiplications by odd 32-bit numbers stay below 2^63, since a half has at most 26
-- bits and the factor of the second multiplication is cut to 31 bits.
local function scrambled(self, half, key)
  local x = half:bitwise_xor(key) * 0x9E3779B1
  x = x:bitwise_xor(x:bitwise_right_shift(17)):bitwise_and(0x7FFFFFFF) * 0x85EBCA6B
  return x:bitwise_xor(x:bitwise_right_shift(21)):bitwise_and(self._mask)
end

local function forward(self, x)
  local left, right = x:bitwise_right_shift(self._half), x:bitwise_and(self._mask)
  for i = 1, ROUNDS do left, right = right, left:bitwise_xor(scrambled(self, right, self._keys[i])) end
  return left:bitwise_left_shift(self._half):bitwise_or(right)
end

local function backward(self, x)
  local left, right = x:bitwise_right_shift(self._half), x:bitwise_and(self._mask)
  for i = ROUNDS, 1, -1 do left, right = right:bitwise_xor(scrambled(self, left, self._keys[i])), left end
  return left:bitwise_left_shift(self._half):bitwise_or(right)
end

-- At least one in four of the network's numbers is a row; the others go through the network again.
local function walk(self, x, step)
  local out = step(self, x)
  while true do
    local outside = out:ge(self.num_rows):nonzero():flatten()
    if outside:numel() == 0 then return out end
    out:index_copy_(0, outside, step(self, out:index_select(0, outside)))
  end
end

---Returns the rows at the given places of the order.
---@param places torch.Tensor int64 (n)
---@return torch.Tensor rows int64 (n)
function Permutation:row_at(places)
  if self._rows then return self._rows:index_select(0, places) end
  return walk(self, places, forward)
end

---Returns the places of the given rows.
---@param rows torch.Tensor int64 (n)
---@return torch.Tensor places int64 (n)
function Permutation:place_of(rows)
  if not self._rows then return walk(self, rows, backward) end
  self._places = self._places or torch.empty_like(self._rows):scatter_(0, self._rows, torch.arange(self.num_rows))
  return self._places:index_select(0, rows)
end

return Permutation

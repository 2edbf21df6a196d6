-- rtrain/data/loop/local_shuffle.lua: LocalShuffle: a shuffle through a buffer. The result depends only on the sequence
-- of rows, not on block boundaries.
--
-- The buffer holds carry + step rows: the requested size, plus whole batches of about half of it. Each round fills the
-- buffer, permutes it by a generator seeded by (seed, round), returns `step` rows and carries the rest over; the last
-- round returns all rows. So each row is drawn from at least the requested number of rows, and only the last batch can
-- be short. A row is moved about three times.
--
-- To resume, the same rounds run over row numbers, without the rows, and find the state of the shuffle after n rows.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local seeds = require 'base.seed'
local torch = require 'torch'

---A local shuffle. Arguments: size, the least number of rows to draw from; batch_size; seed.
---
---```lua
---local Block = require 'rtrain.data.blocks.block'
---local LocalShuffle = require 'rtrain.data.loop.local_shuffle'
---local torch = require 'torch'
---local whole, sum = {Block({'x'}, {torch.arange(50)})}, 0
---for block in LocalShuffle(10, 4, 0):blocks(function() return table.remove(whole) end) do
---  sum = sum + block:column('x'):sum():item()
---end
---assert(sum == 49 * 50 / 2)
---```
---@class data.LocalShuffle
---@overload fun(size: integer, batch_size: integer, seed: integer): data.LocalShuffle
local LocalShuffle = class('LocalShuffle')

function LocalShuffle:init(size, batch_size, seed)
  self._carry, self._seed = size, seed
  self._step = batch_size * math.max(1, math.ceil(size / 2 / batch_size))
end

local function order_of(self, round, rows)
  return torch.randperm(rows, {generator = torch.Generator(seeds.of(self._seed, round))})
end

-- Reads rows from the stream until the buffer has `wanted` rows or the stream ends.
local function fill(buffer, next_block, wanted)
  local parts, rows = {buffer.block}, buffer.block and buffer.block:num_rows() or 0
  while rows < wanted do
    local block = buffer.rest or next_block()
    buffer.rest = nil
    if block == nil then break end
    local here = math.min(block:num_rows(), wanted - rows)
    parts[#parts + 1] = block:narrow(0, here)
    if here < block:num_rows() then buffer.rest = block:narrow(here, block:num_rows() - here) end
    rows = rows + here
  end
  return #parts > 0 and Block.concat(parts) or nil
end

---@class data.ShufflePosition
---@field carried torch.Tensor int64: numbers in the sequence of the rows in the buffer, in the buffer's order
---@field next integer the first row that has not entered the buffer
---@field round integer
---@field skip integer rows that the round has returned

---Returns the position of the shuffle of that many rows after some of them were returned.
---@param num_rows integer of the whole sequence
---@param taken integer
---@return data.ShufflePosition
function LocalShuffle:position(num_rows, taken)
  local carried, at, round = torch.empty({0}, {dtype = 'int64'}), 0, 0
  while true do
    local last = math.min(at + self._carry + self._step - carried:size(0), num_rows)
    local buffer = torch.cat{carried, torch.arange(at, last)}
    if buffer:size(0) < self._carry + self._step or taken < self._step then
      return {carried = carried, next = at, round = round, skip = taken}
    end
    buffer = buffer:index_select(0, order_of(self, round, buffer:size(0)))
    carried = buffer:narrow(0, self._step, self._carry)
    at, round, taken = last, round + 1, taken - self._step
  end
end

---Returns the rows that are returned after that position, as ascending places of the sequence.
---@param num_rows integer
---@param position data.ShufflePosition
---@return integer[] places
---@return integer first all places from `first` on are included
function LocalShuffle:remaining(num_rows, position)
  local last = math.min(position.next + self._carry + self._step - position.carried:size(0), num_rows)
  local buffer = torch.cat{position.carried, torch.arange(position.next, last)}
  local shuffled = buffer:index_select(0, order_of(self, position.round, buffer:size(0)))
  return shuffled:narrow(0, position.skip, buffer:size(0) - position.skip):sort():tolist(), last
end

-- Restores the buffer: the carried rows come first in the stream, ascending, and are put into the buffer's order.
local function restored(position, next_block)
  local buffer, count = {}, position.carried:size(0)
  if count == 0 then return buffer end
  local sorted = fill(buffer, next_block, count)
  local _, order = position.carried:sort()
  local place = torch.empty_like(order):scatter_(0, order, torch.arange(count))
  buffer.block = sorted:take(place)
  return buffer
end

---Returns the rows of the stream in the shuffled order, as blocks.
---@param next_block fun(): data.Block|nil
---@param position? data.ShufflePosition the stream begins with the carried rows, ascending, then continues at `next`
---@return fun(): data.Block|nil
function LocalShuffle:blocks(next_block, position)
  position = position or {carried = torch.empty({0}, {dtype = 'int64'}), round = 0, skip = 0}
  local buffer, round, skip, ended
  return function()
    if ended then return nil end
    if buffer == nil then buffer, round, skip = restored(position, next_block), position.round, position.skip end
    local block = fill(buffer, next_block, self._carry + self._step)
    if block == nil then return nil end
    local rows = block:num_rows()
    ended = rows < self._carry + self._step
    local shuffled = block:take(order_of(self, round, rows))
    local out = ended and rows or self._step
    buffer.block = not ended and shuffled:narrow(out, rows - out) or nil
    local from = skip
    round, skip = round + 1, 0
    return shuffled:narrow(from, out - from)
  end
end

return LocalShuffle

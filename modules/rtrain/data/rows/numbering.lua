-- rtrain/data/rows/numbering.lua: Numbering: the numbers of the rows of a stream that has only some of all rows. Random
-- numbers of a row depend on it, and so not on the part that a rank has.

local class = require 'base.class'
local errors = require 'base.errors'
local ffi = require 'ffi'
local intervals = require 'rtrain.data.rows.intervals'
local torch = require 'torch'

---Numbers the blocks of a stream. Argument: slices, the rows of the stream, or their numbers as a tensor; nil: all.
---
---```lua
---local Numbering = require 'rtrain.data.rows.numbering'
---local numbering = Numbering {{3, 5}, {10, 20}}
---local first, numbers = numbering:next(4)
---assert(first == 3 and numbers[2]:item() == 7 and numbers[3]:item() == 8)
---assert(numbering:next(2) == 12)
---```
---@class data.Numbering
---@overload fun(slices?: data.Slices|torch.Tensor): data.Numbering
local Numbering = class('Numbering')

function Numbering:init(slices)
  self._at, self._last = 0, slices and 0 or math.huge
  if torch.is_tensor(slices) then
    self._numbers = slices
  elseif slices then
    self._next_interval = intervals.each(slices)
  end
end

---Returns the numbers of the next rows.
---@param count integer
---@return integer first of the first row
---@return torch.Tensor|nil numbers int64: of all, counted from the first; nil: neighbouring rows
function Numbering:next(count)
  if self._numbers then
    self._at = self._at + count
    local numbers = self._numbers:narrow(0, self._at - count, count)
    local first = numbers[0]:item()
    return first, numbers - first
  end
  local list = {}
  while count > 0 do
    if self._at == self._last then self._at, self._last = unpack(self._next_interval()) end
    local rows = math.min(count, self._last - self._at)
    list[#list + 1] = {self._at, self._at + rows}
    self._at, count = self._at + rows, count - rows
  end
  local first = list[1][1]
  return first, list[2] and intervals.places(list) - first or nil
end

---Returns a function that gives the number of the k-th row of an operator's stream, k from 0 on.
---@param position data.Position
---@return fun(k: integer): integer
function Numbering.of(position)
  local first, numbers = position.first_row, position.numbers
  if not numbers then return function(k) return first + k end end
  local pointer, count = ffi.cast('const int64_t *', numbers:data_ptr()), numbers:size(0)
  return function(k)
    -- The function holds the tensor.
    if k >= count then errors.raise('internal', ('row %d of %d has no number'):format(k, numbers:size(0))) end
    return first + tonumber(pointer[k])
  end
end

---Returns the numbers of `count` rows.
---@param position data.Position
---@param k integer place of the first of them in the stream
---@param count integer
---@return torch.Tensor int64
function Numbering.tensor(position, k, count)
  local first = position.first_row
  if not position.numbers then return torch.arange(first + k, first + k + count) end
  return position.numbers:narrow(0, k, count) + first
end

return Numbering

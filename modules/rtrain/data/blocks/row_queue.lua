-- rtrain/data/blocks/row_queue.lua: RowQueue: rows of a stream that were read but not yet used, independent of block
-- boundaries.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'

---Arguments: next_block, the stream; copies, whether `take` returns copies (Block:copied_rows).
---@class data.RowQueue
---@overload fun(next_block: (fun(): data.Block|nil), copies?: boolean): data.RowQueue
local RowQueue = class('RowQueue')

function RowQueue:init(next_block, copies)
  self._next_block, self._list, self._start, self._rows = next_block, {}, 0, 0
  self._part = copies and Block.copied_rows or Block.narrow
end

---Returns how many rows are queued.
---@return integer
function RowQueue:num_rows() return self._rows end

---Reads the next block that has rows.
---@return data.Block|nil block nil at the end of the stream
function RowQueue:pull()
  while true do
    local block = self._next_block()
    if block == nil then return nil end
    if block:num_rows() > 0 then
      self._list[#self._list + 1], self._rows = block, self._rows + block:num_rows()
      return block
    end
  end
end

---Removes the first rows.
---@param count integer at most num_rows()
function RowQueue:skip(count)
  self._rows = self._rows - count
  while count > 0 do
    local front = self._list[1]:num_rows()
    local here = math.min(count, front - self._start)
    self._start, count = self._start + here, count - here
    if self._start == front then
      table.remove(self._list, 1)
      self._start = 0
    end
  end
end

---Removes and returns the first rows.
---@param count integer at most num_rows()
---@return data.Block
function RowQueue:take(count)
  local parts, missing = {}, count
  while missing > 0 do
    local front = self._list[1]
    local here = math.min(missing, front:num_rows() - self._start)
    parts[#parts + 1] = self._part(front, self._start, here)
    self._start, missing = self._start + here, missing - here
    if self._start == front:num_rows() then
      table.remove(self._list, 1)
      self._start = 0
    end
  end
  self._rows = self._rows - count
  return Block.concat(parts)
end

return RowQueue

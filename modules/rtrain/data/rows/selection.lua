-- rtrain/data/rows/selection.lua: Selection: selects rows of a stream by their numbers.

local class = require 'base.class'
local intervals = require 'rtrain.data.rows.intervals'
local torch = require 'torch'

---Selects the rows that lie in intervals. Arguments: list, ascending.
---
---```lua
---local Block, Selection = require 'rtrain.data.blocks.block', require 'rtrain.data.rows.selection'
---local torch = require 'torch'
---local block = Block({'id'}, {torch.arange(10)})
---local some = Selection({{2, 4}, {7, 100}}):of_block(block, 0)
---assert(some:num_rows() == 5 and some:row(2).id == 7)
---```
---@class data.Selection
---@overload fun(list: data.Interval[]): data.Selection
local Selection = class('Selection')

function Selection:init(list)
  local ends = {}
  for _, interval in ipairs(list) do
    ends[#ends + 1] = interval[1]
    ends[#ends + 1] = interval[2]
  end
  self._list = list
  self._ends = torch.tensor(ends, {dtype = 'int64'})
  self.last = ends[#ends] or 0
end

---Returns which of these rows are selected.
---@param rows torch.Tensor int64 (n)
---@return torch.Tensor bool (n)
function Selection:mask(rows)
  if #self._list == 0 then return torch.zeros({rows:size(0)}, {dtype = 'bool'}) end
  return torch.searchsorted(self._ends, rows, {right = true}):bitwise_and(1):to('bool')
end

---Returns the selected rows of a block.
---@param block data.Block
---@param first integer number of its first row
---@return data.Block|nil rows nil if no row is selected
function Selection:of_block(block, first)
  local rows = block:num_rows()
  local parts = intervals.within(self._list, first, rows)
  if #parts == 0 then return nil end
  if #parts == 1 then return block:narrow(parts[1][1] - first, parts[1][2] - parts[1][1]) end
  return block:take(self:mask(torch.arange(first, first + rows)):nonzero():flatten())
end

---Returns the selected rows of a stream, which is read up to the last of them.
---@param next_block fun(): data.Block|nil
---@param first? integer number of the stream's first row (default 0)
---@return fun(): data.Block|nil
function Selection:blocks(next_block, first)
  local at = first or 0
  return function()
    while at < self.last do
      local block = next_block()
      if block == nil then return nil end
      local rows = self:of_block(block, at)
      at = at + block:num_rows()
      if rows then return rows end
    end
  end
end

---Returns every `every`-th row of a stream.
---@param next_block fun(): data.Block|nil
---@param every integer
---@param from integer the first row
---@return fun(): data.Block|nil
function Selection.strided(next_block, every, from)
  local at = 0
  return function()
    for block in next_block do
      local rows = block:num_rows()
      local first = (from - at) % every
      at = at + rows
      if first < rows then return block:take(torch.arange(first, rows, every)) end
    end
  end
end

return Selection

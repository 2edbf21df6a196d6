-- rtrain/data/rows/selection.lua: Selection: selects rows of a stream by their numbers.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local intervals = require 'rtrain.data.rows.intervals'
local torch = require 'torch'

---Selects the rows that lie in intervals. Argument: slices, ascending.
---
---```lua
---local Block, Selection = require 'rtrain.data.blocks.block', require 'rtrain.data.rows.selection'
---local torch = require 'torch'
---local block = Block({'id'}, {torch.arange(10)})
---local some = Selection({{2, 4}, {7, 100}}):of_block(block, 0)
---assert(some:num_rows() == 5 and some:row(2).id == 7)
---```
---@class data.Selection
---@overload fun(slices: data.Slices): data.Selection
local Selection = class('Selection')

function Selection:init(slices)
  self._slices = slices
  if slices.last then
    self.last = slices:last()
  else
    self.last = slices[1] and slices[#slices][2] or 0
  end
end

-- Returns the ends of the intervals, ascending.
local function ends_of(self)
  if self._ends then return self._ends end
  local ends = {}
  for _, interval in ipairs(self._slices) do
    ends[#ends + 1] = interval[1]
    ends[#ends + 1] = interval[2]
  end
  self._ends = torch.tensor(ends, {dtype = 'int64'})
  return self._ends
end

---Returns which of these rows are selected.
---@param rows torch.Tensor int64 (n)
---@return torch.Tensor bool (n)
function Selection:mask(rows)
  if self._slices.mask then return self._slices:mask(rows) end
  if self.last == 0 then return torch.zeros({rows:size(0)}, {dtype = 'bool'}) end
  return torch.searchsorted(ends_of(self), rows, {right = true}):bitwise_and(1):to('bool')
end

---Returns the selected rows of a block.
---@param block data.Block
---@param first integer number of its first row
---@return data.Block|nil rows nil if no row is selected
function Selection:of_block(block, first)
  local rows = block:num_rows()
  local places = intervals.places_within(self._slices, first, rows)
  if places then return block:take(places) end
  local parts = intervals.within(self._slices, first, rows)
  if #parts == 0 then return nil end
  if #parts == 1 then return block:narrow(parts[1][1] - first, parts[1][2] - parts[1][1]) end
  return block:take(intervals.places(intervals.behind(parts, first)))
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

-- Returns the rows at ascending places of a stream.
local function at_places(next_block, places)
  local at, taken = 0, 0
  return function()
    while taken < places:size(0) do
      local block = next_block()
      if block == nil then return nil end
      at = at + block:num_rows()
      local last = torch.searchsorted(places, torch.tensor(at, {dtype = 'int64'})):item()
      local first = taken
      taken = last
      if first < last then return block:take(places:narrow(0, first, last - first) - (at - block:num_rows())) end
    end
  end
end

---Returns the rows of a fragment that are kept.
---@param fragment table
---@param next_block fun(): data.Block|nil the rows that its source reads
---@return fun(): data.Block|nil
function Selection.of_fragment(fragment, next_block)
  if fragment.keep then return Selection(fragment.keep):blocks(next_block) end
  return fragment.places and at_places(next_block, fragment.places) or next_block
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

---Returns the rows of a stream after the first `count`.
---@param next_block fun(): data.Block|nil
---@param count integer
---@return fun(): data.Block|nil
function Selection.behind(next_block, count)
  return function()
    while count > 0 do
      local block = next_block()
      if block == nil then return nil end
      local rows = block:num_rows()
      local left_out = math.min(rows, count)
      count = count - left_out
      if left_out < rows then return block:narrow(left_out, rows - left_out) end
    end
    return next_block()
  end
end

---@class data.StepShare
---@field world_size integer
---@field rank integer
---@field batch_size integer rows of a rank in a step
---@field skip integer rows at the beginning of the stream, which are of no step

-- Iterates over the intervals that were added to a list, and removes them.
local function emptying(list)
  local i = 0
  return function()
    i = i + 1
    local interval = list[i]
    list[i] = nil
    return interval
  end
end

---Returns a rank's rows of a stream that is dealt by steps, as rtrain.data.rows.step_rows does it, where the number of rows is
---not known.
---@param next_block fun(): data.Block|nil
---@param share data.StepShare
---@return fun(): data.Block|nil
---@return data.Slices numbers of the rows that are returned, for whoever asks before the first of them
function Selection.by_steps(next_block, share)
  local rank, batch_size, step = share.rank, share.batch_size, share.world_size * share.batch_size
  local at, rest, held, numbers, added = share.skip, nil, nil, nil, 0
  next_block = Selection.behind(next_block, share.skip)
  local function add(first, count)
    added = added + 1
    if numbers then numbers[added] = {first, first + count} end
  end
  -- Returns the rank's rows of as many whole steps as there are, and keeps the others.
  local function own_of(block)
    local rows = block:num_rows()
    local steps = math.floor(rows / step)
    rest = steps * step < rows and block:narrow(steps * step, rows - steps * step) or nil
    for k = 0, steps - 1 do add(at + k * step + rank * batch_size, batch_size) end
    at = at + steps * step
    if steps == 1 then return block:narrow(rank * batch_size, batch_size) end
    local firsts = torch.arange(steps) * step + rank * batch_size
    return steps > 1 and block:take((firsts:unsqueeze(1) + torch.arange(batch_size)):flatten()) or nil
  end
  -- Only the step that lies in two blocks is put together.
  local function joined(block)
    if not rest then return block end
    local missing = math.min(step - rest:num_rows(), block:num_rows())
    held = missing < block:num_rows() and block:narrow(missing, block:num_rows() - missing) or nil
    return Block.concat {rest, block:narrow(0, missing)}
  end
  local function last_rows()
    local part = rest and math.floor(rest:num_rows() / share.world_size) or 0
    local rows = part > 0 and rest:narrow(rank * part, part) or nil
    if rows then add(at + rank * part, part) end
    rest = nil
    return rows
  end
  return function()
    while true do
      local block = held or next_block()
      held = nil
      if block == nil then return last_rows() end
      local rows = own_of(joined(block))
      if rows then return rows end
    end
  end, {each = function()
    numbers = {}
    return emptying(numbers)
  end}
end

return Selection

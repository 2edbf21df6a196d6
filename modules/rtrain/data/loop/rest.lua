-- rtrain/data/loop/rest.lua: Rest: the remaining rows of a rank, for a plan that changes the number of rows.
--
-- The rows of such a plan have no numbers: a rank must execute its part again to know which rows it has used. With the
-- same number of workers each rank executes its own part and skips the used rows. With another number each rank
-- executes the parts of all former ranks, one after the other, and takes every n-th of the remaining rows. This is
-- exact, but costs more in that epoch.

local class = require 'base.class'
local exchange = require 'rtrain.data.exchange'
local Position = require 'rtrain.data.loop.position'

---Arguments: feed; start, of a Position; ahead.
---@class data.Rest
---@overload fun(feed: data.Feed, start: data.Start, ahead: boolean): data.Rest
local Rest = class('Rest')

function Rest:init(feed, start, ahead)
  self._feed, self._epoch, self._seed, self._ahead = feed, start.epoch, start.state.seed, ahead
end

-- Returns the part of a rank, as the plan produces it.
local function part_of(self, state, rank)
  local part = state.world_size > 1 and {rank = rank, world_size = state.world_size} or nil
  local stream
  return function()
    if not stream then
      stream = self._feed:stream {
        epoch = self._epoch, seed = self._seed, part = part, ahead = self._ahead}
      self:close()
      self._stream = stream
    end
    return stream:next()
  end
end

-- Returns the rows of a stream after the first `count`.
local function behind(next_block, count)
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

-- Returns the remaining rows of all ranks of a state, one rank after the other.
local function left_by_all(self, state)
  local rank, next_block = 0, nil
  return function()
    while rank < state.world_size do
      next_block = next_block or self:blocks(state, rank)
      local block = next_block()
      if block then return block end
      rank, next_block = rank + 1, nil
    end
  end
end

---Returns the rows of a rank after those that its state counts, in its order.
---@param state table of a Position; `base` is the state from which its rows were divided
---@param rank integer
---@return fun(): data.Block|nil
function Rest:blocks(state, rank)
  local next_block
  if state.base then
    next_block = exchange.select(left_by_all(self, state.base), {every = state.world_size, from = rank})
  else
    next_block = part_of(self, state, rank)
  end
  local shuffle = Position.shuffle_of(state, self._epoch, rank)
  if shuffle then next_block = shuffle:blocks(next_block) end
  return behind(next_block, state.rows)
end

---Closes the open stream.
function Rest:close()
  local stream = self._stream
  self._stream = nil
  if stream then stream:close() end
end

return Rest

-- rtrain/data/loop/rest.lua: the rows that a rank has still to give, of a plan that changes the number of rows.
--
-- Such rows have no numbers of their own: which ones a rank has had is known only by running its part again. With as many
-- workers as before each runs its own part and leaves out what it gave. With others each runs the parts of all ranks of
-- before, one after the other, and takes every n-th of the rows that were left: exact, at the price of that one epoch.

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

-- The part of a rank, as it comes from the plan.
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

-- The rows of a stream that come after the first `count`.
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

-- What all ranks of a state have left, one after the other.
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

---What a rank gives after the rows that its state counts, in its order.
---@param state table of a Position; `base` is the state that its rows were dealt out from
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

---Ends the stream that is open.
function Rest:close()
  local stream = self._stream
  self._stream = nil
  if stream then stream:close() end
end

return Rest

-- rtrain/data/loop/rest.lua: Rest: the remaining rows of a rank, for a plan that changes the number of rows.
--
-- The rows of such a plan have no numbers: a rank must execute its part again to know which rows it has used. With the
-- same number of workers each rank executes its own part and skips the used rows. With another number each rank
-- executes the parts of all former ranks, one after the other, and takes every n-th of the remaining rows. This is
-- exact, but costs more in that epoch. Where the rows are dealt by steps each rank executes the whole plan, always.

local class = require 'base.class'
local exchange = require 'rtrain.data.exchange'
local Position = require 'rtrain.data.loop.position'
local Selection = require 'rtrain.data.rows.selection'

---Arguments: feed; start, of a Position; ahead.
---@class data.Rest
---@overload fun(feed: data.Feed, start: data.Start, ahead: boolean): data.Rest
local Rest = class('Rest')

function Rest:init(feed, start, ahead)
  self._feed, self._epoch, self._seed, self._ahead = feed, start.epoch, start.state.seed, ahead
end

-- Returns rows as the plan produces them: of a rank's part, of steps, or all.
local function part_of(self, of)
  local stream
  return function()
    if not stream then
      stream = self._feed:stream {
        epoch = self._epoch, seed = self._seed, part = of.part, steps = of.steps, ahead = self._ahead}
      self:close()
      self._stream = stream
    end
    return stream:next()
  end
end

-- Returns how many rows of the plan's order were used by the steps of a state and of those before it; nil if other rows
-- were used too.
local function used_by_steps(state)
  if not state.by_steps then return nil end
  local before = 0
  if state.base then before = used_by_steps(state.base) end
  return before and before + state.rows * state.world_size
end

-- Returns the rank's rows of each step behind the used ones.
local function of_steps(self, state, rank)
  local share = {world_size = state.world_size, rank = rank, batch_size = state.batch_size, skip = used_by_steps(state)}
  if share.skip then return part_of(self, {steps = share}) end
  share.skip = state.rows * state.world_size
  return Selection.by_steps(self:_left(state.base), share)
end

-- Returns the remaining rows of all ranks of a state: in their order, or one rank after the other.
function Rest:_left(state)
  if state.by_steps then
    local rows = state.base and self:_left(state.base) or part_of(self, {})
    return Selection.behind(rows, state.rows * state.world_size)
  end
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
  if state.by_steps then return of_steps(self, state, rank) end
  if state.base then
    next_block = exchange.select(self:_left(state.base), {every = state.world_size, from = rank})
  else
    next_block = part_of(self, {part = state.world_size > 1 and {rank = rank, world_size = state.world_size} or nil})
  end
  local shuffle = Position.shuffle_of(state, self._epoch, rank)
  if shuffle then next_block = shuffle:blocks(next_block) end
  return Selection.behind(next_block, state.rows)
end

---Closes the open stream.
function Rest:close()
  local stream = self._stream
  self._stream = nil
  if stream then stream:close() end
end

return Rest

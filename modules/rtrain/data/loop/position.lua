-- rtrain/data/loop/position.lua: Position: the rows of an epoch that a rank takes, and its progress: plain data for
-- checkpoints.
--
-- The rows of an epoch are dealt by steps (rtrain.data.rows.step_rows), or where that would cost too much divided into
-- neighbouring rows of each rank, with the same number for each. All ranks take equal steps, so the state of one rank
-- describes all ranks: a run that continues with another number of workers deals the unused rows again, each row once. With
-- the same number each rank continues exactly where it was. The state says how its rows were dealt: the rest of an epoch
-- that was saved before there were steps is of neighbouring rows.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local intervals = require 'rtrain.data.rows.intervals'
local LocalShuffle = require 'rtrain.data.loop.local_shuffle'
local ordered = require 'base.ordered'
local StepRows = require 'rtrain.data.rows.step_rows'
local seeds = require 'base.seed'

local VERSION = 1
local STATE_FIELDS = {'version', 'epoch', 'finished', 'rows', 'num_rows', 'world_size', 'remaining', 'batch_size',
                      'shuffle_size', 'shuffle_seed', 'seed', 'base', 'by_steps'}

-- Integer fields, with their smallest value.
local COUNTS = {epoch = -1, rows = 0, world_size = 1, seed = 0}
local OPTIONAL_COUNTS = {num_rows = 0, batch_size = 1, shuffle_size = 1, shuffle_seed = 0}

---@class data.Batching
---@field batch_size? integer nil: whole blocks
---@field shuffle_size? integer size of the local shuffle
---@field shuffle_seed? integer default: the position's seed
---@field by_steps? boolean whether the rows are dealt by steps, if there is a batch_size and no local shuffle

---Arguments: name of the dataset; world_size, rank; seed, for operators without a seed. A loaded state replaces the
---seed, since the used rows belong to the orders of its seed.
---@class data.Position
---@field seed integer
---@overload fun(name: string, share: {world_size: integer, rank: integer}, seed: integer): data.Position
local Position = class('Position')

function Position:init(name, share, seed)
  self._name, self._world_size, self._rank, self.seed = name, share.world_size, share.rank, seed
  self._next_epoch = 0
end

---Sets the rank and the world size, effective from the next epoch or `load_state` on.
---@param share {world_size: integer, rank: integer}
function Position:set_place(share) self._world_size, self._rank = share.world_size, share.rank end

---Returns the local shuffle of a rank in an epoch; nil without one.
---@param batching data.Batching or a state
---@param epoch integer
---@param rank integer
---@return data.LocalShuffle|nil
function Position.shuffle_of(batching, epoch, rank)
  if not batching.shuffle_size then return nil end
  return LocalShuffle(batching.shuffle_size, batching.batch_size, seeds.of(batching.shuffle_seed or batching.seed, epoch, rank))
end

local function whole(state) return state.remaining or intervals.all(state.num_rows) end

-- Returns the unused rows of a rank's part.
local function left_of(state, rank)
  local own = intervals.deal(whole(state), state.world_size, rank)
  local count = intervals.count(own)
  local shuffle = Position.shuffle_of(state, state.epoch, rank)
  if not shuffle then return intervals.slice(own, state.rows, count) end
  local places, first = shuffle:remaining(count, shuffle:position(count, math.min(state.rows, count)))
  return intervals.union {intervals.pick(own, places), intervals.slice(own, first, count)}
end

-- Returns the rows that no rank has used, including those that were not assigned to any rank.
local function left_of_all(state)
  local list, lists = whole(state), {}
  if state.by_steps then return intervals.slice(list, state.rows * state.world_size, math.huge) end
  local dealt = math.floor(intervals.count(list) / state.world_size) * state.world_size
  for rank = 0, state.world_size - 1 do lists[rank + 1] = left_of(state, rank) end
  lists[#lists + 1] = intervals.slice(list, dealt, intervals.count(list))
  return intervals.union(lists)
end

local function same_batching(state, batching)
  return state.batch_size == batching.batch_size and state.shuffle_size == batching.shuffle_size
    and state.shuffle_seed == batching.shuffle_seed
end

local function check_dealt_again(self, state)
  if state.batch_size == nil and state.world_size > 1 then
    errors.raise('unsupported', ("dataset '%s': without a batch_size each rank has had another number of rows, so that they "
      .. 'cannot be dealt out to %d workers in the middle of an epoch'):format(self._name, self._world_size))
  end
end

-- Returns the start of an epoch: a new epoch, or the loaded state.
local function start_of(self, num_rows, batching)
  local state = self._loaded
  self._loaded = nil
  local out = {version = VERSION, num_rows = num_rows, world_size = self._world_size, finished = false, seed = self.seed,
               batch_size = batching.batch_size, shuffle_size = batching.shuffle_size, shuffle_seed = batching.shuffle_seed,
               by_steps = batching.by_steps and batching.batch_size and not batching.shuffle_size or nil}
  if not state or state.finished then
    out.epoch, out.rows = self._next_epoch, 0
    return out
  end
  if state.num_rows ~= num_rows then
    errors.raise('argument', ("dataset '%s' has %s rows, and %s when the state was saved"):format(self._name,
      tostring(num_rows or 'an unknown number of'), tostring(state.num_rows or 'an unknown number')))
  end
  out.epoch = state.epoch
  if state.world_size == self._world_size and same_batching(state, batching) then
    out.remaining, out.base, out.rows, out.by_steps = state.remaining, state.base, state.rows, state.by_steps
    return out
  end
  check_dealt_again(self, state)
  out.rows = 0
  if num_rows then out.remaining = left_of_all(state) else out.base = state end
  return out
end

---@class data.Start
---@field epoch integer
---@field rows? data.Slices the rows that the stream must return; nil if the number of rows is not known
---@field state table from which Rest continues, if the number of rows is not known
---@field shuffle? data.LocalShuffle
---@field shuffle_position? data.ShufflePosition

---Begins an epoch: the next one, or the rest of the loaded one.
---@param num_rows? integer of the whole epoch; nil if it is not known
---@param batching data.Batching
---@return data.Start
function Position:begin(num_rows, batching)
  local state = start_of(self, num_rows, batching)
  self._state, self._next_epoch = state, state.epoch + 1
  if num_rows == nil then return {epoch = state.epoch, state = state} end
  if state.by_steps then
    local share = {world_size = self._world_size, rank = self._rank}
    return {epoch = state.epoch, state = state, rows = StepRows.of(left_of_all(state), share, state.batch_size)}
  end
  local out = {epoch = state.epoch, state = state, shuffle = Position.shuffle_of(state, state.epoch, self._rank)}
  local own = intervals.deal(whole(state), self._world_size, self._rank)
  local count = intervals.count(own)
  if not out.shuffle then
    out.rows = intervals.slice(own, state.rows, count)
    return out
  end
  local position = out.shuffle:position(count, math.min(state.rows, count))
  out.shuffle_position = position
  out.rows = intervals.union {intervals.pick(own, position.carried:sort():tolist()),
                              intervals.slice(own, position.next, count)}
  return out
end

---Counts rows that were returned.
---@param rows integer
function Position:advance(rows) self._state.rows = self._state.rows + rows end

---Called when the epoch has ended.
function Position:finish() self._state.finished = true end

local function copy(value)
  if type(value) ~= 'table' then return value end
  local out = {}
  for key, item in next, value do out[key] = copy(item) end
  return out
end

---Returns the position of the rank as plain data.
---@return table state
function Position:state()
  local state = self._state or self._loaded
  if state then return copy(state) end
  return {version = VERSION, epoch = self._next_epoch - 1, finished = true, rows = 0, world_size = self._world_size,
          seed = self.seed}
end

local function is_count(value, least) return type(value) == 'number' and value % 1 == 0 and value >= least end

local function is_ascending(list, num_rows)
  local last = 0
  for _, interval in ipairs(list) do
    if type(interval) ~= 'table' or not is_count(interval[1], last) or not is_count(interval[2], interval[1]) then
      return false
    end
    last = interval[2]
  end
  return last <= num_rows
end

local problem_of

-- Returns the name of a wrong field in a state, or nil.
function problem_of(state)
  if state.version ~= VERSION then return 'version' end
  for _, name in ipairs(ordered.keys_of(COUNTS)) do
    local least = COUNTS[name]
    if not is_count(state[name], least) then return name end
  end
  for _, name in ipairs(ordered.keys_of(OPTIONAL_COUNTS)) do
    local least = OPTIONAL_COUNTS[name]
    if state[name] ~= nil and not is_count(state[name], least) then return name end
  end
  local remaining = state.remaining
  if remaining ~= nil and not (type(remaining) == 'table' and is_ascending(remaining, state.num_rows or 0)) then
    return 'remaining'
  end
  if state.by_steps ~= nil and (type(state.by_steps) ~= 'boolean' or state.batch_size == nil) then return 'by_steps' end
  if state.base ~= nil and (type(state.base) ~= 'table' or problem_of(state.base)) then return 'base' end
end

---Makes the next epoch continue at a saved state.
---@param state table a result of `state`, from any rank
function Position:load_state(state)
  args.options(state, STATE_FIELDS, 'load_state')
  local problem = problem_of(state)
  if problem then
    errors.raise('argument', ("load_state: this is not the state of a dataset shard: its field '%s' is missing or wrong")
      :format(problem))
  end
  self._loaded, self._state, self.seed = copy(state), nil, state.seed
  self._next_epoch = state.epoch + 1
end

return Position

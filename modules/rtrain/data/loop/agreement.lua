-- rtrain/data/loop/agreement.lua: Agreement: gives all ranks the same number of rows if no rank knows its number in
-- advance.
--
-- A plan that filters gives each rank a different number of rows. The ranks synchronize in rounds over the attempt's
-- key-value store: each announces how many rows it has ready, or that it has no more, and all continue to the smallest
-- number. When the rank with the smallest number has no more rows, the epoch ends for all ranks, and the surplus rows
-- of the others are dropped. After the deadline an error names the ranks that are missing in a round.

local class = require 'base.class'
local errors = require 'base.errors'
local monotonic = require('base._system').monotonic

-- Batches that a rank gathers before the next round: few at first, so that the first batch is available soon.
local FIRST_BATCHES, MOST_BATCHES = 1, 8
local MOST_BYTES = 64 * 2 ^ 20

---@class data.AgreementOptions
---@field store {store_set: function, store_get: function, store_delete: function}
---@field name string of the dataset
---@field rank integer
---@field world_size integer
---@field timeout_s number
---@field attempt? fun(): integer the attempt that the store belongs to

---Arguments: options; on_wait, called with the seconds that each round took.
---@class data.Agreement
---@overload fun(options: data.AgreementOptions, on_wait?: fun(seconds: number)): data.Agreement
local Agreement = class('Agreement')

function Agreement:init(options, on_wait)
  for name, value in next, options do self['_' .. name] = value end
  self._loops, self._on_wait = 0, on_wait
end

---Sets the rank and the world size, effective from the next loop on.
---@param share {world_size: integer, rank: integer}
function Agreement:set_place(share) self._world_size, self._rank = share.world_size, share.rank end

local function key_of(self, loop, round, rank) return ('data/%s/%d/%d/%d'):format(self._name, loop, round, rank) end

local function told_by(self, loop, round, rank)
  local ok, value = pcall(self._store.store_get, key_of(self, loop, round, rank), self._timeout_s)
  if ok then return value end
  local err = errors.wrap(value)
  if err.code ~= 'timeout' then error(err, 0) end
  errors.raise('timeout', ("dataset '%s': rank %d has not asked for more batches of loop %d within %g s "
    .. '(TorchConfig.timeout_s), rank %d waits for it: every rank loops over the dataset equally often and as far'):format(
    self._name, rank, loop, self._timeout_s, self._rank))
end

-- Runs one round: returns the number of rows that every rank can give, and whether these are the last.
local function synchronize(self, state)
  local before = monotonic()
  state.round = state.round + 1
  local own_key = key_of(self, state.loop, state.round, self._rank)
  self._store.store_set(own_key, ('%d %s'):format(state.ready, state.ended and 'last' or 'more'))
  local least, is_last = math.huge, false
  for rank = 0, self._world_size - 1 do
    local rows, word = told_by(self, state.loop, state.round, rank):match('^(%d+) (%l+)$')
    rows = tonumber(rows)
    if rows < least then least, is_last = rows, false end
    if rows == least then is_last = is_last or word == 'last' end
  end
  -- All ranks have written this round, so all have read the round before.
  if self._previous_key then self._store.store_delete(self._previous_key) end
  self._previous_key = own_key
  state.limit, state.is_last = least, is_last
  if self._on_wait then self._on_wait(monotonic() - before) end
end

local function gather(stream, limit, rows)
  local bytes = 0
  while not stream.ended and (stream.ready < limit + rows) and (bytes < MOST_BYTES or stream.ready <= limit) do
    local block = stream.next_block()
    if block == nil then
      stream.ended = true
    elseif block:num_rows() > 0 then
      stream.queue[#stream.queue + 1] = block
      stream.ready, bytes = stream.ready + block:num_rows(), bytes + block:size_bytes()
    end
  end
end

local function hand_out(stream, limit)
  local front = table.remove(stream.queue, 1)
  local rows = math.min(front:num_rows(), limit - stream.given)
  stream.given = stream.given + rows
  if rows < front:num_rows() then table.insert(stream.queue, 1, front:narrow(rows, front:num_rows() - rows)) end
  return front:narrow(0, rows)
end

-- Gathers rows of all streams of this rank: the one with the fewest counts.
local function gather_all(state, rows)
  state.ready, state.ended = math.huge, false
  for _, stream in ipairs(state.streams) do
    gather(stream, state.limit, rows)
    if stream.ready < state.ready then state.ready, state.ended = stream.ready, false end
    if stream.ready == state.ready then state.ended = state.ended or stream.ended or false end
  end
end

---Returns the streams of this rank, cut to the number of rows that all streams of all ranks can give. Every rank must call
---this the same number of times.
---@param next_blocks (fun(): data.Block|nil)[]
---@param batch_size integer rows of a step
---@return (fun(): data.Block|nil)[]
function Agreement:streams(next_blocks, batch_size)
  -- A rank that continues in another attempt starts counting again, like the new process that replaces a lost rank.
  local attempt = self._attempt and self._attempt()
  if attempt ~= self._counted_in then self._loops, self._counted_in, self._previous_key = 0, attempt, nil end
  self._loops = self._loops + 1
  local state, out = {streams = {}, loop = self._loops, round = 0, limit = 0}, {}
  local batches = FIRST_BATCHES
  for i, next_block in ipairs(next_blocks) do
    local stream = {next_block = next_block, queue = {}, ready = 0, given = 0}
    state.streams[i] = stream
    out[i] = function()
      while stream.given >= state.limit do
        if state.is_last then return nil end
        gather_all(state, batches * batch_size)
        batches = math.min(2 * batches, MOST_BATCHES)
        synchronize(self, state)
      end
      return hand_out(stream, state.limit)
    end
  end
  return out
end

---The same of one stream.
---@param next_block fun(): data.Block|nil
---@param batch_size integer
---@return fun(): data.Block|nil
function Agreement:blocks(next_block, batch_size) return self:streams({next_block}, batch_size)[1] end

---Returns agreements for the iterators of several streams of this rank, which begin their loops together.
---@param count integer
---@return {blocks: function, set_place: function}[]
function Agreement:members(count)
  local given, streams, members = {}, nil, {}
  for i = 1, count do
    members[i] = {
      set_place = function() end,
      blocks = function(_, next_block, batch_size)
        if i == 1 then streams = nil end
        given[i] = next_block
        return function()
          streams = streams or self:streams({unpack(given)}, batch_size)
          return streams[i]()
        end
      end,
    }
  end
  return members
end

return Agreement

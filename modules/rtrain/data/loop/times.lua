-- rtrain/data/loop/times.lua: Times: a rank's time between batches: for rows, other ranks, batching, collating, and
-- training.

local class = require 'base.class'
local monotonic = require('base._system').monotonic

---The result of stats(). Seconds, over all loops.
---@class data.Times
---@field loops integer
---@field batches integer
---@field rows integer
---@field wait_s number the loop waited for rows to be read and computed
---@field ranks_s number the loop waited for the other ranks to announce their numbers of rows
---@field batching_s number cutting, joining and shuffling
---@field collate_s number converting a batch for the loop's body: dtypes, device, collate_fn
---@field body_s number the loop's body
---@field stall_percent number share of the time outside the loop's body
local Times = class('Times')

function Times:init()
  self.loops, self.batches, self.rows = 0, 0, 0
  self.wait_s, self.ranks_s, self.batching_s, self.collate_s, self.body_s = 0, 0, 0, 0, 0
  self.stall_percent = 0
end

---Called when a loop begins.
function Times:begin()
  self.loops, self._left = self.loops + 1, nil
end

---Called when the loop's body requests a batch.
---@param now number
function Times:ask(now)
  if self._left then self.body_s = self.body_s + now - self._left end
  self._left, self._within = nil, 0
end

---Adds time spent waiting for rows while a batch was made.
---@param seconds number
function Times:waited(seconds)
  self.wait_s, self._within = self.wait_s + seconds, (self._within or 0) + seconds
end

---Adds time spent waiting for other ranks while a batch was made.
---@param seconds number
function Times:waited_for_ranks(seconds)
  self.ranks_s, self._within = self.ranks_s + seconds, (self._within or 0) + seconds
end

---Called when a batch is returned.
---@param rows integer
---@param fetch_s number
---@param collate_s number
function Times:hand_out(rows, fetch_s, collate_s)
  self.batches, self.rows = self.batches + 1, self.rows + rows
  self.batching_s = self.batching_s + math.max(0, fetch_s - self._within)
  self.collate_s = self.collate_s + collate_s
  local stalled = self.wait_s + self.ranks_s + self.batching_s + self.collate_s
  self.stall_percent = stalled > 0 and 100 * stalled / (stalled + self.body_s) or 0
  self._left = monotonic()
end

function Times:__tostring()
  return ('%d loops, %d batches, %d rows; data stall %.1f %% (waiting for rows %.3f s, for other ranks %.3f s, '
    .. 'batching %.3f s, collating %.3f s; loop body %.3f s)'):format(self.loops, self.batches, self.rows, self.stall_percent,
    self.wait_s, self.ranks_s, self.batching_s, self.collate_s, self.body_s)
end

return Times

-- rtrain/trial/session.lua: a trial in its workers: after each report the sweep decides whether it continues.
--
-- Rank 0 asks. If the sweep has a scheduler, the other ranks wait for the answer too, so that all stop at the same
-- report: the report then raises an error, which ends the train function and counts as its return.

local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local errors = require 'base.errors'
local link = require 'rtrain.trial'
local number = require 'base.number'

local Session = class('TrialSession')

local function share(self, value)
  if self._world_size == 1 then return value end
  local closure = require 'base._closure'
  local bytes = self._rank == 0 and closure.dump(value) or ''
  return closure.load(require('rtrain._worker').synchronize('train.report() of a trial', bytes))
end

---@param place rtrain.tune.Link
---@param context table of the worker
---@param starting? table the checkpoint that the attempt starts from
function Session:init(place, context, starting)
  self._number, self._rank, self._world_size = place.number, context.world_rank, context.world_size
  self._index = starting and starting.index + 1 or 0
  local client = require('rtrain._tune').connect(place.socket)
  local answer = client:ask {type = 'begin', trial = self._number}
  if self._rank == 0 then self._client = client end
  self._decides = answer.decides
  local given = answer.checkpoint
  -- Another trial's checkpoint, until this trial has a later one.
  if given and (starting and starting.index or -1) <= given.after_index then self.checkpoint = Checkpoint(given.path) end
end

---Returns the session of this worker; nil outside a trial.
---@param context table
---@param starting? table
---@return table?
function Session.begin(context, starting)
  local place = link.current()
  return place and Session(place, context, starting) or nil
end

---Returns whether all ranks must call after_report(): the sweep may stop the trial there.
---@return boolean
function Session:needs_all_ranks() return self._decides and self._world_size > 1 end

-- Names the numbers of nested tables 'val/loss', as Ray Tune does.
local function numbers_of(metrics, out, prefix)
  for key, value in next, metrics do
    if type(key) == 'string' and number.of(value) then out[prefix .. key] = number.of(value) end
    if type(key) == 'string' and type(value) == 'table' then numbers_of(value, out, prefix .. key .. '/') end
  end
  return out
end

---Handles a report. Raises an error if the sweep stops the trial here.
---@param metrics table plain data
---@param has_checkpoint boolean
function Session:after_report(metrics, has_checkpoint)
  if self._rank ~= 0 and not self._decides then return end
  local answer = self._client and self._client:ask {
    type = 'report', trial = self._number, index = self._index, metrics = numbers_of(metrics, {}, ''),
    has_checkpoint = has_checkpoint,
  }
  self._index = self._index + 1
  if not self._decides then return end
  local decision = share(self, answer)
  if decision.action == 'CONTINUE' then return end
  self._is_stopped = true
  if self._rank == 0 then
    require('rtrain._worker').annotate(('ended after report %d. %s'):format(self._index, decision.reason or ''), 'info')
  end
  errors.raise('interrupted', 'the sweep ends this trial here')
end

---Calls the train function. Its end after the sweep has stopped the trial does not count as an error.
---@param fn function
---@param config? table
---@return any returned
function Session:call(fn, config)
  local ok, returned = xpcall(fn, errors.wrap, config)
  if ok then return returned end
  if not self._is_stopped then error(returned, 0) end
  return nil
end

return Session

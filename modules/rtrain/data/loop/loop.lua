-- rtrain/data/loop/loop.lua: Loop: the object in `for batch in shard:iter_batches{…} do`: batches of an iterator, epoch
-- by epoch.

local batch_faults = require 'rtrain.data.loop.batch_faults'
local class = require 'base.class'
local errors = require 'base.errors'
local loop_limit = require 'torch.utils.data.loop_limit'
local loop_watch = require 'torch.utils.data.loop_watch'
local monotonic = require('base._system').monotonic
local not_finite = require 'rtrain.session.not_finite'
local phases = require 'base.phases'

---Batches of a dataset. Each `for` over it is a new epoch and ends the epoch before, as does any other loop over the
---same iterator. Outside of `for`, call `local next_batch = loop:iter()`.
---@class data.Loop
local Loop = class('Loop', nil, {userdata = true})

---@param iterator rtrain.data.DataIterator
---@param batching data.Batching with drop_last
---@param convert fun(block: data.Block): any makes the value for the loop's body
function Loop:init(iterator, batching, convert)
  self._iterator, self._batching, self._convert = iterator, batching, convert
end

function Loop:_begin()
  local iterator, convert = self._iterator, self._convert
  local epoch = iterator:_begin(self._batching)
  local times = iterator._times
  return phases.timed(phases.DATA, function()
    if iterator._epoch ~= epoch then
      if epoch.ended then return nil end
      errors.raise('argument', ('%s: this loop was ended by a newer one over the same data'):format(tostring(iterator)))
    end
    local before = monotonic()
    times:ask(before)
    local block = epoch.next_batch()
    if block == nil then
      iterator:_finish(epoch)
      return nil
    end
    local fetched = monotonic()
    local batch = convert(block)
    times:hand_out(block:num_rows(), fetched - before, monotonic() - fetched)
    epoch.advance(block:num_rows())
    if not_finite.is_watching() then not_finite.see_batch(batch, batch_faults.of(block)) end
    return batch
  end)
end

---Begins an epoch.
---@return fun(): any next_batch nil at the end
function Loop:iter()
  local next_batch = loop_limit.batches(self._iterator, function() return self:_begin() end)
  self._next = loop_watch.batches(next_batch, function() return self._iterator:_described(self._batching) end)
  return self._next
end

---Returns the position of the iterator, as DataIterator:state().
---@return table state
function Loop:state() return self._iterator:state() end

---@param state table a result of state()
function Loop:load_state(state) self._iterator:load_state(state) end

-- Called by `for batch in loop do`: Lua passes two values; the second one is nil at the beginning.
function Loop:__call(...)
  if not self._next or (select('#', ...) == 2 and select(2, ...) == nil) then self:iter() end
  return self._next()
end

return Loop

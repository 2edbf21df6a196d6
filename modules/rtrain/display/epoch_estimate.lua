-- rtrain/display/epoch_estimate.lua: EpochEstimate: says in a run's first epoch how long it will take.

local class = require 'base.class'
local texts = require 'rtrain.display.texts'

local STEADY_S = 1  -- the first batches are slower than later ones
local SHORT_S = 5   -- the report of a shorter epoch is there before the estimate is of use

---@class EpochEstimate
local EpochEstimate = class('EpochEstimate')

---@param eta Eta knows the number of epochs
function EpochEstimate:init(eta) self._eta = eta end

---Called at the first report.
function EpochEstimate:finish() self._is_over = true end

---Returns, once in a run, 'the first epoch takes about 41.1 s (469 batches), all 5 about 3 min 26 s'.
---@param event table event of the controller, type 'loop'
---@param now number seconds
---@return string?
function EpochEstimate:text(event, now)
  if self._is_over then return nil end
  self._began = self._began or now
  if not event.batches or not event.rate or now - self._began < STEADY_S then return nil end
  self._is_over = true
  local epoch_s = event.batches / event.rate
  if epoch_s < SHORT_S then return nil end
  local text = ('the first epoch takes about %s (%s)'):format(texts.seconds(epoch_s),
    texts.counted(event.batches, 'batch', 'batches'))
  local epochs = self._eta:epochs()
  if not epochs or epochs < 2 then return text end
  return ('%s, all %d about %s'):format(text, epochs, texts.seconds(epochs * epoch_s))
end

return EpochEstimate

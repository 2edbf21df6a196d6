-- rtrain/display/loop_line.lua: LoopLine: the progress of rank 0's loop over batches, as a bar.

local class = require 'base.class'
local text_width = require 'base.text_width'
local texts = require 'rtrain.display.texts'

local MOST_BAR_COLUMNS, LEAST_BAR_COLUMNS = 40, 8

---@class LoopLine
local LoopLine = class('LoopLine')

---@param noun? string what is counted, default 'batch'
function LoopLine:init(noun) self._noun = noun or 'batch' end

---@param event table event of the controller, type 'loop'
---@param now number seconds
function LoopLine:add(event, now)
  local is_over = event.batches and event.batch >= event.batches
  self._now = not is_over and event or nil
  self._at = now
end

---Called when no loop is running any more.
function LoopLine:clear() self._now = nil end

local function rate_text(rate)
  if not rate then return '' end
  return rate >= 1 and ('  %.1f it/s'):format(rate) or ('  %.1f s/it'):format(1 / rate)
end

-- Returns the remaining time of the epoch, at the current rate of batches.
local function left_text(event, waited_s)
  if not event.batches or not event.rate then return '' end
  return ('  %s left'):format(texts.seconds(math.max(0, (event.batches - event.batch) / event.rate - waited_s)))
end

local function bar(share, columns)
  local full = math.floor(share * columns + 0.5)
  return ('━'):rep(full) .. ('─'):rep(columns - full)
end

---Returns 'batch  62/938  ━━━━━━──────────  45.2 it/s  18.1 s left', nil if no loop is running.
---@param now number seconds
---@param columns? integer nil: leaves out the bar
---@return string?
function LoopLine:text(now, columns)
  local event = self._now
  if not event then return nil end
  local batches = event.batches and tostring(event.batches)
  local head = self._noun .. (batches and (' %' .. #batches .. 'd/%s'):format(event.batch, batches)
    or (' %d'):format(event.batch))
  local tail = rate_text(event.rate) .. left_text(event, now - self._at)
  if not columns then return head .. tail end
  local room = math.min(columns - #head - #tail - 2, MOST_BAR_COLUMNS)
  if event.batches and room >= LEAST_BAR_COLUMNS then
    head = head .. '  ' .. bar(event.batch / event.batches, room)
  end
  return text_width.cut(head .. tail, columns)
end

return LoopLine

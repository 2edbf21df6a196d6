-- rtrain/run/first_loop.lua: FirstLoop: describes a run's first loop over batches, for its events and the display.

local class = require 'base.class'
local texts = require 'rtrain.display.texts'

local FirstLoop = class('FirstLoop')

---@param note fun(attempt: integer, text: string) called when there is something new to report
function FirstLoop:init(note) self._note, self._num_workers = note, 1 end

local function batches_text(event, workers)
  local text = ('batches of %d'):format(event.batch_size)
  return workers == 1 and text or ('%s on each worker, %d together'):format(text, event.batch_size * workers)
end

-- Returns each worker's part of the dataset. All of it is pointed out, since that may be a mistake.
local function samples_text(event, workers)
  if not event.samples then return '' end
  local samples = texts.counted(event.samples, 'sample')
  if workers == 1 then return (', %s an epoch'):format(samples) end
  if event.samples ~= event.dataset_size then
    return event.dataset_size and ('; %d of %d samples each'):format(event.samples, event.dataset_size) or ''
  end
  return ('; all of %s each: prepare_data_loader deals them out'):format(samples)
end

function FirstLoop:_say()
  local event = self._loop
  if not event or self._running ~= event.attempt then return end
  self._loop = nil
  local text = batches_text(event, self._num_workers) .. samples_text(event, self._num_workers)
  if text == self._text then return end
  self._text = text
  self._note(event.attempt, text)
end

---Handles a loop event. If a rank is in its loop before all of them run, the event waits for that.
---@param event table of the controller
function FirstLoop:add(event)
  if event.type == 'state' then
    if (event.num_workers or 0) > 0 then self._num_workers = event.num_workers end
    if event.state == 'RUNNING' then self._running = event.attempt end
  elseif event.type == 'loop' and event.batch_size and event.attempt ~= self._attempt then
    self._attempt, self._loop = event.attempt, event
  end
  self:_say()
end

return FirstLoop

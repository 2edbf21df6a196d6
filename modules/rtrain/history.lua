-- rtrain/history.lua: the metrics of every report of a run, as fit() saw them.

local class = require 'rtrain.class'

local History = class('History')

function History:init()
  self._rows = {}       -- report number + 1 → metrics
  self._last = 0
  self._committed = 0   -- rows up to the latest checkpoint
end

---Takes an event of the controller.
---@param event table
function History:add(event)
  if event.type == 'report' then
    local at = event.index + 1
    self._rows[at] = event.metrics
    self._last = math.max(self._last, at)
    if event.checkpoint then self._committed = at end
  elseif event.type == 'attempt_failed' and event.will_retry then
    -- What came after the latest checkpoint is done again.
    for at = self._committed + 1, self._last do self._rows[at] = nil end
    self._last = self._committed
  end
end

---@return table[] metrics in the order of the reports
function History:rows()
  local out = {}
  for at = 1, self._last do
    if self._rows[at] then out[#out + 1] = self._rows[at] end
  end
  return out
end

return History

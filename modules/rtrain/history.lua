-- rtrain/history.lua: the metrics of every report of a run, as fit() saw them.

local class = require 'rtrain.class'

local History = class('History')

---@param stored fun(): table[] the rows {index, metrics} that earlier controllers of the run left in the store
function History:init(stored)
  self._stored = stored
  self._rows = {}   -- report number + 1 → metrics
  self._last = 0
  self._begun = false
end

function History:_set(index, metrics)
  self._rows[index + 1] = metrics
  self._last = math.max(self._last, index + 1)
end

-- An attempt goes on at first_index: what came from there on is done again.
function History:_begin_attempt(first_index)
  if not self._begun and first_index > 0 then
    for _, row in ipairs(self._stored()) do self:_set(row.index, row.metrics) end
  end
  self._begun = true
  for at = first_index + 1, self._last do self._rows[at] = nil end
  self._last = math.min(self._last, first_index)
end

---Takes an event of the controller.
---@param event table
function History:add(event)
  if event.type == 'report' then
    self:_set(event.index, event.metrics)
  elseif event.type == 'attempt_begun' then
    self:_begin_attempt(event.first_index)
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

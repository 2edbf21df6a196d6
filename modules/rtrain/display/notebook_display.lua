-- rtrain/display/notebook_display.lua: NotebookDisplay: a run in a notebook: one output, which is updated while the run
-- goes on, and shows the metrics and their curves at its end.
--
-- Reports are not printed one by one. What the workers print, and messages, are output of the cell as in a terminal.

local class = require 'base.class'
local Display = require 'rtrain.display'
local Eta = require 'rtrain.display.eta'
local html = require 'rtrain.display.html'
local metrics_text = require 'rtrain.metrics.text'
local NotebookLines = require 'rtrain.display.notebook_lines'
local recorded = require 'rtrain.display.recorded'
local rich = require 'rtrain.display.rich'

local REDRAW_S = 0.25
local COLUMNS, ROWS = 100, 30
local MAX_REPORTS = 2000  -- of a longer run every second report is dropped, and again
local MAX_CHARTS = 6
local CHART_WIDTH, CHART_HEIGHT = 480, 300

---@class NotebookDisplay : Display
local NotebookDisplay = class('NotebookDisplay', Display)

---@param spec RunSpec
---@param options DisplayOptions
---@param channel NotebookChannel
function NotebookDisplay:init(spec, options, channel)
  options.terminal, options.redraw_s = true, REDRAW_S
  options.size = function() return COLUMNS, ROWS end
  Display.init(self, spec, options)
  self._color = false
  self._channel, self._live = channel, NotebookLines(channel)
  self._history, self._keeps_every = {}, 1  -- the reports of curves and of the table: {index, metrics}
end

-- The newest report is in the updated output.
function NotebookDisplay:_scroll_report() self._unscrolled = nil end

-- What is printed covers nothing, so that the output need not be drawn again.
function NotebookDisplay:_write_line(file, text)
  local drawn_at = self._drawn_at
  Display._write_line(self, file, text)
  self._drawn_at = drawn_at
end

---Prints a message of rtrain; information is not on stderr, which notebooks show as a problem.
---@param text string
---@param level? string
function NotebookDisplay:notice(text, level)
  local err = self._err
  if level == 'info' then self._err = self._out end
  Display.notice(self, text, level)
  self._err = err
end

function NotebookDisplay:_keep(event)
  if event.index % self._keeps_every ~= 0 then return end
  local history = self._history
  history[#history + 1] = {index = event.index, metrics = event.metrics}
  if #history < MAX_REPORTS then return end
  local kept = {}
  self._keeps_every = self._keeps_every * 2
  for _, report in ipairs(history) do
    if report.index % self._keeps_every == 0 then kept[#kept + 1] = report end
  end
  self._history = kept
end

-- Returns the names of numbers that change, at most MAX_CHARTS.
function NotebookDisplay:_names_of_curves()
  local names, last = {}, self._last
  for _, name in ipairs(last and metrics_text.names(last.metrics, last.names) or {}) do
    local is_number = type(last.metrics[name]) == 'number'
    if is_number and not Eta.counts(name) and #names < MAX_CHARTS then names[#names + 1] = name end
  end
  return names
end

function NotebookDisplay:_curve(name)
  local xs, ys = {}, {}
  for _, report in ipairs(self._history) do
    local value = report.metrics[name]
    if type(value) == 'number' then xs[#xs + 1], ys[#ys + 1] = report.index, value end
  end
  if #xs < 2 then return '' end
  return self._channel.services.svg {
    title = name, x_label = 'report', width = CHART_WIDTH, height = CHART_HEIGHT, curves = {{name = name, xs = xs, ys = ys}},
  }
end

function NotebookDisplay:_finished(event)
  self._reports = event.reports or self._reports
  local head = ('run %s %s after %s, %s report%s'):format(self._name, event.status, self:_time_text(event.waited_s or 0),
    self._reports, self._reports == 1 and '' or 's')
  local lines, rows = {head}, {}
  lines[#lines + 1] = self:_best(event)
  if event.checkpoint then lines[#lines + 1] = 'checkpoint ' .. self:_place(event.checkpoint.path) end
  local parts = {('<p>%s</p>'):format(html.escape(table.concat(lines, '\n')):gsub('\n', '<br>'))}
  for i, report in ipairs(self._history) do rows[i] = report.metrics end
  if #rows > 0 then parts[#parts + 1] = rich.metrics_table(rows, function(i) return self._history[i].index end) end
  for _, name in ipairs(self:_names_of_curves()) do parts[#parts + 1] = self:_curve(name) end
  if self._last then lines[#lines + 1] = metrics_text.line(self._last.metrics, self._last.names) end
  self._live:replace{['text/plain'] = table.concat(lines, '\n'), ['text/html'] = table.concat(parts, '\n')}
  -- The run has ended, whatever can be shown of it.
  local ok, problem = pcall(recorded.show, self._channel, self._storage_path, self._name)
  if not ok then self:notice('what the run has recorded is not shown: ' .. tostring(problem)) end
end

---Shows an event of the controller.
---@param event table
function NotebookDisplay:show(event)
  if event.type == 'finished' and not self._quiet then return self:_finished(event) end
  if event.type == 'report' then self:_keep(event) end
  Display.show(self, event)
end

return NotebookDisplay

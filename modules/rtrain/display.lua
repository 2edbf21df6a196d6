-- rtrain/display.lua: what a run shows while it goes: on a terminal one live block, in a pipe one line for each report.
--
-- The workers' stdout goes to stdout with the rank in front; everything else to stderr. Without a terminal there is no
-- colour and no cursor movement.

local class = require 'rtrain.class'
local metrics_text = require 'rtrain.metrics_text'
local system = require 'rtrain._system'

local REDRAW_S = 0.1
local WAIT_S = 1  -- a shorter wait is the start's

---@class Display
local Display = class('Display')

local function seconds_text(s)
  if s < 60 then return ('%.1f s'):format(s) end
  if s < 3600 then return ('%d min %02d s'):format(math.floor(s / 60), math.floor(s % 60)) end
  return ('%d h %02d min'):format(math.floor(s / 3600), math.floor(s % 3600 / 60))
end

-- 1, 'report' → '1 report'; 2 → '2 reports'.
local function counted(count, noun) return ('%d %s%s'):format(count, noun, count == 1 and '' or 's') end

local function default(value, otherwise)
  if value == nil then return otherwise end
  return value
end

---@class DisplayOptions
---@field quiet? boolean show the workers' output and what is wrong, nothing else
---@field terminal? boolean a live block, else one line for each report
---@field logging? LoggingConfig which messages are shown, default all
---@field columns? integer width of the terminal
---@field score? CheckpointConfig which metric the summary calls best
---@field show_command? string the command that shows the run, default `rtrain show NAME`
---@field out? file* default io.stdout
---@field err? file* default io.stderr
---@field out_is_terminal? boolean nothing is written to `out` that could command a terminal; default: whether stdout is one
---@field err_is_terminal? boolean the same for `err`
---@field clock? fun(): number seconds

---@param spec table name and num_workers of the run
---@param options DisplayOptions
function Display:init(spec, options)
  self._name, self._num_workers = spec.name, spec.num_workers
  self._quiet, self._terminal = options.quiet, options.terminal and not options.quiet
  self._columns = math.max(options.columns or 80, 20)
  self._score, self._logging = options.score, options.logging
  self._show_command = options.show_command or 'rtrain show ' .. spec.name
  self._out, self._err = options.out or io.stdout, options.err or io.stderr
  self._is_terminal = {
    [self._out] = default(options.out_is_terminal, system.is_terminal(1)),
    [self._err] = default(options.err_is_terminal, system.is_terminal(2)),
  }
  self._clock = options.clock or system.monotonic
  self._color = self._terminal and (os.getenv 'NO_COLOR' or '') == '' and os.getenv 'TERM' ~= 'dumb'
  self._started, self._drawn_at, self._lines = self._clock(), -1, 0
  self._state, self._attempt, self._reports = 'INITIALIZING', 1, 0
end

function Display:_paint(code, text) return self._color and ('\27[%sm%s\27[0m'):format(code, text) or text end

---Takes the live block off the screen.
function Display:clear()
  if self._lines > 0 then self._err:write(('\27[%dA\r\27[J'):format(self._lines)) end
  self._lines = 0
end

-- Cut to the width, so that no line wraps and the block's height is what was written.
function Display:_cut(text)
  text = system.terminal_line(text)
  if #text < self._columns then return text end
  return text:sub(1, self._columns - 4) .. '...'
end

function Display:_rate()
  if not self._first_report_at or self._reports < 2 then return '' end
  local elapsed = self._last_report_at - self._first_report_at
  if elapsed <= 0 then return '' end
  local rate = (self._reports - 1) / elapsed
  return rate >= 1 and (', %.1f/s'):format(rate) or (', one in %.1f s'):format(1 / rate)
end

function Display:_block()
  local lines = {self:_cut(('%s  %s  attempt %d  %s  %s'):format(self._name, self._state, self._attempt,
    counted(self._num_workers, 'worker'), seconds_text(self._clock() - self._started)))}
  lines[1] = self:_paint('1', lines[1])
  if self._stop_at then
    lines[2] = self:_cut(('stopping, at the latest in %s'):format(seconds_text(math.max(0, self._stop_at - self._clock()))))
  end
  if self._last then
    local metrics = metrics_text.line(self._last.metrics)
    lines[#lines + 1] = self:_cut(('%s  (%s%s)'):format(metrics, counted(self._reports, 'report'), self:_rate()))
    for _, rank in ipairs(metrics_text.differing(self._last.ranks)) do lines[#lines + 1] = self:_cut('  ' .. rank) end
  end
  return lines
end

function Display:_redraw(now)
  if not self._terminal or now - self._drawn_at < REDRAW_S then return end
  self:clear()
  local lines = self:_block()
  self._err:write(table.concat(lines, '\n'), '\n')
  self._lines, self._drawn_at = #lines, now
  self._err:flush()
end

---Called when nothing happened for a while.
function Display:tick() self:_redraw(self._clock()) end

-- Writes a whole line above the live block.
function Display:_line(file, text)
  self:clear()
  file:write(self._is_terminal[file] and system.terminal_text(text) or text, '\n')
  file:flush()
  self._drawn_at = -1
end

---Shows a line of rtrain's own.
---@param text string
---@param level? string 'info', 'warning' (default) or 'error'
function Display:notice(text, level)
  level = level or 'warning'
  if self._quiet and level == 'info' or self._logging and not self._logging:shows(level) then return end
  self:_line(self._err, 'rtrain: ' .. text)
end

-- How each type of event is shown.
local show = {}

function show:state(event)
  self._state = event.state
  if (event.num_workers or 0) > 0 then self._num_workers = event.num_workers end
end

function show:report(event)
  local now = self._clock()
  self._reports = event.count or self._reports + 1  -- not every one need come here
  self._first_report_at = self._first_report_at or now
  self._last_report_at, self._last = now, event
  if self._terminal or self._quiet then return end
  local checkpoint = event.checkpoint and ('  checkpoint %s'):format(event.checkpoint:match('[^/]*$')) or ''
  self:_line(self._err, ('report %d  %s%s'):format(event.index, metrics_text.line(event.metrics), checkpoint))
end

function show:output(event)
  local is_stdout = event.stream == 'stdout'
  local who = event.validation and 'validation ' .. event.validation or ('rank %d'):format(event.rank)
  self:_line(is_stdout and self._out or self._err, ('[%s] %s'):format(who, event.text))
end

function show:validated(event)
  if self._quiet or event.status ~= 'VALIDATED' then return end
  self:_line(self._err, ('validation of %s  %s'):format(event.checkpoint, metrics_text.line(event.metrics)))
end

function show:draining(event)
  if self._quiet then return end
  self:notice(('the training is over; waiting for %s'):format(counted(event.validations, 'validation')))
end

function show:stacks(event) self:_line(self._err, (event.text:gsub('\n$', ''))) end

function show:notice(event) self:notice(event.text, event.level) end

-- Who asks for a stop, as the user knows it.
local STOPPERS = {operator = '`rtrain stop`', predicate = 'RunConfig.stop', resize = 'another size of the group'}

function show:stopping(event)
  local by = STOPPERS[event.kind] or event.by
  local text = by .. ': the run is being stopped'
  if event.grace_s > 0 then
    self._stop_at = self._clock() + event.grace_s
    local what = event.kind == 'resize' and 'the attempt' or 'the run'
    text = ('%s: %s stops at its next checkpoint, at the latest in %s'):format(by, what, seconds_text(event.grace_s))
  end
  if event.kind == 'interrupt' then text = text .. ' (once more: kill it)' end
  self:notice(text, event.kind == 'interrupt' and 'warning' or 'info')
end

function show:attempt_failed(event)
  if not event.will_retry then
    -- The error itself is the run's; without retries there is no reason to give.
    if event.reason and event.reason ~= '' then self:notice('no further attempt: ' .. event.reason) end
    return
  end
  local first = event.error.message:match('^[^\n]*')
  self._attempt = event.next_attempt or self._attempt + 1
  self._stop_at = nil
  local wait = (event.delay_s or 0) > 0 and ' in ' .. seconds_text(event.delay_s) or ''
  local retry = (event.reason or '') ~= '' and (' (%s)'):format(event.reason) or ''
  self:notice(('attempt %d failed: %s; attempt %d begins%s%s'):format(event.attempt, first, self._attempt, wait, retry))
end

-- How long the run took, and how much of it it waited for cores and GPUs.
function Display:_time_text(waited_s)
  local all_s = self._clock() - self._started
  if waited_s < WAIT_S then return seconds_text(all_s) end
  return ('%s (%s waiting for its resources, %s running)'):format(seconds_text(all_s), seconds_text(waited_s),
    seconds_text(math.max(0, all_s - waited_s)))
end

function Display:_best(event)
  local attribute = self._score and self._score.checkpoint_score_attribute
  local best = event.best_checkpoints and event.best_checkpoints[1]
  local value = attribute and best and best.metrics and best.metrics[attribute]
  if value == nil then return nil end
  return ('best %s %s in %s'):format(attribute, metrics_text.value(value), best.path)
end

function show:finished(event)
  self:clear()
  self._reports = event.reports or self._reports
  if self._quiet then return end
  local color = event.status == 'FINISHED' and '32' or '31'
  local lines = {('run %s %s after %s, %s'):format(self._name, self:_paint(color, event.status),
    self:_time_text(event.waited_s or 0), counted(self._reports, 'report'))}
  if event.metrics and next(event.metrics) ~= nil and self._terminal then
    lines[#lines + 1] = metrics_text.line(event.metrics)
  end
  lines[#lines + 1] = self:_best(event)
  if event.checkpoint then lines[#lines + 1] = 'checkpoint ' .. event.checkpoint.path end
  lines[#lines + 1] = self._show_command
  self:_line(self._err, table.concat(lines, '\n'))
end

---Shows an event of the controller.
---@param event table
function Display:show(event)
  if event.attempt then self._attempt = math.max(self._attempt, event.attempt) end
  local shown = show[event.type]
  if shown then shown(self, event) end
  if event.type ~= 'finished' then self:_redraw(self._clock()) end
end

return Display

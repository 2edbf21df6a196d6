-- rtrain/display/init.lua: Display: the output of a run: a line for each report, and on a terminal a live block below
-- them.
--
-- The workers' stdout goes to stdout with the rank in front; everything else goes to stderr. The newest report is shown
-- in the block; when the next report arrives, its line stays above the block. Without a terminal the display uses no
-- colours and no cursor movement. After the first MANY_REPORTS of a run it then prints at most one report line, that of
-- the newest report, in SPACING_S. If nothing was printed for SILENCE_S, a line shows the progress of the epoch.

local class = require 'base.class'
local EpochEstimate = require 'rtrain.display.epoch_estimate'
local Eta = require 'rtrain.display.eta'
local LiveLines = require 'rtrain.display.live_lines'
local LoopLine = require 'rtrain.display.loop_line'
local metrics_text = require 'rtrain.metrics.text'
local system = require 'base._system'
local text_width = require 'base.text_width'
local texts = require 'rtrain.display.texts'

local REDRAW_S = 0.1
local WAIT_S = 1  -- shorter waits are part of the start
local LEAST_COLUMNS = 20
local MAX_RANK_LINES = 8  -- of each kind
local MANY_REPORTS = 20
local SPACING_S = 1
local SILENCE_S = 30

---@class Display
local Display = class('Display')

local function default(value, otherwise)
  if value == nil then return otherwise end
  return value
end

---@class DisplayOptions
---@field quiet? boolean show only the workers' output and problems
---@field steps_only? boolean with `quiet`: also the progress of `rtrain check --lr`
---@field terminal? boolean show a live block, else one line for each report
---@field redraw_s? number least time between two states of the block, default 0.1
---@field logging? LoggingConfig which messages are shown, default all
---@field size? fun(): integer?, integer? columns and rows of the terminal; default: those of stderr's
---@field eta? Eta estimate of the remaining time
---@field devices? string the devices of a worker; nil: the start is not shown
---@field backend? string how workers communicate
---@field score? CheckpointConfig the metric of the best checkpoint in the summary
---@field storage_option? string the option of commands that show the run, as ' --storage PATH'; default: ''
---@field storage_uri? string URI of the object store that the run's storage is a copy of
---@field resume_command? string the command that continues an unfinished run
---@field is_tryout? boolean whether the script is only tried out and nothing is kept
---@field out? file* default io.stdout
---@field err? file* default io.stderr
---@field out_is_terminal? boolean whether control characters in `out` are made harmless; default: whether stdout is a
---  terminal
---@field err_is_terminal? boolean the same for `err`
---@field clock? fun(): number seconds

---@param spec RunSpec
---@param options DisplayOptions
function Display:init(spec, options)
  self._name, self._num_workers = spec.name, spec.max_workers
  self._quiet, self._steps_only = options.quiet, options.steps_only
  self._terminal = options.terminal and (not options.quiet or options.steps_only)
  self._redraw_s = options.redraw_s or REDRAW_S
  self._size = options.size or function() return system.terminal_size(2) end
  self._eta = options.eta or Eta()
  self._devices, self._backend = options.devices, options.backend
  self._score, self._logging = options.score, options.logging
  self._storage_option = options.storage_option or ''
  self._storage_path, self._storage_uri = spec.storage_path, options.storage_uri
  self._resume_command, self._is_tryout = options.resume_command, options.is_tryout
  self._out, self._err = options.out or io.stdout, options.err or io.stderr
  self._is_terminal = {
    [self._out] = default(options.out_is_terminal, system.is_terminal(1)),
    [self._err] = default(options.err_is_terminal, system.is_terminal(2)),
  }
  self._clock = options.clock or system.monotonic
  self._color = self._terminal and (os.getenv 'NO_COLOR' or '') == '' and os.getenv 'TERM' ~= 'dumb'
  self._started, self._drawn_at = self._clock(), -1
  self._live = LiveLines(self._err, self._size)
  self._state, self._attempt, self._reports = 'INITIALIZING', 1, 0
  self._logged, self._logged_rank = {}, {}  -- list of names and name → value; name → rank of the value
  self._progress = {}  -- rank + 1 → the line that the rank is still writing
  self._num_lines, self._num_skipped = 0, 0  -- counts of reports
  self._loop, self._estimate = LoopLine(options.steps_only and 'step' or 'batch'), EpochEstimate(self._eta)
  self._written_at = self._started
end

function Display:_paint(code, text) return self._color and ('\27[%sm%s\27[0m'):format(code, text) or text end

---Removes the live block from the screen.
function Display:clear() self._live:clear() end

function Display:_rate(now)
  if not self._first_report_at or self._reports < 2 then return '' end
  local parts = {}
  local elapsed = self._last_report_at - self._first_report_at
  if elapsed > 0 then
    local rate = (self._reports - 1) / elapsed
    parts[1] = rate >= 1 and (', %.1f/s'):format(rate) or (', one in %.1f s'):format(1 / rate)
  end
  local left_s = self._eta:seconds(now)
  if left_s then parts[#parts + 1] = ', ETA ' .. texts.seconds(left_s) end
  return table.concat(parts)
end

-- Adds the newest report and the rate of reports, and the values of each rank where they differ.
function Display:_add_report(lines, columns, now)
  local report = self._last
  if not report then return end
  local count = ('  (%s%s)'):format(texts.counted(self._reports, 'report'), self:_rate(now))
  lines[#lines + 1] = text_width.cut(metrics_text.fit(report.metrics, report.names,
    math.max(columns - #count, LEAST_COLUMNS)) .. count, columns)
  report.differences = report.differences or metrics_text.differences(report.ranks)
  for i, metrics in ipairs(report.differences) do
    if i > MAX_RANK_LINES then
      lines[#lines + 1] = ('  and %d more ranks'):format(#report.ranks - MAX_RANK_LINES)
      break
    end
    local rank = ('  rank %d  '):format(i - 1)
    lines[#lines + 1] = rank .. metrics_text.fit(metrics, report.names, columns - #rank)
  end
end

function Display:_add_progress(lines, columns)
  local count = 0
  for rank = 0, self._num_workers - 1 do
    local text = self._progress[rank + 1]
    if text and count < MAX_RANK_LINES then
      count = count + 1
      lines[#lines + 1] = text_width.cut(('[rank %d] %s'):format(rank, system.terminal_line(text)), columns)
    end
  end
end

-- No line wraps and the block is lower than the screen, so its height is the number of its lines.
function Display:_block(now)
  local columns, rows = self._size()
  columns = math.max(columns or 80, LEAST_COLUMNS) - 1
  if self._steps_only then return {self._loop:text(now, columns)} end
  local lines = {}
  self:_add_progress(lines, columns)
  local head = text_width.cut(system.terminal_line(('%s  %s  attempt %d  %s  %s'):format(self._name, self._state,
    self._attempt, texts.counted(self._num_workers, 'worker'), texts.seconds(now - self._started))), columns)
  lines[#lines + 1] = head
  lines.head = #lines
  lines[#lines + 1] = self._loop:text(now, columns)
  if self._stop_at then
    lines[#lines + 1] = text_width.cut('stopping, at the latest in ' .. texts.seconds(math.max(0, self._stop_at - now)),
      columns)
  end
  self:_add_report(lines, columns, now)
  if #self._logged > 0 then
    lines[#lines + 1] = 'log  ' .. metrics_text.fit(self._logged.values, self._logged, columns - 5)
  end
  while #lines > math.max((rows or 24) - 2, 1) do lines[#lines] = nil end
  return lines
end

function Display:_redraw(now)
  if not self._terminal or now - self._drawn_at < self._redraw_s then return end
  local lines = self:_block(now)
  if #lines == 0 then return self:clear() end
  local painted = {unpack(lines)}
  if painted[lines.head] then painted[lines.head] = self:_paint('1', lines[lines.head]) end
  self._live:draw(lines, painted)
  self._drawn_at = now
end

---Called when the run has begun. The display begins with the first event.
function Display:begin() end

-- Without a terminal: prints the newest report when its line is due.
function Display:_space_reports(now)
  if self._terminal or not self._unscrolled then return end
  if self._num_lines < MANY_REPORTS or now - self._line_at >= SPACING_S then self:_scroll_report() end
end

---Called when nothing happened for a while.
function Display:tick()
  local now = self._clock()
  self:_space_reports(now)
  self:_break_silence(now)
  self:_redraw(now)
end

-- Without a terminal: prints a sign of life during a long epoch.
function Display:_break_silence(now)
  if self._terminal or now - self._written_at < SILENCE_S then return end
  if self._quiet and not self._steps_only then return end
  local text = self._loop:text(now)
  if text then self:_write_line(self._err, text) end
end

-- Prints the line of the newest report above the block, in order among the other lines.
function Display:_scroll_report()
  local report, skipped = self._unscrolled, self._num_skipped
  self._unscrolled, self._num_skipped = nil, 0
  if not report then return end
  local more = skipped > 0 and ('  (%s before it not shown)'):format(texts.counted(skipped, 'report')) or ''
  self:_write_line(self._err, self:_report_text(report) .. more)
  self._num_lines, self._line_at = self._num_lines + 1, self._clock()
end

-- Prints a whole line above the live block.
function Display:_line(file, text)
  self:_scroll_report()
  self:_write_line(file, text)
end

function Display:_write_line(file, text)
  self:clear()
  file:write(self._is_terminal[file] and system.terminal_text(text) or text, '\n')
  file:flush()
  self._drawn_at, self._written_at = -1, self._clock()
end

---Prints a message of rtrain.
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
  if event.state ~= 'RUNNING' then return self._loop:clear() end
  self._eta:start(self._clock())
  if self._told_workers == self._num_workers then return end
  self._told_workers = self._num_workers
  if not self._devices then return end
  local how = self._num_workers > 1 and self._backend and self._backend .. ', ' or ''
  self:notice(('%s, %s%s'):format(texts.counted(self._num_workers, 'worker'), how, self._devices), 'info')
end

function show:loop(event)
  local now = self._clock()
  self._loop:add(event, now)
  local text = self._estimate:text(event, now)
  if text then self:notice(text, 'info') end
end

function show:report(event)
  local now = self._clock()
  self._reports = event.count or self._reports + 1  -- not every report produces an event
  self._first_report_at = self._first_report_at or now
  self._last_report_at, self._last = now, event
  self._loop:clear()
  self._estimate:finish()
  self._eta:add(event.metrics or {}, now)
  if self._quiet then return end
  if self._terminal then
    self:_scroll_report()
  elseif self._unscrolled then
    self._num_skipped = self._num_skipped + 1
  end
  self._unscrolled = event
  self:_space_reports(now)
end

-- Returns 'report 3  epoch=4 loss=0.2  checkpoint checkpoint_000003', on a terminal cut to its width.
function Display:_report_text(event)
  local number = ('report %d  '):format(event.index)
  local checkpoint = event.checkpoint and ('  checkpoint %s'):format(event.checkpoint:match('[^/]*$')) or ''
  if not self._terminal then return number .. metrics_text.line(event.metrics, event.names) .. checkpoint end
  local columns = math.max(self._size() or 80, LEAST_COLUMNS)
  local left = math.max(columns - #number - text_width.of(checkpoint), LEAST_COLUMNS)
  return text_width.cut(number .. metrics_text.fit(event.metrics, event.names, left) .. checkpoint, columns)
end

-- Returns the text after the last carriage return, which overwrites the text before it.
local function last_state(text)
  return text:gsub('\r+$', ''):match '[^\r]*$'
end

function show:output(event)
  if event.is_progress then
    if self._terminal then self._progress[event.rank + 1] = last_state(event.text) end
    return
  end
  local is_stdout = event.stream == 'stdout'
  local file = is_stdout and self._out or self._err
  local who = event.validation and 'validation ' .. event.validation or ('rank %d'):format(event.rank)
  if event.rank then self._progress[event.rank + 1] = nil end
  if self._terminal then self:_scroll_report() end
  self:_write_line(file, ('[%s] %s'):format(who, self._is_terminal[file] and last_state(event.text) or event.text))
end

-- Stores the newest values of train.log, each from the lowest rank that has it.
function show:logged(event)
  self._logged.values = self._logged.values or {}
  for i, name in ipairs(event.names) do
    local rank = self._logged_rank[name]
    if not rank then self._logged[#self._logged + 1] = name end
    if not rank or event.rank <= rank then
      self._logged_rank[name], self._logged.values[name] = event.rank, event.values[i]
    end
  end
end

function show:validated(event)
  if self._quiet or event.status ~= 'VALIDATED' then return end
  self:_line(self._err, ('validation of %s  %s'):format(event.checkpoint, metrics_text.line(event.metrics, event.names)))
end

function show:draining(event)
  if self._quiet then return end
  self:notice(('the training is over; waiting for %s'):format(texts.counted(event.validations, 'validation')))
end

function show:stacks(event) self:_line(self._err, (event.text:gsub('\n$', ''))) end

function show:notice(event) self:notice(event.text, event.level) end

-- The reason of a stop, in the user's terms.
local STOPPERS = {predicate = 'RunConfig.stop', resize = 'another size of the group'}

function show:stopping(event)
  local by = STOPPERS[event.kind] or event.by:gsub(' %(pid %d+%)$', '')
  local text = by .. ': the run is being stopped'
  if event.kind == 'resize' then text = by .. ': the attempt stops at its next checkpoint' end
  if event.grace_s > 0 then
    self._stop_at = self._clock() + event.grace_s
    local what = event.kind == 'resize' and 'the attempt' or self._is_tryout and 'the script' or 'the run'
    local at = self._is_tryout and '' or ' at its next checkpoint'
    text = ('%s: %s stops%s, at the latest in %s'):format(by, what, at, texts.seconds(event.grace_s))
  end
  if event.kind == 'interrupt' then text = text .. ' (once more: kill it)' end
  self:notice(text, event.kind == 'interrupt' and 'warning' or 'info')
end

function show:attempt_failed(event)
  if not event.will_retry then
    -- The run reports the error itself; without retries there is no further reason to give.
    if event.reason and event.reason ~= '' then self:notice('no further attempt: ' .. event.reason) end
    return
  end
  local first = event.error.message:match('^[^\n]*')
  self._attempt = event.next_attempt or self._attempt + 1
  self._stop_at, self._progress = nil, {}
  self._loop:clear()
  local wait = (event.delay_s or 0) > 0 and ' in ' .. texts.seconds(event.delay_s) or ''
  local retry = (event.reason or '') ~= '' and (' (%s)'):format(event.reason) or ''
  self:notice(('attempt %d failed: %s; attempt %d begins%s%s'):format(event.attempt, first, self._attempt, wait, retry))
end

-- Returns how long the run took, and how much of that it waited for cores and GPUs.
function Display:_time_text(waited_s)
  local all_s = self._clock() - self._started
  if waited_s < WAIT_S then return texts.seconds(all_s) end
  return ('%s (%s waiting for its resources, %s running)'):format(texts.seconds(all_s), texts.seconds(waited_s),
    texts.seconds(math.max(0, all_s - waited_s)))
end

-- Returns the place of a file of the run in a form that works on other machines too.
function Display:_place(path)
  local folder = self._storage_path
  if not self._storage_uri or path:sub(1, #folder + 1) ~= folder .. '/' then return path end
  return self._storage_uri .. path:sub(#folder + 1)
end

function Display:_best(event)
  local attribute = self._score and self._score.checkpoint_score_attribute
  local best = event.best_checkpoints and event.best_checkpoints[1]
  local value = attribute and best and best.metrics and best.metrics[attribute]
  if value == nil then return nil end
  return ('best %s %s in %s'):format(attribute, metrics_text.value(value), self:_place(best.path))
end

-- Returns the most interesting metric: the one that rates checkpoints, a loss, or another that does not count steps.
function Display:_metric_to_plot()
  local metrics, found = self._last and self._last.metrics, nil
  if not metrics or self._reports < 2 then return nil end
  local scored = self._score and self._score.checkpoint_score_attribute
  if scored and type(metrics[scored]) == 'number' then return scored end
  for _, name in ipairs(metrics_text.names(metrics, self._last.names)) do
    if type(metrics[name]) == 'number' and not Eta.counts(name) then
      if name:find 'loss' then return name end
      found = found or name
    end
  end
  return found
end

-- Returns the command that shows the run, for a shell with the environment of this process.
function Display:_command(verb, ...)
  local words = {'rtrain', verb}
  for _, word in ipairs {self._name, ...} do words[#words + 1] = system.shell_word(word) end
  return table.concat(words, ' ') .. self._storage_option
end

function show:finished(event)
  self:clear()
  self._reports = event.reports or self._reports
  if self._quiet then return self:_tell_resume(event) end
  local color = event.status == 'FINISHED' and '32' or '31'
  local lines = {('run %s %s after %s, %s'):format(self._name, self:_paint(color, event.status),
    self:_time_text(event.waited_s or 0), texts.counted(self._reports, 'report'))}
  lines[#lines + 1] = self:_best(event)
  if event.checkpoint then lines[#lines + 1] = 'checkpoint ' .. self:_place(event.checkpoint.path) end
  local metric = self:_metric_to_plot()
  if metric then lines[#lines + 1] = self:_command('plot', metric) end
  lines[#lines + 1] = self:_command 'show'
  self:_line(self._err, table.concat(lines, '\n'))
  self:_tell_resume(event)
end

-- Prints how to continue a run that was ended from outside.
function Display:_tell_resume(event)
  local is_stopped = event.status == 'PREEMPTED' or event.status == 'ABORTED'
  if is_stopped and event.checkpoint and self._resume_command then
    self:_line(self._err, 'to go on from its checkpoint: ' .. self._resume_command)
  end
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

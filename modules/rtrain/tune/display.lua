-- rtrain/tune/display.lua: SweepDisplay: the output of a sweep: on a terminal a table that is redrawn repeatedly, else
-- a line for each trial that ends; after the last trial the table and the best trial.

local class = require 'base.class'
local index_of = require 'base.index_of'
local LiveLines = require 'rtrain.display.live_lines'
local metrics_text = require 'rtrain.metrics.text'
local ordered = require 'base.ordered'
local storage_option = require 'rtrain.run.storage_option'
local system = require 'base._system'
local text_width = require 'base.text_width'
local texts = require 'rtrain.display.texts'

local REDRAW_S = 0.2

local SweepDisplay = class('SweepDisplay')

---@param options {objective: table, quiet?: boolean, terminal?: boolean, err?: file*, out?: file*, size?: function,
---  clock?: function} `out`: the last table
function SweepDisplay:init(options)
  self._objective, self._quiet = options.objective, options.quiet
  self._terminal = options.terminal and not options.quiet
  self._err, self._out = options.err or io.stderr, options.out or io.stderr
  self._size = options.size or function() return system.terminal_size(2) end
  self._clock = options.clock or system.monotonic
  self._drawn_at, self._live = -1, LiveLines(self._err, self._size)
end

local function names_of_space(trials)
  local names = {}
  if trials[1] then
    for name in ordered.items(trials[1].drawn) do names[#names + 1] = name end
  end
  return names
end

local function row_of(trial, names, metric, is_best)
  local row = {trial.name .. (is_best and ' *' or ''), trial:shown_status()}
  for _, name in ipairs(names) do
    local value = trial.drawn[name]
    row[#row + 1] = value == nil and '' or metrics_text.value(value)
  end
  row[#row + 1] = trial.index >= 0 and tostring(trial.index + 1) or ''
  local value = metric and trial.last and trial.last[metric]
  row[#row + 1] = value and metrics_text.value(value) or ''
  row[#row + 1] = trial.last and texts.seconds(trial.last.time_total_s) or ''
  return row
end

local function is_number_column(i, count) return i > 2 and i <= count end

local function lines_of(rows)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, text_width.of(cell)) end
  end
  for r, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      local gap = (' '):rep(widths[i] - text_width.of(cell))
      cells[i] = is_number_column(i, #row) and gap .. cell or cell .. gap
    end
    lines[r] = system.terminal_line((table.concat(cells, '  '):gsub(' +$', '')))
  end
  return lines
end

---Returns the table of the trials: one line each, the best marked with a star.
---@param trials rtrain.tune.Trial[]
---@param objective? table the objective of the sweep
---@return string[] lines the first one has the headings
function SweepDisplay.table_lines(trials, objective)
  local names = names_of_space(trials)
  local best = objective and objective:best_of(trials)
  local header = {'TRIAL', 'STATUS'}
  for _, name in ipairs(names) do header[#header + 1] = name end
  header[#header + 1] = 'REPORTS'
  header[#header + 1] = objective and objective.metric or ''
  header[#header + 1] = 'TIME'
  local rows = {header}
  for _, trial in ipairs(trials) do rows[#rows + 1] = row_of(trial, names, objective and objective.metric, trial == best) end
  return lines_of(rows)
end

---Called when the sweep begins; the table shows it.
function SweepDisplay:begin() end
---Called when a trial begins; the table shows it.
function SweepDisplay:started() end
---Called when a trial has reported; the table shows it.
function SweepDisplay:reported() end
---Called when a trial waits for others; the table shows it.
function SweepDisplay:paused() end

---Removes the table from the screen.
function SweepDisplay:clear() self._live:clear() end

-- Returns 'sweep lrs: 3 of 8 trials have ended, 2 run'.
local function summary(experiment)
  local ended, running = 0, 0
  for _, trial in ipairs(experiment.trials) do
    if trial:has_ended() then ended = ended + 1 end
    if trial.status == 'RUNNING' then running = running + 1 end
  end
  return ('sweep %s: %d of %d trials have ended, %d running'):format(experiment.name, ended,
    math.max(experiment.searcher.count, #experiment.trials), running)
end

-- Returns the running trials first, then the newest others, as many as fit on the screen.
local function shown_trials(trials, most)
  local chosen, count = {}, 0
  local function take(wanted)
    for i = #trials, 1, -1 do
      if count < most and not chosen[i] and wanted(trials[i]) then
        chosen[i], count = true, count + 1
      end
    end
  end
  take(function(trial) return trial.status == 'RUNNING' end)
  take(function() return true end)
  local out = {}
  for i, trial in ipairs(trials) do
    if chosen[i] then out[#out + 1] = trial end
  end
  return out
end

---Redraws the table, on a terminal, if it is time.
---@param experiment table
function SweepDisplay:show(experiment)
  local now = self._clock()
  if not self._terminal or now - self._drawn_at < REDRAW_S then return end
  self._drawn_at = now
  local columns, rows = self._size()
  local objective = self._objective:found_in(experiment.trials)
  local lines = SweepDisplay.table_lines(shown_trials(experiment.trials, (rows or 24) - 4), objective)
  table.insert(lines, 1, summary(experiment))
  for i, line in ipairs(lines) do lines[i] = text_width.cut(line, (columns or 80) - 1) end
  self._live:draw(lines)
end

---Prints a line above the table.
---@param text string
function SweepDisplay:notice(text)
  if self._quiet then return end
  self:clear()
  self._err:write('rtrain: ', text, '\n')
end

local function first_line(text) return text:match '^%s*([^\n]*)' end

---Called when a trial has ended.
---@param experiment table
---@param trial rtrain.tune.Trial
function SweepDisplay:ended(experiment, trial)
  if trial.error then
    self:clear()
    local text = ('rtrain: trial %s failed: %s'):format(trial.name, first_line(trial.error))
    return self._err:write(system.terminal_line(text), '\n')
  end
  if self._terminal then return end
  local objective = self._objective:found_in(experiment.trials)
  local value = objective and trial.last and trial.last[objective.metric]
  local result = value and (' %s=%s'):format(objective.metric, metrics_text.value(value)) or ''
  self:notice(('trial %s: %s after %s, %s%s'):format(trial.name, trial:shown_status(), texts.counted(trial.index + 1, 'report'),
    metrics_text.line(trial.drawn), result))
end

-- Metrics that are added to every report automatically.
local OWN = {training_iteration = true, time_total_s = true}

-- Explains why no trial is the best one.
function SweepDisplay:_why_none(trials)
  local names = {}
  for _, trial in ipairs(trials) do
    for _, name in ipairs(trial.last and metrics_text.names(trial.last) or {}) do
      if not OWN[name] and not index_of(names, name) then names[#names + 1] = name end
    end
  end
  if #names == 0 then return 'none has reported' end
  table.sort(names)
  return ('name the metric that counts, --metric NAME --mode min|max; they have reported %s'):format(table.concat(names, ', '))
end

---Called when all trials have ended: prints the whole table and the best trial.
---@param experiment table
function SweepDisplay:finish(experiment)
  self:clear()
  if self._quiet then return end
  local objective = self._objective:found_in(experiment.trials)
  self._out:write(table.concat(SweepDisplay.table_lines(experiment.trials, objective), '\n'), '\n')
  local best = objective and objective:best_of(experiment.trials)
  local option = storage_option(experiment.storage)
  if best then
    self._out:write(('best trial: %s with %s=%s (%s)\n'):format(best.name, objective.metric,
      metrics_text.value(best.last[objective.metric]), metrics_text.line(best.drawn)))
    self._err:write(('rtrain: see `rtrain show %s%s`\n'):format(best.name, option))
  else
    self:notice('no trial is called the best: ' .. self:_why_none(experiment.trials))
  end
  self._err:write(('rtrain: all trials: `rtrain ls --tag %s%s`\n'):format(experiment:tag(), option))
end

return SweepDisplay

-- rtrain/tune/json_lines.lua: SweepLines: the output of `rtrain sweep --json`: the events of a sweep as JSON lines.
--
-- Programs read the lines: modules/rtrain/guide/events.md documents the keys, tests/e2e/events.schema.json checks them.
-- Keys may be added; removing a key or changing its meaning requires a new `version`.

local class = require 'base.class'
local ordered = require 'base.ordered'
local system = require 'base._system'

local VERSION = 1

---@class SweepLines
local SweepLines = class('SweepLines')

---@param options {objective: table, fd: integer} fd: descriptor that the lines are written to
function SweepLines:init(options) self._objective, self._fd = options.objective, options.fd end

-- A line that cannot be written is dropped: the sweep must not wait for the reader.
function SweepLines:_write(name, experiment, fields)
  local line = ordered.new {{'event', name}, {'time', system.time_text(system.now_ms())}, {'sweep', experiment.name}}
  for _, pair in ipairs(fields) do line[pair[1]] = pair[2] end
  system.write(self._fd, system.to_json(line) .. '\n')
end

-- Returns a table that becomes a JSON object even if it is empty.
local function map_of(values) return next(values) ~= nil and values or ordered.new() end

---Called when the sweep begins or continues.
---@param experiment table
function SweepLines:begin(experiment)
  self._experiment = experiment
  self:_write('sweep', experiment, {
    {'version', VERSION}, {'path', experiment.folder}, {'storage', experiment.storage}, {'tag', experiment:tag()},
    {'trials', experiment.searcher.count}, {'is_resumed', experiment.is_resumed or false},
    {'metric', self._objective.metric}, {'mode', self._objective.mode},
  })
end

---Called when a trial's process begins.
---@param experiment table
---@param trial rtrain.tune.Trial
function SweepLines:started(experiment, trial)
  self:_write('trial', experiment, {
    {'trial', trial.name}, {'number', trial.number}, {'parameters', map_of(trial.drawn)}, {'reports', trial.index + 1},
  })
end

---Called when a trial has reported.
---@param experiment table
---@param trial rtrain.tune.Trial
function SweepLines:reported(experiment, trial)
  self:_write('trial_report', experiment, {{'trial', trial.name}, {'index', trial.index}, {'metrics', map_of(trial.last)}})
end

---Called when a trial is paused, or takes over the state of another one.
---@param experiment table
---@param trial rtrain.tune.Trial
function SweepLines:paused(experiment, trial)
  self:_write('trial_paused', experiment, {{'trial', trial.name}, {'reports', trial.index + 1}})
end

---Called when a trial has ended.
---@param experiment table
---@param trial rtrain.tune.Trial
function SweepLines:ended(experiment, trial)
  self:_write('trial_ended', experiment, {
    {'trial', trial.name}, {'status', trial:shown_status()}, {'reports', trial.index + 1}, {'metrics', trial.last},
    {'reason', trial.remark}, {'error', trial.error},
  })
end

---Writes a message of the sweep.
---@param text string
function SweepLines:notice(text) self:_write('notice', self._experiment, {{'level', 'info'}, {'text', text}}) end

-- Returns the best trial with its value of the objective.
local function best_of(objective, trials)
  local best = objective and objective:best_of(trials)
  if not best then return nil end
  return ordered.new {
    {'trial', best.name}, {'metric', objective.metric}, {'value', best.last[objective.metric]},
    {'parameters', map_of(best.drawn)},
  }
end

---Called when nothing runs any more: all trials have ended, or the sweep was stopped.
---@param experiment table
function SweepLines:finish(experiment)
  local ended, failed = 0, 0
  for _, trial in ipairs(experiment.trials) do
    if trial:has_ended() then ended = ended + 1 end
    if trial.error then failed = failed + 1 end
  end
  self:_write('sweep_finished', experiment, {
    {'is_complete', experiment:has_ended()}, {'ended', ended}, {'failed', failed},
    {'best', best_of(self._objective:found_in(experiment.trials), experiment.trials)},
  })
end

---Does nothing: there is no screen to clear.
function SweepLines:clear() end

---Does nothing: there is no table to redraw.
function SweepLines:show() end

return SweepLines

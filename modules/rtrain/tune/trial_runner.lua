-- rtrain/tune/trial_runner.lua: TrialRunner: runs the processes of a sweep's trials, as many at once as the capacity
-- allows.
--
-- Each trial is an ordinary run in a separate process. Its reports come over a socket and are passed to the Experiment;
-- the answer is the scheduler's decision.

local class = require 'base.class'
local errors = require 'base.errors'
local link = require 'rtrain.trial'
local trial_log = require 'rtrain.tune.trial_log'
local tune = require 'rtrain._tune'

local WAIT_S = 0.1
-- Time from the last report to the end of the process.
local END_S = 30

-- Exit codes of a run that was asked to stop.
local ASKED_TO_END = {[75] = true, [130] = true, [143] = true}
-- Exit codes of a script that cannot train: wrong usage, wrong configuration.
local CANNOT_TRAIN = {[2] = true, [3] = true}

local TrialRunner = class('TrialRunner')

---@class rtrain.tune.TrialRunnerOptions
---@field max_concurrent integer
---@field command fun(trial: rtrain.tune.Trial, experiment: table): string[] returns the command of a trial's process
---@field resume_command? string the command that continues the sweep after a signal
---@field metric? string the metric of the sweep: a trial that has ended must have reported it, or another trial must
---  have
---@field is_of_a_script? boolean whether trials run an unmodified script: if it cannot train in one trial, it cannot in
---  any

---@param experiment table open
---@param options rtrain.tune.TrialRunnerOptions
function TrialRunner:init(experiment, options)
  self._experiment, self._options = experiment, options
  self._num_running = 0
end

function TrialRunner:_log_of(trial) return trial_log.path(self._experiment.folder, trial.name) end

function TrialRunner:_start(trial)
  trial:begin(tune.start {
    args = self._options.command(trial, self._experiment),
    env = {RTRAIN_TRIAL = link.text(self._experiment.socket, trial.number)},
    log = self:_log_of(trial),
  })
  self._num_running = self._num_running + 1
  self._experiment.display:started(self._experiment, trial)
end

function TrialRunner:_fill()
  while self._num_running < self._options.max_concurrent do
    local trial = self._experiment:next()
    if trial == nil then return end
    self:_start(trial)
  end
end

function TrialRunner:_answer(peer, question)
  local experiment = self._experiment
  local trial = experiment.trials[question.trial + 1]
  if question.type == 'config' then return self._server:answer(peer, {config = trial.config}) end
  if question.type == 'begin' then
    return self._server:answer(peer, {decides = experiment.scheduler.decides, checkpoint = trial.checkpoint})
  end
  local decision = experiment:take_report(trial, question)
  self._server:answer(peer, {action = decision.action, reason = decision.reason})
end

function TrialRunner:_error_of(trial, how, code)
  if code == 0 then return nil end
  local run = self._experiment:run_of(trial)
  if run and run.error then return run.error.message end
  return ('its process %s: %s'):format(how, trial_log.last_lines(self:_log_of(trial)))
end

function TrialRunner:_end_all()
  for _, trial in ipairs(self._experiment.trials) do
    if trial.process then trial.process:finish(0) end
  end
end

-- A search that never sees its metric would be blind, and the other trials would be wasted.
function TrialRunner:_check_metric(trial, code)
  local metric = self._options.metric
  if metric == nil or code ~= 0 or trial.index < 0 then return end
  for _, other in ipairs(self._experiment.trials) do
    if other.reported[metric] then return end
  end
  self:_end_all()
  local names = {}
  for name in next, trial.reported do names[#names + 1] = name end
  table.sort(names)
  errors.raise('config', ("the sweep goes by the metric '%s', which trial %s has not reported%s"):format(metric, trial.name,
    errors.suggestion(metric, names)))
end

-- Raises an error for a script that cannot train with any configuration: with the script's last message, or that it has
-- trained nothing.
function TrialRunner:_check_script(trial, code)
  if not self._options.is_of_a_script or trial.index >= 0 or self._experiment:run_of(trial) then return end
  if code ~= 0 and not CANNOT_TRAIN[code] then return end
  self:_end_all()
  self._experiment:give_up()
  local said = trial_log.last_message(self:_log_of(trial))
  if code == 0 then said = 'the script ended without a call of fit(): nothing was trained' end
  errors.raise(code == 2 and 'usage' or 'config', said or ("trial %s: see '%s'"):format(trial.name, self:_log_of(trial)))
end

-- The processes were asked to stop: an unfinished trial continues when the sweep does.
function TrialRunner:_is_left(code) return self._stop_signal ~= nil and (code == nil or ASKED_TO_END[code] == true) end

function TrialRunner:_finish(trial)
  local how, code = trial.process:finish(END_S)
  trial:leave()
  self._num_running = self._num_running - 1
  if self:_is_left(code) then
    trial.status = 'PENDING'
    return
  end
  if code == 0 and trial.ending and trial.ending.action == 'PAUSE' then return self._experiment:pause(trial) end
  self:_check_script(trial, code)
  self._experiment:finish(trial, self:_error_of(trial, how, code))
  self._experiment.display:ended(self._experiment, trial)
  self:_check_metric(trial, code)
end

-- Requests first: a process that has ended may have sent one before.
function TrialRunner:_take_all()
  local timeout_s = WAIT_S
  while true do
    local peer, question = self._server:next(timeout_s)
    if peer == nil then break end
    if question then self:_answer(peer, question) end
    timeout_s = 0
  end
  for _, trial in ipairs(self._experiment.trials) do
    if trial.process and not trial.process:is_running() then self:_finish(trial) end
  end
end

-- The first signal asks all trials to save and stop, as it would ask a single run.
function TrialRunner:_check_signals()
  local number, name = self._signals:first()
  if number == nil or self._stop_signal then return end
  self._stop_signal = name
  self._experiment.display:notice(name .. ': the trials are asked to save and end; a second one ends them at once')
  for _, trial in ipairs(self._experiment.trials) do
    if trial.process then trial.process:send(number) end
  end
end

function TrialRunner:_run_all()
  repeat
    self:_check_signals()
    if not self._stop_signal then self:_fill() end
    self._experiment.display:show(self._experiment)
    if self._num_running > 0 then self:_take_all() end
  until self._num_running == 0 and (self._stop_signal or not self._experiment:has_more())
end

function TrialRunner:_raise_stopped()
  local name = self._experiment.name
  local how = self._options.resume_command or ("RunConfig {name = '%s', resume = 'auto'}"):format(name)
  errors.raise(self._stop_signal == 'SIGINT' and 'interrupted' or 'preempted',
    ("%s: the sweep '%s' has not come to its end: to go on with it: %s"):format(self._stop_signal, name, how))
end

---Runs the remaining trials.
---Raises code 'interrupted' or 'preempted' after a signal, 'usage' or 'config' for a script that cannot train or does
---not report the metric.
function TrialRunner:run()
  local experiment = self._experiment
  self._server = tune.serve(experiment.socket)
  self._signals = tune.watch_signals()
  local ok, problem = xpcall(self._run_all, errors.wrap, self)
  self._server:release()
  self._signals:release()
  experiment:close()
  if not ok then
    experiment.display:clear()
    error(problem, 0)
  end
  experiment.display:finish(experiment)
  if self._stop_signal and not experiment:has_ended() then self:_raise_stopped() end
end

return TrialRunner

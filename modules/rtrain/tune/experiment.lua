-- rtrain/tune/experiment.lua: Experiment: the trials of one sweep: which come next, which run, what becomes of them.
--
-- Each trial is an ordinary run in a process of its own. What it reports comes over a socket, is given to the scheduler and is
-- answered with the scheduler's decision. Everything that was decided and seen is in the journal first, so that an experiment
-- whose processes were killed goes on: what the journal has is given to the sampler and the scheduler again.

local class = require 'base.class'
local donated_checkpoint = require 'rtrain.tune.donated_checkpoint'
local errors = require 'base.errors'
local Journal = require 'rtrain.tune.journal'
local link = require 'rtrain.tune.link'
local metrics_text = require 'rtrain.metrics.text'
local ordered = require 'base.ordered'
local space = require 'rtrain.tune.space'
local system = require 'base._system'
local Trial = require 'rtrain.tune.trial'
local trial_log = require 'rtrain.tune.trial_log'
local tune = require 'rtrain._tune'

local WAIT_S = 0.1
-- From the last report to the end of the process.
local END_S = 30

-- Exit codes of a run that was asked to end.
local ASKED_TO_END = {[75] = true, [130] = true, [143] = true}
-- Of a script that cannot train: wrong usage, wrong configuration.
local CANNOT_TRAIN = {[2] = true, [3] = true}

-- As JSON has them.
local NOT_FINITE = {NaN = 0 / 0, Infinity = math.huge, ['-Infinity'] = -math.huge}

local Experiment = class('Experiment')

---@class rtrain.tune.ExperimentOptions
---@field name string
---@field storage string folder of the run store
---@field space table the param_space
---@field searcher table suggest(number) → config or nil; add_result(trial)
---@field scheduler table
---@field max_concurrent integer
---@field command fun(trial: rtrain.tune.Trial, experiment: table): string[] what its process runs
---@field display table with show(experiment), ended(trial)
---@field identity string what has to be the same when the sweep goes on
---@field is_of_a_script? boolean trials run a script as it is: where one cannot train no other can

---@param storage string
---@param name string
---@return string folder of the sweep's own files
function Experiment.folder_of(storage, name) return ('%s/.sweeps/%s'):format(storage, name) end

---@param options rtrain.tune.ExperimentOptions
function Experiment:init(options)
  for key, value in next, options do self[key] = value end
  self.folder = Experiment.folder_of(self.storage, self.name)
  ---@type rtrain.tune.Trial[]
  self.trials = {}
  self._waiting = {}  -- trials that are to run (again)
  self._num_running = 0
  self._socket = 'sweep-' .. system.hash(self.folder)
  self._journal = Journal(self.folder .. '/journal.jsonl')
end

function Experiment:_name_of(number) return ('%s-%03d'):format(self.name, number) end

function Experiment:_log_of(trial) return trial_log.path(self.folder, trial.name) end

---What tells the runs of a sweep apart from others: `rtrain ls --tag`.
---@return string
function Experiment:tag() return 'sweep:' .. self.name end

---Begins the sweep, or brings one that is there back to where it was.
---@param resume 'never'|'auto'|'must' what to do with a sweep of that name that is there
---Raises code 'config' for a name that is taken, 'environment' where its files cannot be written.
function Experiment:open(resume)
  self:_check_alone()
  system.make_folders(self.folder .. '/logs')
  local events = self._journal:read()
  if #events == 0 then
    if resume == 'must' then
      errors.raise('config', ("there is no sweep '%s' in %s to go on with"):format(self.name, self.storage))
    end
    return self._journal:add {event = 'sweep', identity = self.identity}
  end
  if resume == 'never' then
    errors.raise('config', ("the sweep '%s' is there already, in %s: choose another name, or go on with it (--resume auto, "
      .. "RunConfig.resume = 'auto')"):format(self.name, self.storage))
  end
  if events[1].identity ~= self.identity then
    errors.raise('config', ("the sweep '%s' had another search: %s. Now it is %s: choose another name"):format(self.name,
      events[1].identity, self.identity))
  end
  self.is_resumed = true
  for i = 2, #events do self:_repeat(events[i], i) end
  for _, trial in ipairs(self:_in_turn()) do self:_take_up(trial) end
end

-- Those that have not ended: first those that were cut off, then those that have made way, in the order in which they did.
function Experiment:_in_turn()
  local out = {}
  for _, trial in ipairs(self.trials) do
    trial.turn = trial.status == 'PAUSED' and trial.turn or 0
    if not trial:has_ended() then out[#out + 1] = trial end
  end
  table.sort(out, function(a, b)
    if a.turn ~= b.turn then return a.turn < b.turn end
    return a.number < b.number
  end)
  return out
end

-- A trial whose end the sweep has not seen: it was killed too, or has just come to its end.
function Experiment:_take_up(trial)
  if trial.ending and trial.ending.exploit then return self:_exploit(trial) end
  local run = trial.status ~= 'PAUSED' and self:_run_of(trial)
  local is_over = run and run.status == 'FINISHED' or trial.ending and trial.ending.action == 'STOP'
  if not is_over then
    self._waiting[#self._waiting + 1] = trial
    return
  end
  self._journal:add {event = 'end', number = trial.number}
  self:_end(trial)
end

function Experiment:_repeat(event, turn)
  local trial = self.trials[event.number + 1]
  if event.event == 'trial' then
    self:_add_trial(event.number, self.searcher:suggest(event.number) and event.config)
  elseif event.event == 'report' then
    trial.status = 'PENDING'
    self:_apply(trial, self:_decide(trial, event))
  elseif event.event == 'pause' then
    trial.status, trial.turn = 'PAUSED', turn
  elseif event.event == 'exploit' then
    self:_take_over(trial, event)
    trial.turn = turn
  elseif event.event == 'end' then
    self:_end(trial, event.error)
  end
end

function Experiment:_add_trial(number, config)
  local trial = Trial(number, self:_name_of(number), config, space.drawn(self.space, config))
  self.trials[number + 1] = trial
  self.scheduler:on_trial_add(trial.number, config)
  return trial
end

-- What a trial that was compared with others goes on with.
function Experiment:_take_over(trial, event)
  trial.config, trial.checkpoint = event.config, event.checkpoint or trial.checkpoint
  trial.drawn = space.drawn(self.space, trial.config)
  trial.status, trial.ending = 'PAUSED', nil
  self.scheduler:on_trial_exploit(trial.number, trial.config)
end

-- The trial goes on from its donor's checkpoint. Where there is none it goes on as it was.
function Experiment:_exploit(trial)
  local exploit = trial.ending.exploit
  local donor = self.trials[exploit.donor + 1]
  local checkpoint = donated_checkpoint.take(self, trial, donor)
  local event = {
    event = 'exploit', number = trial.number, donor = exploit.donor, config = checkpoint and exploit.config or trial.config,
    checkpoint = checkpoint,
  }
  self._journal:add(event)
  self:_take_over(trial, event)
  self._waiting[#self._waiting + 1] = trial
  if checkpoint then
    return self.display:notice(('trial %s goes on from %s, with %s'):format(trial.name, donor.name,
      metrics_text.line(trial.drawn)))
  end
  self.display:notice(('trial %s cannot go on from %s, which has no checkpoint'):format(trial.name, donor.name))
end

-- The next trial that is to run. One that has made way for others comes last.
function Experiment:_next()
  local first = self._waiting[1]
  if first and (first.status ~= 'PAUSED' or first.checkpoint or self._is_exhausted) then
    return table.remove(self._waiting, 1)
  end
  return self:_new_trial() or table.remove(self._waiting, 1)
end

function Experiment:_new_trial()
  if self._is_exhausted then return nil end
  local number = #self.trials
  local config = self.searcher:suggest(number)
  if config == nil then
    self._is_exhausted = true
    return nil
  end
  self.scheduler:fill_config(number, config)
  self._journal:add {event = 'trial', number = number, config = config}
  return self:_add_trial(number, config)
end

function Experiment:_start(trial)
  trial.process = tune.start {
    args = self.command(trial, self),
    env = {RTRAIN_TRIAL = link.text(self._socket, trial.number)},
    log = self:_log_of(trial),
  }
  trial.status, trial.started_s, trial.ending = 'RUNNING', system.monotonic(), nil
  trial.has_begun = true
  self._num_running = self._num_running + 1
end

function Experiment:_fill()
  while self._num_running < self.max_concurrent do
    local trial = self:_next()
    if trial == nil then return end
    self:_start(trial)
  end
end

-- What the scheduler says about a report, which the trial has made for the first time.
function Experiment:_decide(trial, report)
  local result = ordered.new()
  for key, value in next, report.metrics do result[key] = NOT_FINITE[value] or value end
  trial:add(report.index, result)
  trial.has_checkpoint = trial.has_checkpoint or report.has_checkpoint
  return self.scheduler:on_trial_result(trial.number, result, trial)
end

-- Remembers what is to become of the trial when its process has ended.
function Experiment:_apply(trial, decision)
  if decision.action == 'CONTINUE' then return end
  trial.ending = decision
  if decision.action == 'STOP' then trial.remark = decision.reason end
end

-- Where the scheduler allows it, a trial makes way for one that waits.
function Experiment:_with_pause(trial, decision)
  if not decision.can_pause or (#self._waiting == 0 and #self.trials >= self.searcher.count) then return decision end
  self._journal:add {event = 'pause', number = trial.number}
  return {action = 'PAUSE', reason = 'it makes way for another trial'}
end

function Experiment:_take_report(trial, report)
  if trial.ending or report.index <= trial.index then return trial.ending or {action = 'CONTINUE'} end
  report.metrics.training_iteration = report.index + 1
  report.metrics.time_total_s = (trial.time_before_s or 0) + system.monotonic() - trial.started_s
  self._journal:add {
    event = 'report', number = trial.number, index = report.index, metrics = report.metrics,
    has_checkpoint = report.has_checkpoint or nil,
  }
  local decision = self:_with_pause(trial, self:_decide(trial, report))
  self:_apply(trial, decision)
  return decision
end

function Experiment:_answer(peer, question)
  local trial = self.trials[question.trial + 1]
  if question.type == 'config' then return self._server:answer(peer, {config = trial.config}) end
  if question.type == 'begin' then
    return self._server:answer(peer, {decides = self.scheduler.decides, checkpoint = trial.checkpoint})
  end
  local decision = self:_take_report(trial, question)
  self._server:answer(peer, {action = decision.action, reason = decision.reason})
end

-- How the trial's run stands in the store; nil where its script has not come to fit().
function Experiment:_run_of(trial)
  local ok, run = pcall(require('rtrain._host').run, self.storage, trial.name)
  return ok and run.name == trial.name and run or nil
end

function Experiment:_error_of(trial, how, code)
  if code == 0 then return nil end
  local run = self:_run_of(trial)
  if run and run.error then return run.error.message end
  return ('its process %s: %s'):format(how, trial_log.last_lines(self:_log_of(trial)))
end

function Experiment:_end(trial, problem)
  local was_stopped = trial.ending ~= nil
  trial.status, trial.error, trial.ending = problem and 'ERROR' or 'TERMINATED', problem, nil
  if problem then
    self.scheduler:on_trial_error(trial.number)
  elseif not was_stopped then
    self.scheduler:on_trial_complete(trial.number, trial.last)
  end
  self.searcher:add_result(trial)
  if trial.checkpoint then donated_checkpoint.drop(self, trial) end
end

-- Of a script that no configuration can train: what it has printed, else that it has trained nothing.
function Experiment:_check_script(trial, code)
  if not self.is_of_a_script or trial.index >= 0 or self:_run_of(trial) then return end
  if code ~= 0 and not CANNOT_TRAIN[code] then return end
  self:_give_up()
  local said = trial_log.last_message(self:_log_of(trial))
  if code == 0 then said = 'the script ended without a call of fit(): nothing was trained' end
  errors.raise(code == 2 and 'usage' or 'config', said or ("trial %s: see '%s'"):format(trial.name, self:_log_of(trial)))
end

-- Ends what runs. A sweep that has not seen anything leaves its name free.
function Experiment:_give_up()
  local has_begun = false
  for _, trial in ipairs(self.trials) do
    if trial.process then trial.process:finish(0) end
    has_begun = has_begun or trial.index >= 0 or self:_run_of(trial) ~= nil
  end
  self._journal:close()
  if not has_begun then os.remove(self._journal.path) end
end

-- The processes were asked to end: a trial that has not come to its end goes on when the sweep does.
function Experiment:_is_left(code) return self.stop_signal ~= nil and (code == nil or ASKED_TO_END[code] == true) end

function Experiment:_pause(trial)
  if trial.ending.exploit then return self:_exploit(trial) end
  trial.status, trial.ending = 'PAUSED', nil
  self._waiting[#self._waiting + 1] = trial
end

function Experiment:_finish(trial, timeout_s)
  local how, code = trial.process:finish(timeout_s)
  trial.process = nil
  trial.time_before_s = (trial.time_before_s or 0) + system.monotonic() - trial.started_s
  self._num_running = self._num_running - 1
  if self:_is_left(code) then
    trial.status = 'PENDING'
    return
  end
  if code == 0 and trial.ending and trial.ending.action == 'PAUSE' then return self:_pause(trial) end
  self:_check_script(trial, code)
  local problem = self:_error_of(trial, how, code)
  self._journal:add {event = 'end', number = trial.number, error = problem}
  self:_end(trial, problem)
  self.display:ended(self, trial)
end

-- Questions first: a process that has ended may have asked before.
function Experiment:_take_all()
  local timeout_s = WAIT_S
  while true do
    local peer, question = self._server:next(timeout_s)
    if peer == nil then break end
    if question then self:_answer(peer, question) end
    timeout_s = 0
  end
  for _, trial in ipairs(self.trials) do
    if trial.process and not trial.process:is_running() then self:_finish(trial, END_S) end
  end
end

function Experiment:_check_alone()
  if not pcall(tune.connect, self._socket) then return end
  errors.raise('config', ("the sweep '%s' is going on, in another process"):format(self.name))
end

-- The first signal asks all trials to save and end, each as its run would be asked.
function Experiment:_check_signals()
  local number, name = self._signals:first()
  if number == nil or self.stop_signal then return end
  self.stop_signal = name
  self.display:notice(name .. ': the trials are asked to save and end; a second one ends them at once')
  for _, trial in ipairs(self.trials) do
    if trial.process then trial.process:send(number) end
  end
end

function Experiment:_has_more()
  return self._num_running > 0 or not self.stop_signal and (#self._waiting > 0 or not self._is_exhausted)
end

function Experiment:_run_all()
  repeat
    self:_check_signals()
    if not self.stop_signal then self:_fill() end
    self.display:show(self)
    if self._num_running > 0 then self:_take_all() end
  until not self:_has_more()
end

-- The options of the command that goes on with the sweep.
function Experiment:_raise_stopped()
  errors.raise(self.stop_signal == 'SIGINT' and 'interrupted' or 'preempted', ("%s: the sweep '%s' has not come to its end: "
    .. 'go on with it with --name %s --resume auto'):format(self.stop_signal, self.name, self.name))
end

---Runs what is left to run.
---Raises code 'interrupted' or 'preempted' when a signal has asked for its end, 'usage' or 'config' for a script that cannot
---train.
function Experiment:run()
  self._server = tune.serve(self._socket)
  self._signals = tune.watch_signals()
  local ok, problem = xpcall(self._run_all, errors.wrap, self)
  self._server:release()
  self._signals:release()
  self._journal:close()
  if not ok then
    self.display:clear()
    error(problem, 0)
  end
  self.display:finish(self)
  if self.stop_signal and not self:_has_ended() then self:_raise_stopped() end
end

-- Whether every trial there is to be has ended.
function Experiment:_has_ended()
  for _, trial in ipairs(self.trials) do
    if not trial:has_ended() then return false end
  end
  return self._is_exhausted or self.searcher.count == #self.trials
end

return Experiment

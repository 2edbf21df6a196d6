-- rtrain/tune/experiment.lua: Experiment: the trials of one sweep: chooses the next trial and tracks all of them.
--
-- All decisions and events are written to the journal first, so that an experiment whose processes were killed can
-- continue: the journal is replayed to the sampler and the scheduler. TrialRunner manages the processes.

local class = require 'base.class'
local donated_checkpoint = require 'rtrain.tune.donated_checkpoint'
local errors = require 'base.errors'
local Journal = require 'rtrain.tune.journal'
local metrics_text = require 'rtrain.metrics.text'
local ordered = require 'base.ordered'
local space = require 'rtrain.tune.space'
local system = require 'base._system'
local Trial = require 'rtrain.tune.trial'
local tune = require 'rtrain._tune'
local write_file = require 'base.write_file'

-- Names in JSON → values.
local NOT_FINITE = {NaN = 0 / 0, Infinity = math.huge, ['-Infinity'] = -math.huge}

local Experiment = class('Experiment')

---@class rtrain.tune.ExperimentOptions
---@field name string
---@field storage string folder of the run store
---@field space table the param_space
---@field searcher table has suggest(number) → config or nil; add_result(trial)
---@field scheduler table
---@field display table a SweepDisplay, or an object with its methods
---@field identity string must be equal when the sweep continues
---@field objective table an Objective: its metric and mode may be nil

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
  self._waiting = {}  -- trials to run (again)
  self.socket = 'sweep-' .. system.hash(self.folder)
  self._journal = Journal(self.folder .. '/journal.jsonl')
end

function Experiment:_name_of(number) return ('%s-%03d'):format(self.name, number) end

---Returns the tag that distinguishes the runs of a sweep: `rtrain ls --tag`.
---@return string
function Experiment:tag() return 'sweep:' .. self.name end

---Begins the sweep, or restores an existing sweep.
---@param resume 'never'|'auto'|'must' what to do if a sweep of that name exists
---Raises code 'config' for a name that is already used, 'environment' if its files cannot be written.
function Experiment:open(resume)
  self:_check_alone()
  system.make_folders(self.folder .. '/logs')
  local events = self._journal:read()
  if #events == 0 then
    if resume == 'must' then
      errors.raise('config', ("there is no sweep '%s' in %s to go on with"):format(self.name, self.storage))
    end
    self._journal:add {event = 'sweep', identity = self.identity}
    self:_write_objective()
    return self.display:begin(self)
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
  self:_write_objective()
  self.display:begin(self)
  for i = 2, #events do self:_repeat(events[i], i) end
  for _, trial in ipairs(self:_in_turn()) do self:_take_up(trial) end
end

-- Writes what the sweep looks for, and when its scheduler compares trials, which the dashboard reads.
function Experiment:_write_objective()
  local objective, scheduler = ordered.new(), self.scheduler
  objective.sweep, objective.metric, objective.mode = self.name, self.objective.metric, self.objective.mode
  if scheduler.milestones then
    objective.time_attr, objective.milestones = scheduler.time_attr, scheduler:milestones()
  end
  write_file(self.folder .. '/objective.json', system.to_json(objective) .. '\n')
end

-- Returns the unfinished trials: first the interrupted ones, then the paused ones in the order of their pauses.
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

-- Restores a trial whose end the sweep has not seen: it was killed too, or has just ended.
function Experiment:_take_up(trial)
  if trial.ending and trial.ending.exploit then return self:_exploit(trial) end
  local run = trial.status ~= 'PAUSED' and self:run_of(trial)
  local is_over = run and run.status == 'FINISHED' or trial.ending and trial.ending.action == 'STOP'
  if not is_over then
    self._waiting[#self._waiting + 1] = trial
    return
  end
  self:finish(trial)
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

-- Updates a trial with the config and checkpoint that it continues with after an exploit.
function Experiment:_take_over(trial, event)
  trial.config, trial.checkpoint = event.config, event.checkpoint or trial.checkpoint
  trial.drawn = space.drawn(self.space, trial.config)
  trial.status, trial.ending = 'PAUSED', nil
  self.scheduler:on_trial_exploit(trial.number, trial.config)
end

-- Continues the trial from its donor's checkpoint; without one it continues unchanged.
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

---Returns the next trial to run. Paused trials come last.
---@return rtrain.tune.Trial? trial nil: no trial waits
function Experiment:next()
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

-- Asks the scheduler about a report that the trial has made for the first time.
function Experiment:_decide(trial, report)
  local result = ordered.new()
  for key, value in next, report.metrics do result[key] = NOT_FINITE[value] or value end
  trial:add(report.index, result)
  trial.has_checkpoint = trial.has_checkpoint or report.has_checkpoint
  return self.scheduler:on_trial_result(trial.number, result, trial)
end

-- Stores the decision, which is executed when the trial's process has ended.
function Experiment:_apply(trial, decision)
  if decision.action == 'CONTINUE' then return end
  trial.ending = decision
  if decision.action == 'STOP' then trial.remark = decision.reason end
end

-- Pauses the trial, if the scheduler allows it and another trial waits.
function Experiment:_with_pause(trial, decision)
  if not decision.can_pause or (#self._waiting == 0 and #self.trials >= self.searcher.count) then return decision end
  self._journal:add {event = 'pause', number = trial.number}
  return {action = 'PAUSE', reason = 'it makes way for another trial'}
end

---Handles a report of a trial.
---@param trial rtrain.tune.Trial
---@param report {index: integer, metrics: table, has_checkpoint: boolean?}
---@return rtrain.tune.Decision
function Experiment:take_report(trial, report)
  if trial.ending or report.index <= trial.index then return trial.ending or {action = 'CONTINUE'} end
  report.metrics.training_iteration = report.index + 1
  report.metrics.time_total_s = trial:time_s()
  self._journal:add {
    event = 'report', number = trial.number, index = report.index, metrics = report.metrics,
    has_checkpoint = report.has_checkpoint or nil,
  }
  local decision = self:_with_pause(trial, self:_decide(trial, report))
  self.display:reported(self, trial)
  self:_apply(trial, decision)
  return decision
end

---Returns the state of the trial's run in the store.
---@param trial rtrain.tune.Trial
---@return table? run nil if its script has not called fit()
function Experiment:run_of(trial)
  local ok, run = pcall(require('rtrain._host').run, self.storage, trial.name)
  return ok and run.name == trial.name and run or nil
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

---Called when the process of a paused trial has ended.
---@param trial rtrain.tune.Trial
function Experiment:pause(trial)
  self.display:paused(self, trial)
  if trial.ending.exploit then return self:_exploit(trial) end
  trial.status, trial.ending = 'PAUSED', nil
  self._waiting[#self._waiting + 1] = trial
end

function Experiment:_check_alone()
  if not pcall(tune.connect, self.socket) then return end
  errors.raise('config', ("the sweep '%s' is going on, in another process"):format(self.name))
end

---Called when a trial has ended.
---@param trial rtrain.tune.Trial
---@param problem? string why it failed
function Experiment:finish(trial, problem)
  self._journal:add {event = 'end', number = trial.number, error = problem}
  self:_end(trial, problem)
end

---Returns whether a trial waits, or another one may be created.
---@return boolean
function Experiment:has_more() return #self._waiting > 0 or not self._is_exhausted end

---Closes the journal.
function Experiment:close() self._journal:close() end

---Closes the journal. A sweep without any event frees its name.
function Experiment:give_up()
  self:close()
  for _, trial in ipairs(self.trials) do
    if trial.index >= 0 or self:run_of(trial) then return end
  end
  os.remove(self._journal.path)
end

---Returns whether all trials have been created and have ended.
---@return boolean
function Experiment:has_ended()
  for _, trial in ipairs(self.trials) do
    if not trial:has_ended() then return false end
  end
  return self._is_exhausted or self.searcher.count == #self.trials
end

return Experiment

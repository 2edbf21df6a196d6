-- rtrain/run/time_limit.lua: TimeLimit: ends a run, with a checkpoint, before the time limit of its job.
--
-- The limit is queried by a command of the scheduler, in the background. It may change during the job, so it is queried
-- again every ten minutes, and before the run is ended.

local class = require 'base.class'
local duration = require 'rtrain.launch.submit.duration'
local errors = require 'base.errors'
local system = require 'base._system'

local PATIENCE_S = 10  -- time for one answer
local PAUSE_S = 600
local SLACK_S = 15  -- added to the workers' time: for the commit, and the end of the processes
local LARGEST_SHARE = 0.25  -- of the initially remaining time: a short job would do little but save

local TimeLimit = class('TimeLimit')

---@class TimeLimitOptions
---@field grace_s number time of the workers to save
---@field on_near fun(left_s: number) called once
---@field on_problem fun(text: string) called once, if the limit cannot be found out
---@field clock? fun(): number
---@field start? fun(command: string): table

---@param command string for a shell: prints the remaining time in Slurm's format; `UNLIMITED` and similar words: no
---  limit
---@param options TimeLimitOptions
function TimeLimit:init(command, options)
  self._command = command
  self._grace_s = options.grace_s
  self._on_near, self._on_problem = options.on_near, options.on_problem
  self._clock = options.clock or system.monotonic
  self._start = options.start or system.start_command
  self._next_s = self._clock()
end

function TimeLimit:_ask()
  local ok, answer = pcall(self._start, self._command .. ' 2>&1')
  if not ok then return self:_fail(errors.wrap(answer).message) end
  self._answer, self._asked_s = answer, self._clock()
end

-- A known limit stays valid.
function TimeLimit:_fail(text)
  self._next_s = self._clock() + PATIENCE_S
  if self._end_s == nil then
    self._is_over = true
    self._on_problem(('the time limit of the job is not known: %s: %s'):format(self._command, text))
  end
end

function TimeLimit:_take(text)
  text = text:match '^%s*(.-)%s*$'
  local now = self._clock()
  local left = duration.parse(text)
  if left == nil and text:find '^[%u_]+$' then
    self._end_s, self._next_s = nil, now + PAUSE_S
  elseif left == nil then
    self:_fail(text == '' and 'no answer' or text)
  else
    self._notice_s = self._notice_s or math.min(self._grace_s + SLACK_S, left * LARGEST_SHARE)
    self._end_s = now + left
    self._next_s = now + math.max(1, math.min(left - self._notice_s, PAUSE_S))
  end
end

function TimeLimit:_poll()
  local is_complete, text = self._answer:finish(0)
  if not is_complete and self._clock() - self._asked_s < PATIENCE_S then return end
  self._answer:release()
  self._answer = nil
  if is_complete then return self:_take(text) end
  self:_fail(('no answer for %d s'):format(PATIENCE_S))
end

---Checks whether the limit is near; never waits. Must be called a few times a second.
function TimeLimit:tick()
  if self._is_over then return end
  if self._answer then
    self:_poll()
  elseif self._clock() >= self._next_s then
    self:_ask()
  end
  if self._answer or self._end_s == nil then return end
  local left = self._end_s - self._clock()
  if left > self._notice_s then return end
  self._is_over = true
  self._on_near(left)
end

---Ends a running command.
function TimeLimit:close()
  self._is_over = true
  if self._answer then self._answer:release() end
  self._answer = nil
end

return TimeLimit
